"""A figure of balancing, one page wide: which PE hands a half tile to which, and where a word must go because of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mapper.interconnect.exchange import PE, Exchange
from mapper.interconnect.reach import Destination, destinations
from mapper.report.figure_file import BLUE, GREY, ORANGE, saved, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 7.0
"""Width of a page's text."""
AROUND_IN = 0.95
"""Height of titles, labels and the legend."""
DPI = 150
SIDE = 0.64
"""Of the square that stands for a PE; the squares' centres are 1 apart."""
BOW, HIGHEST = 0.14, (0.45, 1.3)
"""Height of the bow of an arrow along a row or a column: a share of its length, up to a limit, the second one where its
words are followed."""
PALE, LIGHT = "#9ecae1", "#c4c4c4"
"""A fill and a line that stay behind in grey as well."""
HOLDS: dict[str, Any] = {"edgecolor": BLUE, "linewidth": 1.5}
OTHERS: dict[str, Any] = {"edgecolor": GREY, "linewidth": 0.5}
ARROW: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 2, "clip_on": False}
ARROWS: tuple[dict[str, Any], ...] = (
    {"color": LIGHT, "linewidth": 0.4, "mutation_scale": 3, "zorder": 2},
    {"color": ORANGE, "linewidth": 0.9, "mutation_scale": 5, "zorder": 3},
)
"""Halves of other PEs, and of those whose words are followed."""


@dataclass(frozen=True)
class Panel:
    """One exchange under a `title`, and the tensor whose words it follows."""

    title: str
    exchange: Exchange
    tensor: str


def draw(panels: Sequence[Panel], working_set: int = 0, form: str = "png") -> bytes:
    """The figure as `png`, `svg` or `pdf`, panels side by side, of one working set.

    Squares are PEs, the first row on top. Of the words of the tensor those are followed that go to most PEs after
    balancing, the first of them. Raises `InputError` without matplotlib, or where there is no such working set.
    """
    tall = max(one.exchange.rows / one.exchange.columns for one in panels)
    with styled():
        from matplotlib.figure import Figure

        figure = Figure((WIDTH_IN, AROUND_IN + tall * WIDTH_IN / len(panels)), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _panel(axes, panel, working_set)
        _legend(figure)
        return saved(figure, form, DPI)


def _panel(axes: Axes, panel: Panel, working_set: int) -> None:
    exchange = panel.exchange
    tensor = exchange.einsum.tensor(panel.tensor)
    words = max(destinations(exchange, tensor, working_set), key=lambda one: len(one.after))
    _pes(axes, exchange, words)
    _arrows(axes, exchange, words, working_set)
    axes.set_title(f"{panel.title}\n{_told(panel.tensor, words)}", fontsize=7)
    axes.set_xlabel(f"column ({_along(exchange, 'x')})")
    axes.set_ylabel(f"row ({_along(exchange, 'y')})")
    axes.set_aspect("equal")
    axes.set_xlim(-0.9, exchange.columns - 0.1)
    axes.set_ylim(exchange.rows - 0.1, -1.6)
    axes.set_xticks(range(0, exchange.columns, max(exchange.columns // 4, 1)))
    axes.set_yticks(range(0, exchange.rows, max(exchange.rows // 4, 1)))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _told(tensor: str, words: Destination) -> str:
    """How many PEs, rows and columns the words go to."""
    before, after = (
        f"{len(pes)} PEs in {_number(len({y for _, y in pes}), 'row')}, {_number(len({x for x, _ in pes}), 'column')}"
        for pes in (words.before, words.after)
    )
    return f"a word of {tensor}: {before};\nafter balancing {after}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _along(exchange: Exchange, axis: str) -> str:
    """Dimensions that are spread along an axis."""
    return ", ".join(name for name, spread in exchange.spread.items() if getattr(spread, axis).any())


def _pes(axes: Axes, exchange: Exchange, words: Destination) -> None:
    from matplotlib.patches import Rectangle

    for x in range(exchange.columns):
        for y in range(exchange.rows):
            edge = HOLDS if (x, y) in words.before else OTHERS
            fill = PALE if (x, y) in words.after else "white"
            corner = x - SIDE / 2, y - SIDE / 2
            axes.add_patch(Rectangle(corner, SIDE, SIDE, facecolor=fill, zorder=1, **edge))


def _arrows(axes: Axes, exchange: Exchange, words: Destination, working_set: int) -> None:
    """From the owner of each half to the PE that works on it; those of the words that are followed lie on top."""
    from matplotlib.patches import FancyArrowPatch

    for pair in exchange.pairs(working_set):
        for half in pair.received:
            followed = half.owner in words.before
            bow = f"arc3,rad={_bow(half.owner, pair.pe, HIGHEST[followed])}"
            axes.add_patch(FancyArrowPatch(half.owner, pair.pe, connectionstyle=bow, **ARROW, **ARROWS[followed]))


def _bow(start: PE, end: PE, highest: float) -> float:
    """Control point beside the middle of an arrow, in lengths of it: twice the bow. Arrows across are straight."""
    across, down = abs(start[0] - end[0]), abs(start[1] - end[1])
    return 0.0 if across and down else 2 * min(BOW, highest / (across + down))


def _legend(figure: Figure) -> None:
    """Below the panels, where it hides nothing."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(facecolor="white", **HOLDS, label="needs the word before balancing"),
            Patch(facecolor=PALE, **OTHERS, label="needs it after"),
            Line2D([], [], color=ORANGE, linewidth=0.9, marker=">", markersize=3, label="half tile of such a PE"),
            Line2D([], [], color=LIGHT, linewidth=0.8, marker=">", markersize=3, label="half tile of another"),
        ],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        columnspacing=1.5,
    )
