"""A figure of the work that each PE does over one mapping: the array as a map, and its PEs in order of their work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.cost import Evaluation
from mapper.report.figure_file import GREY
from mapper.report.figures.balanced import Loads, loads_of
from mapper.report.figures.scales import prefix
from mapper.report.figures.style import COLOURS, DASHES, SMALL, TITLE, finished, look, page, wrapped
from mapper.sparsity.placement import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT_IN, LONGEST = 2.75, 3.0
"""Height of the figure; how many times as long as high an array may be to have square PEs."""
MAP = "cividis"
"""Even in lightness, and to every kind of colour vision."""
EVEN = 0.6
"""Where the least work of a PE is above this share of the most, colours begin at the least."""


def draw_work(evaluation: Evaluation, title: str | None = None, form: str = "svg") -> bytes | None:
    """The figure as `png`, `svg` or `pdf`; None where all PEs do the same.

    Work is what zeros leave of it; expected, where only densities are known. Raises `InputError` without matplotlib.
    """
    loads = loads_of(evaluation)
    panels = _panels(loads)
    if all(array.min() == array.max() for array in panels.values()):
        return None
    scale, unit = prefix(max(float(array.max()) for array in panels.values()))
    with look():
        figure = page(HEIGHT_IN, gap=0.08)
        axes = list(figure.subplots(1, len(panels) + 1, gridspec_kw={"width_ratios": [1.0] * len(panels) + [1.1]}))
        drawn = [_map(a, array / scale, name) for a, (name, array) in zip(axes, panels.items(), strict=False)]
        _limits(drawn, [array / scale for array in panels.values()])
        for one in axes[:-1]:
            one.set_xlabel(f"column{_along(evaluation, 'x')}")
        axes[0].set_ylabel(f"row{_along(evaluation, 'y')}")
        bar = figure.colorbar(drawn[0], ax=axes[:-1], fraction=0.05, pad=0.02, aspect=25)
        bar.set_label(f"{unit}{_unit(evaluation)} per PE")
        bar.outline.set_visible(False)
        _ranked(axes[-1], {name: array / scale for name, array in panels.items()}, f"{unit}{_unit(evaluation)}")
        figure.suptitle(wrapped(title or _title(evaluation)), fontsize=TITLE)
        return finished(figure, form)


def _panels(loads: Loads) -> Mapping[str, Numbers]:
    """What is shown, by what it is called."""
    if loads.after is not None:
        return {"before balancing": loads.before, "after balancing": loads.after}
    kind = "expected work" if loads.expected else "work"
    return {f"{kind} before balancing" if loads.balances else kind: loads.before}


def _title(evaluation: Evaluation) -> str:
    return f"{evaluation.accelerator.name}: work of each PE, {evaluation.mapping}"


def _unit(evaluation: Evaluation) -> str:
    """What work is counted in: a loop nest executes windows that meet only padding too."""
    kind = "MACs" if evaluation.macs == evaluation.points else "points"
    return kind if evaluation.effectual_points == evaluation.points else f"effectual {kind}"


def _along(evaluation: Evaluation, kind: str) -> str:
    """Dimensions that are spread along an axis."""
    nests = evaluation.nests
    slots = zip(nests.slots, nests.factors[0], strict=True)
    names = dict.fromkeys(slot.dimension for slot, factor in slots if slot.kind == kind and factor > 1)
    return f" ({', '.join(names)})" if names else ""


def _map(axes: Axes, array: Numbers, name: str) -> Any:
    """The array, the first row on top; PEs without work are grey."""
    from matplotlib import colormaps

    colours = colormaps[MAP].with_extremes(bad="#d9d9d9")
    square = max(array.shape) <= LONGEST * min(array.shape)
    shown = np.ma.masked_equal(array.T, 0)
    drawn = axes.imshow(shown, cmap=colours, aspect="equal" if square else "auto", interpolation="nearest")
    idle = int((array == 0).sum())
    axes.set_title(f"{name}{f', {idle} idle (grey)' if idle else ''}")
    axes.tick_params(length=0)
    for axis, lanes in ((axes.xaxis, array.shape[0]), (axes.yaxis, array.shape[1])):
        axis.set_ticks(sorted({0, lanes // 4, lanes // 2, 3 * lanes // 4, lanes - 1} if lanes > 8 else range(lanes)))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return drawn


def _limits(drawn: list[Any], arrays: list[Numbers]) -> None:
    """One scale for all maps; from the least work where the differences are small."""
    working = np.concatenate([array[array > 0] for array in arrays])
    low, high = float(working.min()), float(working.max())
    for one in drawn:
        one.set_clim(low if EVEN * high < low < high else 0.0, high)


def _ranked(axes: Axes, arrays: Mapping[str, Numbers], unit: str) -> None:
    """Work of the PEs from the most to the least, from zero up, and what each would do if all did the same."""
    for index, (name, array) in enumerate(arrays.items()):
        ordered = np.sort(array.ravel())[::-1]
        axes.step(
            np.arange(len(ordered) + 1),
            [*ordered, ordered[-1]],
            where="post",
            color=COLOURS[(0, 5)[index]],
            linestyle=DASHES[index],
            linewidth=1.1,
            label=name,
        )
    mean = float(next(iter(arrays.values())).mean())
    axes.axhline(mean, color=GREY, linewidth=0.8, linestyle=":", label="mean of all PEs")
    pes = next(iter(arrays.values())).size
    axes.set_xlim(0, pes)
    axes.set_ylim(0, 1.06 * max(float(array.max()) for array in arrays.values()))
    axes.set_xlabel("PEs, the busiest first")
    axes.set_ylabel(f"{unit} per PE")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        frameon=False,
        fontsize=SMALL,
        ncols=1,
        borderaxespad=0.1,
        handlelength=1.8,
    )
