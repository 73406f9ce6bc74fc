"""Words that level 0 really reads: padding is not stored there, and is made on the chip for nothing.

Where the tile of a sliding rank stands decides how much of it is padding, so no step is like another. But a rank has
few loops of its own, and many mappings share them: each distinct case is walked position by position, once. Between
two of the rank's own loops every other loop does the same to it, so a case has a handful of classes: the start, each
own loop advancing, and the own loops from some place inward wrapping while a loop of another dimension advances.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mapper.counts.distinct import distinct
from mapper.counts.entering import Mode, Modes, Sums, Views, combined, entering, rank_sums
from mapper.counts.footprint import cover
from mapper.counts.geometry import Geometry
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Rank, Tensor


class OwnLoop(NamedTuple):
    """A temporal loop above the level that moves the rank: which of its dimensions, how often, how far each time."""

    axis: int
    bound: int
    stride: int


class OwnAxis(NamedTuple):
    """A dimension of the rank: `lanes` (count, stride) share a read, `units` are counted apart."""

    coefficient: int
    bound: int
    tile: int
    lanes: tuple[tuple[int, int], ...]
    units: tuple[tuple[int, int], ...]

    def children(self, base: int, shift: int) -> list[tuple[int, int, int]]:
        """(offset, extent now, extent before) of the children of a unit that stands at `base`."""
        offsets = _offsets(self.lanes)
        return [(o, self._extent(base + o), self._extent(base + o - shift)) for o in offsets]

    def _extent(self, start: int) -> int:
        """Coordinates of a child's tile below the bound: none of an idle child."""
        return min(max(self.bound - start, 0), self.tile)

    @property
    def span(self) -> int:
        return sum((count - 1) * stride for count, stride in self.lanes) + self.tile


class Class(NamedTuple):
    """A step class of one rank: own loops before `free` stand anywhere, `advancing` has just stepped, the rest are at
    their start; before the step those from `wrapped` on stood at their end."""

    free: int
    advancing: bool
    wrapped: int


def sent(
    geometry: Geometry,
    tensor: Tensor,
    parent: int,
    level: int,
    modes: Modes,
    every_step: bool = False,
    first_step: bool = False,
) -> Ints:
    """Words that `parent` exchanges with `level`: `entering`, less the padding where `parent` is level 0."""
    if parent > 0 or not any(tensor.stored):
        return entering(geometry, tensor, level, modes, every_step, first_step)

    def sums_of(tensor: Tensor, place: int, views: Views) -> Sums | None:
        window = tensor.window(place)
        if window is None:
            return rank_sums(tensor, place, views)
        return windowed(geometry, tensor.ranks[place], window, level, modes, every_step)

    return combined(geometry, tensor, level, modes, every_step, first_step, sums_of)


def windowed(
    geometry: Geometry, rank: Rank, window: tuple[int, int], level: int, modes: Modes, every_step: bool
) -> Sums:
    """Sums over the rank's counters of (now, held) inside `window`, per class and mapping."""
    slots = [i for term in rank for i in geometry.of.get(term.dimension, [])]
    first, which = distinct([geometry.factors[i] for i in slots] or [geometry.ones])
    loops = geometry.temporal_above(level)
    own = [i for i in loops if i in slots]
    classes = [Class(len(own), False, len(own))] if every_step else _classes(loops, own)
    table = [_count_case(*_case(geometry, rank, level, modes, own, int(row)), tuple(classes), window) for row in first]
    now, held = (np.array([case[side] for case in table], dtype=np.int64).T[:, which] for side in (0, 1))
    return now, held


def _classes(loops: list[int], own: list[int]) -> list[Class]:
    """What each step class (the start, then one per loop) does to the rank."""
    out = [Class(0, False, len(own))]
    for loop in loops:
        outside = sum(1 for i in own if i < loop)
        out.append(Class(outside, loop in own, outside + (loop in own)))
    return out


def _case(
    geometry: Geometry, rank: Rank, level: int, modes: Modes, own: list[int], row: int
) -> tuple[tuple[OwnLoop, ...], tuple[OwnAxis, ...]]:
    """The rank's loops and dimensions in one mapping."""
    nests = geometry.nests
    axes = {}
    for term in rank:
        slots = geometry.of.get(term.dimension, [])
        tile, lanes = 1, dict[Mode, list[tuple[int, int]]]({Mode.UNION: [], Mode.SEPARATE: []})
        for i in slots:
            factor, stride = int(geometry.factors[i, row]), int(geometry.strides[i, row])
            if nests.slots[i].level >= level:
                tile *= factor
            elif nests.slots[i].kind != "t":
                lanes[modes[i]].append((factor, stride))
        bound = nests.einsum.extent[term.dimension]
        axes[term.dimension] = OwnAxis(
            term.coefficient, bound, tile, tuple(lanes[Mode.UNION]), tuple(lanes[Mode.SEPARATE])
        )
    names = list(axes)
    loops = (
        OwnLoop(names.index(nests.slots[i].dimension), int(geometry.factors[i, row]), int(geometry.strides[i, row]))
        for i in own
    )
    return tuple(loops), tuple(axes.values())


@lru_cache(maxsize=1 << 16)
def _count_case(
    loops: tuple[OwnLoop, ...], axes: tuple[OwnAxis, ...], classes: tuple[Class, ...], window: tuple[int, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(now, held) of every class, summed over the counters of the rank's own loops and over units."""
    counted = {c: _count_class(loops, axes, c, window) for c in set(classes)}
    now, held = zip(*(counted[c] for c in classes), strict=True)
    return now, held


def _count_class(
    loops: tuple[OwnLoop, ...], axes: tuple[OwnAxis, ...], step: Class, window: tuple[int, int]
) -> tuple[int, int]:
    bases, shifts = [], []
    for number, axis in enumerate(axes):
        turns = [(loop.bound, loop.stride) for loop in loops[: step.free] if loop.axis == number]
        moved = shift = 0
        for place, loop in enumerate(loops):
            if loop.axis == number and place >= step.wrapped:
                shift -= (loop.bound - 1) * loop.stride
        advancing = loops[step.free] if step.advancing else None
        if advancing is not None and advancing.axis == number:
            turns.append((advancing.bound - 1, advancing.stride))
            moved, shift = advancing.stride, shift + advancing.stride
        bases.append([moved + o + u for o in _offsets(turns) for u in _offsets(axis.units)])
        shifts.append(shift)
    return _count_places(axes, bases, shifts, window)


def _count_places(
    axes: tuple[OwnAxis, ...], bases: list[list[int]], shifts: list[int], window: tuple[int, int]
) -> tuple[int, int]:
    """Sum over all combinations of bases; those far from the bound all look alike."""
    now = held = 0
    split = []
    for axis, places, shift in zip(axes, bases, shifts, strict=True):
        whole = [b for b in places if max(b, b - shift) + axis.span <= axis.bound]
        split.append([whole] * bool(whole) + [[b] for b in places if max(b, b - shift) + axis.span > axis.bound])
    coefficients = tuple(axis.coefficient for axis in axes)
    total = sum(c * s for c, s in zip(coefficients, shifts, strict=True))
    for alike in itertools.product(*split):
        children = [axis.children(places[0], s) for axis, places, s in zip(axes, alike, shifts, strict=True)]
        covered, kept, _ = cover(coefficients, children, total)
        starts = np.zeros(1, dtype=np.int64)
        for coefficient, places in zip(coefficients, alike, strict=True):
            starts = (starts[:, None] + coefficient * np.array(places, dtype=np.int64)).ravel()
        now += _inside(covered, starts, window)
        held += _inside(kept, starts, window)
    return now, held


def _inside(points: int, starts: Ints, window: tuple[int, int]) -> int:
    """Positions of a bit set inside the window, summed over where it starts."""
    length = points.bit_length()
    bits = np.frombuffer(points.to_bytes((length + 7) // 8 or 1, "little"), dtype=np.uint8)
    before = np.concatenate([[0], np.cumsum(np.unpackbits(bits, bitorder="little")[:length], dtype=np.int64)])
    low, high = (np.clip(edge - starts, 0, length) for edge in window)
    return int((before[high] - before[low]).sum())


def _offsets(turns: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> list[int]:
    """Every sum of one multiple per (count, stride)."""
    return [sum(place) for place in itertools.product(*(range(0, n * s, s) for n, s in turns))]
