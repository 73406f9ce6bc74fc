"""The tilings of a mapspace, counted without walking them, and the least of them.

A *tiling* is a chain of factors for every dimension and a choice of kept tensors: all of a mapping but its loop orders,
which no tile depends on. Chains of different dimensions count freely combined; where they then take more lanes than an
axis has, the axis excludes the tiling.

What a buffer holds depends on how far each dimension reaches inside its level, and (for unfinished sums) on whether a
reduction loop stands above. So one grid is enough for each buffer: the distinct tiles of every dimension, each with the
number of chains that make it. Bits grow with every tile; where the grid would be too large, neighbours are counted as
the smaller of them, and what exceeds the buffer even so is a lower bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.arch import Buffer
from mapper.cost.batch import tensor_bits
from mapper.cost.precision import Precision
from mapper.counts.geometry import Bools, Geometry
from mapper.counts.tiles import tile_words
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.search.space import Mapspace, Place
from mapper.workload.einsum import Rank, Tensor

Chains = dict[str, Ints]
"""Of every looped dimension its chains, a row each."""
Keeps = tuple[frozenset[str], ...]
WordBits = dict[str, tuple[int, int]]
"""Of every tensor in a buffer the bits of a word: without a reduction loop above the level, and with one."""

GRID = 2**18
"""Tiles looked at for one buffer, at most."""


@dataclass(frozen=True)
class Tally:
    """A number of tilings; where it is not `exact` there may be more."""

    tilings: int
    exact: bool = True


@dataclass(frozen=True)
class Tiles:
    """Distinct tiles of one dimension at a level, and how many chains make each.

    Those with a reduction loop above the level (`above`) stand first; the extents of either kind ascend.
    """

    extent: Ints
    above: Bools
    chains: Ints

    def __len__(self) -> int:
        return len(self.extent)

    def halved(self) -> Tiles:
        """Neighbours of one kind together, at the smaller extent."""
        kinds = int(self.above.sum())
        first = np.concatenate([np.arange(0, kinds, 2), np.arange(kinds, len(self), 2)])
        return Tiles(self.extent[first], self.above[first], np.add.reduceat(self.chains, first))


def every_chain(space: Mapspace) -> Chains:
    """The chains of every dimension that loops; a dimension may have none."""
    return {d: space.chains(d) for d in space.looped}


def count_tilings(space: Mapspace, chains: Chains) -> int:
    """All tilings, whatever they take of buffers and axes."""
    return math.prod(len(rows) for rows in chains.values()) * len(space.keeps())


def shared_axes(space: Mapspace) -> list[Place]:
    """Axes that several dimensions may be spread over."""
    return [axis for axis in space.axes() if sum(axis in space.places(d) for d in space.looped) > 1]


def beyond_axis(space: Mapspace, chains: Chains, axis: Place) -> Tally:
    """Tilings that take more lanes of `axis` than it has."""
    width, combined = space.lanes(axis), Counter({1: 1})
    for dimension, rows in chains.items():
        places = space.places(dimension)
        lanes = Counter(rows[:, places.index(axis)].tolist() if axis in places else {1: len(rows)})
        combined = _combined(combined, sorted(lanes.items()), width)
    within = sum(combined.values())
    every = math.prod(len(rows) for rows in chains.values())
    return Tally((every - within) * len(space.keeps()))


def _combined(combined: Counter[int], lanes: list[tuple[int, int]], width: int) -> Counter[int]:
    """Chains by the lanes they take together, those within the axis."""
    out: Counter[int] = Counter()
    for taken, n in combined.items():
        for count, m in lanes:
            if taken * count > width:
                break
            out[taken * count] += n * m
    return out


def beyond_buffer(space: Mapspace, chains: Chains, level: int, buffer: Buffer) -> Tally:
    """Tilings whose tiles at `level` do not fit `buffer`, which is limited."""
    assert buffer.capacity_bits is not None
    choices = Counter(_choice(space, keeps, level, buffer) for keeps in space.keeps())
    examples = {_choice(space, keeps, level, buffer): keeps for keeps in space.keeps()}
    tilings, exact = 0, True
    for choice, count in choices.items():
        bits = _word_bits(space, level, examples[choice], choice[0])
        found = _exceeding(space, chains, level, bits, buffer.capacity_bits, GRID // len(choices))
        tilings, exact = tilings + count * found.tilings, exact and found.exact
    return Tally(tilings, exact)


def _choice(space: Mapspace, keeps: Keeps, level: int, buffer: Buffer) -> tuple[tuple[str, ...], bool]:
    """What the buffer sees of a choice: its tensors, and whether sums are kept further in."""
    names = tuple(t.name for t in space.einsum.tensors if t.name in keeps[level] and t.role in buffer.roles)
    return names, innermost(space, keeps) > level


def innermost(space: Mapspace, keeps: Keeps) -> int:
    """The innermost level that keeps the accumulated tensor."""
    return max(level for level, names in enumerate(keeps) if space.einsum.output.name in names)


def _word_bits(space: Mapspace, level: int, keeps: Keeps, names: Sequence[str]) -> WordBits:
    """What a word of each tensor takes at `level`, asked of the model: a nest without and one with a reduction loop."""
    slots = tuple(Slot(0, "t", d) for d in space.looped if d in space.einsum.reductions)[:1]
    factors = np.array([[1], [2]], dtype=np.int64)[:, : len(slots)]
    precision = Precision(Geometry(Nests(space.einsum, slots, factors, keeps)), space.accelerator)
    one = np.ones(2, dtype=np.int64)
    held = tensor_bits(precision, {(level, name): one for name in names})
    return {name: (int(bits[0]), int(bits[1])) for (_, name), bits in held.items()}


def _exceeding(space: Mapspace, chains: Chains, level: int, bits: WordBits, capacity: int, most: int) -> Tally:
    """Combinations of chains whose tiles take more than `capacity`, on a grid of `most` points."""
    tensors = [space.einsum.tensor(name) for name in bits]
    flagged = space.einsum.reductions if any(still != summing for still, summing in bits.values()) else frozenset()
    sized = frozenset[str]().union(*(tensor.dimensions for tensor in tensors))
    tiles = {d: _tiles(space, d, rows, level, d in sized, d in flagged) for d, rows in chains.items()}
    along = _longest(space, tensors, {d: t for d, t in tiles.items() if d in sized - flagged})
    line = None if along is None else (along, tiles.pop(along))
    coarse = False
    while math.prod(map(len, tiles.values())) > most:
        longest = max(tiles, key=lambda d: len(tiles[d]))
        if len(tiles[longest].halved()) == len(tiles[longest]):
            return Tally(0, exact=False)
        tiles[longest], coarse = tiles[longest].halved(), True
    grid = Grid(space, tiles)
    tilings = grid.total(_over(grid, bits, capacity, line))
    return Tally(tilings, exact=not coarse or tilings == math.prod(map(len, chains.values())))


def _tiles(space: Mapspace, dimension: str, rows: Ints, level: int, sized: bool, flagged: bool) -> Tiles:
    """The tiles of a dimension at `level`: one where its size does not matter, of one kind where loops above do not."""
    extent, above = reach(space, dimension, rows, level)
    wide = space.einsum.extent[dimension] + 1
    codes, counts = np.unique(np.where(above & flagged, 0, wide) + np.where(sized, extent, 1), return_counts=True)
    return Tiles(codes % wide, codes < wide, counts.astype(np.int64))


def reach(space: Mapspace, dimension: str, rows: Ints, level: int) -> tuple[Ints, Bools]:
    """How far each chain reaches inside `level`, and whether it loops above."""
    inside = np.array([at >= level for at, _ in space.places(dimension)])
    extent = np.minimum(rows[:, inside].prod(axis=1), space.einsum.extent[dimension])
    above: Bools = np.any(rows[:, ~inside] > 1, axis=1)
    return extent, above


def _longest(space: Mapspace, tensors: list[Tensor], tiles: dict[str, Tiles]) -> str | None:
    """The dimension with most tiles among those that each tensor is proportional to: its tiles need no grid."""
    sliding = {
        term.dimension
        for tensor in tensors
        for rank in tensor.ranks
        for term in rank
        if sum(t.dimension in space.looped for t in rank) > 1
    }
    plain = [d for d in tiles if d not in sliding]
    return max(plain, key=lambda d: len(tiles[d]), default=None)


@dataclass(frozen=True)
class Grid:
    """Tiles of several dimensions, each with every other: an array with an axis per dimension of more than one tile."""

    space: Mapspace
    tiles: dict[str, Tiles]

    @cached_property
    def axes(self) -> list[str]:
        return [d for d, tiles in self.tiles.items() if len(tiles) > 1]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.tiles[d]) for d in self.axes)

    def spread(self, values: NDArray[Any], dimensions: Collection[str]) -> NDArray[Any]:
        """Values over the tiles of some dimensions, those in the grid's order, with an axis for all the others."""
        return values.reshape([len(self.tiles[d]) if d in dimensions else 1 for d in self.axes])

    def above(self) -> Bools:
        """Whether a reduction loop stands above the level."""
        out = np.zeros(self.shape, dtype=bool)
        for dimension, tiles in self.tiles.items():
            out |= self.spread(tiles.above, {dimension})
        return out

    def words(self, tensor: Tensor) -> Ints:
        """Words of the tiles of a tensor, one for dimensions that are not in the grid."""
        out = np.ones(self.shape, dtype=np.int64)
        for rank in tensor.ranks:
            out *= self._rank_words(rank)
        return out

    def _rank_words(self, rank: Rank) -> Ints:
        own = [d for d in self.tiles if d in {term.dimension for term in rank}]
        extents = np.meshgrid(*(self.tiles[d].extent for d in own), indexing="ij")
        factors = np.stack([extent.ravel() for extent in extents], axis=1) if own else np.ones((1, 0), dtype=np.int64)
        nests = Nests(self.space.einsum, tuple(Slot(0, "t", d) for d in own), factors, ())
        return self.spread(tile_words(Geometry(nests), Tensor("rank", (rank,)), 0), own)

    def total(self, counts: Ints) -> int:
        """The sum of `counts`, each times the chains of its tiles; in Python integers where 64 bits might overflow."""
        total: NDArray[Any] = np.broadcast_to(counts, self.shape)
        largest = int(counts.max(initial=0))
        for dimension in reversed(self.axes):
            weights: NDArray[Any] = self.tiles[dimension].chains
            largest *= int(weights.sum())
            if largest >= 2**62:
                total, weights = total.astype(object), weights.astype(object)
            total = (total * weights).sum(axis=-1)
        return int(total) * math.prod(int(tiles.chains[0]) for tiles in self.tiles.values() if len(tiles) == 1)


def _over(grid: Grid, bits: WordBits, capacity: int, line: tuple[str, Tiles] | None) -> Ints:
    """For every point of the grid, how many chains of the dimension of `line` (else 1 or 0) take too many bits."""
    fixed, slope = (np.zeros(grid.shape, dtype=np.int64) for _ in range(2))
    above = grid.above()
    for name, (still, summing) in bits.items():
        tensor = grid.space.einsum.tensor(name)
        held = grid.words(tensor) * np.where(above, summing, still)
        if line is not None and line[0] in tensor.dimensions:
            slope += held
        else:
            fixed += held
    if line is None:
        return (fixed > capacity).astype(np.int64)
    larger = np.append(np.cumsum(line[1].chains[::-1])[::-1], 0)
    return larger[np.searchsorted(line[1].extent, (capacity - fixed) // slope, side="right")]


def least_rows(space: Mapspace, chains: Chains) -> Ints:
    """Chains side by side, as `Mapspace.nests` takes them: the least tilings, of which none takes too many lanes.

    For every tiling of the mapspace there is one of them with the same kept tensors that takes no more of any buffer.
    Loops further out make tiles smaller. But a level that holds all of a reduction keeps finished sums, which may be
    narrower; so they are the least for each level that may be the innermost with no reduction loop above it.
    """
    reductions = [d for d in space.looped if d in space.einsum.reductions]
    last = len(space.accelerator.levels) - 1
    found = [np.ones((0, len(space.columns())), dtype=np.int64)]
    for level in range(last + 1):
        for looping in reductions if level < last else (None,):
            # Some reduction loops in the level or below it, not above: above the next level then.
            picked = []
            for dimension, rows in chains.items():
                if dimension in reductions:
                    rows = rows[~reach(space, dimension, rows, level)[1]]
                if dimension == looping:
                    rows = rows[reach(space, dimension, rows, level + 1)[1]]
                picked.append(_least(space, dimension, rows))
            found.append(_side_by_side(picked))
    rows = np.unique(np.concatenate(found), axis=0)
    return rows[_within_axes(space, rows)]


def _least(space: Mapspace, dimension: str, rows: Ints) -> Ints:
    """Chains that no other undercuts: in their tiles at every level, and in lanes on axes that dimensions share."""
    sizes = [reach(space, dimension, rows, level)[0] for level in range(1, len(space.accelerator.levels))]
    places = space.places(dimension)
    sizes += [rows[:, places.index(axis)] for axis in shared_axes(space) if axis in places]
    if not len(rows) or not sizes:
        return rows[:1]
    taken = np.stack(sizes, axis=1)
    lowest = np.flatnonzero((taken == taken.min(axis=0)).all(axis=1))
    if lowest.size:
        return rows[lowest[:1]]
    table, first = np.unique(taken, axis=0, return_index=True)
    kept: list[int] = []
    # In ascending order nothing is undercut by what comes after it.
    for index, row in enumerate(table):
        if not (table[kept] <= row).all(axis=1).any():
            kept.append(index)
    return rows[first[kept]]


def _side_by_side(chains: list[Ints]) -> Ints:
    """Every combination of chains of several dimensions, a row each."""
    rows = np.ones((1, 0), dtype=np.int64)
    for each in chains:
        rows = np.concatenate([np.repeat(rows, len(each), axis=0), np.tile(each, (len(rows), 1))], axis=1)
    return rows


def _within_axes(space: Mapspace, rows: Ints) -> Bools:
    """Whether each row takes no more lanes than there are."""
    within = np.ones(len(rows), dtype=bool)
    for axis in space.axes():
        columns = [i for i, (place, _) in enumerate(space.columns()) if place == axis]
        within &= rows[:, columns].prod(axis=1) <= space.lanes(axis)
    return within
