"""Every ranked mapping of a run in one table to sort and to filter, and the certificates of the rankings in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from mapper.report.page import columns, shown
from mapper.report.page.document import Section
from mapper.report.page.html import Attribute, Child, tag
from mapper.report.page.run.source import key
from mapper.report.page.run.view import View
from mapper.report.page.table import Column, Row, Table, paper_style, render
from mapper.report.recorded import MAPPINGS

MOST = 3000
"""Ranked mappings that a page shows; more make it slow."""
_PRINTED = (
    "On paper: the first mapping of each ranking, or what the fields above leave; all columns are in mappings.csv."
)
_CERTIFICATES = (
    Column("mapspace_size", "Mappings in the space", form=shown.count),
    Column("evaluated", "Evaluated", form=shown.count, note="in full; the others are excluded by bounds"),
    replace(columns.PROVEN, choices=True, minor=False),
    Column("gap", "Gap", "%", shown.percent, note="how far the best found can be from the optimum at most"),
)


def mappings_section(view: View) -> Section:
    """The table of all ranked mappings, or where they are very many of the first of each ranking."""
    every = view.source.mappings
    rows = every if len(every) <= MOST else _firsts(view)
    what = f"Every ranked mapping, {len(every):,} in all"
    if rows is not every:
        what = f"The first mapping of each ranking, {len(rows):,} of {len(every):,} mappings; {MAPPINGS} has all"
    caption = f"{what}; figures of one execution of a layer or of its part."
    heads = list(_columns(rows, _links(view)))
    table = Table("rankings", caption, heads, rows, "mappings", mark=_mark(view), tall=True)
    return Section(
        "mappings", "Ranked mappings", [render(table), tag("p", _PRINTED, class_="note paper")], paper_style(table)
    )


def certificates_section(view: View) -> Section:
    """Size of each mapspace, what of it was evaluated, and whether the ranking is proven."""
    rows = _firsts(view)
    caption = f"Certificates: one per ranking, {len(rows):,} in all."
    heads = [columns.LAYER, columns.PHASE, columns.PART, columns.PARTITIONING, *_CERTIFICATES]
    table = Table("certified", caption, heads, rows, "mappings", tall=True)
    return Section("certificates", "Certificates", render(table))


def _firsts(view: View) -> tuple[Row, ...]:
    return tuple(row for row in view.source.mappings if row["rank"] == "1")


def _columns(rows: tuple[Row, ...], links: Callable[[Row, str], Child]) -> Iterator[Column]:
    yield columns.LAYER
    yield from (columns.PHASE, columns.PART)
    yield replace(columns.PARTITIONING, dress=links)
    yield columns.RANK
    yield from columns.mapping(rows)
    yield Column("macs", "MACs", form=shown.count, minor=True)
    yield columns.PROVEN
    yield Column("interconnect_pattern", "Travels", minor=True, note="how each tensor passes the fan-out")


def _links(view: View) -> Callable[[Row, str], Child]:
    anchors = view.told.anchors

    def dress(row: Row, text: str) -> Child:
        name = anchors.get(key(row))
        return text if name is None else tag("a", text, href=f"#{name}", title="explained below")

    return dress


def _mark(view: View) -> Callable[[Row], Mapping[str, Attribute]]:
    """Lower ranks stand back; rows that are explained, the best of their layer and phase, stand out."""
    anchors = view.told.anchors

    def mark(row: Row) -> Mapping[str, Attribute]:
        return {"class_": "lower" if row["rank"] != "1" else "chosen" if key(row) in anchors else None}

    return mark
