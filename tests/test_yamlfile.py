"""YAML files: what scalars mean, what is refused, and that every refusal is one message with its line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pydantic
import pytest

from mapper.errors import InputError
from mapper.yamlfile import MAX_BYTES, Node, StrictModel, read, validate

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write `f.yaml` into an empty working directory, and give the relative path, as a user would."""
    monkeypatch.chdir(tmp_path)

    def writer(content: str | bytes) -> Path:
        path = Path("f.yaml")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return writer


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


# What scalars mean


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-9", 1e-9),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("7.", 7.0),
        ("-1.5", -1.5),
        ("+12", 12),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("NO", "NO"),
        ("off", "off"),
        ("yes", "yes"),
        ("y", "y"),
        ("2001-12-14", "2001-12-14"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("0b101", "0b101"),
        ("'5'", "5"),
        ('"1e3"', "1e3"),
        ("=", "="),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(write: Write, text: str, value: object) -> None:
    found = read(write(f"key: {text}\n")).at("key").value
    assert found == value
    assert type(found) is type(value)


def test_infinity_and_nan_are_numbers_for_the_model_to_refuse(write: Write) -> None:
    assert read(write("[.inf, -.INF]\n")).plain() == [math.inf, -math.inf]
    found = read(write("k: .nan\n")).at("k").value
    assert isinstance(found, float)
    assert math.isnan(found)


def test_a_yaml_1_1_directive_does_not_bring_its_truth_values_back(write: Write) -> None:
    assert read(write("%YAML 1.1\n---\nk: NO\n")).plain() == {"k": "NO"}


def test_byte_order_mark_and_carriage_returns_are_read(write: Write) -> None:
    assert read(write(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")).plain() == {"a": 1, "b": 2}


def test_a_value_stands_where_its_key_stands(write: Write) -> None:
    root = read(write("# comment\na:\n  b:\n    - 1\n    - c: 2\n"))
    assert root.where == "f.yaml:2"
    assert root.at("a").where == "f.yaml:2"
    assert root.at("a", "b", 1, "c").where == "f.yaml:5"
    assert root.at("a", "b", 7, "c").where == "f.yaml:3", "the innermost that exists"


def test_an_alias_stands_for_its_anchor(write: Write) -> None:
    root = read(write("a: &x {k: 1}\nb: *x\n"))
    assert root.plain() == {"a": {"k": 1}, "b": {"k": 1}}
    assert root.at("b").where == "f.yaml:2"


# What is refused

BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml:1: the file is empty"),
        ("# only a comment\n", "f.yaml:1: the file is empty"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: key 'a' is given twice, on lines 1 and 3"),
        ("{a: 1, a: 2}\n", "f.yaml:1: key 'a' is given twice, on line 1"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second document; one file holds one document"),
        (
            "a: !!python/object/apply:os.system [x]\n",
            "f.yaml:1: tag 'tag:yaml.org,2002:python/object/apply:os.system' is refused: a spec is plain data "
            "(remove the tag)",
        ),
        ("a: 1\nb: !x 1\n", "f.yaml:2: tag '!x' is refused: a spec is plain data (remove the tag)"),
        ("a: &xxx 1\nb: *xxy\n", "f.yaml:2: alias *xxy has no anchor above it (did you mean 'xxx'?)"),
        ("a: &x\n  - *x\n", "f.yaml:2: alias *x stands inside its own anchor"),
        (BOMB, "f.yaml:6: more than 200000 values once aliases are expanded"),
        ("a:\n" + f"- [{'1,' * 100_000}]\n" * 3, "f.yaml:3: more than 200000 values: no spec has as many"),
        ("[" * 200, "f.yaml:1: nested deeper than 100 levels"),
        ("a: 1\n5: 2\n", 'f.yaml:2: a key must be text, found 5 (as text, write "5")'),
        ("true: 2\n", 'f.yaml:1: a key must be text, found true (as text, write "true")'),
        ("? [1]\n: 2\n", "f.yaml:1: a key must be text, found a list"),
        ("<<: {a: 1}\n", "f.yaml:1: merge key '<<' is not YAML 1.2 (write the keys out)"),
        ("a: " + "9" * 5000, "f.yaml:1: the number 99999999999999999999... has too many digits"),
        ("a: 1\nb: x: 2\n", "f.yaml:2: not YAML: mapping values are not allowed here"),
        (
            "a: 1\nb: [1,\n",
            "f.yaml:2: not YAML: while parsing a flow node: expected the node content, but found '<stream end>'",
        ),
        (
            "a: [1,\nb\n\nc: 2\n",
            "f.yaml:4: not YAML: while parsing a flow sequence from line 1 on: expected ',' or ']', but got ':'",
        ),
        (
            "\ta: 1\n",
            "f.yaml:1: not YAML: while scanning for the next token: found character '\\t' that cannot start any token",
        ),
        ("a: 1\nb: '\n", "f.yaml:2: not YAML: while scanning a quoted scalar: found unexpected end of stream"),
        ("a: 1\nb: \x07\n", "f.yaml:2: not YAML: character '\\x07' is not allowed"),
    ],
)
def test_what_is_not_plain_strict_yaml_is_refused_with_its_line(write: Write, text: str, message: str) -> None:
    assert refusal(write(text)) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x7fELF\x00\x01", "f.yaml:1: not a text file in UTF-8: byte 0x00"),
        (b"a: 1\nb: \xff\n", "f.yaml:2: not a text file in UTF-8: byte 0xff"),
        ("a: 1\n".encode("utf-16"), "f.yaml:1: not a text file in UTF-8: byte 0xff"),
        (b"#" * (MAX_BYTES + 1), "f.yaml: larger than 4 MiB: no spec is"),
    ],
)
def test_a_binary_or_huge_file_is_refused(write: Write, data: bytes, message: str) -> None:
    assert refusal(write(data)) == message


def test_a_file_that_cannot_be_opened_is_refused(write: Write) -> None:
    write("a: 1\n")
    assert refusal(Path("g.yaml")) == "g.yaml: no such file (did you mean 'f.yaml'?)"
    assert refusal(Path(".")) == ".: this is a directory, not a YAML file"
    assert refusal("f.yaml/g") == "f.yaml/g: cannot be read: Not a directory"
    assert refusal("a\0b") == "a\0b: cannot be read: embedded null byte"


def test_an_unreadable_file_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write("a: 1\n")
    monkeypatch.setattr(Path, "open", denied)
    assert refusal(path) == "f.yaml: cannot be read: Permission denied"


# Models


class Part(StrictModel):
    name: str
    size: int = pydantic.Field(gt=0, description="how large")
    share: float = pydantic.Field(0.5, ge=0, le=1, allow_inf_nan=False)


class Whole(StrictModel):
    Hstride: int
    parts: list[Part] = pydantic.Field([])
    by_name: dict[str, Part] | None = None
    switch: bool = False


def fault(node: Node) -> str:
    with pytest.raises(InputError) as caught:
        validate(Whole, node)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HStride: 3\n", "f.yaml:1: HStride: unknown key (did you mean 'Hstride'?)"),
        ("Hstride: 1\nparts:\n  - {name: a, size: 1}\n  - name: b\n    sise: 2\n", "f.yaml:5: parts.b.sise: unknown "
         "key (did you mean 'size'?)"),
        ("Hstride: 1\nfoo: 2\n", "f.yaml:2: foo: unknown key (one of: parts, by_name, switch)"),
        ("Hstride: 1\nby_name: {a: {name: b, size: 1, sharer: 1}}\n",
         "f.yaml:2: by_name.a.sharer: unknown key (did you mean 'share'?)"),
        ("parts: []\n", "f.yaml:1: Hstride: is missing"),
        ("Hstride: 1\nparts:\n  - name: a\n", "f.yaml:3: parts.a.size: is missing (how large)"),
        ("Hstride: 1.5\n", "f.yaml:1: Hstride: expected a whole number, found 1.5"),
        ("Hstride: true\n", "f.yaml:1: Hstride: expected a whole number, found true"),
        ("Hstride: '1'\n", "f.yaml:1: Hstride: expected a whole number, found '1'"),
        ("Hstride:\n", "f.yaml:1: Hstride: has no value"),
        ("Hstride: 1\nby_name:\n", "f.yaml:2: by_name: has no value"),
        ("Hstride: 1\nswitch: NO\n", "f.yaml:2: switch: expected true or false, found 'NO'"),
        ("Hstride: 1\nparts: 3\n", "f.yaml:2: parts: expected a list, found 3"),
        ("Hstride: 1\nparts: [3]\n", "f.yaml:2: parts.0: expected a mapping, found 3"),
        ("Hstride: 1\nparts: {a: 3}\n", "f.yaml:2: parts: expected a list, found a mapping"),
        ("Hstride: 1\nparts: [{name: 168, size: 1}]\n",
         'f.yaml:2: parts.168.name: expected text, found 168 (as text, write "168")'),
        ("Hstride: 1\nparts: [{name: a, size: 0}]\n", "f.yaml:2: parts.a.size: expected more than 0, found 0"),
        ("Hstride: 1\nparts: [{name: a, size: 1, share: 2}]\n", "f.yaml:2: parts.a.share: expected 1 or less, found 2"),
        ("Hstride: 1\nparts: [{name: a, size: 1, share: .nan}]\n",
         "f.yaml:2: parts.a.share: expected a finite number, found nan"),
        ("Hstride: 1\nparts: [{name: a, size: 1, share: 1e400}]\n",
         "f.yaml:2: parts.a.share: expected a finite number, found inf"),
        ("- 1\n", "f.yaml:1: file: expected a mapping, found a list"),
        ("text\n", "f.yaml:1: file: expected a mapping, found 'text'"),
    ],
)  # fmt: skip
def test_the_first_fault_is_named_with_field_value_and_line(write: Write, text: str, message: str) -> None:
    assert fault(read(write(text))) == message


def test_faults_are_reported_in_file_order(write: Write) -> None:
    lines = ["switch: 1", "parts: [{name: a, size: -1}]", "extra: 1"]
    assert fault(read(write("\n".join(lines)))).startswith("f.yaml:1: switch")
    assert fault(read(write("\n".join(lines[1:])))).startswith("f.yaml:1: parts.a.size")
    assert fault(read(write("\n".join(lines[2:])))).startswith("f.yaml:1: extra")


def test_a_fault_inside_an_alias_points_at_the_anchor(write: Write) -> None:
    text = "Hstride: 1\nby_name:\n  a: &part\n    name: x\n    size: 0\n  b: *part\n"
    assert fault(read(write(text))) == "f.yaml:5: by_name.a.size: expected more than 0, found 0"


def test_a_valid_document_becomes_an_immutable_model(write: Write) -> None:
    whole = validate(Whole, read(write("Hstride: 2\nparts: [{name: a, size: 1, share: 1}]\nswitch: true\n")))
    assert whole == Whole(Hstride=2, parts=[Part(name="a", size=1, share=1.0)], switch=True)
    with pytest.raises(pydantic.ValidationError):
        whole.Hstride = 3
