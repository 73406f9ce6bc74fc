"""Working sets: how many nonzeros their PEs hold, counted in a known mask or drawn from a density.

A working set has one row, its PEs one column each, or two where their tiles are cut in halves. Rows count the rounds of
the tensor's first dimension outermost. Idle PEs are there with no words and never count in a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.density import Dispersed
from mapper.sparsity.known import Placed, block_sums
from mapper.sparsity.model import Density, Floats, Shape
from mapper.sparsity.work import Tiles, Work, active_pes


@dataclass(frozen=True, eq=False)
class Sets:
    """Arrays over working sets: nonzeros of the busiest PE, nonzeros of all PEs, PEs that are not idle."""

    lasts: Ints
    totals: Ints
    pes: Ints

    @cached_property
    def means(self) -> Floats:
        """Nonzeros per PE."""
        return np.asarray(self.totals / np.maximum(self.pes, 1))

    @cached_property
    def imbalance(self) -> Floats:
        """Busiest PE / mean PE; 1 where a set has no nonzeros."""
        return np.divide(self.lasts, self.means, out=np.ones(len(self.lasts)), where=self.totals > 0)


def first_half(extent: int) -> int:
    """Where a tile of that extent is cut: an odd one is longer in front."""
    return (extent + 1) // 2


def heaviest_pair(halves: Ints, pes: Ints) -> Ints:
    """Nonzeros of the heaviest pair of each working set, if the i-th heaviest half goes with the i-th lightest.

    `halves` of shape (sets, halves of all PEs), those of idle PEs zero; `pes` of shape (sets,): PEs that are not idle.
    """
    ordered = np.sort(halves, axis=1)
    lasts = np.zeros(len(halves), dtype=np.int64)
    for active in np.unique(pes[pes > 0]).tolist():
        # Halves of idle PEs weigh nothing, so they are among the lightest: the rest is what active PEs share.
        rows = pes == active
        top = (ordered if rows.all() else ordered[rows])[:, ordered.shape[1] - 2 * active :]
        lasts[rows] = (top[:, :active] + top[:, : active - 1 : -1]).max(axis=1)
    return lasts


@lru_cache(maxsize=4)
def counted(mask: Placed, work: Work, place: int | None) -> Sets:
    """The working sets of a known mask; tiles are cut in halves along dimension `place`, if any."""
    if mask.array.shape != work.shape:
        raise InputError(f"a mask of {mask.array.shape} for a tensor of {work.shape}", hint="shapes must agree")
    loads, pes = _loads(mask, work, place), active_pes(work)
    lasts = loads.max(axis=1) if place is None else heaviest_pair(loads, pes)
    return Sets(lasts.astype(np.int64), loads.sum(axis=1, dtype=np.int64), pes)


def _loads(mask: Placed, work: Work, place: int | None) -> Ints:
    """(sets, PEs or their halves): nonzeros of every tile or half."""
    pieces = [1] * len(work.cuts)
    if place is not None:
        pieces[place] = 2 if work.tile[place] % 2 == 0 else work.tile[place]
    piece = tuple(extent // number for extent, number in zip(work.tile, pieces, strict=True))
    sums = _padded(_sums(mask, piece), [c.rounds * c.lanes * n for c, n in zip(work.cuts, pieces, strict=True)])
    digits: list[int] = []
    rounds: list[int] = []
    lanes: list[int] = []
    for cut, number in zip(work.cuts, pieces, strict=True):
        for spread, factor in (*cut.digits, (True, number)):
            (lanes if spread else rounds).append(len(digits))
            digits.append(factor)
    if place is not None:
        axis = sum(len(cut.digits) + 1 for cut in work.cuts[: place + 1]) - 1
        sums, digits[axis] = _two(sums.reshape(digits), axis), 2
    return sums.reshape(digits).transpose(rounds + lanes).reshape(work.sets, -1)


def _two(sums: Ints, axis: int) -> Ints:
    """The halves of tiles from their pieces, which lie along `axis`."""
    if sums.shape[axis] == 2:
        return sums
    first, second = np.split(sums, [first_half(sums.shape[axis])], axis=axis)
    return np.stack([first.sum(axis=axis), second.sum(axis=axis)], axis=axis)


def _padded(sums: Ints, extents: list[int]) -> Ints:
    """With zeros past the end of the tensor, where lanes are idle."""
    missing = [(0, wanted - found) for wanted, found in zip(extents, sums.shape, strict=True)]
    return np.pad(sums, missing) if any(after for _, after in missing) else sums


@lru_cache(maxsize=8)
def _sums(mask: Placed, piece: Shape) -> Ints:
    """Nonzeros of all aligned tiles: orders and lanes of many mappings differ while their tiles do not.

    In half the room where they fit, which sorts faster too.
    """
    sums = block_sums(mask.array, piece)
    return sums if math.prod(piece) >= 2**30 else sums.astype(np.int32)


def drawn(density: Density, work: Work, tiles: Tiles, place: int | None, sets: int, rng: np.random.Generator) -> Sets:
    """`sets` random working sets of independent tiles, all with the tiles that are given."""
    loads: list[Ints] = []
    for shape, pes in tiles:
        if place is None:
            loads.append(density.sample(shape, sets * pes, rng).reshape(sets, pes))
        else:
            loads += _halves(density, shape, place, first_half(work.tile[place]), (sets, pes), rng)
    held = np.concatenate(loads, axis=1)
    pes_of_set = np.full(sets, sum(pes for _, pes in tiles), dtype=np.int64)
    lasts = held.max(axis=1) if place is None else heaviest_pair(held, pes_of_set)
    return Sets(lasts, held.sum(axis=1), pes_of_set)


def _halves(
    density: Density, shape: Shape, place: int, middle: int, size: tuple[int, int], rng: np.random.Generator
) -> list[Ints]:
    """Nonzeros of both halves of `size` tiles of that shape, cut at `middle` or not long enough to be cut."""
    extent, number = shape[place], math.prod(size)
    if extent <= middle:
        return [density.sample(shape, number, rng).reshape(size), np.zeros(size, dtype=np.int64)]
    first, second = ((*shape[:place], n, *shape[place + 1 :]) for n in (middle, extent - middle))
    if isinstance(density, Dispersed):
        # Halves of a tile share its clump; its nonzeros may lie anywhere.
        words, whole = math.prod(shape), density.sample(shape, number, rng)
        part = rng.hypergeometric(whole, words - whole, math.prod(first))
        return [part.reshape(size), (whole - part).reshape(size)]
    if first == second:
        return [density.sample(first, 2 * number, rng).reshape(size[0], -1)]
    return [density.sample(half, number, rng).reshape(size) for half in (first, second)]
