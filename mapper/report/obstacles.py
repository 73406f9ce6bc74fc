"""Partitionings that name what the accelerator cannot spread: those lanes idle, and the search says so before."""

from __future__ import annotations

from collections.abc import Iterator

from mapper.arch.accelerator import Accelerator, Axis
from mapper.mapping.binding import obstacle
from mapper.mapping.partitioning import Partitioning, spread
from mapper.runs import Plan
from mapper.workload.einsum import Einsum


def obstacles(plan: Plan) -> list[str]:
    """A line per phase and partitioning: `fw CK: toy cannot spread K over Y (it indexes O; Y takes C, R, S)`.

    What it says is that of the first layer concerned.
    """
    lines: dict[str, str] = {}
    for task in plan.tasks:
        what = f"{task.phase} {task.partitioning}"
        found = [] if what in lines else list(_barred(task.problem.einsum, plan.accelerator, task.problem.partitioning))
        if found:
            lines[what] = f"{what}: {plan.accelerator.name} cannot spread {', '.join(found)}"
    return list(lines.values())


def _barred(einsum: Einsum, accelerator: Accelerator, partitioning: Partitioning) -> Iterator[str]:
    """Dimensions that no fan-out takes on the axis they are named for."""
    for kind, dimensions in zip("xy", spread(partitioning, einsum), strict=True):
        axes = [level.fanout.axis(kind) for level in accelerator.levels if level.fanout.axis(kind).lanes > 1]
        for dimension in dimensions if axes else ():
            reasons = [obstacle(dimension, axis, einsum) for axis in axes]
            if reasons[0] and all(reasons):
                yield f"{dimension} over {kind.upper()} ({reasons[0]}; {kind.upper()} takes {_able(axes, einsum)})"


def _able(axes: list[Axis], einsum: Einsum) -> str:
    able = [
        dimension
        for dimension, bound in einsum.bounds
        if bound > 1 and any(obstacle(dimension, axis, einsum) is None for axis in axes)
    ]
    return ", ".join(able) or "nothing"
