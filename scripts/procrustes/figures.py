"""Two figures, one page wide, that read in grey and with any colour vision: savings, and partitionings."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.report.formats import Table
from procrustes.costs import ALL, COMPONENTS, DENSE, SPARSE, Study
from procrustes.overheads import Overheads
from procrustes.paper import ORDER
from procrustes.tables import SUM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 7.2
"""Width of a page's text."""
DPI = 200
BLUE, SKY, ORANGE, YELLOW, GREY, LIGHT = "#0072B2", "#56B4E9", "#D55E00", "#F0E442", "#8c8c8c", "#e6e6e6"
"""Okabe and Ito's colours; lightness and hatching tell them apart in grey."""
OUTLINE: Any = {"edgecolor": "black", "linewidth": 0.5}
COMPONENT_STYLE = {
    "DRAM": ("#1a1a1a", ""),
    "GLB": (YELLOW, ""),
    "RF": (SKY, "////"),
    "MAC": (LIGHT, ""),
    "zeros": (ORANGE, "xxxx"),
}
SHOWN = {
    "resnet18": "ResNet18",
    "mobilenet_v2": "MobileNetV2",
    "vgg_s": "VGG-S",
    "wrn_28_10": "WRN-28-10",
    "densenet_g24": "DenseNet",
    SUM: "all",
}
STYLE: Any = {
    "font.size": 8,
    "svg.hashsalt": "mapper",
    "hatch.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def label(network: str) -> str:
    return SHOWN.get(network, network)


def saved(figure: Figure, form: str) -> bytes:
    """The file; the same figure gives the same bytes."""
    out = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    figure.savefig(out, format=form, dpi=DPI, metadata=metadata)
    return out.getvalue()


def draw(table: dict[str, Table], study: Study, sets: dict[str, Overheads]) -> dict[str, dict[str, bytes]]:
    """Both figures as png and svg, by name."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figures = {"procrustes_savings": savings_figure(table["savings"], table["components"], list(study.networks))}
        if len(study.searched(SPARSE)) > 1:
            figures["procrustes_partitionings"] = partitionings_figure(table["partitionings"], sets)
        return {name: {form: saved(figure, form) for form in ("png", "svg")} for name, figure in figures.items()}


def savings_figure(savings: Table, components: Table, networks: Sequence[str]) -> Figure:
    """Energy by component, dense beside sparse; energy saving and speedup beside the paper's."""
    from matplotlib.figure import Figure

    figure = Figure((WIDTH_IN, 5.6), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=(1.15, 1))
    above, below = halves
    _components(above.subplots(), components, networks)
    left, right = below.subplots(1, 2, sharey=False)
    totals = {row["network"]: row for row in savings.rows if row["phase"] == ALL}
    _beside(left, totals, networks, "energy", "energy saving (dense / sparse)")
    _beside(right, totals, networks, "speedup", "speedup (dense / sparse cycles)")
    return figure


def _components(axes: Axes, table: Table, networks: Sequence[str]) -> None:
    rows = {(row["network"], row["design"]): row for row in table.rows if row["phase"] == ALL}
    places = np.arange(len(networks), dtype=float)
    for shift, design in ((-0.2, DENSE), (0.2, SPARSE)):
        bottom = np.zeros(len(networks))
        for name in COMPONENTS:
            color, hatch = COMPONENT_STYLE[name]
            heights = np.array([rows[network, design][name] for network in networks], dtype=float)
            text = "units for zeros" if name == "zeros" else name
            shown = text if design == DENSE else ""
            axes.bar(places + shift, heights, 0.34, bottom, color=color, hatch=hatch, label=shown, **OUTLINE)
            bottom += heights
        for place, height in zip(places + shift, bottom, strict=True):
            text = design if design == DENSE else f"{design}\n1/{1 / height:.2f}"
            _above(axes, text, place, height, 7)
    axes.set_xticks(places, [label(network) for network in networks])
    axes.set_ylim(0, 1.14)
    axes.set_ylabel("energy of a training step\n(dense baseline = 1)")
    _room(axes, len(places))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(COMPONENTS), frameon=False, fontsize=7.5)


def _beside(axes: Axes, totals: dict[Any, Any], networks: Sequence[str], column: str, title: str) -> None:
    places = np.arange(len(networks), dtype=float)
    ours = np.array([totals[network][column] for network in networks], dtype=float)
    paper = [totals[network][f"{column}_paper"] for network in networks]
    axes.bar(places - 0.2, ours, 0.36, color=BLUE, label="here", **OUTLINE)
    known = [(place, value) for place, value in zip(places, paper, strict=True) if value is not None]
    if known:
        right = [place + 0.2 for place, _ in known]
        axes.bar(right, [value for _, value in known], 0.36, color=LIGHT, hatch="////", label="paper", **OUTLINE)
    for place, value in [*zip(places - 0.2, ours, strict=True), *((place + 0.2, value) for place, value in known)]:
        _above(axes, f"{value:.2f}", place, value, 6.5)
    for place, value in zip(places, paper, strict=True):
        if value is None:
            _above(axes, "n/a", place + 0.2, 0, 6.5)
    axes.set_xticks(places, [label(network) for network in networks], rotation=20, ha="right", rotation_mode="anchor")
    axes.set_ylabel(title)
    _room(axes, len(places))
    axes.set_ylim(0, 1.15 * max([*ours, *(value for _, value in known)]))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False, fontsize=7.5)


def _room(axes: Axes, groups: int) -> None:
    """Bars as wide for one group as for five."""
    axes.tick_params(axis="x", length=0)
    middle = (groups - 1) / 2
    axes.set_xlim(middle - max(groups, 3) / 2 - 0.05, middle + max(groups, 3) / 2 + 0.05)


def _above(axes: Axes, text: str, place: float, height: float, size: float, rotation: float = 0) -> None:
    """A label on top of a bar."""
    ha, va = ("left", "center") if rotation else ("center", "bottom")
    at: Any = {"xytext": (0, 3), "textcoords": "offset points", "ha": ha, "va": va, "rotation_mode": "anchor"}
    axes.annotate(text, (place, height), fontsize=size, rotation=rotation, **at)


PARTITIONING_STYLE = {
    "KN": (BLUE, "", "half_tile", "K,N"),
    "CN": (SKY, "", "half_tile", "C,N"),
    "CK": (LIGHT, "", "half_tile", "C,K"),
    "CK global": (LIGHT, "////", "global", "C,K, balanced across the array"),
    "PQ": (ORANGE, "xxxx", "half_tile", "P,Q"),
}


def partitionings_figure(table: Table, sets: dict[str, Overheads]) -> Figure:
    """Cycles of the partitionings over K,N's; how the overheads of working sets are distributed."""
    from matplotlib.figure import Figure

    figure = Figure((WIDTH_IN, 4.9), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(1.1, 1))
    _partitionings(above, table)
    _overheads(below, sets)
    return figure


def _partitionings(axes: Axes, table: Table) -> None:
    rows = {(row["network"], row["balance"]): row for row in table.rows}
    networks = list(dict.fromkeys(str(row["network"]) for row in table.rows))
    styles = {key: style for key, style in PARTITIONING_STYLE.items() if f"{key[:2]}_over_KN" in table.columns}
    width, places = 0.84 / len(styles), np.arange(len(networks), dtype=float)
    limit = 3.0
    for index, (key, (color, hatch, balance, name)) in enumerate(styles.items()):
        heights = np.array([rows[network, balance][f"{key[:2]}_over_KN"] for network in networks], dtype=float)
        shifted = places + (index - (len(styles) - 1) / 2) * width
        axes.bar(shifted, np.minimum(heights, limit), width, color=color, hatch=hatch, label=name, **OUTLINE)
        for place, height in zip(shifted, heights, strict=True):
            at = min(height, limit)
            _above(axes, f"{height:.2f}", place, at, 6.5, 90)
    axes.set_xticks(places, [label(network) for network in networks])
    axes.set_ylim(0, limit * 1.17)
    axes.set_ylabel(f"cycles (K,N = 1, cut at {limit:g})")
    _room(axes, len(places))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(styles), frameon=False, fontsize=7.5)


def _overheads(axes: Axes, sets: dict[str, Overheads]) -> None:
    lines = {"KN": (BLUE, "-", "K,N, half tiles exchanged"), "CK": (ORANGE, "--", "C,K, not balanced")}
    places = np.linspace(0, 2, 401)
    for name in (name for name in ORDER if name in sets):
        color, dashes, text = lines[name]
        found = sets[name]
        # A step per sampled set would be a file of megabytes.
        shares = [100 * (1 - found.above(overhead)) for overhead in np.minimum(places, found.at(1))]
        axes.plot(100 * places, shares, color=color, linestyle=dashes, linewidth=1.6, label=text)
    axes.set_xlim(0, 200)
    axes.set_ylim(0, 101)
    axes.set_xlabel("overhead of a working set, busiest PE / mean PE - 1 (%)")
    axes.set_ylabel("working sets\nwith no more (%)")
    axes.grid(linewidth=0.3, color=GREY, alpha=0.5)
    axes.legend(loc="lower right", frameon=False, fontsize=7.5)
