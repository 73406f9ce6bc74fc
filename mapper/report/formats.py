"""A table, and its text in each format: exact integers, shortest exact decimals, rows and columns in a fixed order."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from mapper.errors import InputError
from mapper.search.rows import Row

WIDEST = 2**63
"""Integers from here on do not fit a column of 64 bits."""


@dataclass(frozen=True)
class Table:
    """Rows with the same keys in the same order. `on_page` names the columns for a page; all where it is empty."""

    name: str
    rows: tuple[Row, ...]
    on_page: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the rows; those for a page where there are no rows."""
        return tuple(self.rows[0]) if self.rows else self.on_page


def to_csv(table: Table) -> bytes:
    """Lines end in LF; None is empty; a float is the shortest text that reads back as the same number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(row.values() for row in table.rows)
    return text.getvalue().encode()


def to_json(table: Table) -> bytes:
    """A list of objects, one row per line."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in table.rows)
    return f"[\n{rows}\n]\n".encode()


def to_markdown(table: Table) -> bytes:
    """A table of pipes with the columns for a page."""
    head, *lines = _on_page(table)
    rule = ["---"] * len(head)
    rows = [[cell.replace("|", r"\|") for cell in line] for line in (head, rule, *lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).encode()


def to_latex(table: Table) -> bytes:
    """A `longtable` with rules of booktabs and the columns for a page."""
    head, *lines = ([_latex(cell) for cell in line] for line in _on_page(table))
    rows = "".join(f"{' & '.join(line)} \\\\\n" for line in lines)
    start = f"\\begin{{longtable}}{{{'l' * len(head)}}}\n\\toprule\n{' & '.join(head)} \\\\\n\\midrule\n\\endhead\n"
    return f"{start}{rows}\\bottomrule\n\\end{{longtable}}\n".encode()


def to_parquet(table: Table) -> bytes:
    """Parquet by pyarrow; a column with integers beyond 64 bits is decimal."""
    check_format("parquet")
    import pandas as pd

    frame = pd.DataFrame(list(table.rows))
    for column in table.columns:
        if any(isinstance(value, int) and value >= WIDEST for value in (row[column] for row in table.rows)):
            frame[column] = frame[column].map(lambda value: Decimal(str(value)))
    data: bytes = frame.to_parquet(index=False)
    return data


FORMATS: dict[str, Callable[[Table], bytes]] = {
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
    "latex": to_latex,
    "parquet": to_parquet,
}
"""How each format is written."""

SUFFIXES = {"latex": "tex"}
"""File endings that are not the format's name."""


def check_format(form: str) -> None:
    """Raises `InputError` where a format needs a package that is not installed."""
    if form == "parquet":
        from importlib.util import find_spec

        if find_spec("pyarrow") is None:
            raise InputError("parquet needs pyarrow", where="--format", hint="pip install 'mapper[parquet]'")


def file_name(table: Table, form: str) -> str:
    """`mappings.csv`."""
    return f"{table.name}.{SUFFIXES.get(form, form)}"


def _on_page(table: Table) -> list[list[str]]:
    """Head and rows as text, only the columns for a page."""
    columns = table.on_page or table.columns
    lines = [["" if row[column] is None else str(row[column]) for column in columns] for row in table.rows]
    return [list(columns), *lines]


def _latex(text: str) -> str:
    """`text` with the characters that LaTeX takes for its own escaped."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
