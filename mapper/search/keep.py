"""Which bounds are worth following."""

from __future__ import annotations

import numpy as np

from mapper.cost.energy import Floats
from mapper.counts.geometry import Bools

SLACK = 1e-10
"""Relative error that sums of floats are allowed; equal bounds count as equal within it."""
EXACT = 1 - SLACK


class Keep:
    """Which bounds are worth following: those that a mapping better than `budget` may have.

    A bound is a pair, the metric and then energy, which decides between equals; cycles stay within `most_cycles`.
    """

    def __init__(self, metric: str, leakage: float, most_cycles: float = np.inf) -> None:
        self.metric, self.leakage, self.most_cycles = metric, leakage, most_cycles
        self.budget = (np.inf, np.inf)

    def bounds(self, cost: Floats, cycles: Floats) -> tuple[Floats, Floats, Floats]:
        """(metric, energy, cycles) at least, from a cost (forms, mappings) and the steps of compute."""
        waiting = cycles if len(cost) == 1 else np.maximum(cycles, cost[1:].max(axis=0) * EXACT)
        energy = cost[0] + self.leakage * waiting if self.leakage else cost[0]
        if self.metric == "edp":
            return energy * np.maximum(waiting, 1.0), energy, waiting
        return (energy if self.metric == "energy" else waiting), energy, waiting

    def __call__(self, cost: Floats, cycles: Floats) -> Bools:
        value, energy, waiting = self.bounds(cost, cycles)
        return self.worth(value, energy) & (waiting <= self.most_cycles) & np.isfinite(energy)

    def most_energy(self, cycles: Floats) -> Floats:
        """Energy, leakage apart, above which no mapping with so many cycles is worth following."""
        most, tie = self.budget
        if self.metric == "edp":
            limit = most / np.maximum(cycles, 1.0)
        elif self.metric == "energy":
            limit = np.full(cycles.shape, most)
        else:
            limit = np.where(cycles < most / (1 + 4 * SLACK), np.inf, tie)
        return np.asarray(limit * (1 + 4 * SLACK) - (self.leakage * cycles if self.leakage else 0.0))

    def worth(self, value: Floats, energy: Floats) -> Bools:
        """Whether a pair of bounds is within the budget, equals included."""
        most, tie = self.budget
        value, energy = value * EXACT, energy * EXACT
        return (value < most / (1 + 2 * SLACK)) | ((value <= most) & (energy <= tie))
