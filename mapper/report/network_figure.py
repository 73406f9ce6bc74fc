"""A figure of a network, one page wide: the array of PEs and the links that words load, a panel per flow.

Colours are told apart by every kind of colour vision, dashes in grey. A line is as wide as the square root of its
words, on one scale for all panels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

from mapper.cost.network import COLLECTED, RETURNED
from mapper.report import units
from mapper.report.figure_file import BLUE, GREY, ORANGE, saved, styled
from mapper.report.network_lines import Line, Plan, feeding, lines
from mapper.report.network_text import facts, moving
from mapper.report.network_view import NetworkView, Travel

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 7.0
"""Width of a page's text."""
AROUND_IN, CAPTION_IN = 0.75, 0.5
"""Heights of title and legend, and of what stands around each array."""
DPI = 300
PALE, DARK = "#dedede", "#4d4d4d"
PE = 0.5
"""Side of a PE, in lanes."""
WIDEST_PT, AWAY_PT = 2.8, 10.0
"""Of a line, and at least between the array and what feeds it."""
CROWDED_PT = 5.0
"""Lanes closer than this have thin lines and no squares of their own: from 34 of three arrays beside each other on."""
LABELS, LABEL_PT = 9, 8.0
"""Most numbers along an axis, and the room that each needs."""
WIDE, TALL = 2.5, 1.6
"""Arrays that are wider than high by this stand one below another; no panel is higher than wide by more than that."""
MANY = 1000
"""Means from here on are shown whole."""


@dataclass(frozen=True)
class Style:
    """Of one tensor's lines: `dashes` in widths of a line, in points where it is thinner than one."""

    colour: str
    dashes: tuple[float, ...] = ()

    def pattern(self, width: float) -> Any:
        """What matplotlib takes, where it does not scale dashes itself."""
        return (0, [dash * max(width, 1.0) for dash in self.dashes]) if self.dashes else "solid"


STYLES = (
    Style(BLUE),
    Style(ORANGE, (2.5, 0.8)),
    Style("#000000", (1.0, 0.6)),
    Style("#CC79A7", (3.0, 0.6, 0.8, 0.6)),
)
"""Of the tensors in the einsum's order: Okabe and Ito's colours, and black."""


def draw(view: NetworkView, title: str, form: str = "png") -> bytes:
    """The figure as `png`, `svg` or `pdf`. Raises `InputError` without matplotlib."""
    with styled("-o", lines__scale_dashes=False):
        return saved(_figure(view, title), form, DPI)


def _figure(view: NetworkView, title: str) -> Figure:
    from matplotlib.figure import Figure

    travels = moving(view)
    columns, rows = view.shape
    down, across = (len(travels), 1) if columns > WIDE * rows else (1, len(travels))
    lane_pt = 72 * WIDTH_IN / across * min(1 / columns, TALL / rows)
    plan = Plan(view.network.topology, columns, rows, max(1.1, AWAY_PT / lane_pt), lane_pt < CROWDED_PT)
    page = Page(plan, WIDTH_IN / across)
    figure = Figure((WIDTH_IN, page.height_in * down + AROUND_IN + CAPTION_IN * down), layout="constrained")
    drawn = [lines(view.graph, plan, travel.tensor, travel.action == RETURNED) for travel in travels]
    page = replace(page, most=max(line.words for some in drawn for line in some))
    styles = dict(zip(dict.fromkeys(travel.tensor for travel in travels), cycle(STYLES), strict=False))
    for axes, travel, some in zip(figure.subplots(down, across, squeeze=False).flat, travels, drawn, strict=True):
        _array(axes, view.graph, page)
        _boxes(axes, plan, view.name, feeding(view.graph, travel.tensor))
        _links(axes, some, styles[travel.tensor], page)
        axes.set_title(_caption(travel, view.children), fontsize=6.5, loc="left")
    _legend(figure, view, styles, page)
    figure.suptitle(f"{title}\n{facts(view)}", fontsize=7.5, wrap=True, parse_math=False)
    return figure


@dataclass(frozen=True)
class Page:
    """A plan on paper, as wide as a panel; `most`: words of the widest line."""

    plan: Plan
    panel_in: float
    most: float = 1.0

    @property
    def height_in(self) -> float:
        return self.panel_in * min(max(self.plan.height / self.plan.width, 0.1), TALL)

    @property
    def step_pt(self) -> float:
        """From lane to lane."""
        return 72 * 0.9 * min(self.panel_in / self.plan.width, self.height_in / self.plan.height)

    def line_pt(self, words: float) -> float:
        """Width of a line."""
        widest = min(WIDEST_PT, (0.6 if self.plan.crowded else 0.33) * self.step_pt)
        return max(widest / (2 if self.plan.crowded else 8), widest * math.sqrt(words / self.most))

    def numbers(self, lanes: int) -> range:
        """Lanes that are numbered: every one, every second, fourth, eighth .."""
        step = 1
        while step * self.step_pt < LABEL_PT or lanes > LABELS * step:
            step *= 2
        return range(0, lanes, step)


def _array(axes: Axes, graph: nx.DiGraph, page: Page) -> None:
    """PEs, those in use filled, with the numbers of columns and rows."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    plan = page.plan
    axes.set_xlim(plan.left, plan.columns - 0.5)
    axes.set_ylim(plan.rows - 0.5, plan.top)
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=5.5, pad=1)
    axes.set_xticks(page.numbers(plan.columns))
    axes.set_yticks(page.numbers(plan.rows))
    axes.yaxis.tick_right()
    axes.set_xlabel("column", fontsize=6, labelpad=1)
    side = 1.0 if plan.crowded else PE
    if plan.crowded:
        whole = Rectangle((-0.5, -0.5), plan.columns, plan.rows, facecolor="none", edgecolor=GREY, linewidth=0.4)
        whole.set_clip_on(False)
        axes.add_patch(whole)
    for used in (True, False):
        squares = [
            Rectangle((pe["x"] - side / 2, pe["y"] - side / 2), side, side)
            for _, pe in graph.nodes(data=True)
            if pe["role"] == "pe" and pe["used"] is used
        ]
        fill, edge = PALE if used else "white", "none" if plan.crowded else GREY
        below = 0 if plan.crowded else 2
        axes.add_collection(PatchCollection(squares, facecolor=fill, edgecolor=edge, linewidth=0.4, zorder=below))


def _boxes(axes: Axes, plan: Plan, name: str, hub: str) -> None:
    """The parent, and the switches of a tree, crossbar or Benes network."""
    from matplotlib.patches import Rectangle

    parent = plan.parent(hub)
    for box, colour in ((parent, DARK), *((switch, GREY) for switch in plan.switches())):
        axes.add_patch(Rectangle((box.left, box.top), box.width, box.height, color=colour, linewidth=0, zorder=4))
    gap = 0.15 * plan.away
    if hub == "column bus":
        axes.text(parent.middle[0], parent.top - gap, name, ha="center", va="bottom", fontsize=6)
    else:
        # A name that is longer than its box must not reach the panel's title.
        below = hub != "row bus" and not plan.switched
        y, align = (parent.top, "top") if below else (parent.middle[1], "center")
        axes.text(parent.left - gap, y, name, rotation=90, ha="right", va=align, fontsize=6)


def _links(axes: Axes, drawn: Sequence[Line], style: Style, page: Page) -> None:
    from matplotlib.collections import LineCollection

    sizes = [page.line_pt(line.words) for line in drawn]
    # Dashes are as long as lanes are apart where the array is crowded, and make patterns of their own.
    axes.add_collection(
        LineCollection(
            [(line.start, line.end) for line in drawn],
            linewidths=sizes,
            colors=style.colour,
            linestyles="solid" if page.plan.crowded else [style.pattern(size) for size in sizes],
            capstyle="butt",
            zorder=1,
        )
    )


def _caption(travel: Travel, children: tuple[str, str]) -> str:
    """What travels, how, and how much of it, on lines that fit a panel."""
    row, mean = travel.row(), travel.degree_mean
    lanes = "\n".join(f"{axis.upper()}: {row[axis]}" for axis in "xy")
    many = f"{mean:,.4g}" if mean < MANY else f"{mean:,.0f}"
    each = f"{many} {children[mean != 1]} each"
    way = "from" if travel.action == COLLECTED else "to"
    return f"{travel.tensor} {travel.action}: {travel.kind}\n{lanes}\n{units.count(travel.words)} words {way} {each}"


def _legend(figure: Figure, view: NetworkView, styles: Mapping[str, Style], page: Page) -> None:
    """Below the arrays: whose lines, which PEs, and how many words a width is."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for tensor, style in styles.items():
        dashes: Any = "solid" if page.plan.crowded else style.pattern(1.6)
        handles.append(Line2D([], [], color=style.colour, linewidth=1.6, linestyle=dashes, label=tensor))
    uses = {pe["used"] for _, pe in view.graph.nodes(data=True) if pe["role"] == "pe"}
    for used in sorted(uses, reverse=True):
        colour, label = (PALE, f"{view.children[0]} in use") if used else ("white", f"idle {view.children[0]}")
        handles.append(Patch(facecolor=colour, edgecolor=GREY, linewidth=0.4, label=label))
    for part in (1, 4) if page.plan.crowded else (1, 4, 16):
        words = page.most / part
        if words < 1:
            break
        label = f"{units.count(words)} word{'s' * (words != 1)}"
        handles.append(Line2D([], [], color=GREY, linewidth=page.line_pt(words), label=label, solid_capstyle="butt"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=6.5)
