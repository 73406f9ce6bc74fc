"""A figure of utilization: a row per layer, a marker per partitioning, a panel per phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mapper.report.figure_file import GREY
from mapper.report.figures.picks import Pick, Place, layers, partitionings, phases, picks, subject
from mapper.report.figures.style import absent, dot, finished, layer_panels, legend, look, phase_title
from mapper.report.results import Results

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST = 8
"""Partitionings that can be told apart."""
LOW = 30
"""Percent below which the axis ends earlier, so that layers can be told apart."""
SPREAD = 0.4
"""Of a row, for markers of the same value side by side."""

Shares = Mapping[Place, float]


def utilizations(results: Results, partitioning: str) -> dict[Place, float]:
    """Effectual multiply-accumulates per cycle and compute unit of every layer and phase, its parts together."""
    units = int(results.limits["compute"]["units"])
    return {place: _utilization(pick, units) for place, pick in picks(results, partitioning).items()}


def _utilization(pick: Pick, units: int) -> float:
    cycles = pick.sum("cycles")
    return pick.sum("effectual_macs") / (cycles * units) if cycles else 0.0


def draw_utilization(results: Results, form: str = "svg") -> bytes | None:
    """The figure as `png`, `svg` or `pdf`; None where nothing is complete, or the compute units are not known.

    Of more partitionings than can be told apart the ones with the highest mean are shown. Raises `InputError` without
    matplotlib.
    """
    if "compute" not in results.limits:
        return None
    every = {name: utilizations(results, name) for name in partitionings(results)}
    every = {name: found for name, found in every.items() if found}
    if not every:
        return None
    kept = sorted(every, key=lambda name: -sum(every[name].values()))[:MOST]
    shown = {name: found for name, found in every.items() if name in kept}
    names = layers(results)
    highest = 100 * max(share for found in shown.values() for share in found.values())
    end = 103 if highest > LOW else 1.15 * highest or 1
    with look():
        figure, panels = layer_panels(names, [phase_title(p) for p in phases(results)], list(shown))
        for axes, phase in zip(panels, phases(results), strict=True):
            drawn = _markers(axes, names, phase, shown)
            axes.set_xlabel("utilization (%)")
            axes.set_xlim(0, end)
        some = f", the best {MOST} of {len(every)} partitionings" if len(every) > MOST else ""
        legend(figure, drawn, f"{subject(results)}: utilization per layer{some}")
        return finished(figure, form)


def _markers(axes: Axes, names: Sequence[str], phase: str, shown: Mapping[str, Shares]) -> Mapping[str, Artist]:
    """A line from the lowest to the highest, or from zero to the only one, and the partitionings on it."""
    drawn: dict[str, Artist] = {}
    values = {name: [one[name, phase] for one in shown.values() if (name, phase) in one] for name in names}
    there = [place for place, name in enumerate(names) if values[name]]
    ends = [(min(values[names[place]]) if len(shown) > 1 else 0.0, max(values[names[place]])) for place in there]
    axes.hlines(there, [100 * low for low, _ in ends], [100 * high for _, high in ends], color=GREY, linewidth=0.6)
    for index, (label, found) in enumerate(shown.items()):
        offset = SPREAD * (index - (len(shown) - 1) / 2) / max(len(shown) - 1, 1)
        rows = [place for place, name in enumerate(names) if (name, phase) in found]
        shares = [100 * found[names[place], phase] for place in rows]
        (drawn[label],) = axes.plot(shares, [row + offset for row in rows], clip_on=False, **dot(index, 2.9))
    axes.grid(axis="x", linewidth=0.3, color=GREY, alpha=0.5)
    absent(axes, [place for place, name in enumerate(names) if not values[name]])
    return drawn
