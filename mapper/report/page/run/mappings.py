"""The best mappings one by one: what `mapper explain` says of each and everything it is charged, folded away."""

from __future__ import annotations

from mapper.report.page import columns, shown
from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.figure import drawings
from mapper.report.page.html import Child, Html, tag
from mapper.report.page.run import captions
from mapper.report.page.run.explained import Explained
from mapper.report.page.run.source import key, place
from mapper.report.page.run.view import View
from mapper.report.page.table import Column, Row, Table, cell_of, render


def section(view: View) -> Section:
    """A fold per mapping, the heaviest open, with its figures."""
    body = (_fold(view, entry) for entry in view.told.found)
    return Section("explained", "Best mappings explained", [tag("p", _lead(view), class_="note"), _buttons(), body])


def _lead(view: View) -> str:
    told = view.told
    text = f"The best mapping of every layer, phase and part: {len(told.anchors):,} in all"
    if len(told.found) < len(told.anchors):
        text += f", in {len(told.found):,} folds because some differ in nothing but the layer"
    if told.left_out:
        text += f"; {told.left_out:,} that weigh less are left out, mapper explain shows them"
    return f"{text}. The one that weighs most is open. On paper: those that are open."


def _buttons() -> Html:
    every = (tag("button", f"{verb} all", type="button", data_fold=verb.lower()) for verb in ("Open", "Close"))
    return tag("p", every, class_="buttons", hidden=True)


def _fold(view: View, entry: Explained) -> Html:
    row = entry.rows[0]
    heavy = entry is view.heaviest
    drawn = view.mapping_figures if heavy else {}
    figures = drawings(drawn, captions.OF_MAPPING, "mapping-") if drawn else None
    others = [str(row["layer"]) for row in entry.rows[1:]]
    also = tag("p", "The same for ", ", ".join(others), ".", class_="note") if others else None
    note = None
    if entry.evaluation is not None and not entry.same:
        note = tag("p", "Evaluated again, its cycles or energy are not those of the tables.", class_="warning")
    body = [also, note, tag("pre", entry.text, class_="explain", tabindex=0), figures, _charges(entry)]
    return tag("details", tag("summary", _summary(row, len(others))), body, id=entry.name, open=heavy)


def _summary(row: Row, others: int) -> Child:
    """One line: whose mapping, and its figures."""
    more = tag("span", f" +{others}", class_="more") if others else None
    part = "" if row["part"] == "1/1" else f" {row['part']}"
    return [
        tag("span", tag("code", row["layer"]), more, class_="who"),
        tag("span", f"{row['phase']}{part}", class_="phase"),
        tag("span", row["partitioning"], class_="spread"),
        _figure(row, columns.CYCLES, "cycles"),
        _figure(row, columns.energy([row])),
        _figure(row, columns.UTILIZATION),
        tag("span", f"bound by {row['bound_by']}", class_="bound"),
    ]


def _figure(row: Row, column: Column, unit: str = "") -> Html:
    value = cell_of(column, row, "span", data_file="mappings", data_row=" ".join(key(row)), data_column=column.name)
    return tag("span", value, f" {unit or column.unit}", class_="figure")


def _charges(entry: Explained) -> Html | None:
    """Every charge of the first of its mappings."""
    rows = entry.charges
    if not rows:
        return None
    unit = shown.energy_unit(number(row, "energy_pj") for row in rows)
    heads = [
        Column("component", "Component"),
        Column("tensor", "Tensor"),
        Column("action", "Action"),
        Column("count", "Words or events", form=shown.count),
        Column("bits", "Bits", form=shown.count),
        Column("energy_pj", "Energy", unit.name, unit.form),
    ]
    caption = f"What it is charged: {place(entry.rows[0])}"
    return render(Table(f"{entry.name}-charges", caption, heads, rows, "breakdown"))
