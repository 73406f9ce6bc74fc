"""A figure of rooflines: per layer and phase, work per bit of the outermost memory against work per cycle.

Bits are those that pass the ports of the outermost level, reads and updates. Work is effectual multiply-accumulates,
so that zeros that are skipped lift no point above the roof.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.report.figure_file import GREY
from mapper.report.figures.labels import name_points
from mapper.report.figures.picks import choice_text, number, phases, picks, subject
from mapper.report.figures.style import finished, legend, log_ticks, look, page, phase_title, ring, shortened
from mapper.report.results import Results
from mapper.report.totals import BEST

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

HEIGHT_IN = 3.4
NAMED = 6
"""Points with a name: those farthest below the roof that have room for it."""
BELOW = 0.9
"""Share of the roof that points with a name stay below."""
LEAST_RANGE = 20
"""Of the vertical axis, below the roof."""

_KEY = ("layer", "phase", "part", "partitioning")


@dataclass(frozen=True)
class Memory:
    """The outermost level: its buffers, and the bits per cycle of all their ports; None where one has no limit."""

    name: str
    buffers: frozenset[str]
    bandwidth: float | None


@dataclass(frozen=True)
class Point:
    """A layer in a phase: effectual multiply-accumulates per bit and per cycle."""

    layer: str
    phase: str
    per_bit: float
    per_cycle: float


def outermost(limits: Mapping[str, Any]) -> Memory:
    """The outermost level of an accelerator."""
    level = limits["levels"][0]
    ports = [_bandwidth(buffer["bandwidth_bits_per_cycle"]) for buffer in level["buffers"]]
    limited = None if any(port is None for port in ports) else math.fsum(port or 0.0 for port in ports)
    names = frozenset(str(buffer["name"]) for buffer in level["buffers"])
    return Memory(str(level["name"]), names, limited and limited * int(level.get("instances", 1)))


def _bandwidth(ports: Mapping[str, float]) -> float | None:
    """Bits per cycle of a buffer in both directions; None where one direction is not limited."""
    both = ports["read"] + ports["write"] if "read" in ports and "write" in ports else math.inf
    found = min(ports.get("shared", math.inf), both)
    return None if math.isinf(found) else found


def points(results: Results, choice: str = BEST) -> tuple[Point, ...]:
    """Of every layer and phase that is complete under a choice and moves a bit."""
    memory = outermost(results.limits)
    bits: dict[tuple[object, ...], float] = defaultdict(float)
    for row in results.breakdown:
        if row["rank"] == 1 and row["component"] in memory.buffers and row["action"] in ("reads", "updates"):
            bits[tuple(row[column] for column in _KEY)] += number(row, "bits")
    found = []
    for (layer, phase), pick in picks(results, choice).items():
        moved = math.fsum(bits[tuple(row[column] for column in _KEY)] for row in pick.rows)
        macs, cycles = pick.sum("effectual_macs"), pick.sum("cycles")
        if moved and cycles and macs:
            found.append(Point(layer, phase, macs / moved, macs / cycles))
    return tuple(found)


def draw_roofline(results: Results, choice: str = BEST, form: str = "svg") -> bytes | None:
    """The figure for one choice of partitionings, as `png`, `svg` or `pdf`; None where it has no point, or the run does
    not say what the accelerator is limited by. Raises `InputError` without matplotlib."""
    if not results.limits.get("levels") or "compute" not in results.limits:
        return None
    found, memory, units = points(results, choice), outermost(results.limits), int(results.limits["compute"]["units"])
    if not found:
        return None
    with look():
        figure = page(HEIGHT_IN)
        axes = figure.subplots()
        drawn = _points(axes, found, phases(results))
        drawn |= _roof(axes, found, memory, units)
        none = "" if memory.bandwidth else " (no bandwidth limit given)"
        axes.set_xlabel(f"effectual MACs per bit moved at {memory.name}{none}")
        axes.set_ylabel("effectual MACs per cycle")
        axes.grid(which="major", linewidth=0.3, color=GREY, alpha=0.5)
        legend(figure, drawn, f"{subject(results)}: roofline, {choice_text(choice, results)}")
        name_points(figure, axes, _names(found, memory, units), _obstacles(axes, found), NAMED)
        return finished(figure, form)


def _names(found: Sequence[Point], memory: Memory, units: int) -> list[tuple[tuple[float, float], str]]:
    """Of the points farthest below the roof; of those in one spot the first, and how many more there are."""
    several = len({point.phase for point in found}) > 1
    spots: dict[tuple[float, float], list[Point]] = defaultdict(list)
    for point in sorted(found, key=lambda p: p.per_cycle / _limit(p, memory, units)):
        if point.per_cycle > BELOW * _limit(point, memory, units):
            break
        spots[float(f"{point.per_bit:.2g}"), float(f"{point.per_cycle:.2g}")].append(point)
    return [
        (
            (first.per_bit, first.per_cycle),
            shortened(first.layer) + f" {first.phase}" * several + (f" & {len(rest)} more" if rest else ""),
        )
        for first, *rest in spots.values()
    ]


def _obstacles(axes: Axes, found: Iterable[Point]) -> list[tuple[float, float]]:
    """What names keep away from: the points, and spots along the lines."""
    lines = [line.get_xydata() for line in axes.lines if line.get_linestyle() != "None"]
    along = [10 ** np.linspace(start, end, 120) for start, end in (np.log10(np.asarray(ends)) for ends in lines)]
    return [(p.per_bit, p.per_cycle) for p in found] + [(x, y) for spots in along for x, y in spots.tolist()]


def _limit(point: Point, memory: Memory, units: int) -> float:
    """Where the roof is above a point."""
    return min(float(units), point.per_bit * memory.bandwidth) if memory.bandwidth else float(units)


def _points(axes: Axes, found: Iterable[Point], shown: Sequence[str]) -> dict[str, Artist]:
    drawn: dict[str, Artist] = {}
    for index, phase in enumerate(shown):
        mine = [(point.per_bit, point.per_cycle) for point in found if point.phase == phase]
        if mine:
            (drawn[phase_title(phase)],) = axes.loglog(*zip(*mine, strict=True), zorder=3, **ring(index, 4.4))
    return drawn


def _roof(axes: Axes, found: Sequence[Point], memory: Memory, units: int) -> dict[str, Artist]:
    """The compute roof, and the slope of the bandwidth where there is one."""
    low, high = min(p.per_bit for p in found) / 1.6, max(p.per_bit for p in found) * 1.6
    bottom = min(min(p.per_cycle for p in found) / 1.6, units / LEAST_RANGE)
    drawn: dict[str, Artist] = {}
    ridge = low
    if memory.bandwidth:
        ridge = units / memory.bandwidth
        low, high = min(low, ridge / 2), max(high, ridge * 2)
        (slope,) = axes.plot([low, ridge], [low * memory.bandwidth, units], color="black", linewidth=1, linestyle="--")
        drawn[f"{memory.name}: {memory.bandwidth:,.4g} bits per cycle"] = slope
    (roof,) = axes.plot([ridge, high], [units, units], color="black", linewidth=1)
    axes.set_xlim(low, high)
    axes.set_ylim(bottom, 1.6 * units)
    log_ticks(axes.xaxis, low, high)
    log_ticks(axes.yaxis, bottom, units)
    return {f"compute: {units:,} MACs per cycle": roof} | drawn
