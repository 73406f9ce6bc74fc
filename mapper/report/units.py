"""Numbers for people: three or four digits and a prefix."""

from __future__ import annotations

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_JOULES = ((1e18, "MJ"), (1e15, "kJ"), (1e12, "J"), (1e9, "mJ"), (1e6, "uJ"), (1e3, "nJ"))
"""Picojoules of each unit, in letters that every terminal has."""


def count(value: float) -> str:
    """`1.234 G`; whole numbers below ten thousand as they are."""
    if value < 10_000:
        return f"{value:,.0f}"
    scale, prefix = next((s, p) for s, p in _PREFIXES if value >= s)
    return f"{_digits(value / scale)} {prefix}"


def energy(picojoules: float) -> str:
    """`12.34 mJ`."""
    scale, unit = joules(picojoules)
    return f"{_digits(picojoules / scale)} {unit}"


def joules(picojoules: float) -> tuple[float, str]:
    """Picojoules of the largest unit of which there is at least one, and its name."""
    return next(((scale, unit) for scale, unit in _JOULES if picojoules >= scale), (1.0, "pJ"))


def percent(share: float | None) -> str:
    """`91.2 %`, or a dash where there is no share."""
    return "-" if share is None else f"{100 * share:.1f} %"


def _digits(value: float) -> str:
    """Four significant digits, or all digits before the point."""
    return f"{value:.{max(0, 3 - len(str(int(value))) + 1)}f}"
