"""Work tiles: how the plain operand of a mapping is cut into what one PE holds at a time.

The *work tile* is the operand's tile at the innermost level that keeps it, if that level serves one PE. Each
dimension of the tensor is cut into digits, outermost first: rounds of temporal loops and lanes of fan-outs above that
level, then the extent inside it. A *working set* is one combination of the temporal digits: the work tiles that all PEs
hold between two loads. Loops of other dimensions do not appear: they visit the same sets again, and PEs that differ
only there share a tile by multicast. Digits may overshoot the dimension: lanes whose tile lies past its end are idle.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints, Nests
from mapper.workload.einsum import Einsum, Rank, Tensor

Digit = tuple[bool, int]
"""(spread over lanes, factor)."""

Tiles = tuple[tuple[tuple[int, ...], int], ...]
"""Shapes of the tiles of a working set, each with the PEs that hold one of it."""


@dataclass(frozen=True)
class Cut:
    """One dimension of the tensor: its extent, the digits outside the work tile, outermost first, the tile's extent."""

    dimension: str
    extent: int
    digits: tuple[Digit, ...]
    tile: int

    @property
    def lanes(self) -> int:
        """Lanes that the dimension is spread over."""
        return math.prod(n for spread, n in self.digits if spread)

    @property
    def rounds(self) -> int:
        """Combinations of its temporal digits."""
        return math.prod(n for spread, n in self.digits if not spread)

    def words(self) -> Ints:
        """(rounds, lanes): how much of the extent the tile of a lane covers, 0 where the lane is idle."""
        starts = np.arange(self.rounds * self.lanes, dtype=np.int64) * self.tile
        spread = [kind for kind, _ in self.digits]
        order = [i for i, lanes in enumerate(spread) if not lanes] + [i for i, lanes in enumerate(spread) if lanes]
        placed = starts.reshape([n for _, n in self.digits]).transpose(order).reshape(self.rounds, self.lanes)
        return np.clip(self.extent - placed, 0, self.tile)


@lru_cache(maxsize=1024)
def _active(cut: Cut) -> Ints:
    """Lanes of a dimension that hold words, per round."""
    active: Ints = (cut.words() > 0).sum(axis=1)
    return active


@dataclass(frozen=True)
class Work:
    """All dimensions of the tensor in its declared order: `tile` words is the product of their tile extents."""

    cuts: tuple[Cut, ...]

    @cached_property
    def tile(self) -> tuple[int, ...]:
        """Shape of a work tile."""
        return tuple(cut.tile for cut in self.cuts)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return tuple(cut.extent for cut in self.cuts)

    @cached_property
    def spread(self) -> tuple[int, ...]:
        """Places of the dimensions that are spread over more than one lane."""
        return tuple(i for i, cut in enumerate(self.cuts) if cut.lanes > 1)

    @property
    def tile_words(self) -> int:
        """Words of a work tile: what it takes one PE to work off if no word is zero."""
        return math.prod(self.tile)

    @property
    def sets(self) -> int:
        """Working sets, each counted once however often it is visited."""
        return math.prod(cut.rounds for cut in self.cuts)

    @property
    def pes(self) -> int:
        """PEs of a working set, idle ones included."""
        return math.prod(cut.lanes for cut in self.cuts)


def work_of(nests: Nests, tensor: Tensor, lanes_below: Sequence[int], row: int = 0) -> Work | None:
    """How mapping `row` of `nests` cuts `tensor`, a plain operand; None where PEs share the level that serves them.

    `lanes_below[l]`: lanes of the accelerator's fan-out below level `l`.
    """
    level = max(i for i, names in enumerate(nests.keeps) if i == 0 or tensor.name in names)
    if max(lanes_below[level:], default=1) > 1:
        return None
    factors = nests.factors[row].tolist()
    return Work(tuple(_cut(nests, factors, level, _dimension(tensor, rank, nests.einsum)) for rank in tensor.ranks))


def _dimension(tensor: Tensor, rank: Rank, einsum: Einsum) -> str:
    """The dimension that walks a rank: the only one with more than one step."""
    looped = [term.dimension for term in rank if einsum.extent[term.dimension] > 1]
    if len(looped) > 1:
        raise InputError(
            f"tensor {tensor} slides along {'+'.join(map(str, rank))}: its tiles overlap and cannot be balanced",
            hint="skip the zeros of an operand with one dimension per rank",
        )
    return looped[0] if looped else rank[0].dimension


def _cut(nests: Nests, factors: Sequence[int], level: int, dimension: str) -> Cut:
    """Neighbouring digits of one kind are one digit and digits of one step none: equal work is an equal object."""
    digits: list[Digit] = []
    tile = 1
    for slot, factor in zip(nests.slots, factors, strict=True):
        if slot.dimension != dimension or factor == 1:
            continue
        spread = slot.kind != "t"
        if slot.level >= level:
            tile *= factor
        elif digits and digits[-1][0] == spread:
            digits[-1] = (spread, digits[-1][1] * factor)
        else:
            digits.append((spread, factor))
    extent = nests.einsum.extent[dimension]
    return Cut(dimension, extent, tuple(digits), min(tile, extent))


@lru_cache(maxsize=4096)
def kinds(work: Work) -> tuple[tuple[int, Tiles], ...]:
    """The working sets, those that are filled alike together: how many there are, and the tiles of one of them."""
    found = []
    for held in itertools.product(*(_filled(cut).items() for cut in work.cuts)):
        tiles = itertools.product(*(parts for parts, _ in held))
        shapes = tuple((tuple(n for n, _ in tile), math.prod(lanes for _, lanes in tile)) for tile in tiles)
        found.append((math.prod(rounds for _, rounds in held), shapes))
    return tuple(found)


@lru_cache(maxsize=1024)
def _filled(cut: Cut) -> Counter[tuple[tuple[int, int], ...]]:
    """Rounds of a dimension by what lanes hold, as (extent, lanes): whole tiles, and the last one if ragged."""
    words = cut.words()
    whole = (words == cut.tile).sum(axis=1).tolist()
    ragged = np.where(words < cut.tile, words, 0).sum(axis=1).tolist()
    pairs = (((cut.tile, lanes), (rest, int(rest > 0))) for lanes, rest in zip(whole, ragged, strict=True))
    return Counter(tuple(part for part in pair if part[1]) for pair in pairs)


def active_pes(work: Work) -> Ints:
    """PEs that hold words, per working set: rounds of the first dimension outermost."""
    active = np.ones(1, dtype=np.int64)
    for cut in work.cuts:
        active = np.multiply.outer(active, _active(cut)).ravel()
    return active
