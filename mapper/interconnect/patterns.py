"""Who shares words below a fan-out, and so how they travel: per tensor, what goes along X and along Y.

A spread dimension that indexes a tensor gives every lane words of its own; one that does not sends the same words to
all of them, or adds up their partial sums. A sliding rank does both: neighbours share the overlap of their windows, and
where it is spread over both axes a word is wanted on a diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from mapper.counts.footprint import RankAxis, closed_form
from mapper.counts.geometry import Geometry
from mapper.counts.tiles import tile_extents
from mapper.interconnect.carried import slots_of
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Tensor

AXES = {"x": "row", "y": "column"}
"""Lanes along X stand in one row, lanes along Y in one column."""


@dataclass(frozen=True)
class Lane:
    """What one axis does for a tensor: loops spread there, lanes that have words of their own, lanes that share them.

    `overlap`: neighbouring windows share words.
    """

    loops: tuple[tuple[str, int], ...]
    own: int
    shared: int
    overlap: bool

    @property
    def sharing(self) -> bool:
        """Whether a word may belong to several lanes."""
        return self.shared > 1 or self.overlap


@dataclass(frozen=True)
class Pattern:
    """How a tensor travels below a level; `diagonal`: a sliding rank is spread over both axes."""

    output: bool
    x: Lane
    y: Lane
    diagonal: bool

    @property
    def one_dimensional(self) -> bool:
        """Whether every word goes to, or comes from, children of one row or of one column."""
        return not self.diagonal and not (self.x.sharing and self.y.sharing)

    @property
    def kind(self) -> str:
        """unicast, multicast row or column, broadcast, their likes for sums, overlap or diagonal."""
        if self.diagonal:
            return "diagonal"
        shared = [axis for axis, lane in (("row", self.x), ("column", self.y)) if lane.shared > 1]
        if len(shared) == 2:
            mixed = self.x.own > 1 or self.y.own > 1
            return ("reduction" if self.output else "broadcast") + (" in parts" if mixed else "")
        if shared:
            return f"{'reduction' if self.output else 'multicast'} {shared[0]}"
        return "overlap" if self.x.overlap or self.y.overlap else "unicast"


def pattern_of(geometry: Geometry, level: int, tensor: Tensor) -> Pattern:
    """Of the first mapping of a geometry."""
    x, y = (_lane(geometry, level, kind, tensor) for kind in "xy")
    diagonal = any(
        all(any(d in terms for d, lanes in lane.loops if lanes > 1) for lane in (x, y))
        for terms in _sliding(geometry, tensor)
    )
    return Pattern(tensor is geometry.nests.einsum.output, x, y, diagonal)


def _lane(geometry: Geometry, level: int, kind: str, tensor: Tensor) -> Lane:
    on_axis = slots_of(geometry, level, kind)
    loops = tuple((geometry.nests.slots[i].dimension, int(geometry.factors[i, 0])) for i in on_axis)
    own = prod(factor for dimension, factor in loops if dimension in tensor.dimensions)
    shared = prod(factor for dimension, factor in loops if dimension not in tensor.dimensions)
    return Lane(loops, own, shared, any(_overlaps(geometry, level, i, tensor) for i in on_axis))


def _overlaps(geometry: Geometry, level: int, slot: int, tensor: Tensor) -> bool:
    """Whether one lane of a slot reaches into the words of the next, other lanes of the fan-out included."""
    dimension = geometry.nests.slots[slot].dimension
    if geometry.factors[slot, 0] == 1:
        return False
    for terms in _sliding(geometry, tensor):
        if dimension in terms:
            axes = [RankAxis(c, _below(geometry, level, slot, d), ()) for d, c in terms.items()]
            length = int(closed_form(axes)[1][0])
            return length > terms[dimension] * int(geometry.strides[slot, 0])
    return False


def _below(geometry: Geometry, level: int, slot: int, dimension: str) -> Ints:
    """Extent of a dimension in a child's tile, times the lanes of the fan-out that are not those of `slot`."""
    extent = tile_extents(geometry, level + 1)[dimension]
    for index in geometry.of[dimension]:
        other = geometry.nests.slots[index]
        if index != slot and other.level == level and other.kind != "t":
            extent = extent * geometry.factors[index]
    return extent


def _sliding(geometry: Geometry, tensor: Tensor) -> Iterator[dict[str, int]]:
    """Ranks of several dimensions that loop, as dimension -> coefficient."""
    for rank in tensor.ranks:
        terms = {t.dimension: t.coefficient for t in rank if t.dimension in geometry.of}
        if len(terms) > 1:
            yield terms
