"""Tables of a page: heads that sort, fields that filter, exact values beside shown ones."""

from __future__ import annotations

from dataclasses import replace

from mapper.report.page import shown
from mapper.report.page.html import tag
from mapper.report.page.table import Column, Table, paper_style, render
from tests.report.page.dom import parse

NAME = Column("name", "Name", choices=True)
CYCLES = Column("cycles", "Cycles", "kilo", shown.count, note="how long")
ROWS = (
    {"name": "<a>", "cycles": "12345"},
    {"name": "b", "cycles": ""},
    {"name": "<a>", "cycles": "0.5"},
)
TABLE = Table("t", "A <table>", (NAME, CYCLES), ROWS, file="file")


def test_a_number_carries_its_exact_text() -> None:
    cells = list(parse(render(TABLE)).one("tbody").all("td"))
    assert [cell.text for cell in cells] == ["<a>", "12,345", "b", "", "<a>", "0.50000"]
    assert [cell.attributes for cell in cells] == [
        {},
        {"data-value": "12345"},
        {},
        {},
        {},
        {"data-value": "0.5", "title": "0.5"},
    ]


def test_heads_are_buttons_that_wait_for_the_script() -> None:
    name, cycles = parse(render(TABLE)).one("thead").all("th")
    assert name.one("button").attributes == {"type": "button", "disabled": ""}
    assert cycles.attributes == {
        "scope": "col",
        "title": "how long",
        "data-column": "cycles",
        "data-kind": "number",
        "data-index": "1",
        "aria-sort": "none",
    }
    assert cycles.text == "Cycles kilo"


def test_fields_that_filter_wait_for_the_script() -> None:
    form = parse(render(TABLE)).one("form")
    assert form.attributes == {"class": "filters", "data-for": "t", "hidden": ""}
    assert form.one("select").attributes == {"data-index": "0"}
    options = [(option.text, option.attributes["value"]) for option in form.all("option")]
    assert options == [("all", ""), ("<a>", "<a>"), ("b", "b")]
    assert form.one("output").text == "3 rows"


def test_a_list_offers_what_the_cells_show_and_nothing_else() -> None:
    columns = (replace(CYCLES, choices=True), replace(NAME, words={"b": ""}))
    tree = parse(render(replace(TABLE, columns=columns)))
    lists = [[option.text for option in one.all("option")] for one in tree.one("form").all("select")]
    assert lists == [["all", "12,345", "0.50000"], ["all", "<a>"]]
    assert not list(parse(render(replace(TABLE, rows=ROWS[:1]))).all("select"))


def test_a_table_that_does_not_sort_has_neither() -> None:
    tree = parse(render(replace(TABLE, sortable=False)))
    assert not list(tree.all("button"))
    assert not list(tree.all("form"))


def test_words_links_and_groups() -> None:
    column = replace(NAME, words={"b": "bee"}, dress=lambda row, text: tag("a", text, href=f"#{row['name']}"))
    tree = parse(render(replace(TABLE, columns=(column, CYCLES), groups=(("both", 2),))))
    assert [(link.text, link.attributes["href"]) for link in tree.one("tbody").all("a")] == [
        ("<a>", "#<a>"),
        ("bee", "#b"),
        ("<a>", "#<a>"),
    ]
    assert [option.text for option in tree.one("form").all("option")] == ["all", "<a>", "bee"]
    assert next(tree.one("thead").all("th")).attributes == {"colspan": "2", "scope": "colgroup"}


def test_minor_columns_are_left_out_on_paper() -> None:
    assert paper_style(TABLE) == ""
    minor = replace(TABLE, columns=(NAME, replace(CYCLES, minor=True)))
    assert paper_style(minor) == "@media print{#t tr>:nth-child(2){display:none}}\n"
