"""A first search: exhaustive where the mapspace is small, else coordinate descent from many starts.

For each choice of loop orders (per level, which tensor stays put) and of kept tensors, a small population of feasible
mappings is improved one dimension at a time: every chain of that dimension is tried for every member at once. The
best are then improved in pairs of dimensions and in the order of their loops. Nothing is proven unless everything
was enumerated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapper.cost.batch import rank_costs
from mapper.cost.energy import Floats
from mapper.mapping.loopnest import Ints, Nests
from mapper.search.pool import Candidate, Pool
from mapper.search.space import Mapspace

Orders = tuple[tuple[str, ...], ...]
Keeps = tuple[frozenset[str], ...]

EXHAUSTIVE = 20_000
"""Mapspaces up to this size are enumerated."""

SAMPLES, POPULATION, SWEEPS = 2048, 4, 2
"""Random starts drawn, starts kept, and rounds of descent."""

STRUCTURES, SURVIVORS, FINALISTS = 27, 3, 2
"""Structures tried, those that go on after one round, and those then improved in pairs of dimensions."""

CHAINS, PAIRS = 400, 4000
"""Chains tried per dimension, and combinations of them per pair of dimensions."""


@dataclass(frozen=True)
class Structure:
    """Loop orders and kept tensors: what all mappings of one batch share."""

    orders: Orders
    keeps: Keeps


@dataclass(frozen=True)
class Population:
    """Members of one structure as rows of chains, with their values."""

    structure: Structure
    rows: Ints
    values: Floats


class Descent:
    """One search of one mapspace. `pool` collects the best mappings and counts what was evaluated."""

    def __init__(self, space: Mapspace, pool: Pool, seed: int) -> None:
        self.space, self.pool = space, pool
        self.random = np.random.default_rng(seed)
        self.columns = space.columns()
        self.of = {d: [i for i, c in enumerate(self.columns) if c[1] == d] for d in space.looped}

    def run(self) -> bool:
        """Search; True where the whole mapspace was evaluated."""
        if self.space.size <= EXHAUSTIVE:
            self.pool.every_tie = True
            self._enumerate()
            return True
        self.chains = {d: self._thinned(self.space.chains(d)) for d in self.space.looped}
        samples = self._samples()
        found = [self._sweep(self._start(structure, samples)) for structure in self._structures()]
        found = [self._settle(entry) for entry in _best(found, SURVIVORS)]
        for entry in _best(found, FINALISTS):
            self._polish(entry)
        self._refine()
        return False

    def _thinned(self, chains: Ints) -> Ints:
        """At most `CHAINS` chains, the plain ones (nothing but the outermost loop) among them."""
        if len(chains) <= CHAINS:
            return chains
        keep = np.sort(self.random.choice(len(chains), CHAINS, replace=False))
        plain = np.flatnonzero((chains[:, 1:] == 1).all(axis=1))
        return chains[np.union1d(keep, plain)]

    def _structures(self) -> list[Structure]:
        """Loop orders by which tensor stays put at each level, times kept tensors; a seeded sample of very many."""
        per_level = [self._stationary_orders()] * (len(self.space.accelerator.levels) - 1)
        every = [
            Structure((*orders, self.space.looped), keeps)
            for keeps in self.space.keeps()
            for orders in itertools.product(*per_level)
        ]
        if len(every) <= STRUCTURES:
            return every
        chosen = np.random.default_rng(len(every)).choice(len(every), STRUCTURES, replace=False)
        return [every[i] for i in sorted({0, *chosen.tolist()})]

    def _stationary_orders(self) -> list[tuple[str, ...]]:
        orders = []
        for tensor in self.space.einsum.tensors:
            moving = [d for d in self.space.looped if d in tensor.dimensions]
            staying = [d for d in self.space.looped if d not in tensor.dimensions]
            orders.append((*moving, *staying))
        return list(dict.fromkeys(orders))

    def _cost(self, structure: Structure, rows: Ints) -> Floats:
        """Metric of rows of chains; infinite where lanes exceed an axis or tiles do not fit."""
        values = np.full(len(rows), np.inf)
        legal = np.flatnonzero(self._lanes_fit(rows))
        if legal.size:
            nests = self.space.nests(structure.orders, structure.keeps, rows[legal])
            values[legal] = self.pool.offer(nests, rank_costs(nests, self.space.accelerator))
        return values

    def _lanes_fit(self, rows: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        fit = np.ones(len(rows), dtype=bool)
        for axis in self.space.axes():
            columns = [i for i, (place, _) in enumerate(self.columns) if place == axis]
            fit &= rows[:, columns].prod(axis=1) <= self.space.lanes(axis)
        return fit

    def _start(self, structure: Structure, samples: Ints) -> Population:
        """The best of the samples."""
        values = self._cost(structure, samples)
        chosen = np.argsort(values, kind="stable")[:POPULATION]
        return Population(structure, samples[chosen], values[chosen])

    def _sweep(self, population: Population) -> Population:
        """One round of descent: every dimension once."""
        for dimension in self.space.looped:
            population = self._try(population, (dimension,))
        return population

    def _settle(self, population: Population) -> Population:
        """Further rounds, until one changes nothing."""
        for _ in range(SWEEPS - 1):
            before, population = population, self._sweep(population)
            if (population.values == before.values).all():
                break
        return population

    def _samples(self) -> Ints:
        """Random rows of chains, first of all the one that loops at the outermost level only."""
        rows = np.ones((SAMPLES, len(self.columns)), dtype=np.int64)
        for dimension, columns in self.of.items():
            chains = self.chains[dimension]
            picks = self.random.integers(len(chains), size=SAMPLES)
            picks[0] = int(np.argmax((chains[:, 1:] == 1).all(axis=1)))
            rows[:, columns] = chains[picks]
        return rows[self._lanes_fit(rows)]

    def _try(self, population: Population, dimensions: tuple[str, ...]) -> Population:
        """Every member with every combination of chains of `dimensions`: the best of each member's trials."""
        trials, members = self._combinations(dimensions), len(population.rows)
        columns = [c for d in dimensions for c in self.of[d]]
        tried = np.repeat(population.rows, len(trials), axis=0)
        tried[:, columns] = np.tile(trials, (members, 1))
        costs = self._cost(population.structure, tried).reshape(members, len(trials))
        winners = costs.argmin(axis=1)
        rows, values = population.rows.copy(), population.values.copy()
        for member in np.flatnonzero(costs[np.arange(members), winners] < values):
            rows[member, columns] = trials[winners[member]]
            values[member] = costs[member, winners[member]]
        return Population(population.structure, rows, values)

    def _combinations(self, dimensions: tuple[str, ...]) -> Ints:
        """Chains of several dimensions side by side, a random part of them where there are very many."""
        chains = [self.chains[d] for d in dimensions]
        total = math.prod(len(c) for c in chains)
        picks = np.arange(total) if total <= PAIRS else np.sort(self.random.choice(total, PAIRS, replace=False))
        places = np.unravel_index(picks, [len(c) for c in chains])
        return np.concatenate([c[p] for c, p in zip(chains, places, strict=True)], axis=1)

    def _polish(self, population: Population) -> None:
        """Improve the best member in pairs of dimensions until a whole round changes nothing."""
        winner = [int(np.argmin(population.values))]
        best = Population(population.structure, population.rows[winner], population.values[winner])
        for _ in range(SWEEPS):
            before = float(best.values[0])
            for pair in itertools.combinations(self.space.looped, 2):
                best = self._try(best, pair)
            if best.values[0] == before:
                return

    def _refine(self) -> None:
        """Loop orders and factors of the best mapping in turn, while that helps."""
        for _ in range(SWEEPS):
            if not self.pool.best():
                return
            before = self.pool.best()[0].value
            self._reorder()
            best = self.pool.best()[0]
            if best.value == before:
                return
            self._polish(self._population(best))

    def _population(self, candidate: Candidate) -> Population:
        """A mapping as the only member of its structure."""
        nests = candidate.nests
        at = {((slot.level, slot.kind), slot.dimension): i for i, slot in enumerate(nests.slots)}
        orders = tuple(
            tuple(s.dimension for s in nests.slots if s.level == level and s.kind == "t")
            for level in range(nests.level_count)
        )
        rows = nests.factors[:, [at[column] for column in self.columns]]
        return Population(Structure(orders, nests.keeps), rows, np.array([candidate.value]))

    def _reorder(self) -> None:
        """Move single loops of the best mapping to every other place in their level, while that helps."""
        while True:
            best = self.pool.best()[0]
            for orders in self._moved(best.nests):
                nests = _reordered(best.nests, orders)
                self.pool.offer(nests, rank_costs(nests, self.space.accelerator))
            if self.pool.best()[0].value == best.value:
                return

    def _moved(self, nests: Nests) -> Iterator[list[int]]:
        """Slot permutations that move one looping temporal slot within its level."""
        for source, slot in enumerate(nests.slots):
            for target, other in enumerate(nests.slots):
                same = slot.level == other.level and slot.kind == other.kind == "t" and source != target
                if same and nests.factors[0, source] > 1 and nests.factors[0, target] > 1:
                    order = [i for i in range(len(nests.slots)) if i != source]
                    order.insert(target, source)
                    yield order

    def _enumerate(self) -> None:
        """Evaluate every mapping: all chains, all orders of the loops that loop, all kept tensors."""
        chains = [self.space.chains(d, dominant=False) for d in self.space.looped]
        rows = np.ones((1, 0), dtype=np.int64)
        for each in chains:
            rows = np.concatenate([np.repeat(rows, len(each), axis=0), np.tile(each, (len(rows), 1))], axis=1)
        rows = rows[self._lanes_fit(rows)]
        temporal = [i for i, (place, _) in enumerate(self.columns) if place[1] == "t"]
        patterns, which = np.unique(rows[:, temporal] > 1, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            looping = {self.columns[i] for i, loops in zip(temporal, pattern, strict=True) if loops}
            for keeps, orders in itertools.product(self.space.keeps(), self._orders_of(looping)):
                self._cost(Structure(orders, keeps), rows[which.ravel() == number])

    def _orders_of(self, looping: set[tuple[tuple[int, str], str]]) -> Iterator[Orders]:
        """Every order of the temporal loops that loop, unit loops after them."""
        per_level = []
        for level in range(len(self.space.accelerator.levels)):
            moving = [d for d in self.space.looped if ((level, "t"), d) in looping]
            rest = tuple(d for d in self.space.looped if d not in moving)
            per_level.append([(*order, *rest) for order in itertools.permutations(moving)])
        return itertools.product(*per_level)


def _best(populations: list[Population], count: int) -> list[Population]:
    """Those with the best member, in the order they came where members are equal."""
    return sorted(populations, key=lambda p: float(p.values.min(initial=np.inf)))[:count]


def _reordered(nests: Nests, order: list[int]) -> Nests:
    return Nests(nests.einsum, tuple(nests.slots[i] for i in order), nests.factors[:, order], nests.keeps)
