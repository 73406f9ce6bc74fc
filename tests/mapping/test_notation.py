"""The notation of a mapping: one line of text and YAML, both round-trip, errors point at the piece."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapper.errors import InputError, MappingError
from mapper.mapping import LevelLoops, LoopNest, format_nest, nest_from_yaml, nest_to_yaml, parse_nest

EXAMPLE = "DRAM: K4 N8 M8 | GLB: M2 | X: N8 | Y: M4 | RF: K16"

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True)
level_names = names.filter(lambda name: name.upper() not in "XY")
loops = st.lists(st.tuples(names, st.integers(2, 10**6)), max_size=4).map(tuple)
axes = st.lists(st.tuples(names, st.integers(2, 64)), max_size=3, unique_by=lambda loop: loop[0]).map(tuple)
keeps = st.none() | st.frozensets(names, max_size=3)
levels = st.builds(LevelLoops, level_names, loops, axes, axes, keeps)
nests = st.lists(levels, min_size=1, max_size=4, unique_by=lambda level: level.name).map(lambda ls: LoopNest(tuple(ls)))


@given(nests)
def test_text_round_trips(nest: LoopNest) -> None:
    text = format_nest(nest)
    assert parse_nest(text) == nest
    assert str(parse_nest(text)) == text


@given(nests)
def test_yaml_round_trips(tmp_path_factory: pytest.TempPathFactory, nest: LoopNest) -> None:
    path = tmp_path_factory.getbasetemp() / "nest.yaml"
    path.write_text(nest_to_yaml(nest))
    assert nest_from_yaml(path) == nest
    assert nest_to_yaml(nest_from_yaml(path)) == nest_to_yaml(nest)


def test_loops_go_where_they_are_written() -> None:
    nest = parse_nest("DRAM: N4 K8 | GLB[W,O]: C4 P7 | X: K16 | Y: N16 | RF: C2 R3 S3 Q7")
    assert nest.levels == (
        LevelLoops("DRAM", (("N", 4), ("K", 8))),
        LevelLoops("GLB", (("C", 4), ("P", 7)), (("K", 16),), (("N", 16),), frozenset({"W", "O"})),
        LevelLoops("RF", (("C", 2), ("R", 3), ("S", 3), ("Q", 7))),
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (EXAMPLE, EXAMPLE),
        ("  DRAM:K4\n|RF :  ", "DRAM: K4 | RF:"),
        ("DRAM: K1 N4 | RF: K=1 C=3", "DRAM: N4 | RF: C3"),
        ("GLB: | Y: N2 C4 | X: K3 A5", "GLB: | X: A5 K3 | Y: C4 N2"),
        ("GLB: | X: K1 | RF:", "GLB: | RF:"),
        ("GLB: K1=16 K1 = 4 K_16 K007", "GLB: K1=16 K1=4 K_16 K7"),
        ("GLB[ O , dI,W ]: | RF[]:", "GLB[W,O,dI]: | RF[]:"),
        ("L2.spad-0: K2 C2 K2", "L2.spad-0: K2 C2 K2"),
    ],
)
def test_text_has_one_canonical_form(text: str, canonical: str) -> None:
    assert str(parse_nest(text)) == canonical
    assert str(parse_nest(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("", 1, "the mapping is empty", "GLB: K4 C2"),
        ("DRAM", 1, "'DRAM' is not a level", "NAME: loops"),
        ("DRAM: K4 | | RF:", 11, "nothing stands between the bars", "NAME: loops"),
        ("DRAM: K4 |", 11, "nothing stands between the bars", "NAME: loops"),
        ("DRAM: K4 | GLB: K", 17, "'K' is not a loop", "K4 or K1=4"),
        ("DRAM: K-4", 7, "'K-4' is not a loop", "K4 or K1=4"),
        ("DRAM: K2.5", 7, "'K2.5' is not a loop", "K4 or K1=4"),
        ("DRAM: 16", 7, "'16' is not a loop", "K4 or K1=4"),
        ("DRAM: N2 K4,C2", 10, "'K4,C2' is not a loop", "K4 or K1=4"),
        ("DRAM: K4 GLB: C2", 10, "'GLB:' is not a loop", "behind a bar: '|'"),
        ("DRAM: K0", 7, "factor 0 of K is not positive", "leave the loop out"),
        ("DRAM: K" + "9" * 5000, 7, "the factor of K has 5000 digits", "at most 18"),
        ("X: K4", 1, "X has no level on its left", "GLB: K4 | X: N8"),
        ("DRAM: | x: K4", 9, "'x' is not a level", "did you mean 'X:'?"),
        ("DRAM: | X[W]: K4", 9, "X is an axis and keeps nothing", "behind the level's name"),
        ("DRAM: | X: K4 | X: C2", 17, "X of level DRAM stands twice", "in one place"),
        ("DRAM: | X: K4 K2", 9, "K stands twice on X", "multiply its factors"),
        ("DRAM: K4 | DRAM: C2", 12, "level DRAM stands twice", "in one place"),
        ("7: K4", 1, "'7' is not the name of a level", "NAME: loops"),
        ("GLB[W: K4", 1, "'GLB[W: K4' is not a level", "NAME: loops"),
        ("GLB[W,,O]: K4", 7, "'' is not the name of a tensor", "[W,O]"),
        ("GLB[W, W]: K4", 7, "'W' stands twice", "[W,O]"),
    ],
)
def test_bad_text_is_refused_with_column_and_hint(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(MappingError) as caught:
        parse_nest(text)
    first, shown, pointer = str(caught.value).split("\n")
    assert first == f"mapping:{column}: {message}"
    assert shown.startswith("    ")
    assert pointer.startswith(f"    {' ' * (column - 1)}^ ")
    assert hint in pointer


def test_the_error_of_a_long_text_shows_the_place() -> None:
    with pytest.raises(MappingError) as caught:
        parse_nest("DRAM: " + "K2 " * 500 + "oops")
    _, shown, pointer = str(caught.value).split("\n")
    assert len(shown) < 120
    assert shown[pointer.index("^") :] == "oops"


def test_yaml_is_a_list_of_levels() -> None:
    text = nest_to_yaml(parse_nest("DRAM: N4 K1=8 | GLB[W,O]: | X: K16 | null:"))
    assert text.splitlines()[1:] == [
        "levels:",
        "  - name: DRAM",
        "    temporal: [N4, K1=8]",
        "  - name: GLB",
        "    keeps: [W, O]",
        "    x: [K16]",
        '  - name: "null"',
    ]


@pytest.mark.parametrize(
    ("line", "replacement", "number", "message"),
    [
        ("    temporal: [N4]", "    temporal: [N4, K]", 3, "'K' is not a loop"),
        ("    temporal: [N4]", "    temporal: [N4 K2]", 3, "'N4 K2' is not one loop"),
        ("    temporal: [N4]", "    tmporal: [N4]", 3, "did you mean 'temporal'?"),
        ("  - name: GLB", "  - name: DRAM", 4, "level DRAM stands twice"),
        ("  - name: GLB", "  - name: X", 4, "'X' is not a level"),
        ("    keeps: [W]", "    keeps: [W, W]", 5, "'W' stands twice"),
        ("    x: [K16]", "    x: [K16, K2]", 6, "K stands twice on X"),
    ],
)
def test_bad_yaml_is_refused_with_file_and_line(
    tmp_path: Path, line: str, replacement: str, number: int, message: str
) -> None:
    good = "levels:\n  - name: DRAM\n    temporal: [N4]\n  - name: GLB\n    keeps: [W]\n    x: [K16]\n"
    path = tmp_path / "nest.yaml"
    path.write_text(good.replace(line, replacement))
    with pytest.raises(InputError, match=f"nest.yaml:{number}: ") as caught:
        nest_from_yaml(path)
    assert message in str(caught.value)


def test_a_yaml_mapping_without_levels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nest.yaml"
    path.write_text("levels: []\n")
    with pytest.raises(InputError, match="1 or more entries"):
        nest_from_yaml(path)
