"""Constraints as text and as a file: both read to the same, and whatever is wrong is one line with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapper.errors import InputError
from mapper.search.constraint_file import load_constraints
from mapper.search.constraint_text import constraints_from, parse_constraints
from mapper.search.constraints import UNCONSTRAINED

FILE = """\
constraints:
  - name: GLB
    temporal: [C<=8, P=7, "N=1,2,4"]
    x: [K=16]
    y: [N>=2]
    order: [N, K]
  - name: RF
    temporal:
      - K1=2..4
      - C4
    keeps: [W, dO]
    bypasses: [I]
min_utilization: 0.85
"""

TEXTS = (
    "GLB: C<=8 P=7 N=1,2,4 | X: K=16 | Y: N>=2 | order: N K",
    "RF: K1=2..4 C4 | keeps: W, dO | bypasses: I",
    "min_utilization: 0.85",
)


def write(folder: Path, text: str) -> Path:
    path = folder / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_text_and_file_read_to_equal_constraints(tmp_path: Path) -> None:
    from_file = load_constraints(write(tmp_path, FILE))
    assert from_file == parse_constraints(*TEXTS) == parse_constraints(" | ".join(TEXTS))
    assert {limit.body: limit.sources[0].rpartition(":")[2] for limit in from_file.limits} == {
        "C<=8": "3",
        "N=1,2,4": "3",
        "P=7": "3",
        "K=16": "4",
        "N>=2": "5",
        "K1=2..4": "9",
        "C=4": "10",
    }


def test_what_python_gives_may_be_a_file_or_text_or_both(tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    assert constraints_from(str(path)) == constraints_from(path) == parse_constraints(*TEXTS)
    assert constraints_from([path, "DRAM: C=2"]) == parse_constraints(*TEXTS, "DRAM: C=2")
    assert constraints_from([]) == constraints_from(UNCONSTRAINED) == UNCONSTRAINED


def test_the_text_of_a_mapping_reads_as_fixed_factors() -> None:
    assert parse_constraints("DRAM: N4 K8 | GLB: | X: K16 | Y: N16 | RF: C2 K1=3") == parse_constraints(
        "RF: K1=3 C=2", "GLB Y: N = 16", "GLB X: K =16", "DRAM: K8 N=4"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a constraint (write GLB: C<=8 K=16, "),
        ("GLB:", "nothing is constrained (write GLB: C<=8 K=16, "),
        ("GLB C<=8", "'GLB C<=8' is not a constraint (write GLB: "),
        ("c.yaml", "'c.yaml' is not a constraint (--constraints reads a file)"),
        (": C<=8", "'' is not a level, an axis or min_utilization"),
        ("GLB X Y: C<=8", "'GLB X Y' is not a level, an axis or min_utilization"),
        ("X: C<=8", "'X' has no level on its left (write GLB X: ...)"),
        ("min_utilization: 0.5 | order: C", "'order' has no level on its left (write GLB order: ...)"),
        ("GLB x: C<=8", "'x' is nothing of level GLB that can be constrained (did you mean 'X'?)"),
        ("GLB keep: W", "'keep' is nothing of level GLB that can be constrained (did you mean 'keeps'?)"),
        ("GLB[W]: C<=8", "'GLB[W]' is not the name of a level (write GLB keeps: W)"),
        ("9: C<=8", "'9' is not the name of a level"),
        ("GLB: C<8", "'C<8' is not a factor of a dimension (write C<=7)"),
        ("GLB: C>8", "'C>8' is not a factor of a dimension (write C>=9)"),
        ("GLB: C=8.5", "'C=8.5' is not a factor of a dimension (write C=4, C<=8, C>=2, C=2..8 or C=1,2,4)"),
        ("GLB: C<=2,4", "'C<=2,4' is not a factor of a dimension"),
        ("GLB: C=1, 2", "'C=1,' is not a factor of a dimension"),
        ("GLB: K4 X: C8", "'X:' is not a factor of a dimension (a part starts behind a bar: '|')"),
        ("GLB: C=8..2", "C=8..2 holds no factor (write C=2..8)"),
        ("GLB: C=0", "factor 0 of C is not positive (1 stands for no loop)"),
        (f"GLB: C{'9' * 19}", "a factor of C has 19 digits (at most 18)"),
        ("GLB order:", "a dimension is missing behind the colon (such as N K)"),
        ("GLB order: N K N", "N stands twice (name it once)"),
        ("GLB keeps: W,2", "'2' is not the name of a tensor (names between spaces, such as W)"),
        ("min_utilization: 85%", "min_utilization: '85%' is not a number (write 0.85 for 85 %)"),
        ("min_utilization: 85", "min_utilization: 85 is not between 0 and 1 (write 0.85 for 85 %)"),
        ("min_utilization: -0.1", "min_utilization: -0.1 is not between 0 and 1"),
        ("min_utilization: nan", "min_utilization: nan is not between 0 and 1"),
        ("GLB: C=4 C>=8", "GLB: C>=8 contradicts GLB: C=4"),
        ("GLB keeps: W | bypasses: W", "GLB bypasses: W contradicts GLB keeps: W"),
    ],
)
def test_text_that_says_nothing_valid_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_constraints(text)
    assert str(caught.value).startswith(f"constraints '{text}': {message}")


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("GLB: C=4", "GLB: C>=8", "GLB: C>=8 contradicts GLB: C=4"),
        ("GLB X: C=4", "GLB: | X: C<=3", "GLB X: C<=3 contradicts GLB X: C=4"),
        ("GLB: C=1,4", "GLB: C=2,3", "GLB: C=2..3 contradicts GLB: C=1,4"),
        ("GLB order: N K", "GLB order: K N", "GLB order: K N contradicts GLB order: N K"),
        ("GLB order: N K", "GLB order: N P", "GLB order: N P contradicts GLB order: N K"),
        ("GLB keeps: W", "GLB bypasses: W", "GLB bypasses: W contradicts GLB keeps: W"),
        ("min_utilization: 0.5", "min_utilization: 0.6", "min_utilization: 0.6 contradicts min_utilization: 0.5"),
    ],
)
def test_of_two_that_contradict_both_are_named(one: str, other: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_constraints("RF: C=2", one, other, option="--constrain")
    assert str(caught.value) == f"--constrain '{other}': {message} (--constrain '{one}')"


def test_the_one_that_contradicts_is_named_among_several() -> None:
    with pytest.raises(InputError) as caught:
        parse_constraints("GLB: C<=8", "GLB: C>=2", "GLB: C=1")
    assert str(caught.value) == "constraints 'GLB: C=1': GLB: C=1 contradicts GLB: C>=2 (constraints 'GLB: C>=2')"


def test_all_are_named_where_only_together_they_leave_nothing() -> None:
    with pytest.raises(InputError) as caught:
        parse_constraints("GLB: C<=8", "GLB: C>=2", "GLB: C=1,16")
    assert str(caught.value) == (
        "constraints 'GLB: C=1,16': GLB: C=1,16 contradicts GLB: C<=8 (constraints 'GLB: C<=8') "
        "and GLB: C>=2 (constraints 'GLB: C>=2')"
    )


def test_of_two_prefixes_the_longer_says_what_the_shorter_says() -> None:
    assert parse_constraints("GLB order: N K", "GLB order: N") == parse_constraints("GLB order: N K")
    assert parse_constraints("GLB order: N", "GLB order: N K").prefix("GLB") == ("N", "K")


def test_a_long_text_is_cut_where_it_is_quoted() -> None:
    with pytest.raises(InputError) as caught:
        parse_constraints(f"GLB: {'C<=8 ' * 40}!")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("constraints:\n  - name: GLB\n    temporl: [C=4]\n", 3, "unknown key (did you mean 'temporal'?)"),
        ("constraints:\n  - temporal: [C=4]\n", 2, "constraints.0.name: is missing"),
        ("constraints:\n  - name: GLB\n    temporal: C=4\n", 3, "expected a list, found 'C=4'"),
        (
            "constraints:\n  - name: GLB\n    temporal: [C=1,2,4]\n",
            3,
            'constraints.GLB.temporal: 2 is not a factor of a dimension (a list of factors is quoted: "C=1,2,4")',
        ),
        ("constraints:\n  - name: GLB\n    x:\n      - K=16\n      - C~2\n", 5, "'C~2' is not a factor of a dimension"),
        ("constraints:\n  - name: GLB\n    x: [K=16 C=2]\n", 3, "'K=16 C=2' is not the factor of one dimension"),
        ("constraints:\n  - name: GLB\n    order: []\n", 3, "expected 1 or more entries, found an empty list"),
        ("constraints:\n  - name: GLB X\n    order: [K]\n", 2, "'GLB X' is not the name of a level"),
        ("constraints:\n  - name: GLB\n    keeps: [W, 2W]\n", 3, "'2W' is not the name of a tensor"),
        ("min_utilization: 85\n", 1, "min_utilization: 85.0 is not between 0 and 1 (write 0.85 for 85 %)"),
        ("min_utilization: high\n", 1, "min_utilization: expected a number, found 'high'"),
        ("min_utilization:\n", 1, "min_utilization: has no value"),
        ("constraint: []\n", 1, "constraint: unknown key (did you mean 'constraints'?)"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_constraints(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_lines_of_a_file_that_contradict_are_both_named(tmp_path: Path) -> None:
    path = write(tmp_path, FILE.replace("- C4", "- C4\n      - C>=8"))
    with pytest.raises(InputError) as caught:
        load_constraints(path)
    assert str(caught.value) == f"{path}:11: RF: C>=8 contradicts RF: C=4 ({path}:10)"
