"""Words that the network of a fan-out carries, and how far into the array they go: exact, in closed form.

A tensor crosses the fan-out below level `l` on its way between two levels that keep it, `p <= l` and `q > l` (past the
last level: compute). In each step a word goes to the *group* of children of an instance of `l` that lack it
(`mapper.counts.entering`). Four counts say who shares: words sent, (word, row), (word, column) and (word, child) pairs.
How far a word goes follows from the same counts over fewer children: a word goes at least to lane `j` if a child in
lane `j` or beyond lacks it, so the sum over words of the furthest lane is a sum of counts over the lanes beyond
(`Geometry.narrowed`). Lanes of equal children need no sum: each takes its share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mapper.counts.entering import Mode, Modes, entering
from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Sharing, kept_levels, modes, sums
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Tensor

Count = Callable[[Geometry], Ints]
Floats = NDArray[np.float64]
AXES = ("x", "y")


@dataclass(frozen=True)
class Crossing:
    """A tensor between `parent` and `child`, which keep it (`child` past the last level: compute), below `level`."""

    level: int
    tensor: Tensor
    parent: int
    child: int


def crossings(geometry: Geometry, level: int) -> tuple[Crossing, ...]:
    """Every tensor's way through the fan-out below `level`, in the einsum's order."""
    out = []
    for tensor in geometry.nests.einsum.tensors:
        kept = kept_levels(geometry.nests, tensor)
        parent = max(k for k in kept if k <= level)
        out.append(
            Crossing(level, tensor, parent, min((k for k in kept if k > level), default=len(geometry.nests.keeps)))
        )
    return tuple(out)


@dataclass(frozen=True)
class Carried:
    """Words of one crossing in one direction, per mapping, summed over steps and instances.

    `all`: sent, each for its group; `rows`, `columns`: pairs of a word and a row or column of its group; `each`: pairs
    of a word and a child. `far_x`: sum over words of the furthest column, `far_y`: over words and their columns of the
    furthest row. These two are as much as words times lanes, which 63-bit integers may not hold; floats are exact up to
    2**53.
    """

    all: Ints
    _rows: Callable[[], Ints]
    _columns: Callable[[], Ints]
    _each: Callable[[], Ints]
    _far: Callable[[], tuple[Floats, Floats]]

    @cached_property
    def rows(self) -> Ints:
        return self._rows()

    @cached_property
    def columns(self) -> Ints:
        return self._columns()

    @cached_property
    def each(self) -> Ints:
        return self._each()

    @cached_property
    def _furthest(self) -> tuple[Floats, Floats]:
        return self._far()

    @property
    def far_x(self) -> Floats:
        return self._furthest[0]

    @property
    def far_y(self) -> Floats:
        return self._furthest[1]


def downward(geometry: Geometry, crossing: Crossing, sharing: Sharing) -> Carried:
    """Words of an operand on their way down."""
    return _carried(geometry, crossing, sharing)


def upward(geometry: Geometry, crossing: Crossing) -> Carried:
    """Words of the accumulated tensor on their way up; those of several children become one on the way."""
    return _carried(geometry, crossing, Sharing.everywhere(geometry.nests.level_count))


def returned(geometry: Geometry, crossing: Crossing) -> Carried:
    """Partial sums that come back: each to the first active child of its group. None into compute."""
    words = refills(geometry, crossing)

    def far() -> tuple[Floats, Floats]:
        spread = {kind: slots_of(geometry, crossing.level, kind) for kind in AXES}
        mine = {kind: [i for i in slots if _indexes(geometry, crossing, i)] for kind, slots in spread.items()}
        x, y = (
            sum(
                (
                    _lane_stride(geometry, spread[kind], i)
                    * _furthest(geometry, crossing, i, Mode.SEPARATE, words, lambda g: refills(g, crossing))
                    for i in mine[kind]
                ),
                start=np.zeros(geometry.rows),
            )
            for kind in AXES
        )
        return x, y

    return Carried(words, lambda: words, lambda: words, lambda: words, far)


def refills(geometry: Geometry, crossing: Crossing) -> Ints:
    """Words of the accumulated tensor that come back to tiles of the child: all but the first visit of each."""
    if crossing.child == geometry.nests.level_count:
        return geometry.ones * 0
    whole = (Mode.TILE,) * len(geometry.nests.slots)
    visits = sums(geometry, entering(geometry, crossing.tensor, 0, whole))
    return next(visit.back for visit in visits if visit.level == crossing.child)


def _carried(geometry: Geometry, crossing: Crossing, sharing: Sharing) -> Carried:
    def count(x: Mode | None, y: Mode | None) -> Count:
        chosen = modes_of(geometry, crossing, sharing, (x, y))
        every_step = crossing.child == geometry.nests.level_count
        return lambda g: entering(g, crossing.tensor, crossing.child, chosen, every_step)

    sent, rows = count(None, None), count(None, Mode.SEPARATE)
    columns, each = count(Mode.SEPARATE, None), count(Mode.SEPARATE, Mode.SEPARATE)

    def far() -> tuple[Floats, Floats]:
        totals = {"x": sent, "y": columns}
        out = []
        for kind in AXES:
            slots = slots_of(geometry, crossing.level, kind)
            shared = sharing.multicast[crossing.level][AXES.index(kind)]
            words = totals[kind](geometry)
            far = np.zeros(geometry.rows)
            for i in slots:
                mode = Mode.UNION if shared else Mode.SEPARATE
                far = far + _lane_stride(geometry, slots, i) * _furthest(
                    geometry, crossing, i, mode, words, totals[kind]
                )
            out.append(far)
        return out[0], out[1]

    return Carried(sent(geometry), lambda: rows(geometry), lambda: columns(geometry), lambda: each(geometry), far)


def modes_of(
    geometry: Geometry,
    crossing: Crossing,
    sharing: Sharing,
    axes: tuple[Mode | None, Mode | None],
    above: Mode = Mode.SEPARATE,
) -> Modes:
    """Modes of the spatial slots for words that enter the child: as the hardware shares them, but lanes above the level
    as `above` says, and those of the level as `axes` do."""
    level, out = crossing.level, []
    for slot, mode in zip(geometry.nests.slots, modes(geometry.nests, crossing.child, level, sharing), strict=True):
        if slot.kind == "t" or slot.level > level:
            out.append(mode)
        else:
            out.append(above if slot.level < level else axes[AXES.index(slot.kind)] or mode)
    return tuple(out)


def slots_of(geometry: Geometry, level: int, kind: str) -> list[int]:
    """Spatial slots of an axis below a level, outermost first."""
    return [i for i, slot in enumerate(geometry.nests.slots) if (slot.level, slot.kind) == (level, kind)]


def _lane_stride(geometry: Geometry, slots: list[int], slot: int) -> Ints:
    """Lanes of the axis from one lane of a slot to its next."""
    return np.asarray(geometry.factors[[i for i in slots if i > slot]].prod(axis=0))


def _indexes(geometry: Geometry, crossing: Crossing, slot: int) -> bool:
    return geometry.nests.slots[slot].dimension in crossing.tensor.dimensions


def _furthest(geometry: Geometry, crossing: Crossing, slot: int, mode: Mode, words: Ints, count: Count) -> Floats:
    """Sum over words of the furthest lane of a slot among their groups; `words` is `count` over all lanes."""
    dimension, lanes = geometry.nests.slots[slot].dimension, geometry.factors[slot]
    if dimension not in geometry.uneven and not slides(geometry, crossing.tensor, dimension):
        if mode is Mode.UNION and dimension not in crossing.tensor.dimensions:
            return np.asarray(words * (lanes - 1.0))
        return np.asarray(words * ((lanes - 1) / 2))
    far = np.zeros(geometry.rows)
    for lane in range(1, int(lanes.max(initial=1))):
        beyond = count(geometry.narrowed({slot: np.minimum(lane, lanes - 1)}))
        far = far + np.where(lane < lanes, beyond, 0)
    return far


def slides(geometry: Geometry, tensor: Tensor, dimension: str) -> bool:
    """Whether the dimension shares its rank of the tensor with another loop."""
    return any(
        len([t for t in rank if t.dimension in geometry.of]) > 1
        for rank in tensor.ranks
        if any(t.dimension == dimension for t in rank)
    )
