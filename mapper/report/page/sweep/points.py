"""The points of a sweep in a table to sort and to filter."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from mapper.report.figures.points import works
from mapper.report.page import columns, shown
from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.html import Attribute, tag
from mapper.report.page.sweep.columns import figures, of_points
from mapper.report.page.sweep.heading import phases
from mapper.report.page.sweep.source import Source
from mapper.report.page.sweep.view import View
from mapper.report.page.table import Column, Row, Table, paper_style, render
from mapper.report.sweep_tables import FRONT
from mapper.report.totals import ALL

MOST = 2000
"""Rows of the table."""
_PRINTED = "On paper: sums over all phases, or what the fields above leave."
_BEST = "best takes the best partitioning for each layer"
_MISSING = Column("layers_without_mapping", "Missing", "layers", shown.count, note="layers without a mapping")
_FRONT = Column(
    FRONT, "Front", choices=True, words={"True": "yes", "False": "no"}, note="on the Pareto front of its work"
)


def section(view: View) -> Section:
    """All points, or of very many those that matter most."""
    rows, what = _fitting(view.source)
    caption = f"{what}; {_BEST}."
    table = Table("totals", caption, list(_columns(view.source, rows)), rows, "points", mark=_mark, tall=True)
    note = tag("p", _PRINTED, class_="note paper")
    return Section("points", "Points", [render(table), note], paper_style(table))


def _fitting(source: Source) -> tuple[Sequence[Row], str]:
    """Rows of the table, and what they are."""
    every = source.points
    if len(phases(source)) == 1:  # Sums over it say the same.
        every = tuple(row for row in every if row["phase"] == ALL)
    if len(every) <= MOST:
        return every, f"Every point under every partitioning, {shown.counted(len(every), 'row')}"
    sums = [row for row in every if row["phase"] == ALL]
    if len(sums) <= MOST:
        return sums, f"Every point under every partitioning, sums over all phases; points.csv has {len(every):,} rows"
    kept = sorted(place for *_, place in heapq.nsmallest(MOST, _ranked(source, sums)))
    what = f"{MOST:,} of {len(sums):,} sums over all phases"
    which = "those on a front and those with the least EDP of their work"
    return [sums[place] for place in kept], f"{what}, {which}; points.csv has {len(source.points):,} rows"


def _ranked(source: Source, sums: Sequence[Row]) -> Iterator[tuple[bool, int, int]]:
    """For each row whether it is on no front, its rank by EDP in its work, and its place."""
    places = {id(row): place for place, row in enumerate(sums)}
    for group in works(source.work, sums).values():
        for rank, row in enumerate(
            sorted(group, key=lambda row: [number(row, name) for name in (_MISSING.name, "edp_pj_cycles")])
        ):
            yield row[FRONT] != "True", rank, places[id(row)]


def _columns(source: Source, rows: Sequence[Row]) -> Iterator[Column]:
    yield from of_points(source, rows)
    yield from (columns.PHASE, columns.PARTITIONING)
    yield from figures(rows)
    yield _FRONT
    if any(number(row, _MISSING.name) for row in rows):
        yield _MISSING
    yield from columns.component_energies(rows, minor=True)


def _mark(row: Row) -> Mapping[str, Attribute]:
    """Phases stand back; points on a front stand out."""
    return {"class_": "chosen" if row[FRONT] == "True" else "lower" if row["phase"] != ALL else None}
