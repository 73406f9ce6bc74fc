"""The Pareto fronts of a sweep: of every piece of work the points that no other beats, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mapper.report.figures.points import MOST_WORKS
from mapper.report.page import columns
from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.figure import drawings
from mapper.report.page.html import Attribute, Child, tag
from mapper.report.page.shown import counted
from mapper.report.page.sweep.columns import COMPARED, figures, of_points
from mapper.report.page.sweep.source import Source
from mapper.report.page.sweep.view import View
from mapper.report.page.table import Row, Table, render
from mapper.report.sweep_tables import FRONT

MOST = 500
"""Rows of the table."""
_NONE = "No point has a mapping of every layer."
_PARETO = "Points under each partitioning, sums over all phases. Nothing lies below the line{area}."
_BUFFERS = "Energy by component against the size of the buffer, each layer under its best partitioning."


def section(view: View) -> Section:
    """Table and figures."""
    source = view.source
    fronts = [_front(rows) for rows in source.works.values()]
    body: Child = [tag("p", _lead(source), class_="lead"), _table(source, fronts)] if any(fronts) else tag("p", _NONE)
    return Section("front", "Pareto front", [body, drawings(view.figures, _captions(view)), _left_out(source)])


def _front(rows: Sequence[Row]) -> list[Row]:
    """Those on it, from the fewest cycles to the least energy."""
    on = [row for row in rows if row[FRONT] == "True"]
    return sorted(on, key=lambda row: [number(row, name) for name in ("cycles", "energy_pj", "area_um2")])


def _lead(source: Source) -> str:
    """What the front is one of, and who competes."""
    what = "energy, cycles and area" if _with_area(source) else "energy and cycles"
    who = f"of the same {', '.join(source.work)}" if source.work else "of this sweep"
    text = f"No other point {who} is as low in {what} and lower in one of them"
    return f"{text}; sums over all phases, under one partitioning for all layers."


def _with_area(source: Source) -> bool:
    return all(row["area_um2"] for rows in source.works.values() for row in rows)


def _table(source: Source, fronts: Sequence[Sequence[Row]]) -> Child:
    every = [row for front in fronts for row in front]
    rows, firsts = every[:MOST], {id(front[0]) for front in fronts if front}
    # What is the same for those that compete stands first.
    of = sorted(of_points(source, rows), key=lambda column: column.name not in source.work)
    stars = set(_stars(source))
    heads = [
        *(*of, columns.PARTITIONING),
        *(columns.starred(column, stars) for column in figures(rows)),
        *columns.component_energies(rows),
    ]
    choices = sum(map(len, source.works.values()))
    caption = f"On a front: {len(every):,} of {counted(choices, 'choice')} of a point and a partitioning"
    caption += f"; the first {MOST}, all are in points.csv" if len(every) > MOST else ""
    caption += f". A star marks the least {'of its work' if source.work else 'of all'}."

    def mark(row: Row) -> Mapping[str, Attribute]:
        return {"class_": "first" if id(row) in firsts else None}

    return render(Table("fronts", caption, heads, rows, "points", mark=mark, tall=True))


def _stars(source: Source) -> Iterator[tuple[int, str]]:
    """Cells (identity of the row, column) that no other of the same work is less than."""
    for rows in source.works.values():
        for name in COMPARED:
            least = min(number(row, name) for row in rows)
            yield from ((id(row), name) for row in rows if row[name] and number(row, name) == least)


def _captions(view: View) -> dict[str, str]:
    pareto = _PARETO.format(area="; points of the front above it have less area" if _with_area(view.source) else "")
    return {name: pareto if name.startswith("pareto") else _BUFFERS for name in view.figures}


def _left_out(source: Source) -> Child:
    if len(source.works) <= MOST_WORKS:
        return None
    return tag("p", f"Figures of the first {MOST_WORKS} of {len(source.works):,} pieces of work.", class_="note")
