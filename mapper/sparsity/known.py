"""Density models that know where nonzeros are, or how they differ along a dimension: tiles are not alike.

`Actual` holds a mask, `Banded` computes one, `Vector` has a density per index of one dimension. The distribution of a
tile is that of one of the aligned tiles drawn at random; the last one along a dimension may be cut. The largest of
several tiles depends on which they are: count them with `block_sums`, or with that of a drawn mask.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.chances import Distribution, binomial, certain, histogram, mixture
from mapper.sparsity.model import Bools, Density, Shape, bernoulli, check_share

SHORT = 32
"""Tiles up to this extent are added slice by slice, longer ones segment by segment (measured)."""
BYTE = 255
"""Words whose sum fits the narrowest integer."""
PACKED_AT_ONCE = 2**23
"""Words of a mask that are packed to bits at a time; a multiple of eight."""


def block_sums(mask: Bools, tile: Shape) -> Ints:
    """Nonzeros of every aligned tile of a mask; an axis per dimension, of ceil(extent / tile) tiles, the last ones cut.

    One axis is summed after the other, the one that shrinks most first, in integers just wide enough: beside the result
    no more room is needed than the mask takes, mostly far less.
    """
    if len(tile) != mask.ndim or min(tile, default=1) < 1:
        raise InputError(f"a tile of {tile} does not cut a mask of {mask.shape}", hint="one extent >= 1 per dimension")
    if not mask.size:
        return np.zeros([math.ceil(n / t) for n, t in zip(mask.shape, tile, strict=True)], dtype=np.int64)
    sums: NDArray[np.integer] = np.asarray(mask).view(np.uint8)
    most = 1
    for axis in sorted(range(mask.ndim), key=lambda a: math.ceil(mask.shape[a] / tile[a]) / mask.shape[a]):
        extent = min(tile[axis], mask.shape[axis])
        most *= extent
        if extent == most > BYTE:
            sums, extent = _pieces_summed(sums, axis, extent)
        if extent > 1:
            sums = _summed(sums, axis, extent, np.min_scalar_type(most))
    return sums.astype(np.int64)


def _pieces_summed(words: NDArray[np.integer], axis: int, extent: int) -> tuple[NDArray[np.integer], int]:
    """Sums of pieces of tiles that still fit a byte, and the pieces of a tile: widening all words would take room."""
    pieces = np.arange(0, extent, BYTE)
    starts = np.add.outer(np.arange(0, words.shape[axis], extent), pieces).ravel()
    starts = starts[starts < words.shape[axis]]
    return np.add.reduceat(words, starts, axis=axis, dtype=np.uint8), len(pieces)


def _summed(words: NDArray[np.integer], axis: int, extent: int, kind: np.dtype[np.integer]) -> NDArray[np.integer]:
    """Sums of `extent` neighbours along `axis`."""
    if extent > SHORT:
        return np.add.reduceat(words, np.arange(0, words.shape[axis], extent), axis=axis, dtype=kind)
    front = np.moveaxis(words, axis, 0)
    out = front[::extent].astype(kind)
    for place in range(1, extent):
        slices = front[place::extent]
        out[: len(slices)] += slices
    return np.moveaxis(out, 0, axis)


class Placed(Density):
    """A model whose nonzeros are all known; `array` has them."""

    alike = False
    array: Bools

    @cached_property
    def nonzeros(self) -> int:
        """Nonzeros of the whole tensor."""
        return int(np.count_nonzero(self.array))

    @property
    def size(self) -> int:
        """Words of the whole tensor."""
        return int(self.array.size)

    @property
    def mean(self) -> float:
        return self.nonzeros / self.size

    def distribution(self, tile: Shape) -> Distribution:
        return histogram(block_sums(self.array, tile))

    def expected(self, tile: Shape) -> float:
        """Expected nonzeros of a tile, cut ones among them."""
        return self.nonzeros / _tiles(self.array.shape, tile)

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:  # noqa: ARG002
        """The known nonzeros, of no other shape than their own."""
        if tuple(shape) != self.array.shape:
            raise InputError(f"a mask of {self.array.shape} for a tensor of {tuple(shape)}", hint="shapes must agree")
        return self.array


def _tiles(shape: Shape, tile: Shape) -> int:
    return math.prod(math.ceil(extent / part) for extent, part in zip(shape, tile, strict=True))


@dataclass(frozen=True, eq=False)
class Actual(Placed):
    """A known mask: `array` is boolean and has the tensor's shape.

    It is copied once, unless it is read-only already (a memory-mapped file, say). Two of them are equal where shape and
    content are; the content is compared by a digest that is computed when first asked for.
    """

    array: Bools

    def __post_init__(self) -> None:
        if not isinstance(self.array, np.ndarray) or self.array.dtype != bool:
            found = getattr(self.array, "dtype", type(self.array).__name__)
            raise InputError(f"a mask of {found}", hint="a boolean array: weights != 0")
        if not self.array.size:
            raise InputError(f"a mask of {self.array.shape} has no words", hint="one word at least")
        if self.array.flags.writeable:
            copied = self.array.copy()
            copied.flags.writeable = False
            object.__setattr__(self, "array", copied)

    @cached_property
    def digest(self) -> bytes:
        """Of the words in row-major order, as bits."""
        content = hashlib.blake2b(digest_size=16)
        flat = self.array.reshape(-1)
        for start in range(0, self.size, PACKED_AT_ONCE):
            content.update(np.packbits(flat[start : start + PACKED_AT_ONCE]).tobytes())
        return content.digest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Actual):
            return NotImplemented
        same_shape = self.array.shape == other.array.shape
        return self.array is other.array or (same_shape and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash((self.array.shape, self.digest))

    def __repr__(self) -> str:
        return f"Actual({' x '.join(map(str, self.array.shape))}, {self.nonzeros} nonzeros)"


@dataclass(frozen=True)
class Banded(Placed):
    """Nonzero on a band round the diagonal: word (i, j) of a matrix where |i - j * rows / columns| <= `width`.

    `shape` is that of the tensor. The matrix lies in the dimensions `axes` (rows, columns), as given or the first two
    of more than one index (K and C of a weight, whatever its taps); all its other dimensions repeat it.
    """

    width: float
    shape: Shape
    axes: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        shape = tuple(self.shape)
        object.__setattr__(self, "shape", shape)
        if not 0 <= self.width < math.inf:
            raise InputError(f"{self.width!r} is no width of a band", hint="0 keeps the diagonal alone")
        if min(shape, default=0) < 1 or len(shape) < 2:
            raise InputError(f"no band in a tensor of {shape}", hint="two dimensions at least, none of them empty")
        if len({a for a in self._matrix if 0 <= a < len(shape)}) != 2:
            raise InputError(f"no matrix lies in {self.axes}", hint=f"two different places from 0 to {len(shape) - 1}")

    @property
    def _matrix(self) -> tuple[int, int]:
        """Places of the rows and columns."""
        if self.axes is not None:
            return self.axes
        long = [place for place, extent in enumerate(self.shape) if extent > 1]
        short = [place for place in range(len(self.shape) - 1, -1, -1) if place not in long]
        rows, columns = sorted((long + short)[:2])
        return rows, columns

    @cached_property
    def array(self) -> Bools:  # type: ignore[override]
        """The band, a read-only view that repeats one matrix."""
        i, j = (self._along(place) for place in self._matrix)
        rows, columns = (self.shape[place] for place in self._matrix)
        return np.broadcast_to(np.abs(i * columns - j * rows) <= self.width * columns, self.shape)

    def _along(self, place: int) -> Ints:
        """Indices of one dimension."""
        return np.arange(self.shape[place]).reshape([-1 if a == place else 1 for a in range(len(self.shape))])


@dataclass(frozen=True)
class Vector(Density):
    """Independent words, of another density at each index of one dimension: a filter, a channel.

    `values[i]` is the density at index i of the dimension at place `axis`.
    """

    axis: int
    values: tuple[float, ...]

    alike = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(check_share(value) for value in self.values))
        if not self.values or self.axis < 0:
            raise InputError(
                f"{len(self.values)} densities along dimension {self.axis}", hint="one or more, counted from 0"
            )

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    def expected(self, tile: Shape) -> float:
        """Expected nonzeros of a tile, cut ones among them."""
        return math.fsum(self.values) * self._rest(tile) / math.ceil(len(self.values) / tile[self.axis])

    def distribution(self, tile: Shape) -> Distribution:
        extent, rest = tile[self.axis], self._rest(tile)
        starts = range(0, len(self.values), extent)
        kinds = Counter(tuple(sorted(self.values[start : start + extent])) for start in starts)
        return mixture((number, _independent(values, rest)) for values, number in kinds.items())

    def _rest(self, tile: Shape) -> int:
        """Words of a tile per index."""
        return math.prod(extent for place, extent in enumerate(tile) if place != self.axis)

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        if len(shape) <= self.axis or shape[self.axis] != len(self.values):
            raise InputError(
                f"{len(self.values)} densities along dimension {self.axis} of a tensor of {tuple(shape)}",
                hint="one per index",
            )
        rest = tuple(extent for place, extent in enumerate(shape) if place != self.axis)
        out = np.empty(shape, dtype=bool)
        for slices, density in zip(np.moveaxis(out, self.axis, 0), self.values, strict=True):
            slices[...] = bernoulli(math.prod(rest), density, rng).reshape(rest)
        return out


def _independent(densities: tuple[float, ...], words: int) -> Distribution:
    """Nonzeros of so many words of each density."""
    parts = (binomial(words * number, density) for density, number in Counter(densities).items())
    return reduce(Distribution.plus, parts, certain(0))
