"""A figure of masks, one page wide: how full each layer is, and how differently its filters are filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mapper.report.figure_file import BLUE, GREY, ORANGE, saved, styled
from mapper.sparsity.stats import LayerStats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN = 7.2
"""Width of a page's text."""
ROW_IN, AROUND_IN = 0.155, 1.15
"""Height of a layer, and of everything else."""
DPI = 200
_LABEL = 26
"""Characters of a layer's name that fit beside its bar."""


def draw(stats: Sequence[LayerStats], title: str, form: str = "png") -> bytes:
    """The figure as `png`, `svg` or `pdf`. Raises `InputError` without matplotlib."""
    with styled("--figure", axes__spines__top=False, axes__spines__right=False):
        from matplotlib.figure import Figure

        figure = Figure((WIDTH_IN, AROUND_IN + ROW_IN * max(len(stats), 3)), layout="constrained")
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        _densities(left, stats)
        _filters(right, stats)
        left.set_xlim(0, 1.05 * (max(float(one.filters.max()) for one in stats) or 1.0))
        figure.suptitle(title, fontsize=8, wrap=True)
        return saved(figure, form, DPI)


def _densities(axes: Axes, stats: Sequence[LayerStats]) -> None:
    """A bar per layer and a line at the network's density."""
    places = np.arange(len(stats))
    size = sum(one.size * one.repeat for one in stats)
    whole = sum(one.nonzeros * one.repeat for one in stats) / size
    axes.barh(places, [one.density for one in stats], height=0.72, color=BLUE)
    axes.axvline(whole, color=ORANGE, linewidth=1, linestyle="--", label=f"network {whole:.3g}")
    axes.set_yticks(places, [_label(one.name) for one in stats], fontsize=6)
    axes.set_ylim(len(stats) - 0.4, -0.6)
    axes.set_xlabel("density of the layer (nonzeros / weights)")
    axes.tick_params(axis="y", length=0)
    _legend(axes)


def _filters(axes: Axes, stats: Sequence[LayerStats]) -> None:
    """The range of filter densities, a thick line over the middle half, a dot at the median."""
    places = np.arange(len(stats))
    lows, firsts, middles, lasts, highs = np.array(
        [np.percentile(one.filters, (0, 25, 50, 75, 100)) for one in stats]
    ).T
    axes.hlines(places, lows, highs, color=GREY, linewidth=0.8, label="least to most")
    axes.hlines(places, firsts, lasts, color=BLUE, linewidth=3.2, label="middle half")
    axes.plot(middles, places, linestyle="", marker="o", markersize=2.4, color=ORANGE, label="median")
    axes.set_xlabel("density of its filters (output channels)")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", linewidth=0.3, color=GREY, alpha=0.35)
    _legend(axes)


def _legend(axes: Axes) -> None:
    """Above the panel, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=6.5, borderaxespad=0.2)


def _label(name: str) -> str:
    """A name that leaves room for its bar: the end of a long one, which tells layers apart."""
    return name if len(name) <= _LABEL else f"..{name[2 - _LABEL :]}"
