"""What a search prints at its end: totals per phase and partitioning, and the best partitioning of every layer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from mapper.report import units
from mapper.report.grid import clip, grid
from mapper.report.totals import ALL, BEST, LayerPhase, Pick, Total, layer_phases, searched_phases, totals
from mapper.runs import Plan, Run
from mapper.search.constraint_checks import unsatisfied
from mapper.search.rows import METRIC_COLUMNS
from mapper.search.space import Mapspace

NAME = 10
"""Characters of a partitioning's name in the table of layers."""
MOST = 20
"""Rankings without a mapping that a dry run names one by one."""


def summary(run: Run) -> str:
    """Both tables and how far to trust them."""
    return "\n".join([_title(run.plan), "", *_totals(run), "", *_layers(run), "", *_notes(run)])


def next_step(run: Run, folder: Path) -> str:
    """The command that explains the mapping that weighs most: of the layer and phase of the highest metric."""
    picks = [pick for entry in layer_phases(run, BEST) for pick in entry.picks]
    whole = [pick for pick in picks if pick.task.part.count == 1] or picks
    pick = max(whole, key=lambda p: _value(run, p))
    words = ["mapper", "explain", str(folder), "--layer", pick.task.layer.label, "--phase", str(pick.task.phase)]
    return shlex.join([*words, "--partition", pick.task.partitioning, "--rank", "1"])


def dry_run(plan: Plan) -> str:
    """Every ranking that would be searched, with the size of its mapspace, and why the constraints leave some empty."""
    rows = [("layer", "phase", "part", "partitioning", "same as", "mappings")]
    empty: list[str] = []
    first: dict[object, str] = {}
    for task in plan.tasks:
        same = first.setdefault(task.problem, task.layer.label)
        problem = task.problem
        space = Mapspace(problem.einsum, problem.accelerator, problem.partitioning, problem.constraints)
        twin = same if same != task.layer.label else ""
        rows.append((task.layer.label, str(task.phase), task.part.label, task.partitioning, twin, f"{space.size:,}"))
        if space.size == 0 and not twin:
            empty.append(f"{task}: {unsatisfied(space)}")
    if len(empty) > MOST:
        empty[MOST:] = [f"and {len(empty) - MOST:,} more without a mapping"]
    notes = [*empty, ""] if empty else []
    return "\n".join([_title(plan), "", *grid(rows, left=5), "", *notes, "dry run: nothing is searched or written"])


def _title(plan: Plan) -> str:
    layers = f"{len(plan.network)} layer{'s' * (len(plan.network) > 1)}"
    searches = f"{len(plan.tasks)} rankings from {len(plan.problems)} searches"
    name = clip(plan.network.name, 40)
    title = f"{name} on {plan.accelerator.name}: {layers}, batch {plan.network.batch}, {searches}, metric {plan.metric}"
    return title if plan.constraints.is_empty else f"{title}\nconstraints: {plan.constraints}"


def _totals(run: Run) -> Iterator[str]:
    several = len(searched_phases(run)) > 1
    found = [total for total in totals(run) if several or total.phase != ALL]
    holes = any(total.layers_without_mapping for total in found)
    head = ["phase", "partitioning", "cycles ", "energy ", "edp (pJ x cycles) ", "utilization "]
    rows = [[*head, "layers without a mapping"] if holes else head]
    for total in found:
        block = [other for other in found if other.phase == total.phase]
        row = [total.phase if total is block[0] else "", total.partitioning, *_marked(total, block)]
        missing = f"{total.layers_without_mapping} of {total.layers}" if total.layers_without_mapping else ""
        rows.append([*row, missing] if holes else row)
    yield "Totals: every layer times its repeat. *: best fixed partitioning of the phase; best: the best of each layer."
    yield from grid(rows, left=2)


def _marked(total: Total, block: list[Total]) -> list[str]:
    """Figures of a total, each with a star where no other fixed choice of the phase reads better.

    Sums that lack a layer are not compared: they are not of the same work.
    """
    if not total.cycles:
        return ["- "] * 4
    fixed = [other for other in block if other.partitioning != BEST and not other.layers_without_mapping]
    best = [
        units.count(min((t.cycles for t in fixed), default=0)),
        units.energy(min((t.energy_pj for t in fixed), default=0.0)),
        f"{min((t.edp_pj_cycles for t in fixed), default=0.0):.3e}",
        units.percent(max((t.utilization or 0.0 for t in fixed), default=0.0)),
    ]
    figures = [
        units.count(total.cycles),
        units.energy(total.energy_pj),
        f"{total.edp_pj_cycles:.3e}",
        units.percent(total.utilization),
    ]
    competes = len(fixed) > 1 and total in fixed
    return [text + ("*" if competes and text == winner else " ") for text, winner in zip(figures, best, strict=True)]


def _layers(run: Run) -> Iterator[str]:
    entries: dict[str, dict[str, LayerPhase]] = {}
    for entry in layer_phases(run, BEST):
        entries.setdefault(entry.layer.label, {})[entry.phase] = entry
    phases = searched_phases(run)
    # Names of layers need the room where no layer is repeated.
    repeated = any(layer.repeat > 1 for layer in run.plan.network)
    head = ["layer", "repeat"] if repeated else ["layer"]
    rows = [[*head, *(cell for phase in phases for cell in (phase, "cycles", "energy", "util."))]]
    for layer, by_phase in entries.items():
        repeat = f"{next(iter(by_phase.values())).layer.repeat:,}"
        row = [layer, repeat] if repeated else [layer]
        rows.append([*row, *(cell for phase in phases for cell in _cells(by_phase.get(phase), run))])
    yield "Best partitioning of every layer, figures of one layer:"
    yield from grid(rows)


def _cells(entry: LayerPhase | None, run: Run) -> list[str]:
    """Partitioning, cycles, energy and utilization of a layer in a phase, all its parts added."""
    if entry is None:
        return [""] * 4
    if not entry.complete:
        return ["none", "-", "-", "-"]
    found: list[Any] = [pick.row for pick in entry.picks]
    cycles = sum(row["cycles"] for row in found)
    names = "+".join(dict.fromkeys(pick.task.partitioning for pick in entry.picks))
    slots = cycles * run.plan.accelerator.pes
    busy = sum(row["effectual_macs"] for row in found) / slots if slots else 0.0
    energy = units.energy(sum(row["energy_pj"] for row in found))
    return [clip(names, NAME), units.count(cycles), energy, f"{100 * busy:.0f} %"]


def _notes(run: Run) -> Iterator[str]:
    proven = [ranking.certificate.optimal for _, ranking in run.rankings]
    if all(proven):
        yield f"optimal: yes, all {len(proven)} rankings are proven"
    else:
        gap = max(ranking.certificate.gap for _, ranking in run.rankings)
        yield (
            f"optimal: no, {sum(proven)} of {len(proven)} rankings are proven; the others are the best mappings found, "
            f"at most {100 * gap:.2g} % from the optimum"
        )
    skipped = [layer.label for layer in run.plan.network if layer.phases() != layer.phases(input_gradients=True)]
    if "bw" in run.plan.phases and skipped and not run.plan.input_gradients:
        names = clip(", ".join(skipped), 60)
        yield f"bw: training does not need it for {names}; --input-gradients searches it all the same"


def _value(run: Run, pick: Pick) -> float:
    return cast(float, pick.row[METRIC_COLUMNS[run.plan.metric]])
