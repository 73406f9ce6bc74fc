"""Balancing made visible: which PE hands a half of its work tile to which PE.

Balancing (`mapper.sparsity.balance`) pairs the halves of all work tiles of a working set, the i-th heaviest with the
i-th lightest, and gives each PE a pair. It does not say which pair. Here each pair goes to a PE that owns one of its
halves, so that every PE keeps one of its own and hands over the other, or keeps both: no other choice moves fewer
halves. Pairs form rings of PEs, and a ring can be gone round in two ways: that is taken which moves fewer nonzeros,
among equals the one that leaves its first half to the first PE. PEs that share a tile by multicast (those that differ
only in lanes of other dimensions) exchange alike, each within its own row, column or part of the array.

Where words must go because of it is in `mapper.interconnect.reach`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mapper.counts.geometry import Bools
from mapper.errors import InputError
from mapper.mapping.loopnest import Ints, Nests
from mapper.sparsity.balance import Imbalance, cut_place
from mapper.sparsity.known import Actual, Placed
from mapper.sparsity.sets import first_half, paired
from mapper.sparsity.work import Work, work_of
from mapper.workload.einsum import Einsum, Tensor

if TYPE_CHECKING:
    import networkx as nx

    from mapper.cost.single import Evaluation

PE = tuple[int, int]
"""Column and row of a PE: (x, y). Several fan-outs, one inside the other, are one array."""


@dataclass(frozen=True)
class Half:
    """One half of the work tile of `owner`: the front (`part` 0) or the back (1), its words and its nonzeros."""

    owner: PE
    part: int
    words: int
    nonzeros: int


@dataclass(frozen=True)
class Pair:
    """What `pe` works on in a working set: a half of its own tile, and another of its own or of another PE's tile."""

    pe: PE
    halves: tuple[Half, Half]

    @property
    def nonzeros(self) -> int:
        """Cycles that the pair takes, at a nonzero per cycle."""
        return sum(half.nonzeros for half in self.halves)

    @property
    def received(self) -> tuple[Half, ...]:
        """Halves that other PEs hand over."""
        return tuple(half for half in self.halves if half.owner != self.pe)


@dataclass(frozen=True)
class Spread:
    """How one dimension is spread over the array: a lane per combination of its spatial loops, a round of its others.

    `starts[lane]`: first index of a lane, in the first round. `words[round, lane]`: indices of a lane's tile, at most
    `tile`, 0 where the lane is idle. `x` and `y`: what a lane adds to the column and the row of a PE.
    """

    tile: int
    starts: Ints
    words: Ints
    x: Ints
    y: Ints

    @property
    def lanes(self) -> int:
        return len(self.starts)

    def halved(self) -> Ints:
        """Indices of both halves of a lane's tile: (rounds, lanes, 2)."""
        middle = first_half(self.tile)
        return np.stack([np.minimum(self.words, middle), np.maximum(self.words - middle, 0)], axis=-1)


@dataclass(frozen=True, eq=False)
class Exchange:
    """The exchange of half tiles of one mapping, for every working set.

    `tensor` is the sparse operand, `dimension` the one that its tiles are cut along; `drawn`: its mask is not known,
    but drawn from its density. `spread` has every dimension of the einsum.
    *Tiles* are the PEs that differ in a dimension of the sparse operand, the lanes of its first dimension outermost;
    *copies* are those that share a tile. `halves[set, tile, part]`: nonzeros. `workers[set, tile, part]`: the tile
    whose PE works on that half.
    """

    einsum: Einsum
    tensor: Tensor
    work: Work
    dimension: str
    balance: str
    drawn: bool
    spread: Mapping[str, Spread]
    halves: Ints
    workers: Ints

    @property
    def sets(self) -> int:
        """Working sets."""
        return len(self.halves)

    @cached_property
    def tiles(self) -> Lanes:
        """Lanes of the dimensions of the sparse operand."""
        return _lanes(self.spread, [cut.dimension for cut in self.work.cuts])

    @cached_property
    def copies(self) -> Lanes:
        """Lanes of all other dimensions."""
        own = {cut.dimension for cut in self.work.cuts}
        return _lanes(self.spread, [name for name in self.spread if name not in own])

    @property
    def columns(self) -> int:
        """Columns of the array that loops are spread over."""
        return int(self.tiles.x.max() + self.copies.x.max()) + 1

    @property
    def rows(self) -> int:
        """Rows of the array that loops are spread over."""
        return int(self.tiles.y.max() + self.copies.y.max()) + 1

    @cached_property
    def words(self) -> Ints:
        """Words of every half, 0 of those of idle PEs: (sets, tiles, 2)."""
        words = np.ones((1, 1, 1), dtype=np.int64)
        for cut in self.work.cuts:
            spread = self.spread[cut.dimension]
            own = spread.halved() if cut.dimension == self.dimension else spread.words[..., None]
            both = words[:, None, :, None, :] * own[None, :, None, :, :]
            words = both.reshape(len(words) * cut.rounds, -1, both.shape[-1])
        return words

    @cached_property
    def moved(self) -> Bools:
        """Halves that go to another PE: (sets, tiles, 2)."""
        return np.asarray(self.workers != np.arange(self.work.pes)[:, None])

    @property
    def moved_halves(self) -> int:
        """Halves handed over in one visit of every working set, by all PEs."""
        return int(self.moved.sum()) * len(self.active_copies)

    @property
    def moved_nonzeros(self) -> int:
        """Nonzeros handed over in one visit of every working set, by all PEs."""
        return int(self.halves[self.moved].sum()) * len(self.active_copies)

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes of the array along which halves travel: some of `x` and `y`."""
        givers, takers = np.nonzero(self.moved)[1], self.workers[self.moved]
        along = {"x": self.tiles.x, "y": self.tiles.y}
        return tuple(axis for axis, at in along.items() if (at[givers] != at[takers]).any())

    @cached_property
    def active_copies(self) -> Ints:
        """Copies that are not idle in the first round."""
        words = [self.spread[name].words[0][lane] for name, lane in self.copies.of.items()]
        return np.flatnonzero(np.all([np.ones(len(self.copies)), *words], axis=0))

    def check(self, working_set: int) -> int:
        """The same number, or an `InputError` where there is no such working set."""
        if not 0 <= working_set < self.sets:
            raise InputError(f"no working set {working_set}", hint=f"0 to {self.sets - 1}")
        return working_set

    def rounds_of(self, working_set: int) -> dict[str, int]:
        """The round of each dimension of the sparse operand in a working set."""
        places = np.unravel_index(working_set, [cut.rounds for cut in self.work.cuts])
        return {cut.dimension: int(place) for cut, place in zip(self.work.cuts, places, strict=True)}

    def pairs(self, working_set: int) -> tuple[Pair, ...]:
        """What every PE that is not idle works on. Raises `InputError` where there is no such working set."""
        self.check(working_set)
        held = defaultdict[int, list[tuple[int, int]]](list)
        for giver in np.flatnonzero(self.words[working_set].any(axis=1)).tolist():
            for part in (0, 1):
                held[int(self.workers[working_set, giver, part])].append((giver, part))
        return tuple(
            Pair(self.pe(taker, copy), (self._half(working_set, copy, *one), self._half(working_set, copy, *other)))
            for taker, (one, other) in sorted(held.items())
            for copy in self.active_copies.tolist()
        )

    def _half(self, working_set: int, copy: int, tile: int, part: int) -> Half:
        at = (working_set, tile, part)
        return Half(self.pe(tile, copy), part, int(self.words[at]), int(self.halves[at]))

    def pe(self, tile: int, copy: int) -> PE:
        """Column and row of a copy of a tile."""
        return int(self.tiles.x[tile] + self.copies.x[copy]), int(self.tiles.y[tile] + self.copies.y[copy])


# Who works on what ----------------------------------------------------------------------------------------------------


def exchange_of(evaluation: Evaluation) -> Exchange | None:
    """The exchange of half tiles of an evaluated mapping; None where nothing is cut, or where zeros save no cycles.

    With a density in place of a mask, one mask is drawn: the one that imbalance is counted on where it needs one.
    """
    found = evaluation.imbalance
    if found is None or found.work is None or found.density is None or not found.halves:
        return None
    place = cut_place(found.work, found.balance)
    assert place is not None
    nests = evaluation.nests
    lanes = [level.fanout.lanes for level in evaluation.accelerator.levels]
    tensor = next(
        t
        for t in evaluation.einsum.operands
        if t.role == "W" and evaluation.sparsity.of(t) == found.density and work_of(nests, t, lanes) == found.work
    )
    level = max(i for i, names in enumerate(nests.keeps) if i == 0 or tensor.name in names)
    halves, partners = paired(_mask(found, found.work), found.work, place)
    return Exchange(
        einsum=evaluation.einsum,
        tensor=tensor,
        work=found.work,
        dimension=found.work.cuts[place].dimension,
        balance=found.balance,
        drawn=not isinstance(found.density, Placed),
        spread={name: _spread(nests, level, name) for name in evaluation.einsum.dimensions},
        halves=halves,
        workers=workers_of(halves, partners),
    )


def _mask(found: Imbalance, work: Work) -> Placed:
    assert found.density is not None
    if isinstance(found.density, Placed):
        return found.density
    return Actual(found.density.mask(work.shape, np.random.default_rng([found.seed, *work.shape])))


def workers_of(halves: Ints, partners: Ints) -> Ints:
    """Which PE works on each half, given which half goes with which. All of shape (sets, PEs, 2), as from `paired`.

    From a half go to its partner, and from there to the other half of the partner's PE: half by half this goes round a
    ring of PEs, and the other halves of the same PEs go round the other way. One of the two rounds is kept at home.
    """
    sets, pes, _ = halves.shape
    partner, places = partners.reshape(sets, -1), np.arange(2 * pes)
    ring, step = np.broadcast_to(places, partner.shape), partner ^ 1
    # Steps double: after so many, the least half of a ring has been seen from all of it.
    for _ in range(pes.bit_length()):
        ring = np.minimum(ring, np.take_along_axis(ring, step, axis=1))
        step = np.take_along_axis(step, step, axis=1)
    weights = np.zeros((sets, 2 * pes), dtype=np.int64)
    np.add.at(weights, (np.arange(sets)[:, None], ring), halves.reshape(sets, -1))
    mine = np.take_along_axis(weights, ring, axis=1)
    other, back = mine[:, places ^ 1], ring[:, places ^ 1]
    home = (mine > other) | ((mine == other) & (ring < back))
    # A half that goes with the other one of its PE, or with itself where the PE is idle, stays too.
    home |= partner // 2 == places // 2
    return np.asarray(np.where(home, places, partner) // 2, dtype=np.int64).reshape(halves.shape)


def exchange_graph(exchange: Exchange, working_set: int | None = None) -> nx.DiGraph:
    """Who hands halves to whom, in one working set or, by default, in one visit of all of them.

    Nodes are PEs (x, y) that are not idle, with the nonzeros of their own tiles (`nonzeros_before`) and of what they
    work on (`nonzeros_after`). Edges go from the owner of a half to the PE that works on it, with the number of
    `halves` and their `nonzeros`. Raises `InputError` where there is no such working set.
    """
    import networkx as nx

    some = np.arange(exchange.sets) if working_set is None else np.array([exchange.check(working_set)])
    halves, workers, moved = exchange.halves[some], exchange.workers[some], exchange.moved[some]
    pes = exchange.work.pes
    before, after = halves.sum(axis=(0, 2)), np.zeros(pes, dtype=np.int64)
    np.add.at(after, workers, halves)
    ends, which, counts = np.unique(
        np.nonzero(moved)[1] * pes + workers[moved], return_inverse=True, return_counts=True
    )
    nonzeros = np.zeros(len(ends), dtype=np.int64)
    np.add.at(nonzeros, which, halves[moved])
    graph = nx.DiGraph()
    for copy in exchange.active_copies.tolist():
        for tile in np.flatnonzero(exchange.words[some].any(axis=(0, 2))).tolist():
            sums = {"nonzeros_before": int(before[tile]), "nonzeros_after": int(after[tile])}
            graph.add_node(exchange.pe(tile, copy), **sums)
        for end, number, weight in zip(ends.tolist(), counts.tolist(), nonzeros.tolist(), strict=True):
            giver, taker = divmod(end, pes)
            graph.add_edge(exchange.pe(giver, copy), exchange.pe(taker, copy), halves=number, nonzeros=weight)
    return graph


# How dimensions lie on the array --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lanes:
    """Combinations of the lanes of some dimensions: `of[dimension]` the lane of each, and what it adds to x and y."""

    of: Mapping[str, Ints]
    x: Ints
    y: Ints

    def __len__(self) -> int:
        return len(self.x)


def _lanes(spread: Mapping[str, Spread], dimensions: Sequence[str]) -> Lanes:
    """The first dimension outermost."""
    counts = [spread[name].lanes for name in dimensions]
    number = np.arange(math.prod(counts))
    digits = np.unravel_index(number, counts) if counts else ()
    of = {name: np.asarray(digit, dtype=np.int64) for name, digit in zip(dimensions, digits, strict=True)}
    columns, rows = np.zeros((2, len(number)), dtype=np.int64)
    for name, digit in of.items():
        columns, rows = columns + spread[name].x[digit], rows + spread[name].y[digit]
    return Lanes(of, columns, rows)


def _spread(nests: Nests, level: int, dimension: str) -> Spread:
    """Loops above `level`, which is private to a PE, in the first mapping of `nests`; rounds as those of `Cut`."""
    slots = list(zip(nests.slots, nests.factors[0].tolist(), strict=True))
    turns = lanes = x = y = np.zeros(1, dtype=np.int64)
    for place, (slot, factor) in enumerate(slots):
        if slot.dimension != dimension or slot.level >= level:
            continue
        inside = slots[place + 1 :]
        steps = np.arange(factor, dtype=np.int64)
        starts = steps * math.prod(n for s, n in inside if s.dimension == dimension)
        if slot.kind == "t":
            turns = np.add.outer(turns, starts).ravel()
            continue
        lanes = np.add.outer(lanes, starts).ravel()
        along = steps * math.prod(n for s, n in inside if s.kind == slot.kind and s.level < level)
        x = np.add.outer(x, along * (slot.kind == "x")).ravel()
        y = np.add.outer(y, along * (slot.kind == "y")).ravel()
    extent = nests.einsum.extent[dimension]
    tile = min(math.prod(n for s, n in slots if s.dimension == dimension and s.level >= level), extent)
    return Spread(tile, lanes, np.clip(extent - np.add.outer(turns, lanes), 0, tile), x, y)
