"""YAML with line numbers: strict YAML 1.2, nothing executed, every refusal one `InputError` with `file:line`.

`read` turns a file into `Node`s; scalars follow the core schema of YAML 1.2 to the letter, so `1e-9` is a number and
`NO`, `off` and `2001-12-14` are text. `validate` checks a node against a pydantic model and names the first thing
wrong in file order, with the nearest valid key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from mapper.errors import InputError, did_you_mean

MAX_BYTES = 4 * 2**20
"""A larger file is no spec: refused before it is parsed."""
MAX_DEPTH = 100
MAX_VALUES = 200_000
"""Values, keys among them, as written and after aliases are expanded: nine lines of them can stand for a billion."""

Scalar = str | int | float | bool | None
Model = TypeVar("Model", bound=pydantic.BaseModel)


class StrictModel(pydantic.BaseModel):
    """Base of every file model: no unknown key, no coercion, immutable."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Node:
    """A YAML value and the `file:line` of the key or list entry that introduces it.

    `first` and `last` number the values in file order: this one, and the last one inside it.
    """

    value: dict[str, Node] | list[Node] | Scalar
    where: str
    first: int = 0
    last: int = 0
    size: int = 1

    @property
    def line(self) -> str:
        """The line number alone."""
        return self.where.rpartition(":")[2]

    def child(self, key: str | int) -> Node | None:
        """The value under a key or index, None where there is none."""
        if isinstance(self.value, dict):
            return self.value.get(str(key))
        if isinstance(self.value, list) and isinstance(key, int) and 0 <= key < len(self.value):
            return self.value[key]
        return None

    def at(self, *path: str | int) -> Node:
        """The value under that path, or the innermost one that exists: where to point an error."""
        node = self
        for key in path:
            inner = node.child(key)
            if inner is None:
                return node
            node = inner
        return node

    def plain(self) -> Any:
        """The value as plain dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def error(self, message: str, hint: str | None = None) -> InputError:
        """An error that points here."""
        return InputError(message, self.where, hint)


def read(path: Path | str) -> Node:
    """The one document of a YAML file.

    Raises `InputError` for whatever cannot be read as strict YAML 1.2: a missing file, a directory, bytes that are not
    UTF-8, broken syntax, a duplicate key, a tag, an empty document, several documents.
    """
    return _Reader(str(path), _text(Path(path))).document()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError("no such file", str(path), _near_file(path)) from None
    except IsADirectoryError:
        raise InputError("this is a directory, not a YAML file", str(path)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", str(path)) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES // 2**20} MiB: no spec is", str(path))
    try:
        text = data.decode("utf-8-sig")
        bad = data.find(b"\0")
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = data.count(b"\n", 0, bad) + 1
        raise InputError(f"not a text file in UTF-8: byte 0x{data[bad]:02x}", f"{path}:{line}")
    return text


def _near_file(path: Path) -> str | None:
    try:
        names = sorted(p.name for p in path.parent.iterdir() if p.suffix == path.suffix)
    except OSError:
        return None
    return did_you_mean(path.name, names) if len(names) <= 20 else None


class _Reader:
    """Composes the parser's events into nodes; one pass, no constructor, so nothing can be executed."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.anchors: dict[str, Node | None] = {}
        self.count = 0
        self.events: Iterator[events.Event] = iter(())

    def document(self) -> Node:
        """The single document of the text."""
        self.events = iter(YAML(typ="safe", pure=True).parse(self.text))
        try:
            for event in self.events:
                if isinstance(event, events.DocumentStartEvent):
                    root = self._node(next(self.events), 0)
                    self._refuse_more()
                    if root.value is None:
                        break
                    return root
        except MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except YAMLError as error:
            raise self._character_error(error) from None
        raise InputError("the file is empty", f"{self.path}:1")

    def _syntax_error(self, error: MarkedYAMLError) -> InputError:
        """The parser's error on one line; an unclosed bracket also says where it was opened."""
        mark, begin = error.problem_mark or error.context_mark, error.context_mark
        line = min(mark.line + 1, max(1, len(self.text.splitlines()))) if mark else 1
        since = f" from line {begin.line + 1} on" if begin and begin.line + 1 < line else ""
        words = f"{error.context}{since}: {error.problem}" if error.context else str(error.problem)
        return InputError(f"not YAML: {words}", f"{self.path}:{line}")

    def _character_error(self, error: YAMLError) -> InputError:
        """The error of a character that YAML does not allow; ruamel gives its offset only."""
        offset = int(getattr(error, "position", 0) or 0)
        line = self.text.count("\n", 0, offset) + 1
        code = getattr(error, "character", 0)
        character = code if isinstance(code, str) else chr(code)
        return InputError(f"not YAML: character {character!r} is not allowed", f"{self.path}:{line}")

    def _refuse_more(self) -> None:
        for event in self.events:
            if isinstance(event, events.DocumentStartEvent):
                self._refuse(event, "a second document; one file holds one document")

    def _refuse(self, event: events.Event, message: str, hint: str | None = None) -> NoReturn:
        raise InputError(message, self._where(event), hint)

    def _where(self, event: events.Event) -> str:
        return f"{self.path}:{event.start_mark.line + 1}"

    def _node(self, event: Any, depth: int, where: str | None = None) -> Node:
        if depth > MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, events.AliasEvent):
            return self._alias(event, where or self._where(event))
        if event.tag is not None:
            self._refuse(event, f"tag {event.tag!r} is refused: a spec is plain data", "remove the tag")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        first = self.count
        self.count += 1
        if self.count > MAX_VALUES:
            self._refuse(event, f"more than {MAX_VALUES} values: no spec has as many")
        value = self._value(event, depth)
        size = 1 + sum(n.size for n in _children(value))
        if size > MAX_VALUES:
            self._refuse(event, f"more than {MAX_VALUES} values once aliases are expanded")
        node = Node(value, where or self._where(event), first, self.count, size)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, where: str) -> Node:
        if event.anchor not in self.anchors:
            hint = did_you_mean(event.anchor, self.anchors)
            self._refuse(event, f"alias *{event.anchor} has no anchor above it", hint)
        target = self.anchors[event.anchor]
        if target is None:
            self._refuse(event, f"alias *{event.anchor} stands inside its own anchor")
        self.count += 1
        return Node(target.value, where, self.count - 1, self.count, target.size)

    def _value(self, event: Any, depth: int) -> dict[str, Node] | list[Node] | Scalar:
        if isinstance(event, events.MappingStartEvent):
            return self._mapping(depth)
        if isinstance(event, events.SequenceStartEvent):
            entries = []
            while not isinstance(inner := next(self.events), events.SequenceEndEvent):
                entries.append(self._node(inner, depth + 1))
            return entries
        plain = isinstance(event, events.ScalarEvent) and event.style not in ("'", '"', "|", ">")
        try:
            return resolve(event.value) if plain else str(event.value)
        except ValueError:
            self._refuse(event, f"the number {event.value[:20]}... has too many digits")

    def _mapping(self, depth: int) -> dict[str, Node]:
        mapping: dict[str, Node] = {}
        while not isinstance(event := next(self.events), events.MappingEndEvent):
            key = self._node(event, depth + 1)
            if not isinstance(key.value, str):
                self._refuse(event, f"a key must be text, found {shown(key.value)}", _quote_hint(key.value))
            if key.value == "<<":
                self._refuse(event, "merge key '<<' is not YAML 1.2", "write the keys out")
            if key.value in mapping:
                first, second = mapping[key.value].line, key.line
                lines = f"on line {second}" if first == second else f"on lines {first} and {second}"
                self._refuse(event, f"key '{key.value}' is given twice, {lines}")
            mapping[key.value] = self._node(next(self.events), depth + 1, key.where)
        return mapping


_CORE_SCHEMA: tuple[tuple[str, Callable[[str], Scalar]], ...] = (
    (r"|~|null|Null|NULL", lambda _: None),
    (r"true|True|TRUE", lambda _: True),
    (r"false|False|FALSE", lambda _: False),
    (r"[-+]?[0-9]+", int),
    (r"0o[0-7]+", lambda text: int(text[2:], 8)),
    (r"0x[0-9a-fA-F]+", lambda text: int(text[2:], 16)),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda text: float(text.replace(".", ""))),
)
"""YAML 1.2.2, section 10.3.2: what a plain scalar of that form is; any other is text."""


def resolve(text: str) -> Scalar:
    """The value of a plain scalar in the core schema."""
    return next((convert(text) for form, convert in _CORE_SCHEMA if re.fullmatch(form, text)), text)


@dataclass(frozen=True)
class _Fault:
    """One thing wrong; `position` orders faults as the file does."""

    position: float
    node: Node
    message: str
    hint: str | None = None


def validate(model: type[Model], node: Node) -> Model:
    """The node as an instance of `model`; otherwise one `InputError` for the first fault in file order.

    A missing key stands at the end of its mapping in that order, so a misspelt key is reported before the key it was
    meant to be. A key without a value counts as a fault: no model has a use for it.
    """
    faults = [_Fault(n.first, n, f"{dotted(node, path)}: has no value") for n, path in _empty(node, ())]
    instance: Model | None = None
    try:
        instance = model.model_validate(node.plain())
    except pydantic.ValidationError as error:
        faults += [_fault(model, node, detail) for detail in error.errors(include_url=False)]
    if faults or instance is None:
        first = min(faults, key=lambda fault: fault.position)
        raise first.node.error(first.message, first.hint)
    return instance


def dotted(root: Node, path: Sequence[str | int]) -> str:
    """`levels.GLB.capacity_kib`: list entries by their `name`, by their index where they have none."""
    parts = []
    node: Node | None = root
    for key in path:
        node = node.child(key) if node else None
        name = node.child("name") if node and isinstance(key, int) else None
        parts.append(str(name.value) if name else str(key))
    return ".".join(parts) or "file"


def shown(value: object) -> str:
    """A value as a message quotes it."""
    if isinstance(value, dict | list):
        return f"{'a' if value else 'an empty'} {'mapping' if isinstance(value, dict) else 'list'}"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _children(value: object) -> Iterable[Node]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _empty(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[Node, tuple[str | int, ...]]]:
    """Every null inside `node`, with its path."""
    if node.value is None:
        yield node, path
    elif isinstance(node.value, dict):
        for key, inner in node.value.items():
            yield from _empty(inner, (*path, key))
    elif isinstance(node.value, list):
        for index, inner in enumerate(node.value):
            yield from _empty(inner, (*path, index))


def _fault(model: type[pydantic.BaseModel], root: Node, detail: ErrorDetails) -> _Fault:
    """One pydantic error in the words of the file."""
    path, kind = detail["loc"], detail["type"]
    node, field = root.at(*path), dotted(root, path)
    if kind == "missing":
        parent = root.at(*path[:-1])
        return _Fault(parent.last - 0.5, parent, f"{field}: is missing", _meaning(model, path))
    if kind == "extra_forbidden":
        keys = [key for key in _fields(_model_at(model, path[:-1])) if root.at(*path[:-1]).child(key) is None]
        return _Fault(node.first, node, f"{field}: unknown key", did_you_mean(path[-1], keys))
    if kind in _EXPECTED:
        limits = {k: f"{v:.12g}" if isinstance(v, float) else v for k, v in detail.get("ctx", {}).items()}
        expected = _EXPECTED[kind].format(**limits)
        found = str(len(detail["input"])) if kind == "too_long" else shown(detail["input"])
        hint = _quote_hint(detail["input"]) if kind == "string_type" else None
        return _Fault(node.first, node, f"{field}: expected {expected}, found {found}", hint)
    return _Fault(node.first, node, f"{field}: {detail['msg'].removeprefix('Value error, ')}")


_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_type": "a mapping",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_short": "{min_length} or more characters",
    "string_type": "text",
    "too_long": "{max_length} or fewer entries",
    "too_short": "{min_length} or more entries",
}
"""What the file should have said, by the type of the pydantic error."""


def _quote_hint(value: object) -> str | None:
    """How to write a number or truth value that was meant as text."""
    return f'as text, write "{shown(value)}"' if isinstance(value, bool | int | float) else None


def _meaning(model: type[pydantic.BaseModel], path: Sequence[str | int]) -> str | None:
    """The description of a field, if the model gives one."""
    info = _fields(_model_at(model, path[:-1])).get(str(path[-1]))
    return info.description if info else None


def _fields(model: type[pydantic.BaseModel] | None) -> dict[str, FieldInfo]:
    """The fields of a model by the key the file uses."""
    return {info.alias or name: info for name, info in model.model_fields.items()} if model else {}


def _model_at(model: type[pydantic.BaseModel], path: Sequence[str | int]) -> type[pydantic.BaseModel] | None:
    """The model that describes the mapping under `path`."""
    owner: type[pydantic.BaseModel] | None = model
    for key in path:
        if isinstance(key, str) and key in _fields(owner):
            owner = _model_in(_fields(owner)[key].annotation)
    return owner


def _model_in(annotation: object) -> type[pydantic.BaseModel] | None:
    """The model inside `Model | None`, `list[Model]` or `dict[str, Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    found = (_model_in(inner) for inner in get_args(annotation))
    return next((inner for inner in found if inner is not None), None)
