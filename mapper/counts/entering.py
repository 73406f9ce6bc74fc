"""Words that enter the tiles of a level: the one count from which reads, fills, updates and drains all follow.

`entering(geometry, tensor, level, modes)` sums, over the steps of the temporal loops above `level` and over the
children there, the words of the new tile that were not in the old one. `modes` says what each spatial slot means:

* UNION: its lanes are children that share a read; a word wanted by several is counted once;
* SEPARATE: its lanes are counted one by one;
* FIRST, LAST: only the first or the last lane is looked at (to count one instance);
* TILE: the slot lies inside the tile.

Per step class the count is `product over ranks of now - product over ranks of held`, times the lanes of the other
dimensions that are active; sums over the counters of a class factorise by rank (see `geometry.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, auto
from functools import cached_property
from typing import cast

import numpy as np

from mapper.counts.footprint import RankAxis, closed_form, count_rows, interval_union
from mapper.counts.geometry import Bools, Geometry, Steps
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Tensor


class Mode(IntEnum):
    """What a spatial slot means to a count."""

    TILE = auto()
    UNION = auto()
    SEPARATE = auto()
    FIRST = auto()
    LAST = auto()


Modes = tuple[Mode, ...]


class View:
    """One dimension as seen by one count: level, modes, and the end effects of idle lanes."""

    def __init__(self, geometry: Geometry, dimension: str, level: int, modes: Modes, every_step: bool) -> None:
        self.geometry, self.level, self.modes = geometry, level, modes
        self.slots = geometry.of.get(dimension, [])
        self.uneven = geometry.uneven.get(dimension)
        self._dimension, self._every_step = dimension, every_step

    @cached_property
    def classes(self) -> Steps:
        """Step classes of a tile at the level, or all steps of compute as one."""
        if self._every_step:
            return self.geometry.every_step(self._dimension)
        return self.geometry.steps(self._dimension, self.level)

    def _spatial(self) -> list[int]:
        return [i for i in self.slots if self.geometry.nests.slots[i].kind != "t"]

    def _visible(self, index: int) -> Ints:
        """What a slot contributes to the coordinates in view: its factor, or 1 where loops above step over it."""
        slot, factor = self.geometry.nests.slots[index], self.geometry.factors[index]
        if slot.kind == "t":
            return factor if slot.level >= self.level else self.geometry.ones
        return self.geometry.ones if self.modes[index] in (Mode.FIRST, Mode.LAST) else factor

    def lanes_of(self, mode: Mode, slots: list[int]) -> Ints:
        out = self.geometry.ones
        for index in slots:
            if self.geometry.nests.slots[index].kind != "t" and self.modes[index] is mode:
                out = out * self.geometry.factors[index]
        return out

    def _split(self) -> tuple[list[int], list[int]]:
        """Slots outside and inside the uneven one."""
        assert self.uneven is not None
        at = self.uneven.slot
        return [i for i in self.slots if i < at], [i for i in self.slots if i > at]

    def _reached(self) -> Ints:
        """1 where the lanes looked at include the one that meets the end of the dimension, else 0."""
        assert self.uneven is not None
        out = (self.uneven.missing > 0).astype(np.int64)
        if self.modes[self.uneven.slot] is Mode.FIRST:
            return out * 0
        for index in self._split()[0]:
            if self.modes[index] is Mode.FIRST:
                out = out * (self.geometry.factors[index] == 1)
        return out

    @cached_property
    def positions(self) -> tuple[Ints, Ints]:
        """Sums over counters of covered coordinates per class, after the step and for tiles that stand still."""
        full = self.geometry.ones
        for index in self.slots:
            full = full * self._visible(index)
        now = self.classes.count * full
        if self.uneven is not None:
            lost = self._reached()
            if self.modes[self.uneven.slot] is not Mode.LAST:
                lost = lost * self.uneven.missing
            for index in self._split()[1]:
                lost = lost * self._visible(index)
            now = now - self.classes.special * self.classes.new_last * lost
        return now, now * self.classes.still

    @cached_property
    def units(self) -> Ints:
        """Sums over counters of separately counted lanes that are active after the step (a dimension not in T)."""
        total = self.classes.count * self.lanes_of(Mode.SEPARATE, self.slots)
        if self.uneven is None:
            return total
        dead = self.affected() * (self.lanes_of(Mode.UNION, self._split()[0]) == 1)
        if not self._whole_lanes():
            # Lanes that share are idle together only where those that stay active are not looked at.
            dead = dead * (self.uneven.active == 0)
        return np.asarray(total - self.classes.special * self.classes.new_last * dead)

    def _whole_lanes(self) -> bool:
        """Whether idle lanes leave out whole separate units."""
        assert self.uneven is not None
        return self.modes[self.uneven.slot] in (Mode.SEPARATE, Mode.LAST)

    def affected(self) -> Ints:
        """Separately counted units that meet the end of the dimension."""
        assert self.uneven is not None
        out = self._reached() * self.lanes_of(Mode.SEPARATE, self._split()[1])
        return out * self.uneven.missing if self.modes[self.uneven.slot] is Mode.SEPARATE else out

    def all_affected(self) -> Bools:
        """Whether no separately counted unit keeps away from the end of the dimension."""
        return np.asarray(self.affected() == self.lanes_of(Mode.SEPARATE, self.slots))

    @cached_property
    def tile(self) -> Ints:
        """Extent of the tile."""
        nests, tile = self.geometry.nests, self.geometry.ones
        for index in self.slots:
            slot = nests.slots[index]
            if slot.level >= self.level if slot.kind == "t" else self.modes[index] is Mode.TILE:
                tile = tile * self.geometry.factors[index]
        return tile

    def axis(self, coefficient: int) -> RankAxis:
        """The dimension as one axis of a sliding rank: its tile, its shared lanes and what is missing at the end."""
        geometry = self.geometry
        shared = [i for i in self._spatial() if self.modes[i] is Mode.UNION]
        lanes = tuple((geometry.factors[i], geometry.strides[i]) for i in shared)
        if self.uneven is None:
            return RankAxis(coefficient, self.tile, lanes)
        at = self.uneven.slot
        if self.modes[at] is Mode.TILE:
            return RankAxis(coefficient, self.tile, lanes, -1, None, self.uneven.missing * geometry.strides[at])
        row = sum(1 for i in shared if i < at)
        if self.modes[at] is Mode.UNION:
            return RankAxis(coefficient, self.tile, lanes, row, self.uneven.active, None)
        # The whole unit is idle (or its last outer row of children): no lane of its own decides.
        padded = (*lanes[:row], (geometry.ones, geometry.ones), *lanes[row:])
        return RankAxis(coefficient, self.tile, padded, row, geometry.ones * 0, None)


Views = dict[str, View]
Sums = tuple[Ints, Ints]


def views_of(geometry: Geometry, level: int, modes: Modes, every_step: bool = False) -> dict[str, View]:
    """The view of every looped dimension; tensors that are counted alike share them."""
    key = (level, modes, every_step)
    if key not in geometry.views:
        geometry.views[key] = {d: View(geometry, d, level, modes, every_step) for d in geometry.of}
    return cast(dict[str, View], geometry.views[key])


def entering(
    geometry: Geometry, tensor: Tensor, level: int, modes: Modes, every_step: bool = False, first_step: bool = False
) -> Ints:
    """Words that enter tiles of `tensor` at `level`, per mapping: see the module's text.

    `every_step` counts the words present in each step of compute instead (nothing is held over); `first_step` only
    what the start brings.
    """
    key = (tensor.name, level, modes, every_step, first_step)
    if key not in geometry.counted:
        if every_step and geometry.whole and not {Mode.UNION, Mode.FIRST, Mode.LAST} & set(modes):
            # Nobody shares, and everybody is counted: a word a point.
            geometry.counted[key] = geometry.ones * geometry.nests.einsum.points
        else:
            geometry.counted[key] = combined(geometry, tensor, level, modes, every_step, first_step, rank_sums)
    return geometry.counted[key]


def combined(
    geometry: Geometry,
    tensor: Tensor,
    level: int,
    modes: Modes,
    every_step: bool,
    first_step: bool,
    sums_of: Callable[[Tensor, int, Views], Sums | None],
) -> Ints:
    """What `entering` counts, where `sums_of` counts each rank (by its place in the tensor)."""
    views = views_of(geometry, level, modes, every_step)
    others = np.ones((1, 1), dtype=np.int64)
    for dimension, view in views.items():
        if dimension not in tensor.dimensions:
            others = others * view.units
    now, held = others, others
    for place in range(len(tensor.ranks)):
        sums = sums_of(tensor, place, views)
        if sums is not None:
            now, held = now * sums[0], held * sums[1]
    now = now * np.ones((1, geometry.rows), dtype=np.int64)
    if first_step:
        return np.array(now[0])
    # A rank without loops is one position that never moves: it is held on every step but the first.
    return np.asarray((now if every_step else now - _after_start(held, now.shape)).sum(axis=0), dtype=np.int64)


def _after_start(held: Ints, shape: tuple[int, ...]) -> Ints:
    """`held` with nothing held at the first class, the start."""
    out = np.array(np.broadcast_to(held, shape))
    out[0] = 0
    return out


def rank_sums(tensor: Tensor, place: int, views: Views) -> Sums | None:
    """Sums over counters of (now, held) of one rank per class; None where no loop touches it."""
    terms = [term for term in tensor.ranks[place] if term.dimension in views]
    if not terms:
        return None
    if len(terms) == 1:
        return views[terms[0].dimension].positions
    return _sliding_sums([(term.coefficient, views[term.dimension]) for term in terms])


def _sliding_sums(terms: list[tuple[int, View]]) -> tuple[Ints, Ints]:
    axes = [view.axis(coefficient) for coefficient, view in terms]
    shift = sum((c * view.classes.shift for c, view in terms), start=np.zeros((1, 1), dtype=np.int64))
    views = [view for _, view in terms]
    shape = (max(len(v.classes.count) for v in views), views[0].geometry.rows)
    weights = [_weights(view, shape) for view in views]
    now_sum, held_sum = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for ends in np.ndindex(*(2 if view.uneven is not None else 1 for view in views)):
        weight = np.ones(shape, dtype=np.int64)
        for state, pair in zip(ends, weights, strict=True):
            weight = weight * pair[state]
        now, held = _sliding_state(axes, views, ends, np.broadcast_to(shift, shape), weight)
        now_sum, held_sum = now_sum + weight * now, held_sum + weight * held
    return now_sum, held_sum


def _weights(view: View, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """How often (counters times units) the dimension is away from its end, and at it."""
    total = view.classes.count * view.lanes_of(Mode.SEPARATE, view.slots)
    if view.uneven is None:
        return np.broadcast_to(total, shape), np.zeros(shape, dtype=np.int64)
    at_end = np.broadcast_to(view.classes.special * view.affected(), shape)
    return total - at_end, at_end


def _sliding_state(
    axes: list[RankAxis], views: list[View], ends: tuple[int, ...], shift: Ints, weight: Ints
) -> tuple[Ints, Ints]:
    """(now, held) per class and mapping where the dimensions of `ends` are in their last round."""
    shape = weight.shape
    rows = weight.ravel() != 0
    if not any(ends):
        usable, length, lanes, stride = closed_form(axes)
        now = np.broadcast_to(interval_union(length, lanes, stride), shape)
        held = now - interval_union(np.minimum(np.abs(shift), length), lanes, stride)
        rows = rows & ~np.broadcast_to(usable, shape).ravel()
        if not rows.any():
            return now, held
    else:
        now = held = np.zeros(shape, dtype=np.int64)
    flat = [_flatten(axis, shape) for axis in axes]
    flags = [
        (_flat_flag(v.classes.new_last, shape), _flat_flag(v.classes.old_last, shape)) if end else None
        for v, end in zip(views, ends, strict=True)
    ]
    counted_now, counted_held = (x.reshape(shape) for x in count_rows(flat, flags, shift.ravel(), rows))
    chosen = rows.reshape(shape)
    return np.where(chosen, counted_now, now), np.where(chosen, counted_held, held)


def _flat_flag(flag: Bools, shape: tuple[int, int]) -> Bools:
    return np.broadcast_to(flag, shape).ravel()


def _flatten(axis: RankAxis, shape: tuple[int, int]) -> RankAxis:
    def flat(values: Ints) -> Ints:
        return np.broadcast_to(values, shape).ravel()

    return RankAxis(
        axis.coefficient,
        flat(axis.tile),
        tuple((flat(lanes), flat(stride)) for lanes, stride in axis.lanes),
        axis.row,
        None if axis.active is None else flat(axis.active),
        None if axis.cut is None else flat(axis.cut),
    )
