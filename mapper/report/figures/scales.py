"""Units that keep the numbers along an axis short."""

from __future__ import annotations

_JOULES = ((1e18, "MJ"), (1e15, "kJ"), (1e12, "J"), (1e9, "mJ"), (1e6, "µJ"), (1e3, "nJ"))
_CYCLES = ((1e12, "10¹² cycles"), (1e9, "10⁹ cycles"), (1e6, "10⁶ cycles"), (1e3, "10³ cycles"))


def joules(largest_pj: float) -> tuple[float, str]:
    """Picojoules of the unit that leaves the largest value at least 1, and its name."""
    return next(((scale, unit) for scale, unit in _JOULES if largest_pj >= scale), (1.0, "pJ"))


def cycles(largest: float) -> tuple[float, str]:
    """The same of cycles."""
    return next(((scale, unit) for scale, unit in _CYCLES if largest >= scale), (1.0, "cycles"))


def prefix(largest: float) -> tuple[float, str]:
    """The same of plain counts: `10⁶ ` stands before what is counted."""
    scale, name = cycles(largest)
    return scale, name.removesuffix("cycles")
