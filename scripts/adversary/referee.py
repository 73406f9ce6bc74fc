"""Costs what adversaries propose, and remembers the best of each and what the ranking lacks."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from adversary.ground import Bools, Floats, Ground, Keeps, Structure
from mapper.arch import Accelerator
from mapper.cost import Evaluation
from mapper.cost.batch import Costs, evaluate_nests, fits_nests
from mapper.counts.geometry import idle_lanes
from mapper.mapping import bind
from mapper.mapping.loopnest import Ints, Nests
from mapper.search.solve import Solution

ADVERSARIES = ("random", "neighbours", "annealing")

ROUNDING = 1e-12
"""Relative: sums of a few dozen charges differ by less in another order. What is better by more is better."""
MISSES = 1000
"""Mappings missing in a ranking that are told apart; more are not counted."""


def rank(nests: Nests, accelerator: Accelerator) -> Costs:
    """What `mapper.cost.batch.rank_costs` gives, in fewer and larger batches where lanes of many dimensions idle."""
    cycles, energy = np.zeros(len(nests), dtype=np.int64), np.full(len(nests), np.inf)
    feasible = fits_nests(nests, accelerator)
    fitting = np.flatnonzero(feasible)
    for rows in alike(nests.take(fitting)) if fitting.size else []:
        costs = evaluate_nests(nests.take(fitting[rows]).without_unit_slots(), accelerator).costs
        cycles[fitting[rows]], energy[fitting[rows]] = costs.cycles, costs.energy_pj
    return Costs(cycles, energy, feasible)


def alike(nests: Nests) -> list[Ints]:
    """Rows in batches that the cost model can take: in each, a dimension has idle lanes in one slot at most.

    Rows without idle lanes go with any others, so that the first batch that has nothing against a row takes it.
    """
    codes = []
    for dimension in dict.fromkeys(slot.dimension for slot in nests.slots if slot.kind != "t"):
        idle = idle_lanes(nests, [i for i, slot in enumerate(nests.slots) if slot.dimension == dimension])
        codes.append(sum(number * (missing > 0) for number, (_, missing) in enumerate(idle, start=1)))
    if not codes:
        return [np.arange(len(nests))]
    patterns, which = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    batches: list[tuple[Ints, list[int]]] = []
    for number, pattern in enumerate(patterns):
        for batch, members in batches:
            if not ((batch != pattern) & (batch > 0) & (pattern > 0)).any():
                np.maximum(batch, pattern, out=batch)
                members.append(number)
                break
        else:
            batches.append((pattern.copy(), [number]))
    return [np.flatnonzero(np.isin(which.ravel(), members)) for _, members in batches]


def metric_of(costs: Costs, metric: str) -> Floats:
    values = {"edp": costs.edp, "energy": costs.energy_pj, "cycles": costs.cycles.astype(np.float64)}[metric]
    return np.where(costs.feasible, values, np.inf)


@dataclass(frozen=True)
class Found:
    """A mapping and its value."""

    value: float = math.inf
    structure: Structure | None = None
    row: Ints | None = None

    def text(self, ground: Ground) -> str:
        return "" if self.structure is None or self.row is None else ground.text(self.structure, self.row)


@dataclass
class Referee:
    """Costs what the adversaries propose; remembers the best of each, and what the ranking lacks."""

    ground: Ground
    solution: Solution
    deadline: float
    enough: int
    answers: list[tuple[Structure, Ints]] = field(init=False)
    evaluated: Counter[str] = field(default_factory=Counter)
    best: dict[str, Found] = field(default_factory=lambda: dict.fromkeys(ADVERSARIES, Found()))
    missing: int = 0
    missed: Found = Found()

    def __post_init__(self) -> None:
        self._known: dict[tuple[bytes, Keeps, int], list[float]] = {}
        self.answers = []
        for ranked in self.solution.ranked:
            einsum, evaluation = self.ground.problem.einsum, ranked.evaluation
            structure, row = self.ground.read(bind(ranked.mapping, einsum, self.ground.accelerator))
            self.answers.append((structure, row))
            self._is_new(structure.keeps, row, evaluation.cycles, evaluation.energy_pj)

    @cached_property
    def ranked_values(self) -> list[float]:
        return [value_of(ranked.evaluation, self.ground.problem.metric) for ranked in self.solution.ranked]

    @cached_property
    def last(self) -> float:
        """What a mapping that the ranking lacks must not beat: a ranking that is not full has all there are."""
        return self.ranked_values[-1] if len(self.ranked_values) == self.ground.problem.top else math.inf

    @staticmethod
    def clock() -> float:
        """CPU seconds of this process: other load takes nothing away from an adversary."""
        return time.process_time()

    def over(self) -> bool:
        """Time is up, or the whole space is small and was seen many times."""
        return self.clock() >= self.deadline or self.evaluated.total() >= self.enough

    def values(self, adversary: str, structure: Structure, factors: Ints, second: Bools | None = None) -> Floats:
        """The metric of mappings (see `Ground.nests`); infinite where lanes exceed an axis or tiles do not fit."""
        out = np.full(len(factors), np.inf)
        legal = np.flatnonzero(self.ground.legal(factors))
        if not legal.size:
            return out
        places = None if second is None else second[legal]
        costs = rank(self.ground.nests(structure, factors[legal], places), self.ground.accelerator)
        out[legal] = metric_of(costs, self.ground.problem.metric)
        self.evaluated[adversary] += legal.size

        def found(row: int) -> Found:
            single = structure if second is None else self.ground.single(structure, second[row])
            return Found(float(out[row]), single, factors[row].copy())

        winner = int(out.argmin())
        if out[winner] < self.best[adversary].value:
            self.best[adversary] = found(winner)
        for at in np.flatnonzero(out[legal] < self.last * (1 - ROUNDING)):
            row = int(legal[at])
            if self.missing >= MISSES and out[row] >= self.missed.value:
                continue
            if self._is_new(structure.keeps, factors[row], int(costs.cycles[at]), float(costs.energy_pj[at])):
                self.missing = min(self.missing + 1, MISSES)
                if out[row] < self.missed.value:
                    self.missed = found(row)
        return out

    def _is_new(self, keeps: Keeps, row: Ints, cycles: int, energy: float) -> bool:
        known = self._known.setdefault((row.tobytes(), keeps, cycles), [])
        if any(math.isclose(energy, other, rel_tol=ROUNDING) for other in known):
            return False
        known.append(energy)
        return True


def value_of(evaluation: Evaluation, metric: str) -> float:
    """The metric of one evaluation, as the search ranks it."""
    energy, cycles = evaluation.energy_pj, evaluation.cycles
    return {"edp": energy * max(cycles, 1), "energy": energy, "cycles": float(cycles)}[metric]
