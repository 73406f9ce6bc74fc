"""The best mappings met so far: distinct in what they do, ordered by metric, ties by text."""

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

TIES = 32
"""Mappings of one batch whose texts are compared, at most, in a search that proves nothing."""


def metric_values(costs: Costs, metric: str) -> Floats:
    """Values to minimise; infinite where the mapping does not fit."""
    if metric not in METRICS:
        raise InputError(f"unknown metric '{metric}'", where="--metric", hint=did_you_mean(metric, METRICS))
    values = {"edp": costs.edp, "energy": costs.energy_pj, "cycles": costs.cycles.astype(np.float64)}[metric]
    return np.where(costs.feasible, values, np.inf)


@dataclass(frozen=True, order=True)
class Candidate:
    """A mapping and its value; the text decides between equals."""

    value: float
    text: str
    nests: Nests = field(compare=False)


class Pool:
    """Keeps the `top` best mappings offered. Equal factors at equal costs are one mapping: the first text wins."""

    def __init__(self, metric: str, top: int, level_names: tuple[str, ...], open_levels: tuple[int, ...]) -> None:
        self.metric, self.top = metric, top
        self.level_names, self.open_levels = level_names, open_levels
        self.evaluated = self.infeasible = 0
        self.every_tie = False
        self._best: dict[tuple[object, ...], Candidate] = {}

    @property
    def worst(self) -> float:
        """What a mapping must beat to enter."""
        return max(c.value for c in self._best.values()) if len(self._best) >= self.top else np.inf

    def offer(self, nests: Nests, costs: Costs) -> Floats:
        """Count and keep what is good enough; returns the metric's values."""
        values = metric_values(costs, self.metric)
        self.evaluated += len(nests)
        self.infeasible += int((~costs.feasible).sum())
        promising = np.flatnonzero(costs.feasible & (values <= self.worst))
        # All of an enumeration are compared by text too; a heuristic looks at enough of each batch.
        most = len(promising) if self.every_tie else max(TIES, self.top)
        for row in promising[np.argsort(values[promising], kind="stable")][:most]:
            self._keep(nests, int(row), costs, float(values[row]))
        return values

    def _keep(self, nests: Nests, row: int, costs: Costs, value: float) -> None:
        one = nests.take(np.array([row]))
        candidate = Candidate(value, str(one.nest(0, self.level_names, self.open_levels)), one)
        key = (_factors(one), one.keeps, int(costs.cycles[row]), float(costs.energy_pj[row]))
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
