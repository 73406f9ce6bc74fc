"""The best mapping of every ranking of a sweep, or of those whose point is on a front, or none where they are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mapper.report.page import columns
from mapper.report.page.document import Section
from mapper.report.page.html import tag
from mapper.report.page.shown import counted
from mapper.report.page.sweep.columns import of_points
from mapper.report.page.sweep.source import Source
from mapper.report.page.sweep.view import View
from mapper.report.page.table import Column, Row, Table, paper_style, render
from mapper.report.recorded import MAPPINGS
from mapper.report.sweep_tables import FRONT

MOST = 2000
"""Rows of the table."""
_PRINTED = f"On paper: what the fields above leave; {MAPPINGS} has all."
_UNPRINTED = "@media print{#rankings:not(.filtered) tbody{display:none}}\n"


def section(view: View) -> Section:
    """The table, or where the mappings are."""
    rows, what = _fitting(view.source)
    if not rows:
        return Section("mappings", "Mappings", tag("p", f"{what}.", class_="note"))
    caption = f"{what}; figures of one execution of a layer or of its part."
    table = Table("rankings", caption, list(_columns(view.source, rows)), rows, "mappings", tall=True)
    body = [render(table), tag("p", _PRINTED, class_="note paper")]
    return Section("mappings", "Mappings", body, paper_style(table) + _UNPRINTED)


def _fitting(source: Source) -> tuple[Sequence[Row], str]:
    """Rows of the table, and what they are."""
    every = source.mappings
    count = counted(len(every), "ranking")
    if len(every) <= MOST:
        return every, f"The best mapping of {count}" if every else "There is none"
    keys = (*source.axes, "partitioning")
    on = {tuple(row[key] for key in keys) for row in source.points if row[FRONT] == "True"}
    rows = [row for row in every if tuple(row[key] for key in keys) in on]
    if 0 < len(rows) <= MOST:
        return rows, f"The best mappings of points on a front, {len(rows):,} of {count}; {MAPPINGS} has all"
    return (), f"{MAPPINGS} has the best mappings of {count}, more than a page can show"


def _columns(source: Source, rows: Sequence[Row]) -> Iterator[Column]:
    yield from of_points(source, rows)
    yield from (columns.LAYER, columns.PHASE, columns.PART, columns.PARTITIONING)
    yield from columns.mapping(rows)
    yield columns.PROVEN
