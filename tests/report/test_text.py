"""Numbers and columns for people."""

from __future__ import annotations

import pytest

from mapper.report import units
from mapper.report.grid import clip, grid


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9_999, "9,999"), (10_000, "10.00 k"), (1_814_073_344, "1.814 G"), (10**20, "100.0 E")],
)
def test_counts_are_read_at_a_glance(value: int, text: str) -> None:
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("picojoules", "text"), [(0.0, "0.000 pJ"), (12.5, "12.50 pJ"), (1.5e6, "1.500 uJ"), (1.234e10, "12.34 mJ")]
)
def test_energies_carry_a_unit_that_suits_them(picojoules: float, text: str) -> None:
    assert units.energy(picojoules) == text


def test_no_share_is_a_dash() -> None:
    assert (units.percent(0.9123), units.percent(None)) == ("91.2 %", "-")


def test_names_stand_left_and_numbers_right() -> None:
    assert grid([["layer", "cycles"], ["a", "1"]]) == ["layer  cycles", "a           1"]


def test_a_long_name_does_not_widen_the_line() -> None:
    lines = grid([["layer", "cycles"], ["x" * 200, "1" * 20]], width=60)
    assert [len(line) for line in lines] == [60, 60]
    assert lines[1] == "x" * 36 + ".." + "  " + "1" * 20
    assert clip("short", 5) == "short"
