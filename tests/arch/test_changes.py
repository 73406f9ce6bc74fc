"""Changes of an accelerator's file: what an edit by hand gives, and errors at the line that asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mapper import shipped
from mapper.arch import Accelerator, load_arch
from mapper.arch.build import build
from mapper.arch.changes import changed
from mapper.errors import InputError
from mapper.yamlfile import Node, read
from tests.arch.specs import RIGHT, Load, bent

Value = str | int | float | bool

SIDE_BY_SIDE = bent(
    (
        "    capacity_words: 256\n    energy_pj_per_word: {read: 1, write: 1, source: s}\n",
        "    buffers:\n"
        "      - {name: WRF, tensors: [W], capacity_words: 64, energy_pj_per_bit: {read: 1, write: 1, source: s}}\n"
        "      - {name: ARF, tensors: [I, O], capacity_words: 64, energy_pj_per_bit: {read: 1, write: 1, source: s}}\n",
    )
)


def given(text: str, changes: Mapping[str, Value]) -> Accelerator:
    Path("g.yaml").write_text(text, encoding="utf-8")
    return load_arch(Path("g.yaml"), changes)


@pytest.mark.parametrize(
    ("changes", "edits"),
    [
        ({}, []),
        ({"array": "7x3"}, [("x: 14, y: 12", "x: 7, y: 3")]),
        ({"GLB.array": "7x3"}, [("x: 14, y: 12", "x: 7, y: 3")]),
        ({"GLB.fanout.x": 7}, [("x: 14", "x: 7")]),
        ({"GLB.capacity_kib": 32.5}, [("capacity_kib: 64", "capacity_kib: 32.5")]),
        ({"GLB.capacity_words": 100}, [("capacity_kib: 64", "capacity_words: 100")]),
        ({"GLB.capacity": "unlimited"}, [("capacity_kib: 64", "capacity: unlimited")]),
        ({"DRAM.capacity_kib": 512}, [("capacity: unlimited", "capacity_kib: 512")]),
        ({"GLB.bandwidth_words_per_cycle.read": 4}, [("{read: 16", "{read: 4")]),
        ({"GLB.bandwidth": "unlimited"}, [("bandwidth_words_per_cycle: {read: 16, write: 8}", "bandwidth: unlimited")]),
        (
            {"RF.bandwidth_bits_per_cycle.read": 64},
            [("capacity_words: 256", "capacity_words: 256\n    bandwidth_bits_per_cycle: {read: 64}")],
        ),
        ({"GLB.energy_pj_per_word.read": 5.5}, [("read: 6", "read: 5.5")]),
        ({"RF.energy_pj_per_word.drain": 3}, [("{read: 1, write: 1,", "{read: 1, write: 1, drain: 3,")]),
        ({"bits.W": 8}, [("default: 16", "default: 16, W: 8")]),
        ({"bits.default": 8, "bits.partial_sum": 16}, [("16, partial_sum: 32", "8, partial_sum: 16")]),
        ({"clock_ghz": 0.5}, [("clock_ghz: 1.0", "clock_ghz: 0.5")]),
        ({"technology_nm": 7}, [("name: right", "name: right\ntechnology_nm: 7")]),
        ({"name": "left"}, [("name: right", "name: left")]),
        ({"compute.energy_pj": 2}, [("energy_pj: 1, source", "energy_pj: 2, source")]),
        ({"MAC.area_um2": 9}, [("compute: {", "compute: {area_um2: 9, ")]),
        ({"GLB.double_buffered": True}, [("capacity_kib: 64", "capacity_kib: 64\n    double_buffered: true")]),
        (
            {"GLB.capacity_kib": 32, "GLB.area_um2": 5, "array": "2x2"},
            [("capacity_kib: 64", "capacity_kib: 32\n    area_um2: 5"), ("x: 14, y: 12", "x: 2, y: 2")],
        ),
    ],
)
def test_a_change_is_what_an_edit_of_the_file_is(
    load: Load, changes: dict[str, Value], edits: list[tuple[str, str]]
) -> None:
    assert given(RIGHT, changes) == load(bent(*edits))


@pytest.mark.parametrize(
    ("changes", "edits"),
    [
        ({"array": "8x4"}, [("      x: 16\n      y: 16\n", "      x: 8\n      y: 4\n")]),
        (
            {"GLB.capacity_kib": 96, "GLB.energy_pj_per_word.read": 9.5, "MAC.energy_pj": 30},
            [
                ("capacity_kib: 128", "capacity_kib: 96"),
                ("read: 11.1", "read: 9.5"),
                ("  energy_pj: 32.3\n  s", "  energy_pj: 30\n  s"),
            ],
        ),
        (
            {"GLB.capacity_words": 1000, "bits.W": 16, "zeros.balance": "none", "zeros.overhead.energy": 0},
            [
                *(("capacity_kib: 128", "capacity_words: 1000"), ("{default: 32,", "{default: 32, W: 16,")),
                *(("balance: half_tile", "balance: none"), ("energy: 0.11", "energy: 0")),
            ],
        ),
    ],
)
def test_a_shipped_accelerator_changed_is_its_file_edited(
    load: Load, changes: dict[str, Value], edits: list[tuple[str, str]]
) -> None:
    text = shipped.find("arch_specs", "procrustes").read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert load_arch("procrustes", changes) == load(text) != load_arch("procrustes")


def test_an_array_takes_what_only_checks_the_lanes_with_it(load: Load) -> None:
    text = bent(
        ("{x: 14, y: 12}", "{x: 14, y: 12, pes: 168, multicast: {x: true, y: false}}"),
        ("  - name: RF\n", "  - name: RF\n    instances: 168\n"),
        ("compute: {", "compute: {instances: 168, "),
    )
    found = given(text, {"array": "3x2"})
    assert found == load(bent(("{x: 14, y: 12}", "{x: 3, y: 2, multicast: {x: true, y: false}}")))
    assert found.pes == 6
    with pytest.raises(InputError, match=r"g.yaml:12: levels.GLB.fanout.pes: 168, but x \* y is 7 \* 12"):
        given(text, {"GLB.fanout.x": 7})


def test_a_buffer_side_by_side_goes_by_its_own_name(load: Load) -> None:
    assert given(SIDE_BY_SIDE, {"ARF.capacity_bits": 512, "WRF.area_um2": 3}) == load(
        SIDE_BY_SIDE.replace("[W], ", "[W], area_um2: 3, ").replace(
            "[I, O], capacity_words: 64", "[I, O], capacity_bits: 512"
        )
    )


def test_each_of_two_fan_outs_goes_by_its_level(load: Load) -> None:
    text = bent(("unlimited\n", "unlimited\n    fanout: {x: 2}\n"))
    assert given(text, {"GLB.array": "7x3", "DRAM.array": "1x4"}).pes == 84
    with pytest.raises(InputError) as caught:
        given(text, {"array": "7x3"})
    assert caught.value.message == "array: the file has 2 fan-outs"
    assert caught.value.hint == "one of: DRAM.array, GLB.array"
    flat = bent(("    fanout: {x: 14, y: 12}\n", ""))
    with pytest.raises(InputError) as caught:
        given(flat, {"array": "7x3"})
    assert (caught.value.message, caught.value.hint) == (
        "array: the file has no fan-outs",
        "one of: DRAM.array, GLB.array, RF.array",
    )
    assert given(RIGHT, {"DRAM.array": "3x1"}) == load(bent(("unlimited\n", "unlimited\n    fanout: {x: 3, y: 1}\n")))


def test_the_file_that_is_changed_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RIGHT, encoding="utf-8")
    root = read(tmp_path / "a.yaml")
    before = build(root)
    assert build(changed(root, {"array": Node("2x2", "x:1"), "GLB.capacity_kib": Node(1, "x:2")})) != before
    assert build(root) == before


@pytest.mark.parametrize(
    ("key", "value", "message", "hint"),
    [
        ("GBL.capacity_kib", 3, "GBL.capacity_kib: neither a level nor a key of an accelerator", "did you mean 'GLB'?"),
        ("clock", 3, "clock: neither a level nor a key of an accelerator", "did you mean 'clock_ghz'?"),
        ("aray", "2x2", "aray: neither a level nor a key of an accelerator", "did you mean 'array'?"),
        ("", 3, ": neither a level nor a key of an accelerator", "one of: array, MAC, DRAM, GLB, RF, name, "),
        ("GLB", 3, "GLB: a level; which key of it?", "GLB.capacity_kib"),
        ("GLB.capacity_kb", 3, "levels.GLB.capacity_kb: unknown key", "did you mean 'capacity"),
        ("levels.GLB.capacity_kib", 3, "levels.GLB.capacity_kib: a key of a level goes by", "GLB.capacity_kib"),
        ("levels", 3, "levels: expected a list, found 3", None),
        ("GLB.capacity_kib.x", 3, "x: there is no key in 64", None),
        ("GLB.", 3, "levels.GLB.: unknown key", "one of: "),
        ("bits.Q", 8, "bits.Q: unknown key", "one of: "),
        ("bits.W", "eight", "bits.W: expected a whole number, found 'eight'", None),
        ("bits.W", 0, "bits.W: expected 1 or more, found 0", None),
        ("GLB.capacity_kib", -1, "levels.GLB.capacity_kib: expected more than 0, found -1", None),
        ("GLB.capacity_kib", float("nan"), "levels.GLB.capacity_kib: expected a finite number, found nan", None),
        ("GLB.capacity_kib", float("inf"), "levels.GLB.capacity_kib: expected a finite number, found inf", None),
        ("GLB.capacity_kib", True, "levels.GLB.capacity_kib: expected a number, found true", None),
        ("GLB.capacity", "limited", "levels.GLB.capacity: expected 'unlimited', found 'limited'", None),
        ("GLB.energy_pj_per_bit.read", 1, "levels.GLB.energy_pj_per_bit.write: is missing", "fills and updates"),
        ("array", "big", "array: expected lanes of X and Y, found 'big'", "16x16"),
        ("array", 16, "array: expected lanes of X and Y, found 16", "16x16"),
        ("array", "8x", "array: expected lanes of X and Y, found '8x'", "16x16"),
        ("array", "-8x8", "array: expected lanes of X and Y, found '-8x8'", "16x16"),
        ("array", "00x2", "levels.GLB.fanout.x: expected 1 or more, found 0", None),
        ("array", "2x65537", "levels.GLB.fanout.y: expected 65536 or less, found 65537", None),
        ("array", "9" * 5000 + "x2", "array: expected lanes of X and Y, found '999", "16x16"),
        ("GBL.array", "2x2", "GBL.array: neither a level nor a key of an accelerator", "did you mean 'GLB'?"),
        ("name", "a b", "name: expected text of the form", None),
    ],
)
def test_what_cannot_be_changed_is_said_at_the_line_that_gives_it(
    tmp_path: Path, key: str, value: Value, message: str, hint: str | None
) -> None:
    (tmp_path / "a.yaml").write_text(RIGHT, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        build(changed(read(tmp_path / "a.yaml"), {key: Node(value, "sweep.yaml:7")}))
    assert caught.value.where == "sweep.yaml:7"
    assert caught.value.message.startswith(message)
    assert (caught.value.hint or "").startswith(hint or "")


@pytest.mark.parametrize("value", [None, [8], {"default": 8}, 3 + 4j])
def test_a_change_in_python_is_one_value(value: object) -> None:
    with pytest.raises(InputError, match="is not a value of 'bits'"):
        load_arch("procrustes", {"bits": value})  # type: ignore[dict-item]


@pytest.mark.usefixtures("load")
def test_an_accelerator_without_names_says_what_it_lacks() -> None:
    with pytest.raises(InputError, match=r"levels.1.name: is missing"):
        given(RIGHT.replace("  - name: GLB\n    capacity_kib", "  - capacity_kib"), {"RF.capacity_words": 8})
