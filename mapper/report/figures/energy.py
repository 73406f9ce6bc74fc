"""A figure of energy: a bar per layer, stacked by what takes the energy, a panel per phase."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.report.figures.picks import Pick, Place, choice_text, layers, phases, picks, repeats, subject
from mapper.report.figures.scales import joules
from mapper.report.figures.style import absent, bar, bars_in_rows, finished, layer_panels, legend, look, phase_title
from mapper.report.results import Results
from mapper.report.totals import BEST
from mapper.search.rows import energy_components

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROWEST = 0.36
"""Width of the narrowest panel, a share of the widest."""


def components(results: Results) -> tuple[str, ...]:
    """What takes energy in a run, in the order of its columns; what never does is left out."""
    columns = energy_components(results.mappings[0] if results.mappings else ())
    return tuple(name for name, column in columns.items() if any(row[column] for row in results.mappings))


def draw_energy(results: Results, choice: str = BEST, form: str = "svg") -> bytes | None:
    """The figure for one choice of partitionings, as `png`, `svg` or `pdf`; None where it has no mapping.

    Bars count every repeat of a layer. Raises `InputError` without matplotlib.
    """
    found, shown = picks(results, choice), components(results)
    if not found or not shown:
        return None
    names, many = layers(results), repeats(results)
    scale, unit = joules(max(pick.repeat * pick.sum("energy_pj") for pick in found.values()))
    with look():
        from matplotlib.ticker import MultipleLocator

        titles = [phase_title(phase) for phase in phases(results)]
        labels = [f"{name} x{many[name]}" if many[name] > 1 else name for name in names]
        longest = _longest(found, phases(results), scale)
        figure, panels = layer_panels(labels, titles, shown, longest)
        for axes, phase, end in zip(panels, phases(results), longest, strict=True):
            drawn = _bars(axes, [found.get((name, phase)) for name in names], shown, scale)
            axes.set_xlabel(f"energy{' x repeats' if max(many.values()) > 1 else ''} ({unit})")
            axes.set_xlim(0, end)
            axes.xaxis.set_major_locator(MultipleLocator(_step(max(longest))))
        legend(figure, drawn, f"{subject(results)}: energy per layer, {choice_text(choice, results)}")
        return finished(figure, form)


def _longest(found: Mapping[Place, Pick], shown: Sequence[str], scale: float) -> list[float]:
    """Where the axis of each phase ends: an inch is the same energy in all of them."""
    ends = [
        max((pick.repeat * pick.sum("energy_pj") for (_, of), pick in found.items() if of == phase), default=0.0)
        for phase in shown
    ]
    return [1.03 * max(end, NARROWEST * max(ends)) / scale for end in ends]


def _step(end: float) -> float:
    """A round distance between some four ticks."""
    power = 10.0 ** math.floor(math.log10(end / 4))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= end / 4.5)


def _bars(axes: Axes, rows: Sequence[Pick | None], shown: Sequence[str], scale: float) -> Mapping[str, Any]:
    """A stack per row, the first component at the axis."""
    places = [place for place, row in enumerate(rows) if row]
    lefts = np.zeros(len(places))
    drawn: dict[str, Any] = {}
    for index, name in enumerate(shown):
        values = np.array([row.repeat * row.sum(f"energy_{name}_pj") / scale for row in rows if row])
        drawn[name] = bars_in_rows(axes, places, lefts, values, **bar(index))
        lefts += values
    absent(axes, [place for place, row in enumerate(rows) if not row])
    return drawn
