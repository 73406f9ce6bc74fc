"""Words over every link of a network, one by one, for one mapping.

A link carries the words that some child behind it lacks. Children behind a link are all lanes of an axis, one lane
alone, or a lane and those beyond it (`At`); and a lane is a number whose digits are the spatial loops of its axis. So
all links of a kind follow from one table: how many words go to the children from some digit of each loop on. Those are
counts over fewer children (`Geometry.narrowed`), taken for the whole table at once; the lanes of a loop without idle
ones and without shared windows are alike and need no count of their own.

A lane alone is what goes from it on less what goes from the next one on, where lanes are counted one by one. What goes
to a lane or beyond is a larger digit, or the same digit and the inner ones there or beyond; words that do both are
counted once. That is exact where the children that want a word are all combinations of some digits of each loop. Where
one axis has several loops of a sliding rank they are not, and the links of such an axis together carry what
`mapper.interconnect.carried` says, though not each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from mapper.counts.entering import Mode, entering
from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Sharing
from mapper.interconnect.busiest import instance_refills
from mapper.interconnect.carried import AXES, Crossing, modes_of, refills, slides, slots_of
from mapper.mapping.loopnest import Ints

AT_ONCE = 4096
"""Rows of a table that are counted at a time, so that arrays stay in the processor's cache."""


class At(Enum):
    """Which lanes of an axis lie behind a link: all of them, one alone, or one and those beyond it."""

    ALL = auto()
    LANE = auto()
    BEYOND = auto()


@dataclass(frozen=True)
class Links:
    """A kind of links: one for each lane of the axes that it tells apart (not `At.ALL`)."""

    name: str
    x: At = At.ALL
    y: At = At.ALL

    def at(self, axis: str) -> At:
        return self.x if axis == "x" else self.y


CHILD = Links("child", At.LANE, At.LANE)
"""What each child takes or gives, whatever brings it there."""
LINKS = {
    "row bus": (Links("row bus", y=At.LANE),),
    "column bus": (Links("column bus", x=At.LANE),),
    "unicast bus": (Links("unicast bus"),),
    "mesh": (Links("first row", x=At.BEYOND), Links("column", At.LANE, At.BEYOND)),
    "tree": (Links("row", y=At.LANE), CHILD),
    "crossbar": (Links("parent"), CHILD),
    "benes": (CHILD,),
}
"""Links of each of `mapper.interconnect.topology.topologies`. A mesh has those of a column from its second row on."""


@dataclass(frozen=True)
class Flow:
    """A tensor on its way through a fan-out, in one direction, of the first mapping of `geometry`.

    Operands go down and are shared as `sharing` says; the accumulated tensor comes up and is added up everywhere.
    `back`: its partial sums that come back, in place of that. `first`: through the first instance of the level; else
    through all of them.
    """

    geometry: Geometry
    crossing: Crossing
    sharing: Sharing
    back: bool = False
    first: bool = False

    @property
    def shared(self) -> Sharing:
        nests = self.geometry.nests
        return Sharing.everywhere(nests.level_count) if self.crossing.tensor == nests.einsum.output else self.sharing


def link_words(flow: Flow, links: Links) -> Ints:
    """Words over each link of a kind: (columns, rows) of the lanes in use, 1 of those that it does not tell apart."""
    axes = [_digits(flow, kind) if links.at(kind) is not At.ALL else [] for kind in AXES]
    outer = _outer(flow)
    table = _table(flow, links, outer, [*axes[0], *axes[1]])
    first = _by_lane(table, len(outer), At.LANE)[0]
    by_column = _by_lane(first, len(axes[0]), links.x)
    return _by_lane(np.moveaxis(by_column, 0, -1), len(axes[1]), links.y).T


def _digits(flow: Flow, kind: str) -> list[int]:
    return slots_of(flow.geometry, flow.crossing.level, kind)


def _outer(flow: Flow) -> list[int]:
    """Spatial slots between parent and level, of which partial sums come back through the first instance alone."""
    if not (flow.back and flow.first):
        return []
    slots = enumerate(flow.geometry.nests.slots)
    return [i for i, s in slots if s.kind != "t" and flow.crossing.parent <= s.level < flow.crossing.level]


def _by_lane(table: Ints, digits: int, at: At) -> Ints:
    """The first `digits` axes of a table as one axis of lanes, each with what goes to it alone or also beyond it."""
    if digits == 0:
        return table[None]
    inner = np.stack([_by_lane(part, digits - 1, at) for part in table])
    found = inner[:-1] - inner[1:]
    if at is At.BEYOND:
        found = found + table.reshape(len(table), -1, *table.shape[digits:])[1:, :1]
    return found.reshape(-1, *found.shape[2:])


# The table ------------------------------------------------------------------------------------------------------------


def _table(flow: Flow, links: Links, outer: Sequence[int], digits: Sequence[int]) -> Ints:
    """Words that go to the children from some lane of each slot on: an axis per slot, of its lanes and a last 0.

    Of `outer` slots only the first two: what lies between them is the first lane.
    """
    slots = [*outer, *digits]
    ends = [2] * len(outer) + [int(flow.geometry.factors[i, 0]) for i in digits]
    counted = [_differ(flow, links, i) for i in slots]
    found = _counted(flow, links, {i: end for i, end, own in zip(slots, ends, counted, strict=True) if own})
    table = found.reshape([end if own else 1 for end, own in zip(ends, counted, strict=True)])
    for axis, (slot, end, own) in enumerate(zip(slots, ends, counted, strict=True)):
        if not own:
            shape = [-1 if place == axis else 1 for place in range(len(slots))]
            weights, of = _alike(flow, links, slot, end)
            table = table // of * weights.reshape(shape)
    ended = np.zeros([end + (slot in digits) for slot, end in zip(slots, ends, strict=True)], dtype=np.int64)
    ended[tuple(map(slice, ends))] = table
    return ended


def _differ(flow: Flow, links: Links, slot: int) -> bool:
    """Whether the lanes of a slot have to be counted one by one."""
    dimension, tensor = flow.geometry.nests.slots[slot].dimension, flow.crossing.tensor
    uneven = dimension in flow.geometry.uneven
    if flow.back:
        return uneven and dimension in tensor.dimensions
    return uneven or (not _apart(flow, links, slot) and slides(flow.geometry, tensor, dimension))


def _alike(flow: Flow, links: Links, slot: int, end: int) -> tuple[Ints, int]:
    """Shares of all words that go to some lane of a slot on, as (numerators, denominator), where lanes are alike."""
    lanes, own = int(flow.geometry.factors[slot, 0]), np.arange(end)
    if flow.geometry.nests.slots[slot].dimension in flow.crossing.tensor.dimensions:
        return lanes - own, lanes
    if flow.back:
        # They come back to the first lane.
        return np.asarray(own == 0, dtype=np.int64), 1
    if _apart(flow, links, slot):
        return lanes - own, lanes
    return np.ones_like(own), 1


def _apart(flow: Flow, links: Links, slot: int) -> bool:
    """Whether each lane of a slot has words sent to it alone, or is looked at alone."""
    kind = flow.geometry.nests.slots[slot].kind
    shared = flow.shared.multicast[flow.crossing.level][AXES.index(kind)]
    return links.at(kind) is At.LANE or not shared


def _counted(flow: Flow, links: Links, ends: dict[int, int]) -> Ints:
    """The table over some slots, counted: of the children from lane 0, 1 .. on, up to `ends` of each."""
    size, found = math.prod(ends.values()), []
    places = np.indices(tuple(ends.values())).reshape(len(ends), size)
    for start in range(0, size, AT_ONCE):
        away = dict(zip(ends, places[:, start : start + AT_ONCE], strict=True))
        rows = np.zeros(min(AT_ONCE, size - start), dtype=np.int64)
        found.append(_count(flow, links, Geometry(flow.geometry.nests.take(rows)).narrowed(away)))
    return np.concatenate(found)


def _count(flow: Flow, links: Links, geometry: Geometry) -> Ints:
    crossing = flow.crossing
    to_compute = crossing.child == geometry.nests.level_count
    if flow.back:
        one = flow.first and not to_compute
        return instance_refills(geometry, crossing, frozenset()) if one else refills(geometry, crossing)
    x, y = (Mode.SEPARATE if links.at(kind) is At.LANE else None for kind in AXES)
    above = Mode.FIRST if flow.first else Mode.SEPARATE
    modes = modes_of(geometry, crossing, flow.shared, (x, y), above)
    return entering(geometry, crossing.tensor, crossing.child, modes, to_compute)
