"""Room that compressed tiles take: the largest tile of a known mask, or the quantile of tiles that a spec asks for.

Tiles of a sliding tensor overlap: each is looked at where the loops put it. To other densities than known masks a tile
is a box, as long along a sliding rank as it has distinct positions there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, reduce
from itertools import product

import numpy as np

from mapper.arch.zeros import Format
from mapper.counts.distinct import distinct
from mapper.mapping.loopnest import Ints, Nests
from mapper.sparsity.density import Dispersed, Exactly, Uniform
from mapper.sparsity.formats import tile_bits
from mapper.sparsity.known import Placed, block_sums
from mapper.sparsity.model import Density, Floats, Shape
from mapper.sparsity.zeros import Moves
from mapper.workload.einsum import Einsum, Rank, Tensor

BY_WORDS = (Uniform, Exactly, Dispersed)
"""Models whose tiles are told apart by their words alone, whatever their shape."""


def compressed_bits(moves: Moves, nests: Nests, tensor: Tensor, level: int) -> Ints:
    """Bits of a tile of `tensor` at `level`, per mapping: the tile's shape decides where its mask is known."""
    dimensions = [term.dimension for rank in tensor.ranks for term in rank]
    extents = [_extents(nests, d, level) for d in dimensions]
    if not extents:
        return np.full(len(nests), tile_room(moves, tensor, level, ()), dtype=np.int64)
    first, which = distinct(extents)
    found = [tile_room(moves, tensor, level, tuple(int(e[row]) for e in extents)) for row in first]
    return np.asarray(np.array(found, dtype=np.int64)[which])


def _extents(nests: Nests, dimension: str, level: int) -> Ints:
    inside = [i for i, slot in enumerate(nests.slots) if slot.dimension == dimension and slot.level >= level]
    return np.asarray(np.minimum(nests.factors[:, inside].prod(axis=1), nests.einsum.extent[dimension]))


def tile_room(moves: Moves, tensor: Tensor, level: int, extents: Shape) -> int:
    """Bits of one tile, given its extent along each dimension of the tensor in declared order."""
    density = moves.sparsity.of(tensor)
    form = moves.zeros.format(moves.accelerator.level_names[level], tensor.role)
    assert density is not None
    assert form is not None
    assert moves.zeros.capacity_quantile is not None
    return _room(density, form, tensor, moves.einsum, extents, _width(moves, tensor), moves.zeros.capacity_quantile)


def _width(moves: Moves, tensor: Tensor) -> int:
    return moves.accelerator.operand_bits(tensor)


def least_room(moves: Moves, tensor: Tensor, level: int, words: Floats, uneven: int) -> Floats | None:
    """Bits that tiles of so many words take at least, more for more words; None where tiles are held densely.

    Exact where the words alone decide, N:M apart. Else no fewer nonzeros than a mean tile's: `uneven` dimensions of the
    tensor may leave lanes idle at `level` or further in, and cut short its tiles, each by less than half in the mean.
    """
    form, density = moves.format(level, tensor), moves.sparsity.of(tensor)
    if not moves.compressed(level, tensor) or form is None or density is None:
        return None
    metadata, width = moves.metadata(level, tensor), _width(moves, tensor)
    assert metadata is not None
    if form.kind == "n_m":
        # What has more nonzeros than N:M keeps is stored densely, and fewer words may well have.
        return np.asarray(words * min(width, form.n / form.m * (width + metadata.per_nonzero)))
    if isinstance(density, BY_WORDS):
        assert moves.zeros.capacity_quantile is not None
        values, which = np.unique(words, return_inverse=True)
        each = (int(value) for value in values)
        found = [
            _bits(form, n, _most(density, (n,), moves.zeros.capacity_quantile), width, tensor, moves.einsum)
            for n in each
        ]
        return np.array(found, dtype=np.float64)[which]
    plain = all(len(rank) == 1 and rank[0].coefficient == 1 for rank in tensor.ranks)
    nonzeros = density.mean / 2**uneven if plain and isinstance(density, Placed) else 0.0
    return np.asarray(words * (nonzeros * (width + metadata.per_nonzero) + float(metadata.per_position)))


@lru_cache(maxsize=65536)
def _room(
    density: Density, form: Format, tensor: Tensor, einsum: Einsum, extents: Shape, width: int, quantile: float
) -> int:
    sizes = list(_by_rank(tensor, extents))
    lengths = [len(_positions(rank, mine)) for rank, mine in zip(tensor.ranks, sizes, strict=True)]
    if isinstance(density, Placed):
        # The nonzeros of a known mask are what they are: its largest tile must fit.
        most = _largest(density, tensor, einsum, sizes)
    else:
        box = tuple(
            length if first else 1
            for rank, length in zip(tensor.ranks, lengths, strict=True)
            for first in (True, *[False] * (len(rank) - 1))
        )
        most = _most(density, box, quantile)
    return _bits(form, math.prod(lengths), most, width, tensor, einsum)


def _bits(form: Format, words: int, nonzeros: int, width: int, tensor: Tensor, einsum: Einsum) -> int:
    return tile_bits(form, words, min(nonzeros, words), width, tensor, einsum)


@lru_cache(maxsize=65536)
def _most(density: Density, tile: Shape, quantile: float) -> int:
    """Nonzeros that a share of `quantile` of the tiles does not exceed."""
    found = density.distribution(tile)
    above = np.flatnonzero(np.cumsum(found.chances) >= quantile * (1 - 1e-12))
    return found.first + int(above[0] if len(above) else len(found.chances) - 1)


def _by_rank(tensor: Tensor, extents: Shape) -> Iterator[Shape]:
    """Extents along the dimensions of each rank."""
    each = iter(extents)
    for rank in tensor.ranks:
        yield tuple(next(each) for _ in rank)


def _positions(rank: Rank, sizes: Shape) -> Ints:
    """Distinct positions that a tile has along a rank, from its first on."""
    steps = (term.coefficient * np.arange(size) for term, size in zip(rank, sizes, strict=True))
    return np.unique(reduce(np.add.outer, steps))


def _largest(density: Placed, tensor: Tensor, einsum: Einsum, sizes: list[Shape]) -> int:
    """Nonzeros of the fullest tile of a known mask: aligned tiles of plain ranks are summed, then each sliding rank."""
    plain = [len(rank) == 1 and rank[0].coefficient == 1 for rank in tensor.ranks]
    sums = block_sums(density.array, tuple(s[0] if p else 1 for s, p in zip(sizes, plain, strict=True)))
    for axis, (rank, mine) in enumerate(zip(tensor.ranks, sizes, strict=True)):
        if not plain[axis]:
            tiles = [sums.take(places, axis=axis).sum(axis=axis) for places in _tiles(rank, mine, einsum)]
            sums = np.stack(tiles, axis=axis)
    return int(sums.max(initial=0))


def _tiles(rank: Rank, sizes: Shape, einsum: Einsum) -> Iterator[Ints]:
    """Positions of every tile along a rank; the last one of a dimension may be cut short."""
    extents = [einsum.extent[term.dimension] for term in rank]
    for starts in product(*(range(0, extent, size) for extent, size in zip(extents, sizes, strict=True))):
        first = sum(term.coefficient * start for term, start in zip(rank, starts, strict=True))
        held = tuple(min(s, e - start) for s, e, start in zip(sizes, extents, starts, strict=True))
        yield first + _positions(rank, held)
