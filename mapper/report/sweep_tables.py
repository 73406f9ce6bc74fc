"""The tables of a sweep: its points with their totals, all their mappings, and what has none.

Columns of what varies stand first. Points compete for the front of energy, cycles and area where they do the same work;
area counts where that of all of them is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from mapper.cost.energy import chip_area_um2
from mapper.errors import InputError
from mapper.report.formats import Table
from mapper.report.tables import places
from mapper.report.totals import ALL, BEST, totals_table
from mapper.runs.sweep import Point, PointRun, Sweep, SweepRun
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


def sweep_tables(run: SweepRun) -> tuple[Table, ...]:
    """Everything that a sweep writes."""
    return points_table(run), sweep_mappings_table(run), failed_table(run)


def points_table(run: SweepRun) -> Table:
    """One row per point, phase and choice of partitionings: totals as a search has them, and area and front."""
    of = [(point, row) for point in run.points for row in _totals(point)]
    rows = list(_aligned(row for _, row in of))
    _mark_front([point.point for point, _ in of], rows)
    return Table("points", tuple(rows), (*run.sweep.axes, *FIGURES))


def sweep_mappings_table(run: SweepRun) -> Table:
    """One row per ranked mapping of every point."""
    rows = _aligned(
        dict(point.point.names) | _without(places(point.plan, task), point) | row
        for point in run.points
        for task, ranked in point.rows
        for row in ranked
    )
    return Table("mappings", tuple(rows))


def failed_table(run: SweepRun) -> Table:
    """One row per ranking without a mapping, with the reason."""
    rows = tuple(
        dict(point.point.names) | _without(places(point.plan, task), point) | {"reason": str(error)}
        for point in run.points
        for task, error in point.failures
    )
    return Table("failed", rows, (*run.sweep.axes, "layer", "phase", "part", "partitioning", "reason"))


def check_axes(sweep: Sweep) -> None:
    """Refuse what varies under the name of a column. Raises `InputError`."""
    taken = {*places(sweep.points[0].plan, sweep.points[0].plan.tasks[0]), *FIGURES, "rank", "mapping", "reason"}
    for name in sweep.axes:
        if name in taken - set(DESIGN):
            raise InputError(f"what varies is called '{name}', as a column of the tables", hint=f"{name}_choice")


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


def _aligned(rows: Iterable[Row]) -> Iterator[Row]:
    """The same columns for all, also where designs have other components: in the order in which they are met."""
    listed = list(rows)
    columns = dict.fromkeys(column for row in listed for column in row)
    return (dict.fromkeys(columns) | row for row in listed)


def _mark_front(points: Sequence[Point], rows: Sequence[Row]) -> None:
    """Say of every fixed choice that has all its mappings whether it is on the front of the points of its work."""
    groups = defaultdict[tuple[object, ...], list[Row]](list)
    for point, row in zip(points, rows, strict=True):
        if row["phase"] == ALL and row["partitioning"] != BEST and not row["layers_without_mapping"]:
            groups[point.work].append(row)
    for group in groups.values():
        known = all(row["area_um2"] is not None for row in group)
        objectives = OBJECTIVES if known else OBJECTIVES[:2]
        for row, on in zip(group, front([[cast(float, r[o]) for o in objectives] for r in group]), strict=True):
            row[FRONT] = on


def front(points: Sequence[Sequence[float]]) -> list[bool]:
    """Which points no other beats: none is as low in everything and lower in something. Equal points are all on it.

    >>> front([(1, 5), (2, 2), (3, 2), (5, 1)])
    [True, True, False, True]
    """
    order = sorted(range(len(points)), key=lambda i: tuple(points[i]))
    found: list[int] = []
    for i in order:
        mine = points[i]
        if not any(all(a <= b for a, b in zip(points[j], mine, strict=True)) and points[j] != mine for j in found):
            found.append(i)
    on = set(found)
    return [i in on for i in range(len(points))]
