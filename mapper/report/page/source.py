"""What a page is made from: the tables of a run with their exact texts, checked before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mapper.errors import InputError
from mapper.report.files import MANIFEST
from mapper.report.page.checked import check_columns, check_rows, read_rows
from mapper.report.page.recorded_limits import check_manifest
from mapper.report.page.table import Row
from mapper.report.recorded import KEYS, MAPPINGS, RunFolder, read_run
from mapper.report.results import BREAKDOWN, TOTALS, Results, typed, typed_rows
from mapper.search.rows import METRIC_COLUMNS
from mapper.search.rows import Row as Typed

SEARCH = "search"
"""Kind of a run; a manifest that names none is of one."""


@dataclass(frozen=True)
class Source:
    """A run: the rows of its three tables as texts, and the same with numbers as numbers.

    `breakdown` has the charges of the first mapping of each ranking; no page shows those of the others.
    """

    run: RunFolder
    breakdown: tuple[Row, ...]
    totals: tuple[Row, ...]
    results: Results

    @property
    def manifest(self) -> dict[str, Any]:
        return self.run.manifest

    @property
    def mappings(self) -> tuple[Row, ...]:
        return self.run.rows

    @property
    def metric(self) -> str:
        """The column that the search minimised."""
        return METRIC_COLUMNS[self.results.metric]

    @cached_property
    def charges(self) -> dict[tuple[str, ...], list[Row]]:
        """Rows of the breakdown by `KEYS` of their mapping."""
        found: dict[tuple[str, ...], list[Row]] = {}
        for row in self.breakdown:
            found.setdefault(key(row), []).append(row)
        return found


def key(row: Row) -> tuple[str, ...]:
    """What tells a mapping from the others of a run."""
    return tuple(str(row[name]) for name in KEYS)


def place(row: Row) -> str:
    """A ranking as its run calls it: `conv1 fw 1/1 KN`."""
    return f"{row['layer']} {row['phase']} {row['part']} {row['partitioning']}"


def number(row: Row, column: str) -> int | float:
    """A cell that `read_source` found to be a number; an empty one is 0."""
    value = typed(row[column])
    return value if isinstance(value, int | float) else 0


def read_source(folder: Path) -> Source:
    """The tables of a run. Raises `InputError` for what is missing, unreadable or not what a search writes."""
    run = read_run(folder)
    kind = run.manifest.get("kind", SEARCH)
    if kind != SEARCH:
        raise InputError(f"holds a {kind}, not a search", str(folder), "give a folder that mapper search wrote")
    check_manifest(run.manifest, folder / MANIFEST)
    breakdown = tuple(row for row in read_rows(folder / BREAKDOWN) if row.get("rank", "1") == "1")
    totals = read_rows(folder / TOTALS)
    results = Results(
        folder.resolve().name,
        _checked(folder / MAPPINGS, run.rows),
        _checked(folder / BREAKDOWN, breakdown),
        _checked(folder / TOTALS, totals),
        run.manifest["limits"],
        run.manifest.get("metric", "edp"),
    )
    return Source(run, breakdown, totals, results)


def _checked(path: Path, rows: tuple[Row, ...]) -> tuple[Typed, ...]:
    """The rows with numbers as numbers."""
    check_columns(path, rows[0] if rows else ())
    found = tuple(typed_rows(rows))
    check_rows(path, found)
    return found
