"""Totals of a network: sums over its layers, each times its repeat, per phase and choice of partitionings.

A choice is one partitioning for every layer, or `best`: for each layer and part the partitioning whose first mapping
has the lowest metric. A layer enters the sum of a phase only with all its parts; the others are counted as without a
mapping. `all` adds the phases, and counts a layer that misses one of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

from mapper.report.formats import Table
from mapper.runs import Plan, Task
from mapper.search.rows import METRIC_COLUMNS, Row, is_energy_column
from mapper.workload import Layer, Part, Phase

BEST = "best"
"""The choice of the best partitioning per layer and part."""
ALL = "all"
"""The three phases together."""
ON_PAGE = (
    *("network", "phase", "partitioning", "layers", "layers_without_mapping", "macs", "cycles", "utilization"),
    *("energy_pj", "edp_pj_cycles"),
)
"""Columns on a page."""


class Found(Protocol):
    """What is added up: a plan, and the first mapping of each of its tasks that has any (a run, a point of a sweep)."""

    @property
    def plan(self) -> Plan: ...

    @property
    def firsts(self) -> tuple[tuple[Task, Row], ...]: ...


@dataclass(frozen=True)
class Pick:
    """The mapping that a choice takes for one part of a layer, as its row of figures."""

    task: Task
    row: Row


@dataclass(frozen=True)
class LayerPhase:
    """A layer in one phase under a choice: `picks` has one entry per part that has a mapping."""

    layer: Layer
    parts: tuple[Part, ...]
    picks: tuple[Pick, ...]

    @property
    def phase(self) -> str:
        return str(self.parts[0].phase)

    @property
    def complete(self) -> bool:
        return len(self.picks) == len(self.parts)


@dataclass(frozen=True)
class Total:
    """Sums over the layers that have a mapping, of `layers`. `energies` by column name."""

    phase: str
    partitioning: str
    layers: int
    layers_without_mapping: int
    macs: int
    effectual_macs: int | float
    cycles: int
    energy_pj: float
    pes: int
    energies: dict[str, float]

    @property
    def utilization(self) -> float | None:
        """Effectual multiply-accumulates per cycle and compute unit."""
        return self.effectual_macs / (self.cycles * self.pes) if self.cycles else None

    @property
    def edp_pj_cycles(self) -> float:
        return self.energy_pj * self.cycles


def choices(run: Found) -> tuple[str, ...]:
    """Names of the choices: each partitioning, then `best`."""
    return (*(partitioning.name for partitioning in run.plan.partitionings), BEST)


def searched_phases(run: Found) -> tuple[str, ...]:
    """Phases that some layer has, in the order of training."""
    found = {task.phase for task in run.plan.tasks}
    return tuple(str(phase) for phase in Phase if phase in found)


def layer_phases(run: Found, choice: str) -> list[LayerPhase]:
    """Every layer and phase of the plan, in its order, with what `choice` takes for it."""
    picks = _picks(run)
    parts: dict[tuple[str, str], dict[str, Task]] = defaultdict(dict)
    for task in run.plan.tasks:
        parts[task.layer.label, task.phase].setdefault(task.part.label, task)
    return [
        LayerPhase(
            next(iter(tasks.values())).layer,
            tuple(task.part for task in tasks.values()),
            tuple(picks[layer, phase, part, choice] for part in tasks if (layer, phase, part, choice) in picks),
        )
        for (layer, phase), tasks in parts.items()
    ]


def _picks(run: Found) -> dict[tuple[str, str, str, str], Pick]:
    """First mappings by layer, phase, part and choice."""
    metric = METRIC_COLUMNS[run.plan.metric]

    def value(pick: Pick) -> tuple[Any, Any]:
        return pick.row[metric], pick.row[METRIC_COLUMNS["edp"]]

    picks: dict[tuple[str, str, str, str], Pick] = {}
    for task, row in run.firsts:
        pick, place = Pick(task, row), (task.layer.label, str(task.phase), task.part.label)
        picks[*place, task.partitioning] = pick
        best = picks.setdefault((*place, BEST), pick)
        picks[*place, BEST] = min(best, pick, key=value)
    return picks


def totals(run: Found) -> tuple[Total, ...]:
    """Phases in order, then all of them together; within each the choices."""
    by_choice = {choice: layer_phases(run, choice) for choice in choices(run)}
    return tuple(
        _total(run, phase, choice, [e for e in entries if phase in (ALL, e.phase)])
        for phase in (*searched_phases(run), ALL)
        for choice, entries in by_choice.items()
    )


def _total(run: Found, phase: str, choice: str, entries: list[LayerPhase]) -> Total:
    layers = dict.fromkeys(entry.layer.label for entry in entries)
    missing = {entry.layer.label for entry in entries if not entry.complete}
    found = [(entry.layer.repeat, pick.row) for entry in entries if entry.complete for pick in entry.picks]
    columns = [column for column in found[0][1] if is_energy_column(column)] if found else []
    return Total(
        phase,
        choice,
        len(layers),
        len(missing),
        sum(_times(found, "macs")),
        sum(_times(found, "effectual_macs")),
        sum(_times(found, "cycles")),
        math.fsum(_times(found, "energy_pj")),
        run.plan.accelerator.pes,
        {column: math.fsum(_times(found, column)) for column in columns},
    )


def _times(found: list[tuple[int, Row]], column: str) -> Iterator[Any]:
    """The figures of a column, each for all repeats of its layer."""
    return (repeat * cast(Any, row[column]) for repeat, row in found)


def totals_table(run: Found) -> Table:
    """One row per phase and choice."""
    found = totals(run)
    columns = next((list(total.energies) for total in found if total.energies), [])
    return Table("totals", tuple(_row(run, total, columns) for total in found), ON_PAGE)


def _row(run: Found, total: Total, energies: list[str]) -> Row:
    row: Row = {
        "arch": run.plan.accelerator.name,
        "network": run.plan.network.name,
        "phase": total.phase,
        "partitioning": total.partitioning,
        "layers": total.layers,
        "layers_without_mapping": total.layers_without_mapping,
        "macs": total.macs,
        "effectual_macs": total.effectual_macs,
        "cycles": total.cycles,
        "utilization": total.utilization,
        "energy_pj": total.energy_pj,
        "edp_pj_cycles": total.edp_pj_cycles,
    }
    return row | {column: total.energies.get(column, 0.0) for column in energies}
