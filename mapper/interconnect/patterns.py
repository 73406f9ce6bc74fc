"""Who shares words below a fan-out, and so how they travel: per tensor, what goes along X and along Y.

A spread dimension that indexes a tensor gives every lane words of its own; one that does not sends the same words to
all of them, or adds up their partial sums. A sliding rank does both: neighbours share the overlap of their windows, and
where it is spread over both axes a word is wanted on a diagonal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from operator import mul

from mapper.counts.footprint import cover
from mapper.counts.geometry import Geometry
from mapper.counts.tiles import tile_extents
from mapper.interconnect.carried import slots_of
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
    windows = [terms for terms in _sliding(geometry, tensor) if any(_spread(geometry, level, d) for d in terms)]
    meeting = [{kind: _meet(geometry, level, terms, kind) for kind in AXES} for terms in windows]
    x, y = (_lane(geometry, level, kind, tensor, any(meets[kind] for meets in meeting)) for kind in AXES)
    diagonal = any(
        all(meets.values()) and len({d for d in terms if _spread(geometry, level, d)}) > 1
        for terms, meets in zip(windows, meeting, strict=True)
    )
    return Pattern(tensor == geometry.nests.einsum.output, x, y, diagonal)


def _lane(geometry: Geometry, level: int, kind: str, tensor: Tensor, overlap: bool) -> Lane:
    on_axis = slots_of(geometry, level, kind)
    loops = tuple((geometry.nests.slots[i].dimension, int(geometry.factors[i, 0])) for i in on_axis)
    own = prod(factor for dimension, factor in loops if dimension in tensor.dimensions)
    shared = prod(factor for dimension, factor in loops if dimension not in tensor.dimensions)
    return Lane(loops, own, shared, overlap)


def _sliding(geometry: Geometry, tensor: Tensor) -> Iterator[dict[str, int]]:
    """Ranks of several dimensions that loop, as dimension -> coefficient."""
    for rank in tensor.ranks:
        terms = {t.dimension: t.coefficient for t in rank if t.dimension in geometry.of}
        if len(terms) > 1:
            yield terms


def _spread(geometry: Geometry, level: int, dimension: str) -> list[int]:
    """Slots below a level that spread a dimension."""
    slots = ((i, geometry.nests.slots[i]) for i in geometry.of[dimension])
    return [i for i, s in slots if s.kind != "t" and s.level == level and geometry.factors[i, 0] > 1]


def _meet(geometry: Geometry, level: int, terms: dict[str, int], kind: str) -> bool:
    """Whether a position of a rank belongs to several lanes of an axis, whatever their lanes of the other axis."""
    extents, slots = tile_extents(geometry, level + 1), geometry.nests.slots
    mine = [i for d in terms for i in _spread(geometry, level, d) if slots[i].kind == kind]
    seen = 0
    for place in itertools.product(*(range(int(geometry.factors[i, 0])) for i in mine)) if mine else ():
        children = []
        for d in terms:
            spread = _spread(geometry, level, d)
            lanes = [[place[mine.index(i)]] if i in mine else range(int(geometry.factors[i, 0])) for i in spread]
            strides, extent = [int(geometry.strides[i, 0]) for i in spread], int(extents[d][0])
            offsets = (sum(map(mul, digits, strides)) for digits in itertools.product(*lanes))
            children.append([(offset, extent, extent) for offset in offsets])
        now = cover(tuple(terms.values()), children, 0)[0]
        if now & seen:
            return True
        seen |= now
    return False
