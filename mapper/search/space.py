"""The mapspace of an einsum on an accelerator under a partitioning: factor chains, loop orders, bypass choices.

A *chain* gives one dimension its factor in every place it may loop: the temporal loops of each level and the fan-out
axes it may be spread on. Where a search does not enumerate, it leaves out lane counts with as many rounds as a smaller
one (they cost the same cycles and move no fewer words); `Mapspace.size` counts them. No dimension takes more lanes than
it has tiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mapper.arch.accelerator import Accelerator, Axis
from mapper.mapping.binding import obstacle
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.mapping.partitioning import Partitioning, spread
from mapper.workload.einsum import Einsum, divisors

Place = tuple[int, str]
"""(level, kind): where a dimension may loop, as in `Slot`."""


def lane_choices(tiles: int, lanes: int, dominant: bool) -> list[int]:
    """Lane counts up to `lanes` that `tiles` tiles can use; `dominant`: the fewest for each number of rounds."""
    usable = range(1, min(lanes, tiles) + 1)
    if not dominant:
        return list(usable)
    fewest: dict[int, int] = {}
    for count in usable:
        fewest.setdefault(-(-tiles // count), count)
    return sorted(fewest.values())


@dataclass(frozen=True)
class Mapspace:
    """All mappings of `einsum` on `accelerator` that spread only what `partitioning` names."""

    einsum: Einsum
    accelerator: Accelerator
    partitioning: Partitioning

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

    def chains(self, dimension: str, dominant: bool = True) -> Ints:
        """Every chain of a dimension: an array (chains, places), places as `places(dimension)`."""
        places = self.places(dimension)
        rows = list(self._extend(places, len(places) - 1, self.einsum.extent[dimension], False, dominant))
        return np.array(rows, dtype=np.int64)

    def _extend(
        self, places: tuple[Place, ...], at: int, left: int, uneven: bool, dominant: bool
    ) -> Iterator[tuple[int, ...]]:
        """Chains of the places up to `at` for `left` tiles, innermost place chosen first."""
        if at == 0:
            yield (left,)
            return
        place = places[at]
        if place[1] == "t":
            for factor in divisors(left):
                for rest in self._extend(places, at - 1, left // factor, uneven, dominant):
                    yield (*rest, factor)
            return
        for count in lane_choices(left, self.lanes(place), dominant):
            idle = left % count != 0
            if not (idle and uneven):
                for rest in self._extend(places, at - 1, -(-left // count), uneven or idle, dominant):
                    yield (*rest, count)

    def axes(self) -> list[Place]:
        """Axes with more than one lane, outermost first."""
        return [
            (index, kind)
            for index, level in enumerate(self.accelerator.levels)
            for kind in "xy"
            if level.fanout.axis(kind).lanes > 1
        ]

    def open_tensors(self) -> list[list[str]]:
        """Per level the tensors that a mapping keeps there or lets bypass."""
        levels = range(len(self.accelerator.levels))
        return [[t.name for t in self.einsum.tensors if t.role in self.accelerator.open_roles(i)] for i in levels]

    def keeps(self) -> list[tuple[frozenset[str], ...]]:
        """Every choice of kept tensors per level that the spec leaves open, most kept first."""
        per_level = []
        for index, names in enumerate(self.open_tensors()):
            choices = [
                frozenset(chosen) for n in range(len(names), -1, -1) for chosen in itertools.combinations(names, n)
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
        """Number of mappings: distinct texts, lanes within their axes, fit or not."""
        from mapper.search.size import count_mappings

        return count_mappings(self)
