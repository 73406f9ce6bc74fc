"""Where every loop of a nest moves the tiles, and which lanes idle: the arithmetic that all counts rest on.

A dimension is a mixed-radix number whose digits are its slots, outermost first; a slot's *stride* is the product of
the factors inside it. Idle lanes make the radix product exceed the bound: coordinates at or past the bound do not
exist. At most one spatial slot per dimension (the *uneven* one) does this, so only whole lanes (below it) or the end
of a tile (above it) are missing, and only while every temporal loop of the dimension outside it stands at its end.

Time is cut into *step classes*: the start, and "loop j advances while all loops inside it wrap". Within a class each
dimension moves by one fixed shift, and the counters of different dimensions are independent; that is why every count
is a sum over classes of products over dimensions (`Steps`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mapper.mapping.loopnest import Ints, Nests

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Uneven:
    """The spatial slot of a dimension that may leave lanes idle. `missing` lanes are idle in the last round."""

    slot: int
    missing: Ints
    active: Ints


@dataclass(frozen=True)
class Steps:
    """Step classes of one dimension, arrays of shape (classes, mappings).

    `count` times the class occurs as far as this dimension's counters tell; of these, `special` times the dimension
    is at its very end before (`old_last`) or after (`new_last`) the step. `shift` is how far its tile moves; `still`
    says that it does not move.
    """

    count: Ints
    special: Ints
    new_last: Bools
    old_last: Bools
    still: Bools
    shift: Ints


class Geometry:
    """Strides, idle lanes and step classes of `nests`, all of whose rows have the same uneven slots."""

    def __init__(self, nests: Nests) -> None:
        self.nests = nests
        self.rows = len(nests)
        self.factors = np.ascontiguousarray(nests.factors.T)
        self.whole = True
        """Whether all lanes are looked at."""
        self.of: dict[str, list[int]] = {}
        for index, slot in enumerate(nests.slots):
            self.of.setdefault(slot.dimension, []).append(index)
        self._steps: dict[int, dict[str, Steps]] = {}
        self._every_step: dict[str, Steps] = {}
        self.views: dict[object, object] = {}
        self.counted: dict[object, Ints] = {}
        """Memory of `entering`, which looks at the same dimensions for several tensors, and is asked the same twice."""

    @cached_property
    def ones(self) -> Ints:
        return np.ones(self.rows, dtype=np.int64)

    @cached_property
    def strides(self) -> Ints:
        """(slots, mappings): product of the factors of the same dimension inside each slot."""
        strides = np.ones_like(self.factors)
        for slots in self.of.values():
            running = self.ones
            for index in reversed(slots):
                strides[index] = running
                running = running * self.factors[index]
        return strides

    @cached_property
    def uneven(self) -> dict[str, Uneven]:
        """The uneven slot of each dimension that leaves a lane idle in some row."""
        found = {}
        for dimension, slots in self.of.items():
            if all(self.nests.slots[i].kind == "t" for i in slots):
                continue
            for index, missing in idle_lanes(self.nests, slots):
                if missing.any():
                    found[dimension] = Uneven(index, missing, self.factors[index] - missing)
        return found

    @cached_property
    def sliding(self) -> frozenset[str]:
        """Looped dimensions that share a rank with another."""
        ranks = [rank for tensor in self.nests.einsum.tensors for rank in tensor.ranks]
        looped = [[t.dimension for t in rank if t.dimension in self.of] for rank in ranks]
        return frozenset(d for dimensions in looped if len(dimensions) > 1 for d in dimensions)

    def narrowed(self, away: Mapping[int, Ints]) -> Geometry:
        """The same mappings, of which only the last lanes of some spatial slots are looked at.

        `away[slot]`: how many of its first lanes are left out, fewer than there are. Counts are those of the children
        beyond: they move and idle as they do among the others.
        """
        strides, uneven = self.strides, self.uneven
        out = copy(self)
        out.factors, out.whole, out.views, out.counted = self.factors.copy(), False, {}, {}
        for slot, lanes in away.items():
            out.factors[slot] = self.factors[slot] - lanes
        missing = {d: np.minimum(u.missing, out.factors[u.slot]) for d, u in uneven.items()}
        ends = {d: Uneven(u.slot, missing[d], out.factors[u.slot] - missing[d]) for d, u in uneven.items()}
        vars(out).update(strides=strides, uneven=ends)
        return out

    def temporal_above(self, level: int) -> list[int]:
        """Slots of the temporal loops above `level`, outermost first."""
        return [i for i, s in enumerate(self.nests.slots) if s.kind == "t" and s.level < level]

    def steps(self, dimension: str, level: int) -> Steps:
        """Step classes of a tile at `level`: the start, then one per temporal loop above, outermost first."""
        if level not in self._steps:
            self._steps[level] = self._make_steps(level)
        return self._steps[level][dimension]

    def _make_steps(self, level: int) -> dict[str, Steps]:
        """Of all dimensions at once: arrays of (classes, dimensions, mappings)."""
        loops, dimensions = self.temporal_above(level), list(self.of)
        mine = np.array([[self.nests.slots[i].dimension == d for d in dimensions] for i in loops], dtype=bool).reshape(
            len(loops), len(dimensions), 1
        )
        bounds = self.factors[loops][:, None, :]
        own = np.where(mine, bounds, 1)
        shape = (len(loops) + 1, len(dimensions), self.rows)
        count, still = np.ones(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        count[1:] = _before(own) * np.where(mine, bounds - 1, 1)
        still[1:] = ~mine & (_inside_product(own) == 1)
        return {
            d: Steps(count[:, i], *self._ends(d, loops, mine[:, i]), still[:, i], self._shift(d, loops, mine[:, i]))
            for i, d in enumerate(dimensions)
        }

    def _shift(self, dimension: str, loops: list[int], mine: Bools) -> Ints:
        """How far the tile moves per class, zero where no rank needs to know."""
        if dimension not in self.sliding:
            return np.zeros((1, 1), dtype=np.int64)
        shift = np.zeros((len(loops) + 1, self.rows), dtype=np.int64)
        strides = np.where(mine, self.strides[loops], 0)
        shift[1:] = strides - _inside_sum((self.factors[loops] - 1) * strides)
        return shift

    def _ends(self, dimension: str, loops: list[int], mine: Bools) -> tuple[Ints, Bools, Bools]:
        """`special`, `new_last` and `old_last` of a dimension."""
        uneven = self.uneven.get(dimension)
        if uneven is None:
            none = np.zeros((1, 1), dtype=bool)
            return np.zeros((1, 1), dtype=np.int64), none, none
        outer = mine & np.array([i < uneven.slot for i in loops], dtype=bool)[:, None]
        return self._specials(self.factors[loops], mine, outer)

    def _specials(self, bounds: Ints, mine: Bools, outer: Bools) -> tuple[Ints, Bools, Bools]:
        """How often each class starts or ends with the dimension at its end; `outer`: its loops outside the slot."""
        classes, rows = len(bounds) + 1, self.rows
        free = np.where(mine & ~outer, bounds, 1)
        ends = np.where(outer, bounds, 1)
        inner_ended = _inside_product(ends) == 1
        special = np.ones((classes, rows), dtype=np.int64)
        new_last, old_last = np.ones((classes, rows), dtype=bool), np.zeros((classes, rows), dtype=bool)
        special[0] = ends.prod(axis=0) == 1
        at = np.where(outer, np.minimum(bounds - 1, 1) * inner_ended, np.where(mine, bounds - 1, 1))
        special[1:] = _before(free) * at
        new_last[1:] = inner_ended
        old_last[1:] = ~outer
        return special, new_last, old_last

    def every_step(self, dimension: str) -> Steps:
        """All steps of compute as one class: combinations of the temporal counters, and those at the end."""
        if dimension not in self._every_step:
            self._every_step[dimension] = self._make_every_step(dimension)
        return self._every_step[dimension]

    def _make_every_step(self, dimension: str) -> Steps:
        temporal = [i for i in self.of.get(dimension, []) if self.nests.slots[i].kind == "t"]
        count = self.factors[temporal].prod(axis=0)
        uneven = self.uneven.get(dimension)
        flag, none = np.zeros((1, 1), dtype=bool), np.zeros((1, 1), dtype=np.int64)
        if uneven is None:
            return Steps(count[None], none, flag, flag, flag, none)
        special = self.factors[[i for i in temporal if i > uneven.slot]].prod(axis=0)
        return Steps(special=special[None], count=count[None], new_last=~flag, old_last=flag, still=flag, shift=none)


def idle_lanes(nests: Nests, slots: list[int]) -> list[tuple[int, Ints]]:
    """For each spatial slot of one dimension (innermost first): how many of its lanes idle in the last round."""
    left = np.full(len(nests), nests.einsum.extent[nests.slots[slots[0]].dimension], dtype=np.int64)
    found = []
    for index in reversed(slots):
        factor = nests.factors[:, index]
        rounds = -(-left // factor)
        if nests.slots[index].kind != "t":
            found.append((index, rounds * factor - left))
        left = rounds
    return found


def groups(nests: Nests) -> list[tuple[NDArray[np.int64], Geometry]]:
    """Rows of `nests` grouped so that in each group every dimension has one uneven slot at most."""
    codes = np.zeros(len(nests), dtype=np.int64)
    by_dimension: dict[str, list[int]] = {}
    for index, slot in enumerate(nests.slots):
        by_dimension.setdefault(slot.dimension, []).append(index)
    for slots in by_dimension.values():
        if sum(nests.slots[i].kind != "t" for i in slots) > 1:
            idle = idle_lanes(nests, slots)
            place = np.zeros(len(nests), dtype=np.int64)
            for number, (_, missing) in enumerate(idle, start=1):
                place = np.where(missing > 0, number, place)
            codes = codes * (len(idle) + 1) + place
    every = np.arange(len(nests))
    if not codes.any():
        return [(every, Geometry(nests))]
    return [(rows, Geometry(nests.take(rows))) for rows in (every[codes == c] for c in np.unique(codes))]


def _before(factors: Ints) -> Ints:
    """Product of the rows before each row."""
    out = np.ones_like(factors)
    np.cumprod(factors[:-1], axis=0, out=out[1:])
    return out


def _inside_product(factors: Ints) -> Ints:
    """Product of the rows after each row."""
    return _before(factors[::-1])[::-1]


def _inside_sum(values: Ints) -> Ints:
    """Sum of the rows after each row."""
    out = np.zeros_like(values)
    np.cumsum(values[:0:-1], axis=0, out=out[-2::-1])
    return out
