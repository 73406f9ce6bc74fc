"""The best mappings met so far: distinct in what they do, ordered by metric, then energy, cycles and text."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from mapper.cost.batch import Costs
from mapper.cost.energy import Floats
from mapper.errors import InputError, did_you_mean
from mapper.mapping.loopnest import Ints, Nests

METRICS = ("edp", "energy", "cycles")
"""What a search minimises: energy-delay product, energy or latency."""


def metric_values(costs: Costs, metric: str) -> Floats:
    """Values to minimise; infinite where the mapping does not fit."""
    if metric not in METRICS:
        raise InputError(f"unknown metric '{metric}'", where="--metric", hint=did_you_mean(metric, METRICS))
    values = {"edp": costs.edp, "energy": costs.energy_pj, "cycles": costs.cycles.astype(np.float64)}[metric]
    return np.where(costs.feasible, values, np.inf)


@dataclass(frozen=True, order=True)
class Candidate:
    """A mapping and its value; energy, cycles, then the text decide between equals."""

    value: float
    energy_pj: float
    cycles: int
    text: str
    nests: Nests = field(compare=False)


class Pool:
    """Keeps the `top` best mappings offered.

    Mappings with the same factors and kept tensors whose counts agree for every tensor and level are one: only the
    order of their loops differs, to no effect. The first text stands for all of them.
    """

    def __init__(self, metric: str, top: int, level_names: tuple[str, ...], open_levels: tuple[int, ...]) -> None:
        self.metric, self.top = metric, top
        self.level_names, self.open_levels = level_names, open_levels
        self._best: dict[tuple[object, ...], Candidate] = {}

    @property
    def full(self) -> bool:
        return len(self._best) >= self.top

    @property
    def worst(self) -> tuple[float, float]:
        """(metric, energy) that a mapping must reach to enter; infinite while there is room."""
        if not self.full:
            return (np.inf, np.inf)
        last = max(self._best.values())
        return (last.value, last.energy_pj)

    def offer(self, nests: Nests, costs: Costs, counts: Ints, most_cycles: float = np.inf) -> None:
        """Keep the mappings that are good enough; `counts` has a row of words per mapping."""
        values = metric_values(costs, self.metric)
        usable = costs.feasible & (costs.cycles <= most_cycles) & (values <= self.worst[0])
        promising = np.flatnonzero(usable)
        for row in promising[np.lexsort((costs.energy_pj[promising], values[promising]))]:
            if (values[row], costs.energy_pj[row]) <= self.worst:
                self._keep(nests, int(row), costs, float(values[row]), counts[row].tobytes())

    def _keep(self, nests: Nests, row: int, costs: Costs, value: float, counts: bytes) -> None:
        one = nests.take(np.array([row]))
        text = str(one.nest(0, self.level_names, self.open_levels))
        candidate = Candidate(value, float(costs.energy_pj[row]), int(costs.cycles[row]), text, one)
        key = (_factors(one), one.keeps, counts)
        if key not in self._best or candidate < self._best[key]:
            self._best[key] = candidate
        if len(self._best) > self.top:
            del self._best[max(self._best, key=lambda k: self._best[k])]

    def best(self) -> list[Candidate]:
        """Candidates, best first."""
        return heapq.nsmallest(self.top, self._best.values())


def _factors(nests: Nests) -> tuple[tuple[int, str, str, int], ...]:
    """Factors of a single mapping without the order of its loops."""
    row: Ints = nests.factors[0]
    return tuple(sorted((s.level, s.kind, s.dimension, int(f)) for s, f in zip(nests.slots, row, strict=True) if f > 1))
