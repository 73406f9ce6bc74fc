"""Why utilization falls short of 1: a product of shares, each with what takes the rest.

Lanes of each axis that the mapping uses, lanes filled in the last round of an uneven spread, PEs that work while the
busiest of their working set finishes, cycles spent on compute rather than waiting, and points that the layer needs.
Their product is the utilization, exactly where counts are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from mapper.arch import Axis
from mapper.cost import Evaluation
from mapper.cost.waiting import compute_cycles
from mapper.counts.geometry import Geometry, idle_lanes
from mapper.mapping import format_loop


@dataclass(frozen=True)
class Share:
    """One factor of the utilization: `share` of `what` is used, `why` not all."""

    what: str
    share: Fraction
    why: str


def shares(evaluation: Evaluation, geometry: Geometry) -> tuple[Share, ...]:
    """The factors of the utilization that are no whole, and the axes even where they are."""
    found = [*_axes(evaluation, geometry), *_rounds(evaluation, geometry)]
    compute, cycles = evaluation.bounds["compute"], evaluation.cycles
    if compute < cycles:
        waiting = f"{evaluation.bound_by} takes {cycles:,} cycles, compute only {compute:,}"
        found.append(Share("cycles that compute", Fraction(compute, cycles), waiting))
    found += _even(evaluation, geometry)
    macs, points = evaluation.macs, evaluation.points
    if macs < points:
        surplus = f"the loops execute {points:,} points, the layer needs {macs:,}"
        found.append(Share("points that are needed", Fraction(macs, points), surplus))
    return tuple(found)


def _even(evaluation: Evaluation, geometry: Geometry) -> Iterator[Share]:
    """What zeros leave of the work against what they leave of the cycles."""
    compute = evaluation.bounds["compute"]
    if evaluation.effectual_macs == evaluation.macs or not compute:
        return
    dense = int(compute_cycles(geometry)[0])
    share = Fraction(evaluation.effectual_macs) / evaluation.macs * dense / compute
    if evaluation.imbalance is None:
        why = f"{float(share):.3g} of the macs are effectual, zeros save no cycles here"
    else:
        why = f"the busiest has {evaluation.imbalance.mean:.3f} times the mean work of its working set"
    yield Share("PEs that find work", share, why)


def _axes(evaluation: Evaluation, geometry: Geometry) -> Iterator[Share]:
    for index, level in enumerate(evaluation.accelerator.levels):
        for kind in ("x", "y"):
            axis = level.fanout.axis(kind)
            if axis.lanes > 1:
                used, why = _axis(geometry, index, kind, axis)
                yield Share(f"lanes of {kind.upper()} below {level.name}", Fraction(used, axis.lanes), why)


def _axis(geometry: Geometry, level: int, kind: str, axis: Axis) -> tuple[int, str]:
    """Lanes used, and what is spread there."""
    nests = geometry.nests
    on_axis = [i for i, slot in enumerate(nests.slots) if (slot.level, slot.kind) == (level, kind)]
    if not on_axis:
        return 1, f"nothing is spread over its {axis.lanes} lanes"
    factors = {nests.slots[i].dimension: int(geometry.factors[i, 0]) for i in on_axis}
    used = prod(factors.values())
    text = f"{' '.join(format_loop(*loop) for loop in factors.items())} on {axis.lanes} lanes"
    if used == axis.lanes:
        return used, text
    extent = nests.einsum.extent
    if all(factor >= extent[dimension] for dimension, factor in factors.items()):
        ends = " and ".join(f"{dimension} ends at {extent[dimension]}" for dimension in factors)
        return used, f"{text}: the axis is longer than the work, {ends}"
    spare = " and ".join(f"{d} has {extent[d]}" for d, factor in factors.items() if factor < extent[d])
    return used, f"{text}: the mapping leaves {axis.lanes - used} free, {spare}"


def _rounds(evaluation: Evaluation, geometry: Geometry) -> Iterator[Share]:
    names = evaluation.accelerator.level_names
    for dimension, uneven in geometry.uneven.items():
        slot, lanes = geometry.nests.slots[uneven.slot], int(geometry.factors[uneven.slot, 0])
        missing = dict(idle_lanes(geometry.nests, geometry.of[dimension]))[uneven.slot]
        rounds = prod(int(geometry.factors[i, 0]) for i in geometry.of[dimension] if i < uneven.slot)
        slots = rounds * lanes
        tiles = slots - int(missing[0])
        why = f"{tiles} tiles on {lanes} lanes: {rounds} rounds, {tiles} of {slots} slots"
        what = f"slots of {dimension} on {slot.kind.upper()} below {names[slot.level]}"
        yield Share(what, Fraction(tiles, slots), why)
