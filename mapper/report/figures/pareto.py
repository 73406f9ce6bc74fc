"""A figure of designs or mappings: energy against cycles, the front among them as a line."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.report.figure_file import GREY
from mapper.report.figures.labels import name_points
from mapper.report.figures.scales import cycles as cycles_scale
from mapper.report.figures.scales import joules
from mapper.report.figures.style import COLOURS, finished, legend, log_ticks, look, page, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT_IN = 3.4
LEAST_PT2, MOST_PT2 = 10.0, 70.0
"""Areas of the markers of the smallest and the largest design."""
WIDE = 12
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
NAMED = 14
OPEN: Mapping[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.7}


@dataclass(frozen=True)
class Design:
    """A point: a design or a mapping; `area_um2` None where it is not known."""

    label: str
    cycles: float
    energy_pj: float
    area_um2: float | None = None
    on_front: bool = False


def draw_pareto(designs: Sequence[Design], title: str, form: str = "svg") -> bytes | None:
    """The figure as `png`, `svg` or `pdf`; None without designs. Markers grow with the area where all areas are known.

    Raises `InputError` without matplotlib.
    """
    if not designs:
        return None
    per_cycle, cycle_unit = cycles_scale(max(one.cycles for one in designs))
    per_joule, joule_unit = joules(max(one.energy_pj for one in designs))
    spots = np.array([(one.cycles / per_cycle, one.energy_pj / per_joule) for one in designs])
    front = sorted((i for i, one in enumerate(designs) if one.on_front), key=lambda i: (*spots[i], designs[i].label))
    with look():
        figure = page(HEIGHT_IN)
        axes = figure.subplots()
        drawn = _points(axes, designs, spots, front)
        _ends(axes, spots)
        axes.set_xlabel(f"latency ({cycle_unit})")
        axes.set_ylabel(f"energy ({joule_unit})")
        axes.grid(linewidth=0.3, color=GREY, alpha=0.5)
        legend(figure, drawn, title)
        named = [((float(spots[i, 0]), float(spots[i, 1])), shortened(designs[i].label)) for i in front]
        name_points(figure, axes, named, _obstacles(spots, front), NAMED)
        return finished(figure, form)


def _points(axes: Axes, designs: Sequence[Design], spots: Any, front: Sequence[int]) -> dict[str, Any]:
    """Markers of all, those of the front filled, and the line that nothing lies below."""
    sizes = _sizes(designs)
    others = [i for i in range(len(designs)) if i not in set(front)]
    drawn: dict[str, Any] = {}
    if front:
        with_area = " with area" if all(one.area_um2 for one in designs) else ""
        drawn[f"Pareto front{with_area}"] = axes.scatter(
            spots[front, 0], spots[front, 1], s=sizes[front], color=COLOURS[0], zorder=3, linewidths=0
        )
        axes.step(*spots[_line(spots, front)].T, where="post", color=COLOURS[0], linewidth=0.9, zorder=2)
    if others:
        drawn["dominated"] = axes.scatter(
            spots[others, 0], spots[others, 1], s=sizes[others], zorder=1, **(dict(OPEN) | {"edgecolors": GREY})
        )
    return drawn | _areas(axes, designs)


def _line(spots: Any, front: Sequence[int]) -> list[int]:
    """Those of the front that no other has less energy than in as few cycles: others are on it for their area."""
    line: list[int] = []
    for i in front:
        if not line or spots[i, 1] < spots[line[-1], 1]:
            line.append(i)
    return line


def _obstacles(spots: Any, front: Sequence[int]) -> list[tuple[float, float]]:
    """What names keep away from: the points, and spots along the falls of the line."""
    falls = [(spots[after], spots[before]) for before, after in itertools.pairwise(_line(spots, front))]
    along = [(float(low[0]), float(y)) for low, high in falls for y in np.linspace(low[1], high[1], 40)]
    return [(float(x), float(y)) for x, y in spots] + along


def _sizes(designs: Sequence[Design]) -> Any:
    areas = np.array([one.area_um2 or 0.0 for one in designs])
    if not areas.all():
        return np.full(len(designs), 16.0)
    return np.maximum(LEAST_PT2, MOST_PT2 * areas / areas.max())


def _areas(axes: Axes, designs: Sequence[Design]) -> dict[str, Any]:
    """Entries of the legend for the smallest and the largest area."""
    sizes = _sizes(designs)
    known = {one.area_um2: size for one, size in zip(designs, sizes, strict=True) if one.area_um2}
    if len(known) < 2 or len({one.area_um2 is None for one in designs}) > 1:
        return {}
    ends = (min(known), max(known))
    return {f"{area / 1e6:.3g} mm²": axes.scatter([], [], s=known[area], **OPEN) for area in ends}


def _ends(axes: Axes, spots: Any) -> None:
    """Room around all points, on a logarithmic axis where values are far apart."""
    for values, axis, scale, limits in (
        (spots[:, 0], axes.xaxis, axes.set_xscale, axes.set_xlim),
        (spots[:, 1], axes.yaxis, axes.set_yscale, axes.set_ylim),
    ):
        low, high = float(values.min()), float(values.max())
        if low > 0 and high > WIDE * low:
            scale("log")
            limits(low / 1.3, high * 1.3)
            log_ticks(axis, low, high)
        else:
            room = 0.08 * (high - low) or 0.1 * high or 1.0
            limits(max(0.0, low - room), high + room)
