"""Words of a sliding rank: in a tile, in a union of tiles, and those of them that every holder already has.

A rank `c1*d1 + c2*d2` of a tile with extents t1, t2 touches `{c1*i + c2*j}`: an interval unless strides leave holes.
Children of a fan-out hold shifted copies. A position must be sent on a step if some child that covers it now did not
hold it before, so with `now` the covered positions and `held` those that every covering child held, a tensor's words
to send are `product of now - product of held` over its ranks.

Intervals on one regular row of children have a closed form, for whole arrays of mappings. Everything else (holes,
two rows of children in one rank, children that idle) is counted on bit sets, once per distinct case.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapper.counts.distinct import distinct
from mapper.mapping.loopnest import Ints

Bools = NDArray[np.bool_]


class AxisCase(NamedTuple):
    """One dimension of a rank, for one mapping: tile extent and the children's lanes, outermost first.

    In the dimension's last round `gone` children (those at or past lane `active` of row `row`, in the last lane of
    every row before it) hold nothing; where `row` is -1 the very last child's tile is `cut` shorter instead.
    `new_last`, `old_last`: whether the step ends or starts in that round.
    """

    coefficient: int
    tile: int
    lanes: tuple[tuple[int, int], ...]
    row: int = -1
    active: int = 0
    cut: int = 0
    new_last: bool = False
    old_last: bool = False

    def children(self) -> Iterator[tuple[int, int, int]]:
        """(offset, extent after, extent before) of every child."""
        for place in itertools.product(*(range(lanes) for lanes, _ in self.lanes)):
            offset = sum(index * stride for index, (_, stride) in zip(place, self.lanes, strict=True))
            short = self._short(place)
            yield offset, self.tile - self.new_last * short, self.tile - self.old_last * short

    def _short(self, place: tuple[int, ...]) -> int:
        """How much of this child's tile is missing in the last round."""
        ends = [index == lanes - 1 for index, (lanes, _) in zip(place, self.lanes, strict=True)]
        if self.row < 0:
            return self.cut if all(ends) else 0
        return self.tile if all(ends[: self.row]) and place[self.row] >= self.active else 0


def _points(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Positions of a tile as a bit set."""
    if 0 in extents:
        return 0
    points = 1
    for coefficient, extent in zip(coefficients, extents, strict=True):
        line = points
        for _ in range(extent - 1):
            line <<= coefficient
            points |= line
    return points


_points_cached = lru_cache(maxsize=1 << 16)(_points)


@lru_cache(maxsize=1 << 18)
def count_case(axes: tuple[AxisCase, ...], shift: int) -> tuple[int, int, int]:
    """(now, held, most): covered positions, those every covering child held before, most children of one position."""
    now, held, most = cover(tuple(axis.coefficient for axis in axes), [list(axis.children()) for axis in axes], shift)
    return now.bit_count(), held.bit_count(), most


def cover(
    coefficients: tuple[int, ...], children: list[list[tuple[int, int, int]]], shift: int
) -> tuple[int, int, int]:
    """(now, held) as bit sets and the most children of one position; `children` of each axis as `AxisCase` gives."""
    now, lacking, layers = 0, 0, list[int]()
    for combination in itertools.product(*children):
        offset = sum(c * child[0] for c, child in zip(coefficients, combination, strict=True))
        new = _points_cached(coefficients, tuple(child[1] for child in combination))
        old = _points_cached(coefficients, tuple(child[2] for child in combination))
        lack = new & ~(old >> shift if shift >= 0 else old << -shift)
        now |= new << offset
        lacking |= lack << offset
        layers = _stack(layers, new << offset)
    return now, now & ~lacking, len(layers)


def _stack(layers: list[int], points: int) -> list[int]:
    """Add a bit set to a tower of them: layer i holds the positions covered more than i times."""
    out = []
    for layer in layers:
        out.append(layer | points)
        points &= layer
    return [*out, points] if points else out


@dataclass(frozen=True)
class RankAxis:
    """One dimension of a rank, for an array of mappings: what `AxisCase` is for one."""

    coefficient: int
    tile: Ints
    lanes: tuple[tuple[Ints, Ints], ...]
    row: int = -1
    active: Ints | None = None
    cut: Ints | None = None


def closed_form(axes: list[RankAxis]) -> tuple[Bools, Ints, Ints, Ints]:
    """(usable, length, lanes, stride): rows whose tile is an interval and whose children stand in one regular row."""
    first = axes[0].tile
    length, hole_free = np.ones_like(first), np.ones(first.shape, dtype=bool)
    for axis in sorted(axes, key=lambda axis: axis.coefficient):
        hole_free &= (axis.tile == 1) | (length >= axis.coefficient)
        length = length + axis.coefficient * (axis.tile - 1)
    lanes, stride, rows = np.ones_like(first), np.zeros_like(first), np.zeros_like(first)
    for axis in axes:
        for count, step in axis.lanes:
            many = count > 1
            rows = rows + many
            lanes = np.where(many, count, lanes)
            stride = np.where(many, axis.coefficient * step, stride)
    return hole_free & (rows <= 1), length, lanes, stride


def interval_union(length: Ints, lanes: Ints, stride: Ints) -> Ints:
    """Positions covered by `lanes` intervals of `length`, `stride` apart."""
    return (lanes - 1) * np.minimum(length, stride) + length


def count_rows(
    axes: list[RankAxis], flags: list[tuple[Bools, Bools] | None], shift: Ints, rows: Bools
) -> tuple[Ints, Ints]:
    """(now, held) of the chosen `rows` by bit sets, zero elsewhere; each distinct case is counted once.

    `flags[i]` gives (new_last, old_last) per row where dimension i is in its last round, None where it is not.
    """
    now, held = np.zeros(rows.shape, dtype=np.int64), np.zeros(rows.shape, dtype=np.int64)
    index = np.flatnonzero(rows)
    if index.size:
        columns = [*_case_columns(axes, flags, index), np.broadcast_to(shift, rows.shape)[index]]
        first, inverse = distinct(columns)
        cases = np.stack([column[first] for column in columns], axis=1).tolist()
        counts = np.array([_count_encoded(axes, flags, case) for case in cases], dtype=np.int64)
        now[index], held[index] = counts[inverse].T
    return now, held


def _case_columns(axes: list[RankAxis], flags: list[tuple[Bools, Bools] | None], index: NDArray[np.intp]) -> list[Ints]:
    columns: list[Ints] = []
    for axis, flag in zip(axes, flags, strict=True):
        values: list[Ints] = [axis.tile, *itertools.chain.from_iterable(axis.lanes)]
        if flag is not None:
            zero = np.zeros_like(axis.tile)
            values += [zero if axis.active is None else axis.active, zero if axis.cut is None else axis.cut]
            values += [flag[0].astype(np.int64), flag[1].astype(np.int64)]
        columns += [value[index] for value in values]
    return columns


def _count_encoded(axes: list[RankAxis], flags: list[tuple[Bools, Bools] | None], case: list[int]) -> tuple[int, int]:
    values = iter(case)
    decoded = []
    for axis, flag in zip(axes, flags, strict=True):
        tile = next(values)
        lanes = tuple((next(values), next(values)) for _ in axis.lanes)
        if flag is None:
            decoded.append(AxisCase(axis.coefficient, tile, lanes))
        else:
            active, cut, new, old = (next(values) for _ in range(4))
            decoded.append(AxisCase(axis.coefficient, tile, lanes, axis.row, active, cut, bool(new), bool(old)))
    return count_case(tuple(decoded), next(values))[:2]
