"""The mapspace of an einsum on an accelerator under a partitioning: factor chains, loop orders, bypass choices.

A *chain* gives one dimension its factor in every place it may loop: the temporal loops of each level and the fan-out
axes it may be spread on. No dimension takes more lanes than it has tiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mapper.arch.accelerator import Accelerator, Axis
from mapper.mapping.binding import obstacle
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.mapping.partitioning import Partitioning, spread
from mapper.search.constraints import EVERY, UNCONSTRAINED, Constraints, Factors, Limit
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload.einsum import Einsum, Tensor, divisors

Place = tuple[int, str]
"""(level, kind): where a dimension may loop, as in `Slot`."""


def lane_choices(tiles: int, lanes: int, allowed: Factors = EVERY) -> list[int]:
    """Lane counts up to `lanes` that `tiles` tiles can use."""
    counts = np.arange(1, min(lanes, tiles) + 1, dtype=np.int64)
    usable: list[int] = counts[allowed.mask(counts)].tolist()
    return usable


def _expand(left: Ints, choices: Callable[[int], list[int]]) -> tuple[Ints, Ints]:
    """Every entry of `left` with every factor that `choices` has for it: its index, and the factor."""
    values, which = np.unique(left, return_inverse=True)
    found = [np.array(choices(value), dtype=np.int64) for value in values.tolist()]
    lengths = np.array([len(factors) for factors in found], dtype=np.int64)
    counts, starts = lengths[which], (np.cumsum(lengths) - lengths)[which]
    row = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    flat = np.concatenate([np.empty(0, dtype=np.int64), *found])
    return row, flat[np.repeat(starts, counts) + within]


@dataclass(frozen=True)
class Mapspace:
    """All mappings of `einsum` on `accelerator` that spread only what `partitioning` names and obey `constraints`."""

    einsum: Einsum
    accelerator: Accelerator
    partitioning: Partitioning
    constraints: Constraints = UNCONSTRAINED
    sparsity: Sparsity = DENSE

    @cached_property
    def looped(self) -> tuple[str, ...]:
        """Dimensions of more than one step."""
        return tuple(d for d in self.einsum.dimensions if self.einsum.extent[d] > 1)

    def places(self, dimension: str) -> tuple[Place, ...]:
        """Where `dimension` may loop, outermost first."""
        return self._places[dimension]

    @cached_property
    def _places(self) -> dict[str, tuple[Place, ...]]:
        return {d: self._places_of(d) for d in self.looped}

    def _places_of(self, dimension: str) -> tuple[Place, ...]:
        out: list[Place] = []
        for index, level in enumerate(self.accelerator.levels):
            out.append((index, "t"))
            out += [(index, kind) for kind in "xy" if self._may_spread(dimension, level.fanout.axis(kind), kind)]
        return tuple(out)

    def _may_spread(self, dimension: str, axis: Axis, kind: str) -> bool:
        named = self.looped if self.partitioning.is_any else spread(self.partitioning, self.einsum)["xy".index(kind)]
        return axis.lanes > 1 and dimension in named and obstacle(dimension, axis, self.einsum) is None

    def lanes(self, place: Place) -> int:
        """Width of the axis at `place`."""
        return self.accelerator.levels[place[0]].fanout.axis(place[1]).lanes

    def allowed(self, place: Place, dimension: str) -> Factors:
        """Factors that the constraints leave `dimension` at `place`."""
        return self.constraints.allowed(self.accelerator.level_names[place[0]], place[1], dimension)

    def prefix(self, level: int) -> tuple[str, ...]:
        """Dimensions whose loops the constraints want outermost in a level, in this sequence, where they loop there."""
        return tuple(d for d in self.constraints.prefix(self.accelerator.level_names[level]) if d in self.looped)

    @cached_property
    def barred(self) -> tuple[Limit, ...]:
        """Constraints that nothing satisfies: they want several steps of a dimension where it has no place to loop."""
        names = self.accelerator.level_names
        has = {(names[level], kind, d) for d in self.looped for level, kind in self.places(d)}
        absent = (limit for limit in self.constraints.limits if (limit.level, limit.kind, limit.dimension) not in has)
        return tuple(limit for limit in absent if 1 not in limit.factors)

    def chains(self, dimension: str) -> Ints:
        """Every chain of a dimension that the constraints allow: an array (chains, places), places as
        `places(dimension)`, sorted by the innermost factor, then the next.
        """
        places = self.places(dimension)
        if any(limit.dimension == dimension for limit in self.barred):
            return np.empty((0, len(places)), dtype=np.int64)
        left = np.array([self.einsum.extent[dimension]], dtype=np.int64)
        uneven = np.zeros(1, dtype=np.bool_)
        columns: list[Ints] = []
        for place in reversed(places[1:]):
            row, factor = _expand(left, partial(self.factors, place, dimension))
            rounds, over = np.divmod(left[row], factor)
            idle = over > 0
            once = ~(idle & uneven[row])
            row = row[once]
            left, uneven = (rounds + idle)[once], uneven[row] | idle[once]
            columns = [factor[once], *(column[row] for column in columns)]
        return np.stack([left, *columns], axis=1)[self.allowed(places[0], dimension).mask(left)]

    def factors(self, place: Place, dimension: str, left: int) -> list[int]:
        """Factors at `place` for `left` tiles, ascending."""
        allowed = self.allowed(place, dimension)
        if place[1] != "t":
            return lane_choices(left, self.lanes(place), allowed)
        return [factor for factor in divisors(left) if factor in allowed]

    def axes(self) -> list[Place]:
        """Axes with more than one lane, outermost first."""
        return [
            (index, kind)
            for index, level in enumerate(self.accelerator.levels)
            for kind in "xy"
            if level.fanout.axis(kind).lanes > 1
        ]

    def open_tensors(self) -> list[list[str]]:
        """Per level the tensors that a mapping keeps there or lets bypass, as neither spec nor constraints decide."""
        return [
            [t.name for t in self._left_open(index) if self.constraints.keeps(level, t) is None]
            for index, level in enumerate(self.accelerator.level_names)
        ]

    def _left_open(self, level: int) -> list[Tensor]:
        """Tensors for which the spec leaves it open whether a level keeps them."""
        return [tensor for tensor in self.einsum.tensors if tensor.role in self.accelerator.open_roles(level)]

    def keeps(self) -> list[tuple[frozenset[str], ...]]:
        """Every choice of kept tensors per level that spec and constraints leave open, most kept first."""
        per_level = []
        for index, names in enumerate(self.open_tensors()):
            level = self.accelerator.level_names[index]
            always = [t.name for t in self._left_open(index) if self.constraints.keeps(level, t)]
            choices = [
                frozenset((*always, *chosen))
                for n in range(len(names), -1, -1)
                for chosen in itertools.combinations(names, n)
            ]
            per_level.append([self.accelerator.kept(index, self.einsum, choice) for choice in choices])
        return list(itertools.product(*per_level))

    def nests(self, orders: tuple[tuple[str, ...], ...], keeps: tuple[frozenset[str], ...], rows: Ints) -> Nests:
        """Mappings from chains side by side (`rows`, columns as `columns()`) with temporal loops in `orders`."""
        index = {column: i for i, column in enumerate(self.columns())}
        slots, picked = [], []
        for level in range(len(self.accelerator.levels)):
            wanted = [((level, "t"), d) for d in orders[level]]
            wanted += [((level, kind), d) for kind in "xy" for d in self.looped if ((level, kind), d) in index]
            for place, dimension in wanted:
                slots.append(Slot(*place, dimension))
                picked.append(index[place, dimension])
        return Nests(self.einsum, tuple(slots), rows[:, picked], keeps)

    def columns(self) -> list[tuple[Place, str]]:
        """(place, dimension) of each column of a row of chains."""
        return [(place, d) for d in self.looped for place in self.places(d)]

    @cached_property
    def size(self) -> int:
        """Number of mappings that the constraints allow: distinct texts, lanes within their axes, fit or not.

        `min_utilization` changes nothing here: like a capacity, it excludes mappings of the space by what they cost.
        """
        from mapper.search.size import count_mappings

        return count_mappings(self)
