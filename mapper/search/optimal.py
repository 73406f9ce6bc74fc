"""The best mappings of a mapspace, proven: best first over lanes, then joins within a budget, then the model itself.

A subproblem is a choice of kept tensors and a class of lanes. Subproblems wait in the order of a quick bound and are
opened until the next one's bound is worse than the worst mapping of the ranking. An opened one is searched by joins
(`mapper.search.bounds`) under a budget: while the ranking is not full the budget starts at the subproblem's bound and
grows; then it is the ranking's worst value. Every mapping whose bound lies within the budget is costed by the model
(`mapper.cost`), whose word is the only one that counts.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mapper.cost.batch import rank_counted
from mapper.cost.energy import Floats
from mapper.cost.latency import sharing_of
from mapper.cost.network import networks
from mapper.search.bounds import Bounds, Open, Partial
from mapper.search.factors import Factors
from mapper.search.forms import Form, Keeps, leakage_pj_per_cycle, priced
from mapper.search.groups import GroupTable, groups_of
from mapper.search.keep import EXACT, Keep
from mapper.search.lanes import Lanes
from mapper.search.leaves import Leaf, Leaves, nests_of
from mapper.search.network_forms import bound_forms
from mapper.search.orders import reuse_of
from mapper.search.passes import Pass, passes_of
from mapper.search.pool import Pool
from mapper.search.quick import Quick
from mapper.search.space import Mapspace
from mapper.search.waits import Waits
from mapper.search.ways import Ways

BATCH = 128
"""Mappings costed at a time."""
FIRST_BUDGET, GROWTH = 1e-3, 4.0
"""How far above its bound a subproblem is searched first, and by how much that grows, while the ranking is not full."""
BEAM = 64
"""Partial mappings per pass that go on while the ranking is not full."""
WAITING = 50_000
"""Mappings within the budget that wait to be costed, at most."""


class OutOfTimeError(Exception):
    """The deadline passed."""


@dataclass(frozen=True)
class Subproblem:
    """Kept tensors and a class of lanes, with the least (metric, energy) a mapping of it can have.

    `following` is the least metric of the subproblems to come.
    """

    value: float
    energy: float
    keep: int
    lanes: int
    following: float


class Search:
    """Exact searches of one mapspace."""

    def __init__(self, space: Mapspace) -> None:
        self.space = space
        self.accelerator = space.accelerator
        self.levels = len(self.accelerator.levels)
        self.factors = Factors(space, sharing_of(self.accelerator))
        self.lanes = Lanes(space, self.factors.chains)
        self.keeps: list[Keeps] = space.keeps()
        self.groups = groups_of(space.einsum, space.looped)
        self.reuses = reuse_of(space.einsum)
        self.evaluated = self.infeasible = 0
        self._tables: dict[object, GroupTable] = {}
        self._every_form: dict[int, tuple[Form, ...]] = {}

    def run(self, pool: Pool, most_cycles: float = np.inf, deadline: float | None = None) -> bool:
        """Fill `pool`, which then holds the ranking, with mappings of at most `most_cycles`.

        True where the ranking is proven, False where `deadline` (of `time.monotonic`) came first; `bound` then says
        how good a mapping might still be. Ctrl-C counts as the deadline.
        """
        self.pool, self.deadline, self.most_cycles = pool, deadline, most_cycles
        self.keep = Keep(pool.metric, leakage_pj_per_cycle(priced(self.accelerator)), most_cycles)
        self.bound = 0.0
        self.interrupted = False
        try:
            if self.levels == 1 or not self.space.looped:
                self._enumerate()
                return True
            for sub in self._subproblems():
                if sub.value * EXACT > pool.worst[0]:
                    break
                self.bound = sub.value
                if self._worth(sub.value, sub.energy):
                    self._open(sub)
        except OutOfTimeError:
            return False
        except KeyboardInterrupt:
            self.interrupted = True
            return False
        return True

    def _enumerate(self) -> None:
        """Cost every mapping: with one level, or nothing to loop over, lanes and kept tensors are all there is."""
        leaves = Leaves(self.space, self.factors, self.lanes, self.lanes.choices, (), self.reuses)
        for keeps in self.keeps:
            every = leaves.flat()
            while batch := list(itertools.islice(every, BATCH)):
                self._offer(keeps, batch)

    def _worth(self, value: float, energy: float) -> bool:
        self.keep.budget = self.pool.worst
        return bool(self.keep.worth(np.array([value]), np.array([energy]))[0])

    def _check_time(self) -> None:
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise OutOfTimeError

    # Quick bounds of all lanes.

    def _forms(self, number: int) -> tuple[Form, ...]:
        """Of a choice of kept tensors, under all classes of lanes."""
        if number not in self._every_form:
            ways = Ways(self.space, self.lanes, self.factors.chains) if networks(self.accelerator) else None
            self._every_form[number] = bound_forms(
                self.space.einsum, self.accelerator, self.keeps[number], self.space.sparsity, ways
            )
        return self._every_form[number]

    def _subproblems(self) -> Iterator[Subproblem]:
        """What may hold a mapping, in the order of its quick bound."""
        found = [np.empty((4, 0)), *map(self._quick, range(len(self.keeps)))]
        value, energy, keep, lanes = np.concatenate(found, axis=1)
        order = np.lexsort((lanes, keep, energy, value))
        following = np.append(value[order], np.inf)[1:]
        for i, after in zip(order.tolist(), following.tolist(), strict=True):
            yield Subproblem(float(value[i]), float(energy[i]), int(keep[i]), int(lanes[i]), after)

    def _quick(self, number: int) -> Floats:
        """(metric, energy, kept tensors, class) of every class of lanes: the least of it, and where it is found."""
        keeps = self.keeps[number]
        first, _ = self.lanes.classes
        quick = Quick(self.space, self.factors, self.lanes, self.lanes.choices[first], keeps)
        if not quick.fits:
            return np.empty((4, 0))
        # Bounds on what a tensor moves less may add up to less than nothing.
        cost = np.maximum([quick.form(form) for form in self._forms(number)], 0.0)
        value, energy, waiting = self.keep.bounds(cost, Waits(self.space, keeps).by_lanes(self.lanes, first))
        possible = np.flatnonzero(waiting <= self.most_cycles)
        where = np.full(len(possible), float(number)), possible.astype(np.float64)
        return np.stack([value[possible], energy[possible], *where])

    # One subproblem.

    def _open(self, sub: Subproblem) -> None:
        self._check_time()
        keeps = self.keeps[sub.keep]
        first, which = self.lanes.classes
        chosen = self.lanes.choices[first[sub.lanes]]
        ids = dict(zip(self.space.looped, chosen.tolist(), strict=True))
        tables = tuple(self._table(sub.keep, keeps, members, ids) for members in self.groups)
        forms = tuple(form.under(sub.lanes) for form in self._forms(sub.keep))
        bounds = Bounds(self.space, keeps, tables, forms, self._passes)
        if bounds.empty or not bounds.hopeful(self.keep, sub.energy):
            return
        members = self.lanes.choices[np.flatnonzero(which == sub.lanes)]
        leaves = Leaves(self.space, self.factors, self.lanes, members, tables, self.reuses)
        seen: set[Leaf] = set()
        for budget, beam in self._budgets(bounds, sub):
            self.keep.budget = budget
            self._within(bounds, leaves, keeps, seen, beam)
            if beam is None:
                self.bound = min(max(self.bound, budget[0]), sub.following)

    def _table(self, number: int, keeps: Keeps, members: tuple[str, ...], ids: dict[str, int]) -> GroupTable:
        key = (number, members, tuple(ids[d] for d in members))
        if key not in self._tables:
            chosen = {d: self.lanes.spreads[d].chains[ids[d]] for d in members}
            self._tables[key] = GroupTable(self.space, keeps, self.factors, members, chosen)
        return self._tables[key]

    @cached_property
    def _passes(self) -> dict[int, tuple[Pass, ...]]:
        tensors, looped = self.space.einsum.tensors, self.space.looped
        return {level: passes_of(tensors, looped, level == 0) for level in range(self.levels - 1)}

    def _budgets(self, bounds: Bounds, sub: Subproblem) -> Iterator[tuple[tuple[float, float], int | None]]:
        """Budgets to search a subproblem within, until it is exhausted, and how many partial mappings go on at a time.

        While the ranking is not full, only the most promising go on; what they lead to is the budget of the proof.
        """
        start = bounds.start()
        value, energy, waiting = self.keep.bounds(bounds.lower(start, self.levels - 1), start.cycles)
        possible = np.isfinite(value) & (waiting <= self.most_cycles)
        if not possible.any():
            return
        least = (max(float(value[possible].min()), sub.value), max(float(energy[possible].min()), sub.energy))
        most = 2 * float(max(value[possible].max(), energy[possible].max())) + 1.0
        # Where nothing may cost nothing, steps are shares of the most.
        unit = [each or most for each in least]
        step = FIRST_BUDGET
        while not self.pool.full and least[0] + unit[0] * step < most:
            tie = np.inf if self.pool.metric != "cycles" else least[1] + unit[1] * step
            yield (least[0] + unit[0] * step, tie), BEAM
            step *= GROWTH
        yield self.pool.worst, None

    def _within(self, bounds: Bounds, leaves: Leaves, keeps: Keeps, seen: set[Leaf], beam: int | None) -> None:
        """Cost every mapping within the budget that has not been."""
        waiting: list[Partial] = []
        bounds.raise_cycles(self.keep)
        for complete in self._joined(bounds, bounds.start(), self.levels - 1, beam):
            self._check_time()
            waiting.append(complete)
            if sum(map(len, waiting)) > WAITING:
                self._cost(bounds, leaves, keeps, seen, waiting)
                waiting = []
        if waiting:
            self._cost(bounds, leaves, keeps, seen, waiting)

    def _joined(self, bounds: Bounds, partial: Partial, level: int, beam: int | None = None) -> Iterator[Partial]:
        """Complete mappings within the budget, from partial ones decided out to `level`."""
        if level == 0:
            yield partial
            return
        found: dict[tuple[Open, ...], list[Partial]] = {}
        for coarse in bounds.passes[level - 1]:
            near = bounds.near(partial, level, coarse, self.keep, beam)
            for made, mine in bounds.near_cases(near, level, coarse, self.keep) if len(near) else ():
                for joined in bounds.join(mine, level, made, self.keep):
                    waiting = found.setdefault(joined.open, [])
                    waiting.append(joined)
                    if sum(map(len, waiting)) > WAITING:
                        yield from self._joined(bounds, Partial.together(found.pop(joined.open)), level - 1, beam)
        for parts in found.values():
            yield from self._joined(bounds, Partial.together(parts), level - 1, beam)

    def _cost(self, bounds: Bounds, leaves: Leaves, keeps: Keeps, seen: set[Leaf], waiting: list[Partial]) -> None:
        """Cost what waits, best bounds first, while it may still be better than the ranking."""
        every = Partial.together([replace(complete, open=()) for complete in waiting])
        values, energies, _ = self.keep.bounds(every.cost, every.cycles)
        states = [bounds.rows[level][every.rows[level]] for level in range(self.levels - 1, 0, -1)]
        batch: list[Leaf] = []
        for i in np.lexsort((energies, values)).tolist():
            if values[i] * EXACT > self.pool.worst[0]:
                break
            if not self._worth(values[i], energies[i]):
                continue
            paths = list(zip(*(level[i].tolist() for level in states), strict=True)) or [()] * len(bounds.tables)
            passes = [bounds.cases[level][every.passes[level][i]] for level in range(self.levels - 1)]
            for leaf in leaves.of(paths, passes):
                if leaf not in seen:
                    seen.add(leaf)
                    batch.append(leaf)
            if len(batch) >= BATCH:
                self._offer(keeps, batch)
                batch = []
        if batch:
            self._offer(keeps, batch)
        if self.pool.full:
            self.keep.budget = min(self.keep.budget, self.pool.worst)

    def _offer(self, keeps: Keeps, batch: list[Leaf]) -> None:
        self._check_time()
        nests = nests_of(self.space, keeps, batch)
        costs, counts = rank_counted(nests, self.accelerator, self.space.sparsity)
        self.evaluated += len(batch)
        self.infeasible += int((~costs.feasible).sum())
        self.pool.offer(nests, costs, counts, self.most_cycles)
