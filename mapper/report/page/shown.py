"""Numbers as a cell shows them: thousands marked, four to six significant digits, one unit for a whole column.

What is rounded away stays on the page: a cell carries its exact value beside the shown one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median_low

Number = int | float
Form = Callable[[Number], str]
"""How a number is shown."""

DIGITS = 5
"""Significant digits of what is measured."""
_LARGEST, _SMALLEST = 1e7, 1e-3
"""Outside these a measured number is shown as a power of ten; a count only from `_COUNTED` on."""
_COUNTED = 10**12


def count(value: Number) -> str:
    """An integer in full, `1,234,567`; from a million millions on `1.2345e12`. An expectation has a fraction."""
    if isinstance(value, int) and abs(value) < _COUNTED:
        return f"{value:,}"
    return measure(value)


def measure(value: Number) -> str:
    """Five significant digits: `1,234.6`, `0.012346`, `1.2346e18`; zero is `0`."""
    if value == 0:
        return "0"
    size = abs(value)
    shown = f"{value:.{DIGITS - 1}e}"
    if not _SMALLEST <= size < _LARGEST:
        mantissa, _, exponent = shown.partition("e")
        return f"{mantissa}e{int(exponent)}"
    places = DIGITS - 1 - int(shown.partition("e")[2])
    return f"{value:,.{max(places, 0)}f}"


def power(value: Number) -> str:
    """Always a power of ten, for columns that span many: `2.5014e16`; zero is `0`."""
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{DIGITS - 1}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def percent(value: Number) -> str:
    """A share in hundredths, two places; below one percent four significant digits: `87.64`, `0.06123`."""
    share = 100 * value
    if share == 0:
        return "0"
    return f"{share:.2f}" if abs(share) >= 1 else f"{share:.4g}"


def given(value: Number) -> str:
    """What a person wrote, six digits and no more zeros than needed: `0.346875`, `8`."""
    return f"{value:,.6g}"


def capacity(bits: int) -> str:
    """`128 KiB`, `30 bits`: the largest unit that leaves a whole number, if any does."""
    for scale, unit in ((2**23, "MiB"), (2**13, "KiB"), (8, "B")):
        if bits >= scale and bits % scale == 0:
            return f"{bits // scale:,} {unit}"
    return f"{bits:,} bits"


def counted(value: int, noun: str, several: str | None = None) -> str:
    """`1 layer`, `1,660 mappings`."""
    return f"{value:,} {noun if value == 1 else several or noun + 's'}"


def ratio(value: Number) -> str:
    """Four places: `1.5069`."""
    return f"{value:,.4f}"


@dataclass(frozen=True)
class Unit:
    """What a column is shown in: `scale` of the table's own unit make one."""

    name: str
    scale: float

    @property
    def form(self) -> Form:
        """How a value in the table's own unit is shown."""
        return partial(_scaled, self.scale)


ENERGIES = (Unit("pJ", 1.0), Unit("nJ", 1e3), Unit("µJ", 1e6), Unit("mJ", 1e9), Unit("J", 1e12))


def energy_unit(picojoules: Iterable[Number]) -> Unit:
    """The largest unit in which half of the values are at least 1."""
    positive = [value for value in picojoules if value > 0]
    middle = median_low(positive) if positive else 0.0
    return next((unit for unit in reversed(ENERGIES) if middle >= unit.scale), ENERGIES[0])


def _scaled(scale: float, value: Number) -> str:
    return measure(value / scale)
