"""A table of a page: its columns as data, exact values beside the shown ones, heads that sort and fields that filter.

Sorting and filtering are the script's (`report.js`); without it the table stands as it is and the fields stay hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mapper.report.page.html import Attribute, Child, Html, tag
from mapper.report.page.shown import Form, Number
from mapper.report.results import typed

Row = Mapping[str, str]
"""A row with the exact texts of a file."""


@dataclass(frozen=True)
class Column:
    """One column: `name` is the file's, `head` the page's.

    `form` shows a number; without it the cell is text. `choices`: the table can be narrowed to one of its values.
    `minor` columns are left out on paper. `note` explains the head. `words` are shown in place of
    texts of the file. `dress` makes more of a shown text, such as a link.
    """

    name: str
    head: str
    unit: str = ""
    form: Form | None = None
    choices: bool = False
    minor: bool = False
    note: str = ""
    code: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    dress: Callable[[Row, str], Child] | None = None

    @property
    def kind(self) -> str | None:
        """Class of every cell."""
        return "code" if self.code else None

    def shown(self, exact: str) -> str | None:
        """A cell that is a number as it is shown; None where it is text."""
        value = None if self.form is None else typed(exact)
        if self.form is None or value is None or isinstance(value, bool | str):
            return None
        return self.form(cast(Number, value))


@dataclass(frozen=True)
class Table:
    """What a table shows. `name` is its id on the page, `file` the table of the run whose cells it repeats.

    `groups` stand above the heads: (text, columns). `mark` gives a row's attributes. `sortable` tables have buttons in
    their heads, and fields that filter where some column has `choices`.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    file: str | None = None
    groups: Sequence[tuple[str, int]] = ()
    mark: Callable[[Row], Mapping[str, Attribute]] | None = None
    sortable: bool = True
    tall: bool = False


def render(table: Table) -> Html:
    """Fields that filter, and the table in a box that scrolls."""
    head = tag("thead", _groups(table), tag("tr", (_head(table, i, c) for i, c in enumerate(table.columns))))
    body = tag("tbody", (_row(table, row) for row in table.rows))
    kind = {"data_file": table.file, "data_sortable": table.sortable}
    whole = tag("table", tag("caption", table.caption), head, body, id=table.name, **kind)
    shape = "scroll tall" if table.tall else "scroll"
    box = tag("div", whole, class_=shape, tabindex=0, role="region", aria_label=table.caption)
    return Html(_filters(table) + box)


def paper_style(table: Table) -> str:
    """Rules that leave the minor columns out in print: by their place, as a class on every cell would weigh more."""
    places = (index for index, column in enumerate(table.columns, 1) if column.minor)
    cells = ",".join(f"#{table.name} tr>:nth-child({place})" for place in places)
    return f"@media print{{{cells}{{display:none}}}}\n" if cells else ""


def cell_of(column: Column, row: Row, name: str = "td", **attributes: Attribute) -> Html:
    """One cell, as an element `name`. A number carries its exact text, which is also its title where less is shown."""
    exact = row[column.name]
    shown = column.shown(exact)
    if shown is None:
        return tag(name, _dressed(column, row, column.words.get(exact, exact)), class_=column.kind, **attributes)
    title = None if shown.replace(",", "") == exact else exact
    marks: dict[str, Attribute] = {"class_": column.kind, "data_value": exact, "title": title}
    return tag(name, _dressed(column, row, shown), **marks, **attributes)


def _dressed(column: Column, row: Row, shown: str) -> Child:
    return column.dress(row, shown) if column.dress else shown


def _groups(table: Table) -> Html | None:
    if not table.groups:
        return None
    return tag(
        "tr", (tag("th", text, colspan=width, scope="colgroup") for text, width in table.groups), class_="groups"
    )


def _head(table: Table, index: int, column: Column) -> Html:
    unit = tag("span", f" {column.unit}", class_="unit") if column.unit else None
    inner: Child = [column.head, unit]
    if table.sortable:
        inner = tag("button", inner, type="button", disabled=True)
    kind = "text" if column.form is None else "number"
    return tag(
        "th",
        inner,
        scope="col",
        class_=column.kind,
        title=column.note or None,
        data_column=column.name,
        data_kind=kind,
        data_index=index,
        aria_sort="none" if table.sortable else None,
    )


def _row(table: Table, row: Row) -> Html:
    """A row on a line of its own, which ends inside it: text between rows makes a browser slow when it sorts many."""
    marks = table.mark(row) if table.mark else {}
    return tag("tr", (cell_of(column, row) for column in table.columns), "\n", **marks)


def _filters(table: Table) -> str:
    """A field for text, a list for each column with several choices, and how many rows are left.

    None of it where there is one row.
    """
    chosen = [(i, column) for i, column in enumerate(table.columns) if column.choices]
    if not (chosen and table.sortable and len(table.rows) > 1):
        return ""
    search = tag("label", "Search", tag("input", type="search", name="text", autocomplete="off", spellcheck="false"))
    lists = (_choice(index, column, table.rows) for index, column in chosen)
    left = tag("output", f"{len(table.rows):,} rows", aria_live="polite")
    clear = tag("button", "Clear", type="reset")
    return tag("form", search, lists, clear, left, class_="filters", data_for=table.name, hidden=True)


def _choice(index: int, column: Column, rows: Iterable[Row]) -> Html | None:
    values = dict.fromkeys(row[column.name] for row in rows)
    texts = dict.fromkeys(column.shown(value) or column.words.get(value, value) for value in values)
    if len(texts) < 2:
        return None
    options = (tag("option", text, value=text) for text in texts if text)
    return tag("label", column.head, tag("select", tag("option", "all", value=""), options, data_index=index))
