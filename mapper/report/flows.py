"""Who shares words below a fan-out: per tensor, what goes along X and along Y.

A spread dimension that indexes an operand gives every lane words of its own; one that does not sends the same words
to all of them. A sliding rank does both: neighbours share the overlap of their windows. Lanes of a dimension that is
summed over add up their partial sums on the way out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from mapper.arch import Axis
from mapper.cost import Evaluation
from mapper.counts.footprint import RankAxis, closed_form
from mapper.counts.geometry import Geometry
from mapper.counts.tiles import tile_extents
from mapper.counts.traffic import kept_levels
from mapper.mapping import format_loop
from mapper.mapping.loopnest import Ints
from mapper.workload import Tensor


@dataclass(frozen=True)
class Lane:
    """What one axis does for a tensor: `loops` spread there; `own` lanes have words of their own, `shared` the same.

    `overlap`: neighbouring windows share words. `able`: the hardware multicasts (operands) or reduces here.
    """

    loops: str
    own: int
    shared: int
    overlap: bool
    able: bool


@dataclass(frozen=True)
class Flow:
    """A tensor below a fan-out: `mean` and `most` receivers of one read (`mean`: sums that become one)."""

    level: str
    tensor: str
    output: bool
    x: Lane
    y: Lane
    mean: float
    most: int


def flows(evaluation: Evaluation, geometry: Geometry) -> tuple[Flow, ...]:
    """Every tensor below every fan-out that spreads something."""
    nests = geometry.nests
    spread = sorted({slot.level for slot in nests.slots if slot.kind != "t"})
    return tuple(_flow(evaluation, geometry, level, tensor) for level in spread for tensor in nests.einsum.tensors)


def _flow(evaluation: Evaluation, geometry: Geometry, level: int, tensor: Tensor) -> Flow:
    fanout, names = evaluation.accelerator.levels[level].fanout, evaluation.accelerator.level_names
    lanes = [_lane(geometry, level, kind, tensor, fanout.axis(kind)) for kind in ("x", "y")]
    keeper = names[max(k for k in kept_levels(geometry.nests, tensor) if k <= level)]
    output = tensor is geometry.nests.einsum.output
    return Flow(names[level], tensor.name, output, lanes[0], lanes[1], *_degrees(evaluation, keeper, tensor, output))


def _degrees(evaluation: Evaluation, keeper: str, tensor: Tensor, output: bool) -> tuple[float, int]:
    """Mean and most receivers of one read of the keeper; of sums, how many become one on their way there."""
    if not output:
        edge = next(e for e in evaluation.edges if (e.level, e.tensor) == (keeper, tensor.name))
        return edge.multicast, edge.multicast_max
    level = evaluation.accelerator.levels[evaluation.accelerator.level_names.index(keeper)]
    key = (level.buffer(tensor).name, tensor.name, "updates")
    updates = next(i.count for i in evaluation.items if (i.component, i.tensor, i.action) == key)
    return (updates + evaluation.reductions[keeper, tensor.name]) / updates, 1


def _lane(geometry: Geometry, level: int, kind: str, tensor: Tensor, axis: Axis) -> Lane:
    nests = geometry.nests
    on_axis = [i for i, slot in enumerate(nests.slots) if (slot.level, slot.kind) == (level, kind)]
    factors = [(nests.slots[i].dimension, int(geometry.factors[i, 0])) for i in on_axis]
    own = prod(factor for dimension, factor in factors if dimension in tensor.dimensions)
    shared = prod(factor for dimension, factor in factors if dimension not in tensor.dimensions)
    able = axis.reduction if tensor is nests.einsum.output else axis.multicast
    overlap = any(_overlaps(geometry, level, i, tensor) for i in on_axis)
    return Lane(" ".join(format_loop(*loop) for loop in factors), own, shared, overlap, able)


def _overlaps(geometry: Geometry, level: int, slot: int, tensor: Tensor) -> bool:
    """Whether one lane of a slot reaches into the words of the next, other lanes of the fan-out included."""
    dimension = geometry.nests.slots[slot].dimension
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
