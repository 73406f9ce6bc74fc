"""The tables of a run: ranked mappings, what each of them is charged, and totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, fields

from mapper.cost.single import Item
from mapper.report.formats import Table
from mapper.report.totals import totals_table
from mapper.runs import Plan, Run, Task
from mapper.search.result import Ranked
from mapper.search.rows import Row, mapping_row

DECISIVE = (
    *("network", "layer", "repeat", "phase", "part", "partitioning", "rank", "mapping", "macs", "cycles"),
    *("utilization", "energy_pj", "edp_pj_cycles", "bound_by", "optimal"),
)
"""Columns of `mappings` on a page, where its sixty would not fit."""


def mappings_table(run: Run) -> Table:
    """One row per layer, phase, part, partitioning and rank."""
    rows = (
        places(run.plan, task) | mapping_row(ranking, ranked) for task, ranking in run.rankings for ranked in ranking
    )
    return Table("mappings", tuple(rows), DECISIVE)


def breakdown_table(run: Run) -> Table:
    """One row per ranked mapping, component, tensor and action: words (or events), bits and picojoules."""
    rows = (row for task, ranking in run.rankings for ranked in ranking for row in _charges(run, task, ranked))
    return Table("breakdown", tuple(rows))


def tables(run: Run) -> tuple[Table, ...]:
    """Everything that a search writes."""
    return mappings_table(run), breakdown_table(run), totals_table(run)


def places(plan: Plan, task: Task) -> Row:
    """Where a ranking belongs: the first columns of its rows."""
    return {
        "arch": plan.accelerator.name,
        "network": plan.network.name,
        "layer": task.layer.label,
        "repeat": task.layer.repeat,
        "phase": str(task.phase),
        "part": task.part.label,
        "partitioning": task.partitioning,
    }


def _charges(run: Run, task: Task, ranked: Ranked) -> Iterator[Row]:
    names = [field.name for field in fields(Item)]
    for item in ranked.evaluation.items:
        yield places(run.plan, task) | {"rank": ranked.rank} | dict(zip(names, astuple(item), strict=True))
