"""The look that the figures of reports share: size, colours, hatches, markers, rows of layers, legends, names.

Figures are a page wide and read at print size. Colours are told apart by every kind of colour vision; hatches, markers
and dashes say the same in grey. Text in an SVG stays text.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapper.report.figure_file import GREY, saved, styled
from mapper.report.totals import ALL
from mapper.workload.phase import TITLES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch

WIDTH_IN = 7.2
"""Width of a page's text."""
DPI = 200
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#4d4d4d")
"""Okabe and Ito's, in an order that puts dark beside light."""
HATCHES = ("", "/////", "xxxx", "||||", "\\\\\\\\\\", "----", "++++", "////")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":")
TITLE, SMALL, TINY, TINIEST = 8.0, 6.5, 6.0, 5.2
"""Sizes of text, in points."""
PHASES = {**{str(phase): f"{title} ({phase})" for phase, title in TITLES.items()}, ALL: "all phases"}

LABEL = 26
"""Characters of a layer's name that fit beside its bars."""
LEGEND = 60
"""Characters of a name that fit into a legend."""
ROW_IN, LEAST_ROW_IN, ROWS_IN = 0.155, 0.1, 7.6
"""Height of a layer; the least, where many would not fit on a page; the height they should fit."""
BAR = 0.76
"""Height of a bar, in rows."""
LINE_IN = 0.14
"""Height of a row of a legend."""
_LETTER_PT, _HANDLE_PT = 0.56, 30
"""Width of a letter, as a share of its size, and of what stands before an entry of a legend."""
_UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@contextmanager
def look(**settings: Any) -> Iterator[None]:
    """Settings of all figures of reports. Raises `InputError` without matplotlib."""
    common: dict[str, Any] = {
        "axes__spines__top": False,
        "axes__spines__right": False,
        "axes__axisbelow": True,
        "axes__titlesize": 7.5,
        "axes__linewidth": 0.6,
        "xtick__major__width": 0.6,
        "ytick__major__width": 0.6,
        "hatch__linewidth": 0.35,
        "font__family": "sans-serif",
        "font__sans-serif": ["DejaVu Sans"],
        "svg__fonttype": "none",
        # Names are text: a dollar in one begins no formula.
        "text__parse_math": False,
    }
    with styled(**(common | settings)):
        yield


def page(height: float, gap: float = 0.04) -> Figure:
    """An empty figure, so many inches high; `gap` between panels, as a share of their width."""
    from matplotlib.figure import Figure

    figure = Figure((WIDTH_IN, height))
    figure.set_layout_engine("constrained", wspace=gap, hspace=0.04)
    return figure


def finished(figure: Figure, form: str) -> bytes:
    """The file, as `png`, `svg` or `pdf`."""
    return saved(figure, form, DPI)


def colour(index: int) -> str:
    """The colour of the entry at a place of a legend."""
    return COLOURS[index % len(COLOURS)]


def bar(index: int) -> dict[str, Any]:
    """How the bars of an entry are filled; after the last colour the same ones come with another hatch."""
    hatch = HATCHES[(index + index // len(COLOURS)) % len(HATCHES)]
    return {"facecolor": colour(index), "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def dot(index: int, size: float = 3.4) -> dict[str, Any]:
    """How the points of an entry are drawn."""
    turn = index + index // len(MARKERS)
    return {
        "marker": MARKERS[turn % len(MARKERS)],
        "markersize": size,
        "markerfacecolor": colour(index),
        "markeredgecolor": "white",
        "markeredgewidth": 0.3,
        "linestyle": "",
    }


def ring(index: int, size: float) -> dict[str, Any]:
    """The same without a filling: points in one spot can be seen all."""
    open_one = {"markerfacecolor": "none", "markeredgecolor": colour(index), "markeredgewidth": 0.9}
    return dot(index, size) | open_one


def drawable(text: str) -> str:
    """`text` without what no drawing may hold: control characters, and halves of a character."""
    return _UNDRAWABLE.sub("\ufffd", text)


def shortened(name: str, most: int = LABEL) -> str:
    """A name that leaves room: the end of a long one, which tells layers apart."""
    name = drawable(name)
    return name if len(name) <= most else f"..{name[2 - most :]}"


def phase_title(phase: str) -> str:
    """What a phase is called in full."""
    return PHASES.get(phase, phase)


def wrapped(text: str, size: float = TITLE, width: float = WIDTH_IN) -> str:
    """Lines that fit into so many inches."""
    return textwrap.fill(drawable(text), max(int(width * 72 / (size * _LETTER_PT)), 20))


def log_ticks(axis: Axis, low: float, high: float) -> None:
    """Plain numbers along a logarithmic axis: 1, 2, 5, 10 over few decades, powers of ten over more."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    few = high < 2000 * low
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def row_height(rows: int) -> float:
    """Inches of a row."""
    return min(ROW_IN, max(LEAST_ROW_IN, ROWS_IN / rows))


def layer_panels(
    names: Sequence[str], titles: Sequence[str], entries: Sequence[str], widths: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Panels side by side with a row per layer, the first on top; a row is 1 high.

    `entries` are those of the legend; `widths` of the panels are equal where they are not given.
    """
    row = row_height(len(names))
    figure = page(0.95 + legend_in(entries) + row * max(len(names), 2))
    ratios = {"width_ratios": list(widths)} if widths else {}
    panels = list(figure.subplots(1, len(titles), sharey=True, squeeze=False, gridspec_kw=ratios)[0])
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title)
        axes.tick_params(axis="y", length=0)
    labels = [shortened(name) for name in names]
    panels[0].set_yticks(range(len(names)), labels, fontsize=TINY if row > 0.12 else TINIEST)
    middle, half = (len(names) - 1) / 2, max(len(names), 2) / 2 + 0.1
    panels[0].set_ylim(middle + half, middle - half)
    return figure, panels


def bars_in_rows(
    axes: Axes, places: Sequence[int], starts: NDArray[Any], lengths: NDArray[Any], **filled: Any
) -> PathPatch:
    """Bars of one kind in the rows at `places`, as one shape: a file with many bars stays small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rows, ends = np.asarray(places, dtype=float), starts + lengths
    top, bottom = rows - BAR / 2, rows + BAR / 2
    corners = np.array([(starts, top), (ends, top), (ends, bottom), (starts, bottom), (starts, top)])
    shapes = corners.transpose(2, 0, 1)[lengths > 0]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(shapes)
    patch = PathPatch(Path(shapes.reshape(-1, 2), codes), **filled)
    axes.add_patch(patch)
    return patch


def absent(axes: Axes, places: Sequence[int]) -> None:
    """Marks rows that have nothing to show: no zero, but no mapping."""
    for place in places:
        axes.text(0.01, place, "none", transform=axes.get_yaxis_transform(), va="center", color=GREY, fontsize=TINY)


def legend(figure: Figure, entries: Mapping[str, Artist], title: str) -> None:
    """Above the panels, where it hides nothing: the title, and below it what the signs mean."""
    drawn = figure.legend(
        list(entries.values()),
        [shortened(name, LEGEND) for name in entries],
        loc="outside upper center",
        ncols=len(_columns(list(entries))),
        title=wrapped(title),
        title_fontsize=TITLE,
        frameon=False,
        fontsize=SMALL,
        columnspacing=1.2,
        handlelength=1.6,
        handleheight=0.9,
        borderaxespad=0.1,
        borderpad=0.2,
    )
    drawn.get_title().set_multialignment("center")


def legend_in(entries: Sequence[str]) -> float:
    """Inches that a legend takes beyond its first row."""
    return LINE_IN * (len(_columns(entries)[0]) - 1)


def _columns(entries: Sequence[str]) -> list[list[str]]:
    """Entries of a legend column by column, in as few rows as the page has room for."""
    names = [shortened(name, LEGEND) for name in entries] or [""]
    for rows in range(1, len(names) + 1):
        columns = [names[start : start + rows] for start in range(0, len(names), rows)]
        letters = sum(max(map(len, column)) for column in columns)
        if letters * SMALL * _LETTER_PT + len(columns) * _HANDLE_PT <= WIDTH_IN * 72:
            return columns
    return [names]
