"""What a page is made from: the tables of a run with their exact texts, checked before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mapper.report.files import MANIFEST
from mapper.report.page.checked import Schema, check_table, read_table
from mapper.report.page.manifests import SEARCH, check_manifest
from mapper.report.page.table import Row
from mapper.report.recorded import KEYS, MAPPINGS, RunFolder, read_run
from mapper.report.results import BREAKDOWN, TOTALS, Results, typed_rows
from mapper.search.rows import METRIC_COLUMNS

_PLACE = ("arch", "network", "layer", "phase", "part", "partitioning")
_COSTS = ("macs", "effectual_macs", "cycles", "energy_pj", "edp_pj_cycles")
SCHEMAS = {
    MAPPINGS: Schema(
        *(f"mapper {SEARCH}", KEYS, (*_PLACE, "mapping", "bound_by", "optimal", "interconnect_pattern")),
        (
            "repeat",
            "rank",
            *_COSTS,
            "utilization",
            "imbalance_mean",
            "imbalance_max",
            "gap",
            "mapspace_size",
            "evaluated",
        ),
    ),
    BREAKDOWN: Schema(
        *(f"mapper {SEARCH}", KEYS, (*_PLACE, "component", "tensor", "action")), ("rank", "count", "bits", "energy_pj")
    ),
    # A phase without any mapping has no utilization.
    TOTALS: Schema(
        *(f"mapper {SEARCH}", KEYS, ("arch", "network", "phase", "partitioning")),
        ("layers", "layers_without_mapping", *_COSTS, "utilization"),
        frozenset(("utilization",)),
    ),
}
"""What a page needs of each table."""


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


def read_search(folder: Path) -> Source:
    """The tables of a run. Raises `InputError` for what is missing, unreadable or not what a search writes."""
    run = read_run(folder)
    check_manifest(run.manifest, folder / MANIFEST, SEARCH)
    check_table(folder / MAPPINGS, tuple(run.rows[0]), run.rows, SCHEMAS[MAPPINGS])
    breakdown = read_table(folder / BREAKDOWN, SCHEMAS[BREAKDOWN], rank="1")
    totals = read_table(folder / TOTALS, SCHEMAS[TOTALS])
    typed = [tuple(typed_rows(rows)) for rows in (run.rows, breakdown, totals)]
    results = Results(
        folder.resolve().name, typed[0], typed[1], typed[2], run.manifest["limits"], run.manifest.get("metric", "edp")
    )
    return Source(run, breakdown, totals, results)
