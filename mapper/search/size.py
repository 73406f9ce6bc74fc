"""The exact size of a mapspace, without walking it.

Chains of different dimensions combine freely except where they share an axis, and a combination has
`product over levels of (loops there)!` orders. So one table is enough: combinations so far by the number of loops in
each level and by the lanes taken on each shared axis; every dimension is convolved into it (loops add, lanes
multiply). Loops that the constraints want outermost in a level are not counted as loops there: they have one place.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError

if TYPE_CHECKING:
    from mapper.search.space import Mapspace, Place

LARGEST_TABLE = 2**27
"""Entries of eight bytes; fewer where they are Python integers."""
MOST_STRUCTURES = 2**20
"""Choices of kept tensors times loop orders that a search looks at."""

Signature = tuple[tuple[int, ...], tuple[int, ...]]
"""Of a chain: for each level whether it has a loop there that may be moved (0 or 1); for each shared axis its lanes."""


def count_mappings(space: Mapspace) -> int:
    """Distinct mappings of `space` (texts), lanes within their axes, whether they fit the buffers or not."""
    if space.barred:
        return 0
    shared = [axis for axis in space.axes() if sum(axis in space.places(d) for d in space.looped) > 1]
    levels, widths = len(space.accelerator.levels), [space.lanes(axis) for axis in shared]
    # Before anything is counted: many levels have many chains, too.
    _check_table(space, widths, LARGEST_TABLE)
    _check_structures(space)
    chains = [signatures(space, d, shared) for d in space.looped]
    dtype: type = np.int64
    if math.prod(sum(c.values()) for c in chains) >= 2**62:
        # 64 bits might not hold the count; Python integers do, and take more room.
        _check_table(space, widths, LARGEST_TABLE // 32)
        dtype = object
    table: NDArray[Any] = np.zeros((1,) * levels + tuple(width + 1 for width in widths), dtype=dtype)
    table[(0,) * levels + (1,) * len(widths)] = 1
    for counted in chains:
        table = _convolve(table, counted, levels, dtype)
    return _ordered(table, levels) * len(space.keeps())


def _check_table(space: Mapspace, widths: list[int], largest: int) -> None:
    """Refuse a table of `count_mappings` that would take gigabytes."""
    levels = len(space.accelerator.levels)
    loops = (len(space.looped) + 1) ** levels
    if loops * math.prod(width + 1 for width in widths) > largest:
        lanes = f" and axes of {' and '.join(map(str, widths))} lanes that dimensions share" if widths else ""
        raise InputError(
            f"a mapspace of {len(space.looped)} dimensions, {levels} levels{lanes} is too large to be counted",
            hint="a partitioning with a dimension for each axis, such as KN, makes it smaller"
            if widths
            else "fewer levels",
        )


def _check_structures(space: Mapspace) -> None:
    """Refuse more loop orders and kept tensors than a search can begin with."""
    levels = len(space.accelerator.levels)
    choices = math.prod(2 ** len(names) for names in space.open_tensors())
    if choices * len(space.einsum.tensors) ** (levels - 1) > MOST_STRUCTURES:
        raise InputError(
            f"{levels} levels leave {choices:,} choices of which tensors they keep: too many to search",
            hint="keep, where now may_keep leaves it open, makes them fewer",
        )


def signatures(space: Mapspace, dimension: str, shared: list[Place]) -> Counter[Signature]:
    """How many chains of `dimension` have each signature."""
    places, levels = space.places(dimension), range(len(space.accelerator.levels))
    movable = [dimension not in space.prefix(level) for level in levels]

    @cache
    def below(at: int, left: int, uneven: bool) -> Counter[tuple[int, ...]]:
        """Chains of the places up to `at`: whether they loop, or how many lanes they take, in each."""
        if at == 0:
            return Counter({(int(left > 1 and movable[0]),): 1} if left in space.allowed(places[0], dimension) else {})
        out: Counter[tuple[int, ...]] = Counter()
        level, temporal, tracked = places[at][0], places[at][1] == "t", places[at] in shared
        for factor in space.factors(places[at], dimension, left):
            idle = left % factor != 0
            if not (idle and uneven):
                mark = int(factor > 1 and movable[level]) if temporal else factor if tracked else 1
                for rest, n in below(at - 1, -(-left // factor), uneven or idle).items():
                    out[(*rest, mark)] += n
        return out

    out: Counter[Signature] = Counter()
    for marks, n in below(len(places) - 1, space.einsum.extent[dimension], False).items():
        at = dict(zip(places, marks, strict=True))
        out[tuple(at[level, "t"] for level in levels), tuple(at.get(axis, 1) for axis in shared)] += n
    return out


def _convolve(table: NDArray[Any], chains: Counter[Signature], levels: int, dtype: type) -> NDArray[Any]:
    out = np.zeros(tuple(n + 1 for n in table.shape[:levels]) + table.shape[levels:], dtype=dtype)
    for (loops, lanes), n in chains.items():
        widths = [(size - 1) // count for size, count in zip(table.shape[levels:], lanes, strict=True)]
        source = (slice(None),) * levels + tuple(slice(1, width + 1) for width in widths)
        target = tuple(slice(loop, loop + size) for loop, size in zip(loops, table.shape[:levels], strict=True))
        target += tuple(slice(count, count * width + 1, count) for count, width in zip(lanes, widths, strict=True))
        out[target] += n * table[source]
    return out


def _ordered(table: NDArray[Any], levels: int) -> int:
    """Combinations times the orders of their loops."""
    by_loops = table.sum(axis=tuple(range(levels, table.ndim))) if table.ndim > levels else table
    return sum(
        int(by_loops[counts]) * math.prod(math.factorial(n) for n in counts)
        for counts in itertools.product(*(range(n) for n in by_loops.shape))
    )
