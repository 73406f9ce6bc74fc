"""What one dimension, or one sliding rank, contributes to the words of a flow: exact factors, by the counting code.

Words that enter a tile are sums over step classes of products over dimensions (`mapper.counts.geometry`). Where no
word stays from one step to the next, the sum factorises: each dimension, or each rank that several dimensions share,
is counted by itself over all its steps, whatever the other loops do and in whatever order. Where a tile stays put
over the loops of a level, these loops are left out of the sum. So a search needs only these factors, one per chain,
and multiplies.

Along a sliding rank words stay that depend on the order of loops. `Sliding` bounds what is moved from below for each
dimension that may be the innermost along which the tensor slides (its *head*).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mapper.cost.energy import Floats
from mapper.counts.entering import Mode, Modes, Views, rank_sums, views_of
from mapper.counts.geometry import Geometry, groups
from mapper.counts.padding import windowed
from mapper.counts.traffic import Sharing, modes
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.search.forms import Flow, Side
from mapper.search.space import Mapspace
from mapper.workload.einsum import Einsum, Rank, Tensor


@dataclass(frozen=True)
class Units:
    """Sums over the steps of a dimension, an entry per chain: `outside[x]` with the loops of level x and of all
    levels from there inwards left out. The last counts every step, `outside[0]` the start alone.
    """

    outside: tuple[Floats, ...]

    @property
    def every(self) -> Floats:
        return self.outside[-1]


@dataclass(frozen=True)
class Sliding:
    """Positions of a sliding rank summed over its steps, one entry per combination of chains.

    `every`: nothing stays. `alone[level, d]`: what is moved where `d` is the head at `level`, right above the tile,
    and no other loop finds words that stayed. `quiet`: at least that, where loops of the same rank may; `wrapped`:
    where others may as well, outside of those of the rank; `loud`: where any loops of the level may; `deep`: where
    loops further out may, too.
    """

    every: Floats
    alone: dict[tuple[int, str], Floats]
    quiet: dict[tuple[int, str], Floats]
    wrapped: dict[tuple[int, str], Floats]
    loud: dict[tuple[int, str], Floats]
    deep: dict[tuple[int, str], Floats]


class Factors:
    """Factors of one mapspace; each is counted once."""

    def __init__(self, space: Mapspace, sharing: Sharing) -> None:
        self.space, self.sharing = space, sharing
        self.levels = len(space.accelerator.levels)
        self.chains = {d: space.chains(d) for d in space.looped}
        self._units: dict[object, Units] = {}

    def units(self, dimension: str, flow: Flow, side: Side) -> Units:
        """Of a dimension that leaves the tensor put: separately counted lanes, summed over steps."""
        return self._along(dimension, flow, side, None)

    def positions(self, dimension: str, flow: Flow, side: Side, place: int) -> Units:
        """Of the only looped dimension of rank `place`: covered coordinates, summed over steps."""
        return self._along(dimension, flow, side, place)

    def _along(self, dimension: str, flow: Flow, side: Side, place: int | None) -> Units:
        united = flow.tensor == self.space.einsum.output
        key = (dimension, flow.parent, flow.level, side, united, None if place is None else (flow.tensor.name, place))
        if key not in self._units:
            slots = tuple(Slot(*p, dimension) for p in self.space.places(dimension))
            nests = self._nests(slots, self.chains[dimension])

            def counted(geometry: Geometry) -> tuple[Floats, ...]:
                views, levels = self._views(geometry, flow, side)
                if place is None:
                    summed = views[dimension].units
                else:
                    summed = self._sums(geometry, flow, side, place, views)[0]
                summed = np.broadcast_to(summed, (len(levels), geometry.rows))
                if flow.level == self.levels:
                    return (summed.sum(axis=0).astype(np.float64),)
                return _partial_sums(summed, levels, flow.level)

            number = 1 if flow.level == self.levels else flow.level + 1
            self._units[key] = Units(tuple(_by_group(nests, counted, number)))
        return self._units[key]

    def sliding(self, flow: Flow, side: Side, place: int, rows: dict[str, Ints]) -> Sliding:
        """Of rank `place`, whose dimensions have the chains `rows` (arrays of equal length)."""
        rank = flow.tensor.ranks[place]
        dimensions = [t.dimension for t in rank if t.dimension in rows]
        levels_above = range(flow.level if flow.level < self.levels else 0)
        touched = self.distinct(flow, side, place)
        found = Sliding(np.zeros(0), {}, {}, {}, {}, {})
        every = found.every
        for last in dimensions if levels_above else dimensions[:1]:
            nests = self._joint([*(d for d in dimensions if d != last), last], rows)

            def counted(geometry: Geometry, last: str = last) -> tuple[Floats, ...]:
                views, levels = self._views(geometry, flow, side)
                sums = self._sums(geometry, flow, side, place, views)
                now, held = (np.broadcast_to(s, (len(levels), geometry.rows)) for s in sums)
                out: list[Floats] = [now.sum(axis=0).astype(np.float64)]
                for level in levels_above:
                    out += _heads(geometry, flow, place, views, now, held, last, touched, level)[1:]
                return tuple(out)

            every, *heads = _by_group(nests, counted, 1 + 5 * len(levels_above))
            for level in levels_above:
                cases = (found.alone, found.quiet, found.wrapped, found.loud, found.deep)
                for case, values in zip(cases, heads[5 * level : 5 * level + 5], strict=True):
                    case[level, last] = values
        return replace(found, every=every)

    def distinct(self, flow: Flow, side: Side, place: int) -> int:
        """Positions of rank `place` that the flow touches at all; padding left out where level 0 serves it."""
        unpadded = side is Side.served and flow.parent == 0 and flow.tensor != self.space.einsum.output
        return distinct_positions(self.space.einsum, flow.tensor, place, unpadded)

    def _joint(self, order: list[str], rows: dict[str, Ints]) -> Nests:
        """The dimensions of a rank as one nest, at each level in `order`."""
        slots, columns = [], []
        for level in range(self.levels):
            for kind in "txy":
                for d in order if kind == "t" else sorted(order):
                    if (level, kind) in self.space.places(d):
                        slots.append(Slot(level, kind, d))
                        columns.append(rows[d][:, self.space.places(d).index((level, kind))])
        return self._nests(tuple(slots), np.stack(columns, axis=1))

    def _nests(self, slots: tuple[Slot, ...], factors: Ints) -> Nests:
        return Nests(self.space.einsum, slots, factors, (frozenset[str](),) * self.levels)

    def _views(self, geometry: Geometry, flow: Flow, side: Side) -> tuple[Views, list[int]]:
        """Views of the dimensions, and the level of the loop of each step class (-1: the start)."""
        nests = geometry.nests
        views = views_of(geometry, flow.level, self._modes(nests, flow, side), flow.level == self.levels)
        if flow.level == self.levels:
            return views, [-1]
        return views, [-1, *(nests.slots[i].level for i in geometry.temporal_above(flow.level))]

    def _modes(self, nests: Nests, flow: Flow, side: Side) -> Modes:
        if side is Side.entered:
            return modes(nests, flow.level, flow.level, None)
        united = flow.tensor == self.space.einsum.output
        return modes(nests, flow.level, flow.parent, Sharing.everywhere(self.levels) if united else self.sharing)

    def _sums(self, geometry: Geometry, flow: Flow, side: Side, place: int, views: Views) -> tuple[Ints, Ints]:
        """(now, held) of a rank per class; padding left out where level 0 serves it."""
        tensor, every_step = flow.tensor, flow.level == self.levels
        window = tensor.window(place)
        operand = tensor != self.space.einsum.output
        if operand and side is Side.served and flow.parent == 0 and window is not None:
            chosen = self._modes(geometry.nests, flow, side)
            return windowed(geometry, tensor.ranks[place], window, flow.level, chosen, every_step)
        sums = rank_sums(tensor, place, views)
        assert sums is not None
        return sums


def _by_group(nests: Nests, counted: Callable[[Geometry], tuple[Floats, ...]], number: int) -> list[Floats]:
    """What `counted` says of every row; rows with other uneven slots are counted apart."""
    out = [np.zeros(len(nests)) for _ in range(number)]
    for rows, geometry in groups(nests):
        for target, values in zip(out, counted(geometry), strict=True):
            target[rows] = values
    return out


def _partial_sums(summed: Ints, levels: list[int], level: int) -> tuple[Floats, ...]:
    """Sums over the classes of loops outside each level up to `level`."""
    at = np.array(levels)
    return tuple(summed[at < outside].sum(axis=0).astype(np.float64) for outside in range(level + 1))


def _heads(
    geometry: Geometry, flow: Flow, place: int, views: Views, now: Ints, held: Ints, last: str, touched: int, level: int
) -> tuple[Floats, ...]:
    """(every, alone, quiet, wrapped, loud, deep) with `last` as the head, at `level`.

    Steps of the head are exact. Every other step comes with the head wrapping back, over a distance at which no more
    than `back` positions can have stayed (none where nothing else is about, `quiet`); but steps of the rank's other
    loops of the level may undo that distance, and save what they save with the head right inside them.
    """
    slots, loops = geometry.nests.slots, geometry.temporal_above(flow.level)
    inner = [i for i in loops if slots[i].level == level]
    is_head = np.array([False, *(i in inner and slots[i].dimension == last for i in loops)])
    is_other = np.array([False, *(i in inner and slots[i].dimension != last for i in loops)])
    steps, separate = np.ones(now.shape), np.ones(geometry.rows)
    for view in views.values():
        steps = steps * view.classes.count * view.lanes_of(Mode.SEPARATE, view.slots)
        separate = separate * view.lanes_of(Mode.SEPARATE, view.slots)
    at = next((i for i in inner if slots[i].dimension == last), None)
    rank = flow.tensor.ranks[place]
    back = _staying(geometry, rank, views, [] if at is None else [at])
    behind = _staying(geometry, rank, views, inner) if len(views) == 2 else back
    moved = (now - held)[is_head].sum(axis=0)
    saved = now[is_other] if len(views) > 2 else held[is_other]
    beside = now[~is_head].sum(axis=0)
    quiet = moved + np.maximum(beside - saved.sum(axis=0), 0)
    more = np.maximum(saved - back * steps[is_other], 0.0).sum(axis=0)
    loud = moved + np.maximum(beside - (back * steps[~is_head]).sum(axis=0) - more, 0.0)
    wrapped = moved + np.maximum(beside - saved.sum(axis=0) - (behind * steps[~is_head & ~is_other]).sum(axis=0), 0.0)
    outer = geometry.factors[[i for i in loops if slots[i].level < level]].prod(axis=0)
    deep = np.maximum(touched - back * separate * outer, 0.0)
    every = now.sum(axis=0).astype(np.float64)
    alone = (moved + beside).astype(np.float64)
    # However much stays when loops further out step, the loops of the level go on moving the rest.
    if len(views) == 2:
        still = np.maximum(now[is_other] - np.maximum(held[is_other], back * steps[is_other]), 0.0).sum(axis=0)
        deep = np.maximum(deep, moved + still)
    else:
        deep = np.maximum(deep, moved)
    loud, wrapped = np.minimum(loud, quiet), np.minimum(wrapped, quiet)
    return every, alone, quiet.astype(np.float64), wrapped, loud, np.minimum(deep, np.minimum(loud, wrapped))


def _staying(geometry: Geometry, rank: Rank, views: Views, wrapping: list[int]) -> Floats:
    """Positions that can stay, at most, while the loops of some slots wrap."""
    span, lanes, distance = np.ones(geometry.rows), np.ones(geometry.rows), np.zeros(geometry.rows)
    coefficients = {t.dimension: t.coefficient for t in rank}
    for dimension, view in views.items():
        span = span + coefficients[dimension] * (view.tile - 1)
        lanes = lanes * view.lanes_of(Mode.UNION, view.slots)
    for at in wrapping:
        dimension = geometry.nests.slots[at].dimension
        distance = distance + (geometry.factors[at] - 1) * geometry.strides[at] * float(coefficients[dimension])
    return np.asarray(lanes * np.maximum(span - distance, 0.0))


def distinct_positions(einsum: Einsum, tensor: Tensor, place: int, unpadded: bool) -> int:
    """Positions of a rank that are touched at all; `unpadded`: those of them that memory stores."""
    points = np.zeros(1, dtype=np.int64)
    for term in tensor.ranks[place]:
        points = np.unique(points[:, None] + term.coefficient * np.arange(einsum.extent[term.dimension]))
    window = tensor.window(place) if unpadded else None
    first, past = window or (0, int(points[-1]) + 1)
    return int(((points >= first) & (points < past)).sum())
