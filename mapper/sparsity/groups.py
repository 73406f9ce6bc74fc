"""Density models of words that are zero in groups: N:M patterns and blocks.

A tile cuts groups where its extent is no multiple of theirs. Which pieces it gets depends on where it begins: tiles of
extent t among groups of m begin at t*i mod m, which takes m / gcd(t, m) values, all equally often. A tile is one of
these *alignments* drawn at random. Tiles that share a group depend on each other (`independent`), which the closed form
of the largest one leaves out.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import numpy as np

from mapper.errors import InputError
from mapper.sparsity.chances import Distribution, binomial, certain, hypergeometric, mixture
from mapper.sparsity.model import Bools, Density, Shape, bernoulli, check_share

Pieces = tuple[tuple[int, int], ...]
"""(words of a group inside the tile, number of such groups)."""


@dataclass(frozen=True)
class Structured(Density):
    """N:M, exactly `n` nonzeros in each `m` consecutive words along the dimension at place `axis`; any places in it.

    Without an axis it is the pattern as a user writes it; `along` gives it its dimension. Where m does not divide the
    extent of the tensor, the last group is a whole one whose end is cut off.
    """

    n: int
    m: int
    axis: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.m:
            raise InputError(f"{self.n}:{self.m} is no N:M pattern", hint=f"n of m words, 1 <= n <= m{self._turned}")
        if self.axis is not None and self.axis < 0:
            raise InputError(f"no dimension {self.axis}", hint="places are counted from 0")

    @property
    def _turned(self) -> str:
        return f": did you mean {self.m}:{self.n}?" if 1 <= self.m < self.n else ""

    def along(self, axis: int) -> Structured:
        """The same pattern along a dimension, unless it has one already."""
        return self if self.axis is not None else replace(self, axis=axis)

    @property
    def mean(self) -> float:
        return self.n / self.m

    def independent(self, tile: Shape) -> bool:
        """Whether no group is shared by two tiles."""
        return tile[self._place(tile)] % self.m == 0

    def distribution(self, tile: Shape) -> Distribution:
        place = self._place(tile)
        lines = math.prod(tile) // tile[place]
        return mixture((weight, self._line(p).times(lines)) for weight, p in _alignments(tile[place], self.m))

    def _line(self, pieces: Pieces) -> Distribution:
        """Nonzeros of a tile of one line."""
        counts = (hypergeometric(words, self.n, self.m).times(number) for words, number in pieces)
        return reduce(Distribution.plus, counts, certain(0))

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        place = self._place(shape)
        others = tuple(extent for i, extent in enumerate(shape) if i != place)
        groups = math.ceil(shape[place] / self.m)
        drawn = self._groups(math.prod(others) * groups, rng).reshape(*others, groups * self.m)
        return np.ascontiguousarray(np.moveaxis(drawn[..., : shape[place]], -1, place))

    def _groups(self, number: int, rng: np.random.Generator) -> Bools:
        """Groups, one per row: word j is taken with the chance (nonzeros still to place) / (words left)."""
        out = np.empty((number, self.m), dtype=bool)
        left = np.full(number, self.n)
        for j in range(self.m):
            out[:, j] = rng.random(number) * (self.m - j) < left
            left -= out[:, j]
        return out

    def _place(self, tile: Shape) -> int:
        if self.axis is None:
            raise InputError(f"{self.n}:{self.m} along which dimension?", hint="along(axis) names it")
        if self.axis >= len(tile):
            raise InputError(f"{self.n}:{self.m} along dimension {self.axis} of {len(tile)}", hint="counted from 0")
        return self.axis


@dataclass(frozen=True)
class Blocks(Density):
    """Whole blocks are nonzero, each with probability `density`, or zero, independently of each other.

    `block` has the extents of a block, along the last dimensions of the tensor; it is one index thin along the others.
    """

    density: float
    block: Shape

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", check_share(self.density))
        object.__setattr__(self, "block", tuple(self.block))
        if min(self.block, default=0) < 1:
            raise InputError(f"no block of {self.block}", hint="one extent >= 1 per dimension, or for the last ones")

    @property
    def mean(self) -> float:
        return self.density

    def independent(self, tile: Shape) -> bool:
        """Whether no block is shared by two tiles."""
        return all(extent % part == 0 for extent, part in zip(tile, self._extents(tile), strict=True))

    def distribution(self, tile: Shape) -> Distribution:
        axes = [_alignments(extent, part) for extent, part in zip(tile, self._extents(tile), strict=True)]
        return mixture(
            (math.prod(weight for weight, _ in chosen), self._cut([pieces for _, pieces in chosen]))
            for chosen in product(*axes)
        )

    def _cut(self, pieces: list[Pieces]) -> Distribution:
        """Nonzeros of a tile that cuts blocks into those pieces along each dimension."""
        volumes = Counter[int]()
        for chosen in product(*pieces):
            volumes[math.prod(words for words, _ in chosen)] += math.prod(number for _, number in chosen)
        counts = (binomial(number, self.density).stretched(words) for words, number in volumes.items())
        return reduce(Distribution.plus, counts, certain(0))

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        block = self._extents(shape)
        grid = tuple(math.ceil(extent / part) for extent, part in zip(shape, block, strict=True))
        out = bernoulli(math.prod(grid), self.density, rng).reshape(grid)
        for axis, (extent, part) in enumerate(zip(shape, block, strict=True)):
            out = np.repeat(out, part, axis=axis)[(slice(None),) * axis + (slice(extent),)]
        return np.ascontiguousarray(out)

    def _extents(self, tile: Shape) -> Shape:
        """Extents of a block along every dimension."""
        if len(self.block) > len(tile):
            raise InputError(f"blocks of {self.block} in {len(tile)} dimensions", hint="at most one extent each")
        return (1,) * (len(tile) - len(self.block)) + self.block


def _alignments(extent: int, group: int) -> list[tuple[int, Pieces]]:
    """Pieces of groups that a tile of that extent gets, with how many of its alignments get the same."""
    starts = (i * extent % group for i in range(group // math.gcd(extent, group)))
    return [(number, pieces) for pieces, number in Counter(_pieces(start, extent, group) for start in starts).items()]


def _pieces(start: int, extent: int, group: int) -> Pieces:
    """Pieces of groups in `extent` words that begin `start` words behind the begin of a group."""
    head = min(extent, -start % group)
    whole, tail = divmod(extent - head, group)
    found = Counter({head: 1})
    found.update({group: whole})
    found.update({tail: 1})
    return tuple(sorted((words, number) for words, number in found.items() if words and number))
