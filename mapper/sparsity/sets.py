"""Working sets: how many nonzeros their PEs hold, counted in a known mask or drawn from a density.

A working set has one row, its PEs one column each, or two where their tiles are cut in halves. Rows count the rounds of
the tensor's first dimension outermost. Idle PEs are there with no words and never count in a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.density import Dispersed
from mapper.sparsity.known import Placed, block_sums
from mapper.sparsity.model import Density, Floats, Shape
from mapper.sparsity.work import Tiles, Work, active_pes

FEW_TILES = 2**20
"""Sums of so many tiles, mostly a megabyte at most, are kept for many shapes; those of more tiles for a few."""
LONGEST_SLICES = 32
"""The largest factor by which tiles are made longer at a time."""


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
    held, pes = _held(mask, work, place), active_pes(work)
    lasts = held.max(axis=1) if place is None else heaviest_pair(held, pes)
    return Sets(lasts.astype(np.int64), held.sum(axis=1, dtype=np.int64), pes)


def paired(mask: Placed, work: Work, place: int) -> tuple[Ints, Ints]:
    """Nonzeros of both halves of every tile, cut along `place`, and which half goes with which, as in `heaviest_pair`.

    Both of shape (sets, PEs, 2), the lanes of the first dimension outermost. Partner `2 * p + h` is half h of PE p.
    Equal halves are sorted in the order of their PEs, the first half first. Halves of idle PEs go with themselves.
    """
    inside = math.prod(cut.lanes for cut in work.cuts[place + 1 :])
    halves = _held(mask, work, place).reshape(work.sets, -1, 2, inside).swapaxes(2, 3).reshape(work.sets, -1)
    active = np.ones((1, 1), dtype=bool)
    for cut in work.cuts:
        both = active[:, None, :, None] & (cut.words() > 0)[None, :, None, :]
        active = both.reshape(len(active) * cut.rounds, -1)
    order = np.argsort(np.where(active.repeat(2, axis=1), halves, -1), axis=1, kind="stable")
    last, places = halves.shape[1] - 1, np.arange(halves.shape[1])
    idle = last + 1 - 2 * active.sum(axis=1, keepdims=True)
    partners = np.empty_like(order)
    mirrored = np.where(places < idle, places, last + idle - places)
    np.put_along_axis(partners, order, np.take_along_axis(order, mirrored, axis=1), axis=1)
    shape = (work.sets, work.pes, 2)
    return halves.reshape(shape).astype(np.int64), partners.reshape(shape)


def longest(mask: Placed, work: Work, place: int | None) -> int:
    """Nonzeros of the busiest PEs of all working sets."""
    if place is not None:
        return int(counted(mask, work, place).lasts.sum())
    loads, lanes = _placed(mask, work, place)
    # The outermost axis first: the largest of long stretches is soon found, and little is left.
    for gone, axis in enumerate(lanes):
        loads = loads.max(axis=axis - gone)
    return int(loads.sum(dtype=np.int64))


def _held(mask: Placed, work: Work, place: int | None) -> NDArray[np.signedinteger]:
    """Nonzeros of every tile or half: a row per working set, as wide as its PEs (times two)."""
    loads, lanes = _placed(mask, work, place)
    rounds = [axis for axis in range(loads.ndim) if axis not in lanes]
    # In half the room of other integers where they fit, which sorts faster too.
    return loads.transpose(rounds + lanes).reshape(work.sets, -1).astype(_kind(work), copy=False)


def _kind(work: Work) -> type[np.signedinteger]:
    return np.int64 if work.tile_words >= 2**30 else np.int32


def _placed(mask: Placed, work: Work, place: int | None) -> tuple[NDArray[np.integer], list[int]]:
    """Nonzeros of every tile or half, an axis per digit; and which axes are PEs and their halves."""
    if mask.array.shape != work.shape:
        raise InputError(f"a mask of {mask.array.shape} for a tensor of {work.shape}", hint="shapes must agree")
    pieces = [1] * len(work.cuts)
    if place is not None:
        pieces[place] = 2 if work.tile[place] % 2 == 0 else work.tile[place]
    piece = tuple(extent // number for extent, number in zip(work.tile, pieces, strict=True))
    sums = _padded(_sums(mask, piece), [c.rounds * c.lanes * n for c, n in zip(work.cuts, pieces, strict=True)])
    digits: list[int] = []
    lanes: list[int] = []
    for cut, number in zip(work.cuts, pieces, strict=True):
        for spread, factor in (*cut.digits, (True, number)):
            if spread:
                lanes.append(len(digits))
            digits.append(factor)
    sums = sums.reshape(digits)
    if place is not None:
        sums = _two(sums, sum(len(cut.digits) + 1 for cut in work.cuts[: place + 1]) - 1)
    return sums, lanes


def _two(sums: NDArray[np.integer], axis: int) -> NDArray[np.integer]:
    """The halves of tiles from their pieces, which lie along `axis`."""
    if sums.shape[axis] == 2:
        return sums
    first, second = np.split(sums, [first_half(sums.shape[axis])], axis=axis)
    return np.stack([first.sum(axis=axis), second.sum(axis=axis)], axis=axis)


def _padded(sums: NDArray[np.integer], extents: list[int]) -> NDArray[np.integer]:
    """With zeros past the end of the tensor, where lanes are idle."""
    if list(sums.shape) == extents:
        return sums
    out = np.zeros(extents, dtype=sums.dtype)
    out[tuple(map(slice, sums.shape))] = sums
    return out


def _sums(mask: Placed, piece: Shape) -> NDArray[np.integer]:
    """Nonzeros of all aligned tiles, in integers just wide enough.

    They are kept: orders and lanes of many mappings differ while their tiles do not.
    """
    tiles = math.prod(-(-extent // part) for extent, part in zip(mask.array.shape, piece, strict=True))
    return _few_sums(mask, piece) if tiles <= FEW_TILES else _many_sums(mask, piece)


def _added(mask: Placed, piece: Shape) -> NDArray[np.integer]:
    """From the sums of tiles some fraction as long in the last dimension that has a length, which others need too."""
    axis = max((i for i, extent in enumerate(piece) if extent > 1), default=-1)
    if axis < 0:
        return mask.array.view(np.uint8)
    factor = next((n for n in range(2, LONGEST_SLICES + 1) if piece[axis] % n == 0), 0)
    kind = np.min_scalar_type(math.prod(piece))
    if not factor:
        return block_sums(mask.array, piece).astype(kind)
    finer = np.moveaxis(_sums(mask, (*piece[:axis], piece[axis] // factor, *piece[axis + 1 :])), axis, 0)
    out = finer[::factor].astype(kind)
    for place in range(1, factor):
        slices = finer[place::factor]
        out[: len(slices)] += slices
    return np.moveaxis(out, 0, axis)


_few_sums = lru_cache(maxsize=256)(_added)
_many_sums = lru_cache(maxsize=8)(_added)


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
