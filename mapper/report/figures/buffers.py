"""A figure of buffer sizes: energy by component against the size of a buffer, a panel per series."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mapper.report.figure_file import GREY
from mapper.report.figures.scales import joules
from mapper.report.figures.style import TINY, bar, finished, legend, look, page, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series = Mapping[str, Sequence[tuple[float, Mapping[str, float]]]]
"""By label: (size in KiB, energy in pJ by component)."""

LETTERS = 130
"""Of the ticks of a panel as wide as the page; more are turned."""
ROW_IN, BESIDE = 2.1, 3
"""Height of a row of panels, and how many stand side by side."""


def draw_buffers(series: Series, buffer: str, title: str, form: str = "svg") -> bytes | None:
    """Stacked bars over a size axis in powers of two, as `png`, `svg` or `pdf`; None where nothing was measured.

    A triangle marks the size with the least energy. `buffer` is the name that the axis calls it by. Raises
    `InputError` without matplotlib.
    """
    shown = {label: sorted(sizes, key=lambda one: one[0]) for label, sizes in series.items() if sizes}
    totals = [math.fsum(by.values()) for sizes in shown.values() for _, by in sizes]
    if not any(totals):
        return None
    names = tuple(
        name
        for name in dict.fromkeys(name for sizes in shown.values() for _, by in sizes for name in by)
        if any(by.get(name) for sizes in shown.values() for _, by in sizes)
    )
    scale, unit = joules(max(totals))
    with look():
        columns = min(BESIDE, len(shown))
        rows = math.ceil(len(shown) / columns)
        figure = page(0.4 + ROW_IN * rows)
        panels = list(figure.subplots(rows, columns, sharey=True, squeeze=False).ravel())
        for axes, (label, sizes) in zip(panels, shown.items(), strict=False):
            drawn = _bars(axes, sizes, names, scale, 1 / columns, max(totals) / scale)
            axes.set_title(wrapped(label, 7.5, 6.2 / columns))
            axes.set_xlabel(f"size of {buffer} (KiB)")
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
        for axes in panels[::columns]:
            axes.set_ylabel(f"energy ({unit})")
        panels[0].set_ylim(0, 1.12 * max(totals) / scale)
        legend(figure, drawn, title)
        return finished(figure, form)


def _bars(
    axes: Axes,
    sizes: Sequence[tuple[float, Mapping[str, float]]],
    components: Sequence[str],
    scale: float,
    share: float,
    tallest: float,
) -> dict[str, Any]:
    """A stack per size; `share` of the page's width is the panel's, `tallest` a stack of any panel."""
    places = [math.log2(size) for size, _ in sizes]
    gaps = [after - before for before, after in itertools.pairwise(places) if after > before]
    width = 0.72 * min([1.0, *gaps])
    bottoms = [0.0] * len(sizes)
    drawn: dict[str, Any] = {}
    for index, name in enumerate(components):
        heights = [by.get(name, 0.0) / scale for _, by in sizes]
        drawn[name] = axes.bar(places, heights, width, bottom=bottoms, **bar(index))
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    least = min(range(len(sizes)), key=lambda i: bottoms[i])
    (drawn["least energy"],) = axes.plot(
        places[least], bottoms[least] + 0.045 * tallest, marker="v", markersize=4, color="black", linestyle=""
    )
    names = [f"{size:.6g}" for size, _ in sizes]
    turned = sum(map(len, names)) + 2 * len(names) > LETTERS * share
    axes.set_xticks(places, names, fontsize=TINY, rotation=90 if turned else 0)
    axes.set_xlim(places[0] - 0.75, places[-1] + 0.75)
    axes.grid(axis="y", linewidth=0.3, color=GREY, alpha=0.5)
    return drawn
