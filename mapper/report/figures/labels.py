"""Names beside points: each where it overlaps no point, no other name and no edge, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mapper.report.figures.style import TINY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

Point = tuple[float, float]

OFFSETS = ((1, 0.5), (1, -0.5), (-1, 0.5), (-1, -0.5), (0, 1), (0, -1))
"""Where a name may stand, in units of `NEAR_PT`, the best place first."""
NEAR_PT = 4.5
POINT_PT = 2.4
"""Half the size of a point that names keep away from."""


def name_points(
    figure: Figure, axes: Axes, named: Sequence[tuple[Point, str]], points: Sequence[Point], most: int
) -> None:
    """Up to `most` names for some of `points`, the most important first. Limits and layout must not change any more."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw_without_rendering()
    half = POINT_PT * figure.dpi / 72
    spots = axes.transData.transform(list(points))
    taken: list[Bbox] = [Bbox([spot - half, spot + half]) for spot in spots]
    inside = axes.get_window_extent(renderer).padded(-half)
    every = len(taken)
    for point, name in named:
        if len(taken) - every >= most:
            return
        for offset in OFFSETS:
            text = _written(axes, point, name, offset)
            box = text.get_window_extent(renderer)
            if _within(box, inside) and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


def _written(axes: Axes, point: Point, name: str, offset: Point) -> Annotation:
    dx, dy = offset
    text = axes.annotate(
        name,
        point,
        (dx * NEAR_PT, dy * NEAR_PT),
        textcoords="offset points",
        fontsize=TINY,
        ha="center" if not dx else "left" if dx > 0 else "right",
        va="bottom" if dy > 0 else "top",
    )
    text.set_in_layout(False)
    return text


def _within(box: Bbox, room: Bbox) -> bool:
    return bool(room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1)
