"""Cells of a page against the tables of its folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from tests.report.page.dom import Node

Rows = list[dict[str, str]]

SCALES: dict[str, int | Decimal] = {
    "": 1,
    "%": Decimal("0.01"),
    "pJ": 1,
    "nJ": 10**3,
    "µJ": 10**6,
    "mJ": 10**9,
    "J": 10**12,
    "bits": 1,
}
SCALES |= {"pJ·cycles": 1, "pJ/bit": 1, "µm²": 1, "mm²": 10**6, "layers": 1}
"""What one of a unit is in the table's own."""

WORDS = {"True": "yes", "False": "no"}


def rows(run: Path, table: str) -> Rows:
    with (run / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(folder: Path, table: str, written: Rows) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(written[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(written)
    (folder / f"{table}.csv").write_text(text.getvalue(), encoding="utf-8")


def lines(table: Node) -> Iterator[Iterator[tuple[Node, Node]]]:
    """Rows of a table as pairs of head and cell."""
    heads = [head for head in table.one("thead").all("th") if "data-column" in head.attributes]
    for row in table.one("tbody").all("tr"):
        yield zip(heads, row.all("td"), strict=True)


def check_shown(text: str, exact: str, unit: str) -> None:
    """The shown number is the exact one, rounded to the digits that it has, at least four where there are more."""
    shown = Decimal(text.replace(",", "").rstrip("*"))
    last = Decimal((0, (1,), int(shown.as_tuple().exponent)))
    wanted = Decimal(exact) / SCALES[unit]
    assert abs(shown - wanted) <= last * Decimal("0.5000001"), (text, exact, unit)
    assert shown == wanted or unit == "%" or len(shown.as_tuple().digits) >= 4, (text, exact)


def check_number(cell: Node, exact: str, unit: str) -> None:
    assert cell.attributes["data-value"] == exact
    assert cell.attributes.get("title", exact) == exact
    check_shown(cell.text, exact, unit)
    if "title" not in cell.attributes:
        assert cell.text.replace(",", "").rstrip("*") == exact


def check_row(line: Iterator[tuple[Node, Node]], row: dict[str, str], words: dict[str, str] = WORDS) -> int:
    """Every cell of a line is that of a row of the table; some texts stand as `words`. How many are numbers."""
    numbers = 0
    for head, cell in line:
        exact = row[head.attributes["data-column"]]
        if "data-value" in cell.attributes:
            unit = next((u.text.strip() for u in head.all("span", class_="unit")), "")
            check_number(cell, exact, unit)
            numbers += 1
        else:
            assert cell.text.rstrip("\n") == words.get(exact, exact)
    return numbers
