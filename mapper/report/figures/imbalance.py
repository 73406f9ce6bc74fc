"""A figure of imbalance: how much longer than on average the busiest PE of a working set works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.cost import Evaluation
from mapper.report.figure_file import GREY
from mapper.report.figures.style import DASHES, bar, colour, finished, legend, look, page
from mapper.sparsity.balance import cut_place, imbalance
from mapper.sparsity.model import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT_IN = 2.5
BINS = 36
FILLED = 2
"""Entries whose bars are filled: outlines of more can be told apart."""

Entry = tuple[str, Floats]
"""Busiest PE / mean PE of every working set, under a label."""


def imbalance_entries(evaluation: Evaluation) -> tuple[Entry, ...]:
    """Before balancing, and after where the hardware balances this mapping; none where zeros save no cycles."""
    found = evaluation.imbalance
    if found is None or found.density is None or found.work is None:
        return ()
    before = imbalance(found.density, found.work, "none", seed=found.seed)
    if found.balance != "ideal" and cut_place(found.work, found.balance) is None:
        return (("no balancing", before.distribution),)
    after = (f"after balancing ({found.balance})", found.distribution)
    return (("before balancing", before.distribution), after)


def draw_imbalance(entries: Sequence[Entry], title: str, form: str = "svg") -> bytes | None:
    """A histogram and a cumulative distribution of all entries, as `png`, `svg` or `pdf`.

    None where there is no entry, or no set in which a PE waits. Raises `InputError` without matplotlib.
    """
    if not entries or max(float(values.max()) for _, values in entries) <= 1.0:
        return None
    with look():
        figure = page(HEIGHT_IN)
        left, right = figure.subplots(1, 2, sharex=True)
        drawn = _histogram(left, entries)
        _cumulative(right, entries)
        for axes in (left, right):
            axes.set_xlabel("busiest PE / mean PE of a working set")
        left.set_ylabel("working sets (%)")
        right.set_ylabel("working sets up to that (%)")
        told = [f"{name}: mean {v.mean():.3g}, most {v.max():.3g}" for name, v in entries]
        legend(figure, dict(zip(told, drawn, strict=True)), title)
        return finished(figure, form)


def _histogram(axes: Axes, entries: Sequence[Entry]) -> list[Any]:
    from matplotlib.lines import Line2D

    high = max(float(values.max()) for _, values in entries)
    edges = np.linspace(1.0, high, BINS + 1)
    drawn: list[Any] = []
    for index, (_, values) in enumerate(entries):
        # Rounding may leave an even set a little below 1.
        counts, _ = np.histogram(np.clip(values, 1.0, high), edges)
        shares, dashes = 100 * counts / len(values), DASHES[index % len(DASHES)]
        outline = axes.stairs(shares, edges, color=colour(index), linewidth=0.8, linestyle=dashes)
        if len(entries) > FILLED:
            drawn.append(Line2D([], [], color=colour(index), linewidth=1.2, linestyle=dashes))
        else:
            outline.set_linestyle("-")
            filled = bar(index) | {"alpha": 0.75}
            drawn.append(axes.bar(edges[:-1], shares, np.diff(edges), align="edge", **filled))
    return drawn


def _cumulative(axes: Axes, entries: Sequence[Entry]) -> None:
    for index, (_, values) in enumerate(entries):
        ordered = np.sort(values)
        shares = 100 * np.arange(1, len(ordered) + 1) / len(ordered)
        x, y = _thinned(np.concatenate([ordered[:1], ordered]), np.concatenate([[0.0], shares]))
        axes.step(x, y, where="post", color=colour(index), linestyle=DASHES[index % len(DASHES)], linewidth=1.2)
    axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    axes.set_ylim(0, 102)
    axes.grid(linewidth=0.3, color=GREY, alpha=0.5)


def _thinned(x: Floats, y: Floats, most: int = 600) -> tuple[Floats, Floats]:
    """So many steps at most: more cannot be seen."""
    some = np.unique(np.linspace(0, len(x) - 1, most).astype(np.int64))
    return x[some], y[some]
