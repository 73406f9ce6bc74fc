"""Units that keep the numbers along an axis short."""

from __future__ import annotations

from mapper.report import units

_CYCLES = ((1e12, "10¹² cycles"), (1e9, "10⁹ cycles"), (1e6, "10⁶ cycles"), (1e3, "10³ cycles"))


def joules(largest_pj: float) -> tuple[float, str]:
    """Picojoules of the unit that leaves the largest value at least 1, and its name."""
    scale, unit = units.joules(largest_pj)
    return scale, unit.replace("u", "µ")


def cycles(largest: float) -> tuple[float, str]:
    """The same of cycles."""
    return next(((scale, unit) for scale, unit in _CYCLES if largest >= scale), (1.0, "cycles"))


def prefix(largest: float) -> tuple[float, str]:
    """The same of plain counts: `10⁶ ` stands before what is counted."""
    scale, name = cycles(largest)
    return scale, name.removesuffix("cycles")
