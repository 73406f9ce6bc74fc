"""Random cases with networks: a case of `tests/strategies.py` that spreads something, and a network per fan-out.

Most cases of a plain generator spread one dimension. Here each draw asks for a *shape*, one thing that makes an
interconnect hard, and takes the first case that has it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from mapper.arch.accelerator import Fanout
from mapper.arch.network import TOPOLOGIES, Network
from tests.strategies import Case, random_case

MAX_POINTS = 500


def random_network_case(rng: random.Random) -> Case:
    """A case of at most `MAX_POINTS` points that uses two lanes or more of some fan-out; fan-outs have networks."""
    shape = rng.choice(SHAPES)
    while True:
        case = random_case(rng)
        if case.einsum.points <= MAX_POINTS and spread(case) and shape(case):
            return with_networks(rng, case)


def with_networks(rng: random.Random, case: Case) -> Case:
    """The case with a random network in every fan-out of more than one lane, but for a few."""
    levels = tuple(
        replace(level, fanout=replace(level.fanout, network=_random_network(rng, level.fanout)))
        for level in case.accelerator.levels
    )
    return replace(case, accelerator=replace(case.accelerator, levels=levels))


def _random_network(rng: random.Random, fanout: Fanout) -> Network | None:
    """Energies are sums of few powers of two, so that sums of them are exact in any order."""
    if fanout.lanes == 1 or rng.random() < 0.05:
        return None
    slow = Fraction(1, rng.choice((1, 2, 3, 7)))
    width = rng.choice((None, slow, slow, Fraction(rng.randint(1, 200))))
    tile, wire, switch = rng.choice((0.5, 1.0, 1.5)), rng.choice((0.0, 0.25, 1.0)), rng.choice((0.0, 0.5, 3.0))
    return Network(rng.choice(TOPOLOGIES), tile, wire, switch, "by hand", link_bits_per_cycle=width)


# Shapes ---------------------------------------------------------------------------------------------------------------


def spread(case: Case) -> list[tuple[int, str, str]]:
    """Level, axis and dimension of the spatial loops of two lanes or more, outermost first."""
    slots = zip(case.nests.slots, case.nests.factors[0], strict=True)
    return [(slot.level, slot.kind, slot.dimension) for slot, factor in slots if slot.kind != "t" and factor > 1]


def anything(_: Case) -> bool:
    return True


def shared_axis(case: Case) -> bool:
    """Several loops on one axis: lanes are numbers of several digits."""
    axes = [(level, kind) for level, kind, _ in spread(case)]
    return len(set(axes)) < len(axes)


def both_axes(case: Case) -> bool:
    """A fan-out with loops on both axes."""
    axes = {(level, kind) for level, kind, _ in spread(case)}
    return any((level, "x") in axes and (level, "y") in axes for level in range(case.level_count))


def window(case: Case) -> bool:
    """Two dimensions of one sliding rank spread at once, on one axis or diagonally."""
    dimensions = {(level, dimension) for level, _, dimension in spread(case)}
    ranks = [{term.dimension for term in rank} for tensor in case.einsum.operands for rank in tensor.ranks]
    return any(
        sum((level, dimension) in dimensions for dimension in rank) > 1
        for rank in ranks
        for level in range(case.level_count)
    )


def idle_lanes(case: Case) -> bool:
    """Lanes that have nothing to do at the end of a dimension."""
    slots = list(zip(case.nests.slots, case.nests.factors[0], strict=True))
    return any(
        math.prod(int(factor) for slot, factor in slots if slot.dimension == dimension) > bound
        for dimension, bound in case.einsum.bounds
    )


def passed_by(case: Case) -> bool:
    """A fan-out below a level, not the first, that some tensor bypasses."""
    return any(level > 0 and len(case.nests.keeps[level]) < len(case.einsum.tensors) for level, _, _ in spread(case))


def nested(case: Case) -> bool:
    """Two fan-outs, one inside the other."""
    return len({level for level, _, _ in spread(case)}) > 1


def returning(case: Case) -> bool:
    """A reduction spread above a level that keeps the sums, below a loop of another: they may return, to one child."""
    einsum, keeps = case.einsum, case.nests.keeps
    slots = zip(case.nests.slots, case.nests.factors[0], strict=True)
    outer = {slot.dimension for slot, factor in slots if (slot.level, slot.kind) == (0, "t") and factor > 1}
    return bool(outer & einsum.reductions and outer & einsum.output.dimensions) and any(
        dimension in einsum.reductions and any(einsum.output.name in kept for kept in keeps[level + 1 :])
        for level, _, dimension in spread(case)
    )


SHAPES: tuple[Callable[[Case], bool], ...] = (
    anything,
    shared_axis,
    both_axes,
    window,
    idle_lanes,
    passed_by,
    nested,
    returning,
)
