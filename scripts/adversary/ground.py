"""Where each dimension may loop, and arrays of mappings over it: the ground that adversaries search.

This is read off the rules of a mapping (`mapper.mapping.binding`) and not off the search's own mapspace, so that a
mapping which the search forgets to look at can be found.
"""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from mapper.arch import Accelerator
from mapper.mapping.binding import obstacle
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.mapping.partitioning import spread
from mapper.search.solve import Problem
from mapper.workload.einsum import divisors

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Place = tuple[int, str]
"""A level, and "t" for its loops or "x", "y" for an axis of the fan-out below it."""
Keeps = tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Structure:
    """Loop orders per level and kept tensors: what mappings of one batch share.

    An order names dimensions by number. Orders of populations have room for every dimension twice, the second time as
    number + count of dimensions: each member says for each of its loops which of the two places it takes.
    """

    orders: tuple[tuple[int, ...], ...]
    keeps: Keeps


@dataclass(frozen=True)
class Ground:
    """Where each dimension may loop. Mappings are arrays of factors (mappings, dimensions, places).

    Places stand outermost first, so that the first is the temporal one of level 0; `lanes` is 0 at temporal places.
    """

    problem: Problem
    dimensions: tuple[str, ...]
    places: tuple[Place, ...]
    extents: Ints
    lanes: Ints
    allowed: Bools
    keeps: tuple[Keeps, ...]

    @property
    def accelerator(self) -> Accelerator:
        return self.problem.accelerator

    @cached_property
    def spatial(self) -> list[int]:
        return [p for p, (_, kind) in enumerate(self.places) if kind != "t"]

    @cached_property
    def temporal(self) -> list[int]:
        return [p for p, (_, kind) in enumerate(self.places) if kind == "t"]

    @cached_property
    def spreadable(self) -> Ints:
        """Dimensions that some axis may carry."""
        return np.flatnonzero(self.allowed[:, self.spatial].any(axis=1))

    @cached_property
    def twins(self) -> list[tuple[int, int]]:
        """Pairs of dimensions of one extent that may loop in the same places."""
        return [
            (a, b)
            for a, b in itertools.combinations(range(len(self.dimensions)), 2)
            if self.extents[a] == self.extents[b] and (self.allowed[a] == self.allowed[b]).all()
        ]

    @cached_property
    def plain(self) -> Ints:
        """Factors of the mapping that loops at the outermost level only."""
        plain = np.ones(self.allowed.shape, dtype=np.int64)
        plain[:, 0] = self.extents
        return plain

    def legal(self, factors: Ints) -> Bools:
        """Whether lanes fit their axes."""
        return np.asarray((factors[:, :, self.spatial].prod(axis=1) <= self.lanes[self.spatial]).all(axis=1))

    def slots(self, structure: Structure) -> list[tuple[int, int, int]]:
        """(dimension, place, copy) of each loop, outermost first; `copy` is 1 for the second place in an order."""
        count, out = len(self.dimensions), []
        for place, (level, kind) in enumerate(self.places):
            order = structure.orders[level] if kind == "t" else range(count)
            out += [(n % count, place, n // count) for n in order if self.allowed[n % count, place]]
        return out

    def nests(self, structure: Structure, factors: Ints, second: Bools | None = None) -> Nests:
        """Mappings as the cost model takes them.

        `second` (mappings, dimensions, levels) says which loops take the second place of an order that has two.
        """
        chosen = self.slots(structure)
        slots = tuple(Slot(*self.places[p], self.dimensions[d]) for d, p, _ in chosen)
        rows = factors[:, [d for d, _, _ in chosen], [p for _, p, _ in chosen]]
        if second is not None:
            for column, (d, p, copy) in enumerate(chosen):
                if self.lanes[p] == 0:
                    rows[:, column] = np.where(second[:, d, self.places[p][0]] == copy, rows[:, column], 1)
        return Nests(self.problem.einsum, slots, rows, structure.keeps)

    def single(self, structure: Structure, second: Bools) -> Structure:
        """The structure of one mapping (`second` of shape (dimensions, levels)), every dimension once in an order."""
        count = len(self.dimensions)
        orders = (
            tuple(n % count for n in order if second[n % count, level] == n // count)
            for level, order in enumerate(structure.orders)
        )
        return Structure(tuple(orders), structure.keeps)

    def text(self, structure: Structure, row: Ints) -> str:
        nests = self.nests(structure, row[None])
        return str(nests.nest(0, self.accelerator.level_names, self.accelerator.open_levels))

    def read(self, nests: Nests) -> tuple[Structure, Ints]:
        """The structure and factors of a mapping of the search. A loop where none may be is an error."""
        row = np.ones((len(self.dimensions), len(self.places)), dtype=np.int64)
        orders: list[list[int]] = [[] for _ in nests.keeps]
        for slot, factor in zip(nests.slots, nests.factors[0].tolist(), strict=True):
            if factor > 1:
                at = self.dimensions.index(slot.dimension), self.places.index((slot.level, slot.kind))
                if not self.allowed[at]:
                    raise ValueError(f"{slot.dimension} may not loop at level {slot.level}, {slot.kind}")
                row[at] *= factor
                if slot.kind == "t":
                    orders[slot.level].append(at[0])
        rest = range(len(self.dimensions))
        full = tuple((*order, *(d for d in rest if d not in order)) for order in orders)
        return Structure(full, nests.keeps), row


def ground_of(problem: Problem) -> Ground:
    """The places of a problem, by the rules that every mapping is checked with."""
    einsum, accelerator = problem.einsum, problem.accelerator
    looped = tuple(d for d, bound in einsum.bounds if bound > 1)
    places: list[Place] = []
    for index, level in enumerate(accelerator.levels):
        places += [(index, "t"), *((index, kind) for kind in "xy" if level.fanout.axis(kind).lanes > 1)]
    axes = spread(problem.partitioning, einsum)
    allowed = np.ones((len(looped), len(places)), dtype=bool)
    lanes = np.zeros(len(places), dtype=np.int64)
    for p, (index, kind) in enumerate(places):
        if kind != "t":
            axis = accelerator.levels[index].fanout.axis(kind)
            named = looped if problem.partitioning.is_any else axes["xy".index(kind)]
            allowed[:, p] = [d in named and obstacle(d, axis, einsum) is None for d in looped]
            lanes[p] = axis.lanes
    extents = np.array([einsum.extent[d] for d in looped], dtype=np.int64)
    return Ground(problem, looped, tuple(places), extents, lanes, allowed, _keeps(problem))


def _keeps(problem: Problem) -> tuple[Keeps, ...]:
    """Every choice of kept tensors that the accelerator leaves open."""
    einsum, accelerator = problem.einsum, problem.accelerator
    per_level = []
    for index in range(len(accelerator.levels)):
        names = [t.name for t in einsum.tensors if t.role in accelerator.open_roles(index)]
        choices = itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(len(names) + 1))
        per_level.append([accelerator.kept(index, einsum, frozenset(choice)) for choice in choices])
    return tuple(itertools.product(*per_level))


def uniform_chains(ground: Ground, dimension: int, count: int, rng: random.Random) -> Ints:
    """`count` chains of a dimension, each of all its chains equally likely: every choice weighs what it leads to."""
    places = [p for p in range(len(ground.places)) if ground.allowed[dimension, p]]

    @cache
    def choices(at: int, left: int, uneven: bool) -> tuple[list[tuple[int, int, bool]], list[int]]:
        """Factors of the place `at` with the tiles that they leave, and how many chains each and those before have."""
        lanes = int(ground.lanes[places[at]])
        options = []
        for factor in range(1, min(lanes, left) + 1) if lanes else divisors(left):
            idle = left % factor > 0
            if not (idle and uneven):
                options.append((factor, -(-left // factor), uneven or idle))
        return options, list(itertools.accumulate(chains(at - 1, *option[1:]) for option in options))

    @cache
    def chains(at: int, left: int, uneven: bool) -> int:
        return 1 if at == 0 else choices(at, left, uneven)[1][-1]

    out = np.ones((count, len(ground.places)), dtype=np.int64)
    for row in out:
        left, uneven = int(ground.extents[dimension]), False
        for at in range(len(places) - 1, 0, -1):
            options, weights = choices(at, left, uneven)
            row[places[at]], left, uneven = options[bisect_right(weights, rng.randrange(weights[-1]))]
        row[0] = left
    return out


def repaired(ground: Ground, chains: Ints, extents: Ints, absorbers: Ints | None = None) -> Ints:
    """The chains nearest to what is asked for, where that covers the extent or not.

    Innermost first, a loop keeps what of its factor divides the tiles left, lanes are no more than tiles, and only one
    axis has idle lanes. What remains goes to the place that absorbs it, the outermost by default.
    """
    out, left = chains.copy(), extents.copy()
    uneven = np.zeros(len(out), dtype=bool)
    for place in range(len(ground.places) - 1, 0, -1):
        factor = out[:, place]
        if ground.lanes[place]:
            factor = np.minimum(np.minimum(factor, ground.lanes[place]), left)
            factor = np.where(uneven, np.gcd(factor, left), factor)
            uneven |= left % factor > 0
            left = -(-left // factor)
        else:
            factor = np.gcd(factor, left)
            left = left // factor
        out[:, place] = factor
    if absorbers is None:
        out[:, 0] = left
        return out
    out[:, 0] = np.gcd(out[:, 0], left)
    out[np.arange(len(out)), absorbers] *= left // out[:, 0]
    # A place inside an axis changes the tiles of that axis: all that fits stays, the rest goes outside.
    return repaired(ground, out, extents)
