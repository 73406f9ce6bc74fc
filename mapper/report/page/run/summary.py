"""The summary of a run's page: key figures, what bounds, where the energy goes, how far to trust it, totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mapper.report.layout import portion
from mapper.report.page import columns, shown
from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.html import Attribute, Child, Html, tag
from mapper.report.page.run.explained import best_rows
from mapper.report.page.run.heading import phases
from mapper.report.page.run.source import Source
from mapper.report.page.run.totals import totals_table, whole
from mapper.report.page.run.trust import trust
from mapper.report.page.run.view import View
from mapper.report.page.table import Column, Row, cell_of
from mapper.report.page.tiles import tile, tiles
from mapper.report.totals import ALL
from mapper.search.rows import energy_components

_EVERY = 3
"""Phases of a training step."""


def section(view: View) -> Section:
    """The first part of the page."""
    source = view.source
    row = whole(source.totals)
    panels = [_bounds(source), None if row is None else _energy(row), trust(view)]
    lead = None if row is None else [_lead(source), _tiles(row)]
    return Section("summary", "Summary", [lead, tag("div", panels, class_="panels"), totals_table(_several(source))])


def _several(source: Source) -> tuple[Row, ...]:
    """The totals; those of all phases say nothing new where there is one."""
    return tuple(row for row in source.totals if row["phase"] != ALL or len(phases(source)) > 1)


def _lead(source: Source) -> Html:
    found = phases(source)
    work = "A training step" if len(found) == _EVERY else f"The phases {', '.join(found)}" if len(found) > 1 else None
    what = work or f"The phase {found[0]} ({columns.PHASES[found[0]]})"
    text = f"{what}, every layer under its best partitioning, times its repeats"
    missing = int(number(whole(source.totals) or {}, "layers_without_mapping"))
    without = f", without {shown.counted(missing, 'layer')} that lack a mapping" if missing else ""
    return tag("p", f"{text}{without}.", class_="lead")


def _tiles(row: Row) -> Html:
    """Figures in large."""
    utilization = Column("utilization", "Utilization", "%", shown.percent)
    heads = (columns.CYCLES, columns.energy([row]), columns.EDP, utilization)
    return tiles(tile(column, row, _cell(row, column.name)) for column in heads if row[column.name])


def _cell(row: Row, column: str) -> dict[str, Attribute]:
    """Where a figure outside the tables comes from."""
    return {"data_file": "totals", "data_row": f"{row['phase']} {row['partitioning']}", "data_column": column}


def _bounds(source: Source) -> Html:
    """Shares of the cycles of the best mappings of each phase by what bounds them."""
    cycles: dict[str, dict[str, int | float]] = {phase: {} for phase in phases(source)}
    for row in best_rows(source):
        found = cycles[row["phase"]]
        found[row["bound_by"]] = found.get(row["bound_by"], 0) + number(row, "cycles") * number(row, "repeat")
    bars = (_bars(((name, v, None) for name, v in found.items()), phase) for phase, found in cycles.items())
    return _panel("What bounds", _lines(bars), "Share of the cycles of a phase by what bounds its mappings.")


def _energy(row: Row) -> Html:
    """Energy of each component, and its share."""
    cells = ((name.replace("_", " "), cell) for name, cell in energy_components(row).items())
    parts = ((name, number(row, cell), _amount(row, cell)) for name, cell in cells)
    return _panel("Where the energy goes", _lines([_bars(parts)]), "Energy of each component, and its share.")


def _amount(row: Row, name: str) -> Child:
    column = columns.energy([row], name)
    return [cell_of(column, row, "span", **_cell(row, name)), tag("span", f" {column.unit}", class_="unit")]


def _panel(title: str, body: Child, note: str) -> Html:
    return tag("div", tag("h3", title), body, tag("p", note, class_="note"), class_="panel")


def _lines(lines: Iterable[Child]) -> Html:
    return tag("table", tag("tbody", lines), class_="bars")


def _bars(parts: Iterable[tuple[str, int | float, Child]], group: str = "") -> Iterator[Html]:
    """A line per part with its amount and its share of all, the largest first; what is nothing is left out.

    `group` stands before the name of each.
    """
    found = sorted((part for part in parts if part[1]), key=lambda part: -part[1])
    every = sum(value for _, value, _ in found)
    for name, value, amount in found:
        yield _bar(f"{group} {name}".lstrip(), amount, value / every)


def _bar(name: str, amount: Child, share: float) -> Html:
    fill = tag("span", style=f"width:{100 * share:.1f}%")
    cells = [tag("td", amount) if amount else None, tag("td", portion(share)), tag("td", fill, class_="bar")]
    return tag("tr", tag("th", name, scope="row"), cells)
