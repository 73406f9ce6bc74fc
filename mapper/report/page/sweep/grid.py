"""Where exactly two things vary: cycles, energy and EDP over both, in stronger colour where they are higher."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from mapper.report.page import columns
from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.html import Html, tag
from mapper.report.page.sweep.columns import place
from mapper.report.page.sweep.source import Source
from mapper.report.page.sweep.view import View
from mapper.report.page.table import Column, Row, cell_of
from mapper.report.totals import BEST

Cells = Mapping[tuple[str, str], Row]
"""Totals by the values of both axes."""

MOST = 12
"""Values of either axis."""
STRONGEST = 45
"""Share of the colour behind the highest figure, in hundredths."""
_LEAD = "Sums over all phases, the best partitioning for each layer. Stronger colour is more, a star marks the least."


def sections(view: View) -> Iterator[Section]:
    """None unless two things vary, neither in many values."""
    source = view.source
    rows = [row for row in source.totals if row["partitioning"] == BEST]
    values = {axis: list(dict.fromkeys(row[axis] for row in rows)) for axis in source.axes}
    several = [axis for axis, found in values.items() if len(found) > 1]
    if len(several) != 2 or max(len(values[axis]) for axis in several) > MOST:
        return
    down, across = several
    cells = {(row[down], row[across]): row for row in rows}
    heads = (columns.CYCLES, columns.energy(rows), columns.EDP)
    grids = (_grid(source, column, cells, {axis: values[axis] for axis in several}) for column in heads)
    body = [tag("p", _LEAD, class_="lead"), tag("div", grids, class_="grids")]
    yield Section("grid", f"Over {down} and {across}", body)


def _grid(source: Source, column: Column, cells: Cells, values: Mapping[str, Sequence[str]]) -> Html:
    """A table: the values of the first axis down, those of the second across."""
    (down, rows), (across, heads) = values.items()
    figures = [number(row, column.name) for row in cells.values()]
    low, high = min(figures), max(figures)
    least = {(id(row), column.name) for row in cells.values() if number(row, column.name) == low}
    shown = columns.starred(column, least)

    def cell(row: Row | None) -> Html:
        if row is None:
            return tag("td")
        shade = f"--share:{_share(number(row, column.name), low, high):.0f}%"
        return cell_of(shown, row, "td", **place(row, source, column.name), style=shade)

    body = (tag("tr", tag("th", one, scope="row"), (cell(cells.get((one, two))) for two in heads)) for one in rows)
    top = tag("tr", tag("th", f"{down} \\ {across}", scope="col"), (tag("th", two, scope="col") for two in heads))
    caption = tag("caption", column.head, tag("span", f" {column.unit}", class_="unit"))
    return tag("table", caption, tag("thead", top), tag("tbody", body), class_="grid")


def _share(value: float, low: float, high: float) -> float:
    """How strong the colour behind a figure is, by its logarithm."""
    return STRONGEST * math.log(value / low) / math.log(high / low) if 0 < low < high else 0.0
