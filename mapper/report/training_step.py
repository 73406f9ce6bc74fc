"""One training step of a network: what it loses where one partitioning must serve several layers or phases.

Each part of a layer and phase stands with the first mapping of every partitioning. A *choice* takes one of them for
each part: freely, the same in all phases of a layer, the same in all layers of a phase, or the same everywhere. Its
cycles and energy are sums, each layer times its repeat; its EDP is total energy x total cycles. That is no sum, so the
EDP of every layer by itself may be least while that of the step is not. `least` finds the least of a step exactly.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from mapper.errors import InputError
from mapper.report import units
from mapper.report.formats import Table
from mapper.report.grid import grid
from mapper.report.layout import portion, wrapped
from mapper.report.results import Results
from mapper.report.sides import Piece, best, complete, matching, pieces
from mapper.report.totals import BEST
from mapper.search.rows import METRIC_COLUMNS, Row
from mapper.workload import Phase

Key = Callable[[Piece], Hashable]

_LEVELS: dict[str, Key] = {
    "one per layer": lambda piece: piece.layer,
    "one per phase": lambda piece: piece.phase,
}
"""What one partitioning serves, between everything and a single part."""
_METRICS = ("edp", "energy", "cycles")


def _part(piece: Piece) -> Hashable:
    return piece.layer, piece.phase, piece.part


@dataclass(frozen=True)
class Option:
    """Pieces that are taken together, with what they add to the step."""

    name: str
    pieces: tuple[Piece, ...]

    @cached_property
    def cycles(self) -> int:
        return sum(piece.repeat * piece.cycles for piece in self.pieces)

    @cached_property
    def energy_pj(self) -> float:
        return math.fsum(piece.repeat * piece.energy_pj for piece in self.pieces)

    @property
    def edp_pj_cycles(self) -> float:
        return self.energy_pj * self.cycles


@dataclass(frozen=True)
class Choice:
    """What a whole step costs under a choice; `taken` is None where some part has no mapping under it."""

    name: str
    taken: Option | None

    def partitionings(self, phase: str, layer: str | None = None) -> str:
        """Those of a phase, of one layer or of all: `KN`, or `CN+KN` where there are several."""
        found = self.taken.pieces if self.taken else ()
        names = (p.partitioning for p in found if p.phase == phase and layer in (None, p.layer))
        return "+".join(dict.fromkeys(names))


@dataclass(frozen=True)
class TrainingStep:
    """The choices of a run, the freest first. `left_out` are layers and phases without a mapping of every part."""

    name: str
    metric: str
    choices: tuple[Choice, ...]
    left_out: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> Choice:
        return next(choice for choice in self.choices if choice.name == name)

    @cached_property
    def lowest(self) -> dict[str, float]:
        """The least cycles, energy and EDP that any choice has."""
        every = [choice.taken for choice in self.choices if choice.taken]
        return {column: min(getattr(taken, column) for taken in every) for column in COLUMNS}

    def loss(self, choice: Choice, column: str) -> float | None:
        """How far above the least of the column, as a share of it; None where there is none."""
        if choice.taken is None:
            return None
        value, lowest = getattr(choice.taken, column), self.lowest[column]
        return value / lowest - 1 if lowest else None

    def beats(self, one: Choice, other: Choice, column: str) -> bool:
        """Whether `one` has less of a figure, by more than what rounding makes of equals."""
        if one.taken is None or other.taken is None:
            return False
        a, b = getattr(one.taken, column), getattr(other.taken, column)
        return bool(a < b and not math.isclose(a, b, rel_tol=1e-12))

    @property
    def phases(self) -> tuple[str, ...]:
        taken = self.choices[0].taken
        found = {piece.phase for piece in taken.pieces} if taken else set()
        return tuple(str(phase) for phase in Phase if phase in found)


COLUMNS = {"cycles": "cycles_loss", "energy_pj": "energy_loss", "edp_pj_cycles": "edp_loss"}
"""Figures of a step, each with the column of its loss."""


def training_step(
    found: Results,
    partitionings: Iterable[str] | None = None,
    keeps: Callable[[Piece], bool] = lambda _piece: True,
) -> TrainingStep:
    """The choices among `partitionings`, all of a run where none are given, for the pieces that `keeps` says.

    Raises `InputError` where there is one partitioning only, or no layer has its mappings.
    """
    every = [piece for piece in pieces(found) if keeps(piece)]
    if not every:
        raise InputError(f"{found.name} has no mapping of what is asked for", "--training-step", "--layer, --phase")
    names = matching(partitionings, {piece.partitioning: None for piece in every}, "partitioning", "--partition")
    if len(names) < 2:
        only = f"{found.name} has one partitioning: {', '.join(names)}"
        raise InputError(only, "--training-step", "search several: --partition CK,KN")
    picked = best((piece for piece in every if piece.partitioning in names), found.metric)
    whole = complete(picked)
    if not whole:
        raise InputError(f"{found.name} has no layer with a mapping of every part", "--training-step")
    left = dict.fromkeys((p.layer, p.phase) for p in every if (p.layer, p.phase) not in whole)
    used = [piece for piece in every if (piece.layer, piece.phase) in whole and piece.partitioning in names]
    metric = found.metric if found.metric in _METRICS else _METRICS[0]
    best_of_each = Option(BEST, tuple(piece for some in whole.values() for piece in some))
    choices = [Choice(f"least {one}", _taken(used, _part, one)) for one in _METRICS]
    choices.append(Choice("best of each", best_of_each))
    choices += [Choice(name, _taken(used, key, metric)) for name, key in _LEVELS.items()]
    choices += [Choice(name, _fixed(used, name)) for name in names]
    return TrainingStep(found.name, metric, tuple(choices), tuple(left))


def least(groups: Sequence[Sequence[Option]], metric: str) -> list[Option]:
    """One option of each group, so that the metric of their sums is the least there is; of equals the first by name.

    Cycles and energies are sums: each group takes its least. The product of two sums is quasi-concave, so it is least
    at a vertex of the convex hull of all the sums there can be; the lower left vertices are those that groups reach
    when they go along the edges of their own hulls, the steepest first. All of them are tried.
    """
    if metric != "edp":
        first, second = ("cycles", "energy_pj") if metric == "cycles" else ("energy_pj", "cycles")
        return [min(group, key=lambda o: (getattr(o, first), getattr(o, second), o.name)) for group in groups]
    hulls = [_hull(group) for group in groups]
    edges = sorted(
        ((after.energy_pj - before.energy_pj) / (after.cycles - before.cycles), index, step)
        for index, hull in enumerate(hulls)
        for step, (before, after) in enumerate(pairwise(hull), start=1)
    )
    steps = [0] * len(hulls)
    cycles, energy = sum(hull[0].cycles for hull in hulls), math.fsum(hull[0].energy_pj for hull in hulls)
    found, lowest = list(steps), cycles * energy
    for _, index, step in edges:
        before, after = hulls[index][step - 1], hulls[index][step]
        cycles, energy = cycles + after.cycles - before.cycles, energy + after.energy_pj - before.energy_pj
        steps[index] = step
        if cycles * energy < lowest:
            found, lowest = list(steps), cycles * energy
    return [hull[step] for hull, step in zip(hulls, found, strict=True)]


def _hull(options: Iterable[Option]) -> list[Option]:
    """The lower left vertices of the hull of (cycles, energy), from the fewest cycles to the least energy."""
    hull: list[Option] = []
    for option in sorted(options, key=lambda o: (o.cycles, o.energy_pj, o.name)):
        if hull and option.energy_pj >= hull[-1].energy_pj:
            continue
        while len(hull) > 1 and not _below(hull[-2], hull[-1], option):
            hull.pop()
        hull.append(option)
    return hull


def _below(a: Option, b: Option, c: Option) -> bool:
    """Whether `b` lies below the line from `a` to `c`."""
    here = (b.energy_pj - a.energy_pj) * (c.cycles - a.cycles)
    return here < (c.energy_pj - a.energy_pj) * (b.cycles - a.cycles)


def _taken(every: Sequence[Piece], key: Key, metric: str) -> Option | None:
    """The best that has one partitioning in each group of pieces with the same key."""
    groups: dict[Hashable, list[Piece]] = defaultdict(list)
    for piece in every:
        groups[key(piece)].append(piece)
    options = []
    for group in groups.values():
        fixed = (_fixed(group, name) for name in dict.fromkeys(piece.partitioning for piece in group))
        options.append([option for option in fixed if option])
    if not all(options):
        return None
    return Option("", tuple(piece for option in least(options, metric) for piece in option.pieces))


def _fixed(every: Sequence[Piece], name: str) -> Option | None:
    """One partitioning for all parts; None where one of them has no mapping under it."""
    found = tuple(piece for piece in every if piece.partitioning == name)
    return Option(name, found) if {_part(piece) for piece in every} == {_part(piece) for piece in found} else None


def step_table(found: TrainingStep) -> Table:
    """One row per choice: sums of the step, losses as shares of the least, and the partitionings of each phase."""
    return Table("training_step", tuple(_row(found, choice) for choice in found.choices))


def _row(found: TrainingStep, choice: Choice) -> Row:
    row: Row = {"choice": choice.name}
    for column, loss in COLUMNS.items():
        row |= {column: getattr(choice.taken, column, None), loss: found.loss(choice, column)}
    return row | {f"partitioning_{phase}": choice.partitionings(phase) or None for phase in found.phases}


def step_layers_table(found: TrainingStep) -> Table:
    """One row per choice, layer, phase and part: its partitioning and what it costs once."""
    rows = (
        {"choice": choice.name}
        | {name: getattr(piece, name) for name in ("layer", "repeat", "phase", "part", "partitioning")}
        | {name: getattr(piece, name) for name in COLUMNS}
        for choice in found.choices
        for piece in (choice.taken.pieces if choice.taken else ())
    )
    return Table("training_step_layers", tuple(rows))


def step_text(found: TrainingStep, layers: bool = False) -> str:
    """The choices with their losses and what to know of them; `layers` adds what each layer takes."""
    rows = [["choice", "cycles", "loss", "energy", "loss", "edp (pJ x cycles)", "loss", *found.phases]]
    rows += [_cells(found, choice) for choice in found.choices]
    notes = [line for note in _notes(found) for line in wrapped(note, indent=0)]
    blocks = [
        [
            f"{found.name}: one training step ({', '.join(found.phases)}), every layer times its repeat.",
            "Edp is that of the whole step. Loss: how far above the least of its column.",
            *grid(rows),
        ],
        *([_layers(found)] if layers else []),
        notes,
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _cells(found: TrainingStep, choice: Choice) -> list[str]:
    taken = choice.taken
    if taken is None:
        return [choice.name, *["-"] * 6, *[""] * len(found.phases)]
    figures = (units.count(taken.cycles), units.energy(taken.energy_pj), f"{taken.edp_pj_cycles:.3e}")
    losses = (found.loss(choice, column) for column in COLUMNS)
    pairs = zip(figures, ("-" if loss is None else portion(loss) for loss in losses), strict=True)
    names = (choice.partitionings(phase) for phase in found.phases)
    return [choice.name, *(cell for pair in pairs for cell in pair), *("mixed" if "+" in n else n for n in names)]


def _layers(found: TrainingStep) -> list[str]:
    """What each layer takes where it is free, and where it has one partitioning for all its phases."""
    free, bound = found[f"least {found.metric}"], found["one per layer"]
    repeats = {piece.layer: piece.repeat for piece in (free.taken.pieces if free.taken else ())}
    rows = [["layer", "repeat", *found.phases, bound.name]]
    for layer, repeat in repeats.items():
        one = bound.partitionings(found.phases[-1], layer) if bound.taken else "-"
        rows.append([layer, f"{repeat:,}", *(free.partitionings(phase, layer) for phase in found.phases), one])
    return [f"Partitionings of each layer: under '{free.name}', and one per layer.", *grid(rows)]


def _notes(found: TrainingStep) -> list[str]:
    """What the table does not say by itself: what was optimised, what beats what, what is missing."""
    column = METRIC_COLUMNS[found.metric]
    each = found["best of each"]
    lines = [
        "least ...: every part takes the partitioning with which the step as a whole has the least of that, exactly.",
        f"best of each: the least {found.metric} of each part by itself, which is 'best' in totals.csv"
        + (", and need not be the least of the step." if found.metric == "edp" else "."),
        f"one per layer, one per phase: those that have the least {found.metric} of the step, exactly.",
    ]
    cheaper = [c.name for c in found.choices if found.beats(c, each, column) and not c.name.startswith("least")]
    if cheaper:
        lines.append(f"less {found.metric} than best of each: {', '.join(cheaper)}")
    lines.append(f"A partitioning stands for its first mapping by {found.metric}; others may trade cycles for energy.")
    none = [choice.name for choice in found.choices if choice.taken is None]
    if none:
        lines.append(f"-: some part has no mapping under {', '.join(none)}")
    missing = [str(phase) for phase in Phase if phase not in found.phases]
    if missing:
        lines.append(f"not in the step, as they were not searched: {', '.join(missing)}")
    if found.left_out:
        names = ", ".join(" ".join(place) for place in found.left_out)
        lines.append(f"left out, no mapping of every part: {names}")
    return lines
