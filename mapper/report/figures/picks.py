"""What figures take from a run: per layer and phase the mappings of one choice of partitionings, parts together.

A choice is a partitioning for every layer, or `best`: per layer, phase and part the one whose first mapping has the
lowest metric, as in the totals. A layer counts in a phase only with all its parts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from mapper.report.results import Results
from mapper.report.totals import BEST
from mapper.search.rows import METRIC_COLUMNS, Row
from mapper.workload import Phase

Place = tuple[str, str]
"""(layer, phase)."""


@dataclass(frozen=True)
class Pick:
    """A layer in a phase: the chosen row of each of its parts. Sums are those of one execution of the layer."""

    rows: tuple[Row, ...]

    @property
    def repeat(self) -> int:
        """How often the network has the layer."""
        return int(number(self.rows[0], "repeat"))

    def sum(self, column: str) -> float:
        """Sum of a column over the parts."""
        return math.fsum(number(row, column) for row in self.rows)


def number(row: Row, column: str) -> float:
    """A cell that holds a number; an empty one is 0."""
    return float(row.get(column) or 0.0)  # type: ignore[arg-type]


def layers(results: Results) -> tuple[str, ...]:
    """Names of the layers that have a mapping, in the order of the network."""
    return tuple(dict.fromkeys(str(row["layer"]) for row in results.mappings))


def phases(results: Results) -> tuple[str, ...]:
    """Phases that have a mapping, in the order of training."""
    found = {str(row["phase"]) for row in results.mappings}
    return tuple(str(phase) for phase in Phase if phase in found)


def partitionings(results: Results) -> tuple[str, ...]:
    """Partitionings that have a mapping, in the order they were asked for."""
    return tuple(dict.fromkeys(str(row["partitioning"]) for row in results.mappings))


def repeats(results: Results) -> dict[str, int]:
    """How often the network has each layer."""
    return {str(row["layer"]): int(number(row, "repeat")) for row in results.mappings}


def picks(results: Results, choice: str = BEST) -> dict[Place, Pick]:
    """Layers and phases that are complete under a choice."""
    parts: dict[Place, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in results.firsts():
        if choice in (BEST, row["partitioning"]):
            parts[str(row["layer"]), str(row["phase"])][str(row["part"])].append(row)
    best = {place: Pick(tuple(_best(rows, results.metric) for rows in by.values())) for place, by in parts.items()}
    return {place: pick for place, pick in best.items() if len(pick.rows) == _parts(pick.rows[0])}


def _best(rows: Iterable[Row], metric: str) -> Row:
    """The lowest, of equal ones the first."""
    column = METRIC_COLUMNS[metric]
    return min(rows, key=lambda row: (number(row, column), number(row, "edp_pj_cycles")))


def _parts(row: Row) -> int:
    """How many parts the phase of a layer has: `2/4` says four."""
    return int(str(row["part"]).rpartition("/")[2])


def choice_text(choice: str, results: Results) -> str:
    """What a title says of a choice."""
    if choice == BEST and len(partitionings(results)) == 1:
        choice = partitionings(results)[0]
    shown = {"edp": "EDP", "pareto": "EDP"}.get(results.metric, results.metric)
    return f"best partitioning of each layer by {shown}" if choice == BEST else f"partitioning {choice}"


def subject(results: Results) -> str:
    """What a title calls a run: its name, and the network and accelerator it does not name already."""
    row = results.mappings[0]
    others = [str(row[column]) for column in ("network", "arch") if str(row[column]) != results.name]
    return f"{results.name} ({' on '.join(others)})" if others else results.name
