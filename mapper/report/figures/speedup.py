"""A figure of gains: how many times fewer cycles and picojoules several results take than the first of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mapper.errors import InputError
from mapper.report.figure_file import GREY
from mapper.report.figures.picks import subject
from mapper.report.figures.style import LEGEND, TINIEST, TINY, bar, finished, legend, legend_in, look, page, shortened
from mapper.report.results import Results
from mapper.report.totals import ALL, BEST
from mapper.workload import Phase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Costs = Mapping[str, tuple[float, float]]
"""(cycles, energy in pJ) by phase."""
Entry = tuple[str, Costs]
"""A result under its label."""

HEIGHT_IN = 2.35
BARS_BESIDE = 24
"""Bars of a panel up to which both panels stand side by side."""
FILLED = 0.82
"""Of the room of a group, by its bars."""
LEAST_ROOM_PT = 6.5
"""Width of a bar that has its value above it."""
_PANELS = (("speedup", "cycles", 0), ("energy saving", "energy", 1))


def partitioning_entries(results: Results) -> tuple[Entry, ...]:
    """The partitionings of a run, and the best one per layer last, with the phases in which no layer misses."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in results.totals:
        phases = found.setdefault(str(row["partitioning"]), {})
        if row["phase"] != ALL and not row["layers_without_mapping"]:
            phases[str(row["phase"])] = float(row["cycles"]), float(row["energy_pj"])  # type: ignore[arg-type]
    return tuple(("best of each layer" if name == BEST else name, costs) for name, costs in found.items())


def draw_partitionings(results: Results, form: str = "svg") -> bytes | None:
    """The partitionings of a run against the first of them; None where there is no other."""
    entries = partitioning_entries(results)
    if len(entries) < 3:
        return None
    return draw_speedup(entries, f"{subject(results)}: partitionings against {entries[0][0]}", form)


def gains(entries: Sequence[Entry], place: int) -> dict[str, list[float | None]]:
    """By phase, then `all`: the first entry's cost over that of each other, None where one of them misses.

    `place` 0: cycles, 1: energy. `all` sums the phases of the first entry, if there are several.
    """
    (_, base), others = entries[0], entries[1:]
    phases = [str(phase) for phase in Phase if phase in base]
    groups = {phase: (phase,) for phase in phases} | ({ALL: tuple(phases)} if len(phases) > 1 else {})
    return {
        name: [_ratio(_cost(base, group, place), _cost(costs, group, place)) for _, costs in others]
        for name, group in groups.items()
    }


def _cost(costs: Costs, phases: Sequence[str], place: int) -> float | None:
    if not all(phase in costs for phase in phases):
        return None
    return math.fsum(costs[phase][place] for phase in phases)


def _ratio(base: float | None, other: float | None) -> float | None:
    return base / other if base and other else None


def draw_speedup(entries: Sequence[Entry], title: str, form: str = "svg") -> bytes | None:
    """The figure as `png`, `svg` or `pdf`; None where there is nothing to compare.

    Raises `InputError` without matplotlib, or where two results have the same label.
    """
    labels = [label for label, _ in entries]
    if len(set(labels)) < len(labels):
        raise InputError(f"two results are called alike: {', '.join(labels)}", hint="give each a label of its own")
    if len(entries) < 2 or not any(
        value for place in (0, 1) for group in gains(entries, place).values() for value in group
    ):
        return None
    beside = len(gains(entries, 0)) * (len(entries) - 1) <= BARS_BESIDE
    with look():
        figure = page((HEIGHT_IN if beside else 2 * HEIGHT_IN - 0.4) + legend_in(labels))
        panels = figure.subplots(*((1, 2) if beside else (2, 1)), squeeze=False).ravel()
        for axes, (what, unit, place) in zip(panels, _PANELS, strict=True):
            drawn = _bars(axes, labels[1:], gains(entries, place), beside)
            drawn[f"{shortened(labels[0], LEGEND - 4)} = 1"] = axes.axhline(1, color="black", linewidth=0.8)
            axes.set_ylabel(f"{what}\n(baseline {unit} / {unit})")
        legend(figure, drawn, title)
        return finished(figure, form)


def _bars(
    axes: Axes, labels: Sequence[str], groups: Mapping[str, Sequence[float | None]], beside: bool
) -> dict[str, Any]:
    """A group of bars per phase, each with its value above."""
    width = FILLED / len(labels)
    room = (205 if beside else 440) / len(groups) * width
    drawn: dict[str, Any] = {}
    for index, label in enumerate(labels):
        places = [group + width * (index - (len(labels) - 1) / 2) for group in range(len(groups))]
        pairs = [(x, values[index]) for x, values in zip(places, groups.values(), strict=True)]
        known = [(x, value) for x, value in pairs if value is not None]
        drawn[label] = axes.bar([x for x, _ in known], [v for _, v in known], 0.9 * width, **bar(index))
        for x, value in known:
            _value(axes, x, value, room)
    axes.set_xticks(range(len(groups)), [name if name != ALL else "all phases" for name in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylim(0, 1.18 * max([1.0, *(value for values in groups.values() for value in values if value)]))
    axes.grid(axis="y", linewidth=0.3, color=GREY, alpha=0.5)
    return drawn


def _value(axes: Axes, x: float, value: float, room: float) -> None:
    """The number above its bar, turned where bars are thin and left out where they are thinner; `room` in points."""
    if room < LEAST_ROOM_PT:
        return
    text, size = _digits(value), TINY if room > 7 else TINIEST
    axes.annotate(
        text,
        (x, value),
        (0, 1.5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=size,
        rotation=0 if room > size * 0.64 * len(text) else 90,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )


def _digits(value: float) -> str:
    """Two digits at least."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
