"""The summary of a sweep's page: the extremes where all points do the same work, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.html import Html, tag
from mapper.report.page.shown import counted
from mapper.report.page.statements import Line, certificate, ended_early, few, trust_panel, without_mapping
from mapper.report.page.sweep.columns import COMPARED, figures, place
from mapper.report.page.sweep.source import Source, point, ranking
from mapper.report.page.sweep.view import View
from mapper.report.page.table import Row
from mapper.report.page.tiles import tile, tiles
from mapper.report.sweep_tables import FRONT
from mapper.report.totals import ALL, BEST


def section(view: View) -> Section:
    """The first part of the page."""
    source = view.source
    extremes = [_extremes(source, rows) for rows in source.works.values()] if len(source.works) == 1 else None
    return Section("summary", "Summary", [extremes, tag("div", trust_panel(_trust(source)), class_="panels")])


def _extremes(source: Source, rows: Sequence[Row]) -> Html:
    """The least of each figure among points that do the same work, with whose it is."""
    heads = [column for column in figures(rows) if column.name in COMPARED]
    # Of equal ones that on the front, which is lower in another figure.
    least = ((head, min(rows, key=lambda row: (number(row, head.name), row[FRONT] != "True"))) for head in heads)
    return tiles(
        tile(
            replace(column, head=f"Least {_word(column.head)}"), row, place(row, source, column.name), _of(source, row)
        )
        for column, row in least
    )


def _word(head: str) -> str:
    return head if head.isupper() else head.lower()


def _of(source: Source, row: Row) -> str:
    return " ".join(filter(None, (point(row, source.axes), row["partitioning"])))


def _trust(source: Source) -> Iterator[Line]:
    yield from certificate(source.mappings)
    yield from without_mapping((ranking(row, source.axes), row["reason"]) for row in source.failed)
    yield from ended_early(source.manifest.get("problems") or {})
    lacking = [row for row in source.points if row["phase"] == ALL and row["partitioning"] == BEST]
    names = [point(row, source.axes) for row in lacking if number(row, "layers_without_mapping")]
    if names:
        text = counted(len(names), "point lacks", "points lack")
        yield Line(
            f"{text} mappings of some layers under every partitioning: on no front, in no figure.", False, few(names)
        )
