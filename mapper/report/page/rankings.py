"""Every ranked mapping of a run in one table to sort and to filter, and the certificates of the rankings in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from mapper.report.page import columns, shown
from mapper.report.page.document import Section
from mapper.report.page.html import Attribute, Child, tag
from mapper.report.page.source import key
from mapper.report.page.table import Column, Row, Table, paper_style, render
from mapper.report.page.view import View

_PRINTED = (
    "On paper: the first mapping of each ranking, or what the fields above leave; all columns are in mappings.csv."
)
_CERTIFICATES = (
    Column("mapspace_size", "Mappings in the space", form=shown.count),
    Column("evaluated", "Evaluated", form=shown.count, note="in full; the others are excluded by bounds"),
    Column("optimal", "Proven", choices=True, words={"True": "yes", "False": "no"}),
    Column("gap", "Gap", "%", shown.percent, note="how far the best found can be from the optimum at most"),
)


def mappings_section(view: View) -> Section:
    """The table of all ranked mappings."""
    rows = view.source.mappings
    caption = f"Every ranked mapping, {len(rows):,} in all; figures of one execution of a layer or of its part."
    heads = list(_columns(rows, _links(view)))
    table = Table("rankings", caption, heads, rows, "mappings", mark=_mark(view), tall=True)
    return Section(
        "mappings", "Ranked mappings", [render(table), tag("p", _PRINTED, class_="note paper")], paper_style(table)
    )


def certificates_section(view: View) -> Section:
    """Size of each mapspace, what of it was evaluated, and whether the ranking is proven."""
    rows = [row for row in view.source.mappings if row["rank"] == "1"]
    caption = f"Certificates: one per ranking, {len(rows):,} in all."
    heads = [columns.LAYER, columns.PHASE, columns.PART, columns.PARTITIONING, *_CERTIFICATES]
    table = Table("certified", caption, heads, rows, "mappings", tall=True)
    return Section("certificates", "Certificates", render(table))


def _columns(rows: tuple[Row, ...], links: Callable[[Row, str], Child]) -> Iterator[Column]:
    yield columns.LAYER
    yield from (columns.PHASE, columns.PART)
    yield replace(columns.PARTITIONING, dress=links)
    yield columns.RANK
    yield columns.CYCLES
    yield columns.energy(rows)
    yield from (columns.EDP, columns.UTILIZATION)
    yield Column("imbalance_mean", "Imb.", form=shown.ratio, note="busiest PE over the mean, mean over working sets")
    yield Column("bound_by", "Bound by", choices=True)
    yield Column("mapping", "Mapping", code=True)
    yield from columns.component_energies(rows, minor=True)
    yield Column("macs", "MACs", form=shown.count, minor=True)
    yield Column("optimal", "Proven", minor=True, words=_CERTIFICATES[2].words)
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
