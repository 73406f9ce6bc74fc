"""The tables of a run with their numbers as numbers: of a folder that a search wrote, or of a run in memory.

What compares and draws runs reads these rows, so it says the same about a run before and after it went to disk.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mapper.errors import InputError
from mapper.report.manifest import limits
from mapper.report.recorded import MAPPINGS, RunFolder, read_run
from mapper.report.tables import breakdown_table, mappings_table
from mapper.report.totals import totals_table
from mapper.runs import Run
from mapper.search.rows import Row

BREAKDOWN, TOTALS = "breakdown.csv", "totals.csv"

TEXTS = frozenset(
    (
        *("arch", "network", "layer", "phase", "part", "partitioning", "mapping", "bound_by"),
        *("component", "tensor", "action", "interconnect_pattern"),
    )
)
"""Columns that are text whatever they look like: a layer may be called 1."""

_WORDS: dict[str, object] = {"": None, "True": True, "False": False}
_INTEGER = re.compile(r"-?\d{1,4000}")
"""More digits are none of mapper's, and Python reads no more."""


@dataclass(frozen=True)
class Results:
    """Rows of the three tables, and what the run's manifest says of the accelerator (`limits`) and the search."""

    name: str
    mappings: tuple[Row, ...]
    breakdown: tuple[Row, ...]
    totals: tuple[Row, ...]
    limits: Mapping[str, Any]
    metric: str

    def firsts(self) -> Iterator[Row]:
        """The first mapping of every layer, phase, part and partitioning."""
        return (row for row in self.mappings if row["rank"] == 1)


def results(run: Run, name: str | None = None) -> Results:
    """Of a run in memory; `name` is what tables and figures call it, the accelerator's where it is not given."""
    return Results(
        name or run.plan.accelerator.name,
        mappings_table(run).rows,
        breakdown_table(run).rows,
        totals_table(run).rows,
        limits(run.plan.accelerator),
        run.plan.metric,
    )


def read_results(folder: Path, name: str | None = None) -> Results:
    """Of the folder of a run. Raises `InputError` naming the file that is missing or unreadable."""
    return results_of(read_run(folder), name)


def results_of(found: RunFolder, name: str | None = None) -> Results:
    """The same of a run whose mappings and manifest are read."""
    folder = found.path
    return Results(
        name or folder.resolve().name,
        tuple(typed_rows(found.rows)),
        tuple(typed_rows(_read(folder / BREAKDOWN))),
        tuple(typed_rows(_read(folder / TOTALS))),
        found.manifest.get("limits") or {},
        str(found.manifest.get("metric", "edp")),
    )


def typed_rows(rows: Iterable[Mapping[str, str]]) -> Iterator[Row]:
    """Rows of a CSV file of mapper's with the values that were written."""
    return ({column: text if column in TEXTS else typed(text) for column, text in row.items()} for row in rows)


def typed(text: str) -> object:
    """What a cell of such a file was: nothing, a truth value, an integer, a float, or its text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _read(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        if any(None in row or None in row.values() for row in rows):
            raise ValueError("a row has not as many columns as the header")
        return rows
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {reason}", str(path), f"mapper search writes it beside {MAPPINGS}") from None
