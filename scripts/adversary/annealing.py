"""Annealing of populations: an adversary that never looks at the answer.

The members of a population share the orders of their loops, so that the cost model takes them as one batch; but there
every dimension has two places in each level, of which a member takes one: each has an order of its own. Factors, places
and kept tensors move by Metropolis' rule, each member by itself; the orders move for all of them at once, by the free
energy of the population. As the temperature falls members are drawn anew, the good ones more often (population
annealing, Hukushima and Iba, 2003). Energies are natural logarithms of the metric: temperatures mean the same anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from adversary.ground import Bools, Floats, Keeps, Structure
from adversary.moves import Moves
from adversary.referee import Found, Referee
from mapper.mapping.loopnest import Ints

Orders = tuple[tuple[int, ...], ...]

WALKERS = 768
"""Members of a population: enough that the arrays, not Python, take the time."""
DRAWN = 4
"""Random mappings per member of which a population begins with the best."""
FAMILIES = 4
"""Choices of kept tensors that a population begins with; each is a batch of its own."""
HOT, COLD = 0.4, 2e-4
"""First and last temperature."""
STEPS, ORDERS, TOGGLES = 4, 2, 1
"""Moves of the members, of the orders and of kept tensors that are tried at each temperature."""
PLACED = 0.25
"""Share of a member's moves that change places in the order and not factors."""
INNERMOST = 0.5
"""Share of moves of the orders that end innermost in their level, where a loop decides what stays put."""


@dataclass(frozen=True)
class Population:
    """Mappings: `keeps` are numbers of `Ground.keeps`, for `factors` and `second` see `Ground.nests`."""

    orders: Orders
    keeps: Ints
    factors: Ints
    second: Bools
    energies: Floats

    def take(self, rows: Ints) -> Population:
        return Population(self.orders, self.keeps[rows], self.factors[rows], self.second[rows], self.energies[rows])

    def where(self, better: Bools, other: Population) -> Population:
        """The rows of `other` where `better`, of this one elsewhere."""
        factors, second = self.factors.copy(), self.second.copy()
        factors[better], second[better] = other.factors[better], other.second[better]
        keeps = np.where(better, other.keeps, self.keeps)
        return Population(self.orders, keeps, factors, second, np.where(better, other.energies, self.energies))


class Annealing:
    """Populations against one answer."""

    def __init__(self, referee: Referee, moves: Moves) -> None:
        self.referee, self.moves = referee, moves
        self.ground, self.random = moves.ground, moves.random

    def any_structure(self) -> Structure:
        """Random loop orders and kept tensors."""
        return Structure(self._any_orders(1), self.ground.keeps[int(self.random.integers(len(self.ground.keeps)))])

    def _any_orders(self, copies: int) -> Orders:
        count = copies * len(self.ground.dimensions)
        return tuple(tuple(self.random.permutation(count).tolist()) for _ in self.ground.accelerator.levels)

    def run(self, steps: int) -> Found:
        """One population from hot to cold in `steps` temperatures; its best mapping."""
        population = self._begun()
        best, inverse = Found(), 1 / HOT
        if not np.isfinite(population.energies).any():
            return best
        for temperature in np.geomspace(HOT, COLD, steps).tolist():
            population = population.take(self._resampled(population.energies, 1 / temperature - inverse))
            inverse = 1 / temperature
            for _ in range(STEPS):
                population = self._step(population, temperature)
            for _ in range(ORDERS):
                population = self._reorder(population, temperature)
            for _ in range(TOGGLES if len(self.ground.keeps) > 1 else 0):
                population = self._toggle(population, temperature)
            best = min(best, self._winner(population), key=lambda found: found.value)
            if self.referee.over():
                break
        return best

    def _begun(self) -> Population:
        """The best of many random mappings; the plain one, all loops outermost, where too few of them fit."""
        count = DRAWN * WALKERS
        chosen = self.random.permutation(len(self.ground.keeps))[:FAMILIES]
        shape = (count, len(self.ground.dimensions), len(self.ground.accelerator.levels))
        begun = self._costed(
            Population(
                self._any_orders(2),
                self.random.choice(chosen, size=count),
                self.moves.factors(count),
                self.random.random(shape) < 0.5,
                np.full(count, np.inf),
            )
        )
        begun = begun.take(np.argsort(begun.energies, kind="stable")[:WALKERS])
        factors = np.where(np.isfinite(begun.energies)[:, None, None], begun.factors, self.ground.plain)
        return self._costed(replace(begun, factors=factors))

    def _costed(self, population: Population) -> Population:
        """With the energies of its members, a batch for each choice of kept tensors."""
        energies = np.full(len(population.keeps), np.inf)
        for number in np.unique(population.keeps):
            rows = np.flatnonzero(population.keeps == number)
            structure = Structure(population.orders, self.ground.keeps[number])
            values = self.referee.values("annealing", structure, population.factors[rows], population.second[rows])
            energies[rows] = np.log(values)
        return replace(population, energies=energies)

    def _winner(self, population: Population) -> Found:
        row = int(population.energies.argmin())
        shared = Structure(population.orders, self.ground.keeps[population.keeps[row]])
        value = math.exp(population.energies[row])
        return Found(value, self.ground.single(shared, population.second[row]), population.factors[row].copy())

    def _resampled(self, energies: Floats, colder: float) -> Ints:
        """Members after the temperature fell: as many, in proportion to how much likelier each became."""
        weights = np.exp(-(energies - energies.min()) * colder)
        marks = (np.arange(len(energies)) + self.random.random()) / len(energies)
        return np.minimum(np.searchsorted(np.cumsum(weights / weights.sum()), marks), len(energies) - 1)

    def _step(self, population: Population, temperature: float) -> Population:
        """A move of each member: factors, or places in the order."""
        placed = self.random.random(len(population.keeps)) < PLACED
        factors = population.factors.copy()
        factors[~placed] = self.moves.proposed(population.factors)[~placed]
        second = population.second.copy()
        second[placed] ^= self._flips(population.factors[placed])
        moved = (factors != population.factors).any(axis=(1, 2)) | placed
        return self._accepted(population, replace(population, factors=factors, second=second), moved, temperature)

    def _flips(self, factors: Ints) -> Bools:
        """One loop of each mapping, sometimes several of them."""
        loops = factors[:, :, self.ground.temporal] > 1
        draws = self.random.random(loops.shape) * loops
        several = self.random.random((len(factors), 1, 1)) < 0.2
        return np.where(several, draws > 0.5, draws >= draws.max(axis=(1, 2), keepdims=True)) & loops

    def _toggle(self, population: Population, temperature: float) -> Population:
        """Half of the members that keep the same tensors keep one more, or one less; or what others keep."""
        keeps = int(self.random.choice(population.keeps))
        near = [n for n, other in enumerate(self.ground.keeps) if _differences(other, self.ground.keeps[keeps]) == 1]
        others = [near, np.unique(population.keeps).tolist()][int(self.random.random() < 0.3)]
        moved = (population.keeps == keeps) & (self.random.random(len(population.keeps)) < 0.5)
        tried = replace(population, keeps=np.where(moved, self.random.choice(others), population.keeps))
        return self._accepted(population, tried, moved, temperature)

    def _accepted(self, population: Population, tried: Population, moved: Bools, temperature: float) -> Population:
        """Metropolis' rule for the members that moved."""
        rows = np.flatnonzero(moved)
        if not rows.size:
            return population
        energies = np.full(len(moved), np.inf)
        energies[rows] = self._costed(tried.take(rows)).energies
        rise = np.maximum(energies - population.energies, 0) / temperature
        accepted = moved & (self.random.random(len(moved)) < np.exp(-rise))
        return population.where(accepted, replace(tried, energies=energies))

    def _reorder(self, population: Population, temperature: float) -> Population:
        """A place elsewhere in its level, for the whole population."""
        orders = [list(order) for order in population.orders]
        order = orders[int(self.random.integers(len(orders)))]
        loop = order.pop(int(self.random.integers(len(order))))
        innermost = self.random.random() < INNERMOST
        order.insert(len(order) if innermost else int(self.random.integers(len(order) + 1)), loop)
        tried = self._costed(replace(population, orders=tuple(map(tuple, orders))))
        rise = _free_energy(tried.energies, temperature) - _free_energy(population.energies, temperature)
        return tried if rise <= 0 or self.random.random() < math.exp(-rise / temperature) else population


def _differences(one: Keeps, other: Keeps) -> int:
    return sum(len(a ^ b) for a, b in zip(one, other, strict=True))


def _free_energy(energies: Floats, temperature: float) -> float:
    low = float(energies.min())
    if not math.isfinite(low):
        return math.inf
    return low - temperature * math.log(float(np.exp(-(energies - low) / temperature).mean()))
