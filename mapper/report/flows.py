"""What the fan-outs of a mapping do for each tensor, as `explain` shows it."""

from __future__ import annotations

from dataclasses import dataclass

from mapper.cost import Evaluation
from mapper.counts.geometry import Geometry
from mapper.counts.traffic import kept_levels
from mapper.interconnect.patterns import Lane, Pattern, pattern_of
from mapper.workload import Tensor


@dataclass(frozen=True)
class Flow:
    """A tensor below a fan-out: `mean` and `most` receivers of one read (`mean`: sums that become one).

    `able`: whether the hardware multicasts (operands) or reduces along X and along Y.
    """

    level: str
    tensor: str
    pattern: Pattern
    able: tuple[bool, bool]
    mean: float
    most: int

    @property
    def output(self) -> bool:
        return self.pattern.output

    @property
    def x(self) -> Lane:
        return self.pattern.x

    @property
    def y(self) -> Lane:
        return self.pattern.y


def flows(evaluation: Evaluation, geometry: Geometry) -> tuple[Flow, ...]:
    """Every tensor below every fan-out that spreads something."""
    nests = geometry.nests
    spread = sorted({slot.level for slot in nests.slots if slot.kind != "t"})
    return tuple(_flow(evaluation, geometry, level, tensor) for level in spread for tensor in nests.einsum.tensors)


def _flow(evaluation: Evaluation, geometry: Geometry, level: int, tensor: Tensor) -> Flow:
    fanout, names = evaluation.accelerator.levels[level].fanout, evaluation.accelerator.level_names
    pattern = pattern_of(geometry, level, tensor)
    axes = fanout.x, fanout.y
    x, y = (axis.reduction if pattern.output else axis.multicast for axis in axes)
    keeper = names[max(k for k in kept_levels(geometry.nests, tensor) if k <= level)]
    return Flow(names[level], tensor.name, pattern, (x, y), *_degrees(evaluation, keeper, tensor, pattern.output))


def _degrees(evaluation: Evaluation, keeper: str, tensor: Tensor, output: bool) -> tuple[float, int]:
    """Mean and most receivers of one read of the keeper; of sums, how many become one on their way there."""
    if not output:
        edge = next(e for e in evaluation.edges if (e.level, e.tensor) == (keeper, tensor.name))
        return edge.multicast, edge.multicast_max
    level = evaluation.accelerator.levels[evaluation.accelerator.level_names.index(keeper)]
    key = (level.buffer(tensor).name, tensor.name, "updates")
    updates = next(i.count for i in evaluation.items if (i.component, i.tensor, i.action) == key)
    return (updates + evaluation.reductions[keeper, tensor.name]) / updates, 1
