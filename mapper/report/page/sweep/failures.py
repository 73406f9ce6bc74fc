"""The rankings of a sweep that have no mapping, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from mapper.report.page import columns
from mapper.report.page.document import Section
from mapper.report.page.shown import counted
from mapper.report.page.sweep.columns import of_points
from mapper.report.page.sweep.source import FAILED
from mapper.report.page.sweep.view import View
from mapper.report.page.table import Column, Table, render

MOST = 500
"""Rows of the table."""
_REASON = Column("reason", "Reason", choices=True)


def sections(view: View) -> Iterator[Section]:
    """None where every ranking has a mapping."""
    every = view.source.failed
    if not every:
        return
    rows = every[:MOST]
    caption = f"{counted(len(every), 'ranking')} without a mapping."
    if len(every) > MOST:
        caption += f" The first {MOST}; {FAILED} has all."
    ranking = (columns.LAYER, columns.PHASE, columns.PART, columns.PARTITIONING)
    heads = [*of_points(view.source, rows), *ranking, _REASON]
    yield Section("failures", "Without a mapping", render(Table("failed", caption, heads, rows, "failed", tall=True)))
