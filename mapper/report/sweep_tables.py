"""The tables of a sweep: its points with their totals, all their mappings, and what has none.

Columns of what varies stand first. Points compete for the front of energy, cycles and area where they do the same work;
area counts where that of all of them is known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from mapper.cost.energy import chip_area_um2
from mapper.errors import InputError
from mapper.report.formats import Table
from mapper.report.tables import DECISIVE, places
from mapper.report.totals import ALL, BEST, totals_table
from mapper.runs.sweep import Point, PointRun, Sweep, SweepRun
from mapper.runs.sweep_file import SETTINGS
from mapper.search.rows import Row, is_energy_column

DESIGN = ("arch", "network")
"""Columns of the tables that an axis may give the values of: the file as the sweep names it."""
FRONT = "pareto"
"""Whether no point of the same work has less energy, fewer cycles and less area; empty where that is not asked."""
OBJECTIVES = ("energy_pj", "cycles", "area_um2")
FIGURES = (
    *("phase", "partitioning", "cycles", "utilization", "energy_pj", "edp_pj_cycles", "area_um2", FRONT),
    *("layers_without_mapping",),
)
"""Columns of the points on a page, behind what varies."""
PLACES = ("arch", "network", "layer", "repeat", "phase", "part", "partitioning")
"""Where a ranking belongs."""
COLUMNS = frozenset(
    (
        *(*PLACES, *FIGURES, *OBJECTIVES, "layers", "macs", "effectual_macs", "rank", "mapping", "points", "reason"),
        *("fill_drain_cycles", "imbalance_mean", "imbalance_max", "bound_by", "optimal", "gap", "mapspace_size"),
        "evaluated",
    )
)
MANY = ("energy_", "reuse_", "multicast_", "interconnect_")
"""Columns of the tables, and how those begin that go by levels and tensors."""


def points_table(run: SweepRun) -> Table:
    """One row per point, phase and choice of partitionings: totals as a search has them, and area and front."""
    of = [(point, row) for point in run.points for row in _totals(point)]
    rows = list(_aligned(run.sweep.axes, (row for _, row in of)))
    _mark_front([point.point for point, _ in of], rows)
    return Table("points", tuple(rows), (*run.sweep.axes, *FIGURES))


def sweep_mappings_table(run: SweepRun) -> Table:
    """One row per ranked mapping of every point."""
    rows = _aligned(
        run.sweep.axes,
        (
            dict(point.point.names) | _without(places(point.plan, task), point) | row
            for point in run.points
            for task, ranked in point.rows
            for row in ranked
        ),
    )
    return Table("mappings", tuple(rows), _columns(run.sweep, DECISIVE))


def failed_table(run: SweepRun) -> Table:
    """One row per ranking without a mapping, with the reason."""
    rows = _aligned(
        columns := _columns(run.sweep, (*PLACES, "reason")),
        (
            dict(point.point.names) | _without(places(point.plan, task), point) | {"reason": str(error)}
            for point in run.points
            for task, error in point.failures
        ),
    )
    return Table("failed", tuple(rows), columns)


def check_axes(sweep: Sweep) -> None:
    """Refuse what varies under the name of a column. Raises `InputError`."""
    for name in sweep.axes:
        if (name in COLUMNS or name.startswith(MANY)) and name not in DESIGN:
            hint = f"{name}_choice: {{a: {{{name}: ...}}, b: ...}}" if name in SETTINGS else f"{name}_choice"
            message = f"what varies is called '{name}', as a column of the tables"
            raise InputError(message, dict(sweep.places).get(name), hint)


def _columns(sweep: Sweep, columns: Iterable[str]) -> tuple[str, ...]:
    """What varies, then the other columns."""
    return tuple(dict.fromkeys((*sweep.axes, *columns)))


def _totals(point: PointRun) -> Iterator[Row]:
    area = chip_area_um2(point.plan.accelerator)
    for row in totals_table(point).rows:
        names = dict(point.point.names)
        figures = _without(row, point)
        energies = {name: figures.pop(name) for name in list(figures) if is_energy_column(name)}
        yield names | figures | {"area_um2": area, FRONT: None} | energies


def _without(row: Row, point: PointRun) -> Row:
    """A row without the columns that what varies gives."""
    names = dict(point.point.names)
    return {column: value for column, value in row.items() if column not in names}


def _aligned(first: Iterable[str], rows: Iterable[Row]) -> Iterator[Row]:
    """The same columns for all, also where designs have other components: `first`, then in the order of meeting."""
    listed = list(rows)
    columns: Row = dict.fromkeys([*first, *(column for row in listed for column in row)])
    return (columns | row for row in listed)


def _mark_front(points: Sequence[Point], rows: Sequence[Row]) -> None:
    """Say of every fixed choice that has all its mappings whether it is on the front of the points of its work."""
    groups = defaultdict[tuple[object, ...], list[Row]](list)
    for point, row in zip(points, rows, strict=True):
        if row["phase"] == ALL and row["partitioning"] != BEST and not row["layers_without_mapping"]:
            groups[point.work].append(row)
    for group in groups.values():
        named = objectives(group)
        for row, on in zip(group, front([[cast(float, r[o]) for o in named] for r in group]), strict=True):
            row[FRONT] = on


def objectives(rows: Iterable[Row]) -> tuple[str, ...]:
    """What points compete in: area too where that of all is known."""
    return OBJECTIVES if all(row["area_um2"] is not None for row in rows) else OBJECTIVES[:2]


def front(points: Sequence[Sequence[float]]) -> list[bool]:
    """Which points of two or three objectives no other beats: none is as low in all and lower in one.

    Equal points are all on it or none. From the lowest first objective up, a point is beaten by one before it that is
    as low in the others: of those, `seconds` and `thirds` keep the ones that matter, a staircase down (Kung, Luccio and
    Preparata, 1975).

    >>> front([(1, 5), (2, 2), (3, 2), (5, 1)])
    [True, True, False, True]
    """
    on = set[tuple[float, ...]]()
    seconds: list[float] = []
    thirds: list[float] = []
    for point in sorted({tuple(point) for point in points}):
        second, third = point[1], point[2] if len(point) > 2 else 0.0
        place = bisect_right(seconds, second)
        if place and thirds[place - 1] <= third:
            continue
        on.add(point)
        begin = bisect_left(seconds, second)
        end = next((i for i in range(begin, len(seconds)) if thirds[i] < third), len(seconds))
        seconds[begin:end], thirds[begin:end] = [second], [third]
    return [tuple(point) in on for point in points]
