"""A mapspace by brute force: every factor in every place, every order, every choice of kept tensors.

`arrays` gives all mappings, an array for each permutation of each level's loops and each choice of kept tensors;
`texts` spells them out. Whether a mapping is what constraints ask for is read off its loops (`obeys`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from mapper.arch import Accelerator, Axis
from mapper.counts.geometry import Bools
from mapper.mapping import LoopNest, Partitioning
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.mapping.partitioning import spread
from mapper.search.constraints import Constraints
from mapper.workload import Einsum

Place = tuple[int, str]
Chain = dict[Place, int]
Order = tuple[str, ...]


def texts(einsum: Einsum, arch: Accelerator, partitioning: Partitioning) -> set[str]:
    """The canonical text of every mapping, whether it fits or not."""
    return {str(nest) for nest in loop_nests(einsum, arch, partitioning)}


def loop_nests(einsum: Einsum, arch: Accelerator, partitioning: Partitioning) -> Iterator[LoopNest]:
    """Every mapping, whether it fits or not."""
    for nests in arrays(einsum, arch, partitioning):
        for row in range(len(nests)):
            yield nests.nest(row, arch.level_names, arch.open_levels)


def arrays(
    einsum: Einsum, arch: Accelerator, partitioning: Partitioning, innermost: Order | None = None
) -> Iterator[Nests]:
    """Every mapping once, whether it fits or not; of the innermost level's loops only one order if that is given."""
    dimensions, count = looped(einsum), len(arch.levels)
    slots, rows = combinations(einsum, arch, partitioning)
    column = {slot: i for i, slot in enumerate(slots)}
    every = list(itertools.permutations(dimensions))
    outer = [every] * (count - 1 if innermost is not None else count)
    for orders in itertools.product(*outer):
        once = np.ones(len(rows), dtype=bool)
        for level, order in enumerate(orders):
            once &= _first_of_its_kind(rows[:, [column[Slot(level, "t", d)] for d in order]] > 1, order)
        if not once.any():
            continue
        placed: list[Slot] = []
        for level, order in enumerate(orders if innermost is None else (*orders, innermost)):
            placed += [Slot(level, "t", d) for d in order]
            placed += [slot for kind in "xy" for slot in slots if (slot.level, slot.kind) == (level, kind)]
        factors = rows[once][:, [column[slot] for slot in placed]]
        for stated in keeps(einsum, arch):
            kept = tuple(arch.kept(level, einsum, names) for level, names in enumerate(stated))
            yield Nests(einsum, tuple(placed), factors, kept)


def looped(einsum: Einsum) -> Order:
    """Dimensions of more than one step."""
    return tuple(d for d in einsum.dimensions if einsum.extent[d] > 1)


def combinations(einsum: Einsum, arch: Accelerator, partitioning: Partitioning) -> tuple[list[Slot], Ints]:
    """Chains of all dimensions side by side whose lanes fit their axes: a row each, a column per slot."""
    slots: list[Slot] = []
    rows = np.ones((1, 0), dtype=np.int64)
    for dimension in looped(einsum):
        mine = list(chains(dimension, einsum, arch, partitioning))
        slots += [Slot(*place, dimension) for place in mine[0]]
        found = np.array([list(chain.values()) for chain in mine], dtype=np.int64)
        rows = np.concatenate([np.repeat(rows, len(found), axis=0), np.tile(found, (len(rows), 1))], axis=1)
    fit = np.ones(len(rows), dtype=bool)
    for index, level in enumerate(arch.levels):
        for kind in "xy":
            taken = [i for i, slot in enumerate(slots) if (slot.level, slot.kind) == (index, kind)]
            fit &= rows[:, taken].prod(axis=1) <= level.fanout.axis(kind).lanes
    return slots, rows[fit]


def _first_of_its_kind(loops: Bools, order: Order) -> Bools:
    """Mappings whose loops of one step stand outermost, by name: permutations that move only those are the same."""
    out = np.zeros(len(loops), dtype=bool)
    for idle in range(len(order) + 1):
        if list(order[:idle]) == sorted(order[:idle]):
            out |= (loops == (np.arange(len(order)) >= idle)).all(axis=1)
    return out


def size(einsum: Einsum, arch: Accelerator, partitioning: Partitioning, most: int) -> tuple[int, int]:
    """(mappings, arrays) of `arrays` with a given innermost order; of too many chains `most` mappings are told."""
    choices = sum(1 for _ in keeps(einsum, arch))
    outer = len(arch.levels) - 1
    count = choices * math.factorial(len(looped(einsum))) ** outer
    chained = math.prod(len(list(chains(d, einsum, arch, partitioning))) for d in looped(einsum))
    if choices * chained > most * 10:
        return most, count
    slots, rows = combinations(einsum, arch, partitioning)
    orders = np.ones(len(rows), dtype=np.int64)
    factorials = np.array([math.factorial(n) for n in range(len(einsum.dimensions) + 1)])
    for level in range(outer):
        loops = [i for i, slot in enumerate(slots) if (slot.level, slot.kind) == (level, "t")]
        orders *= factorials[(rows[:, loops] > 1).sum(axis=1)]
    return choices * int(orders.sum()), count


def chains(dimension: str, einsum: Einsum, arch: Accelerator, partitioning: Partitioning) -> Iterator[Chain]:
    """Factors that cover the bound by the rule of chains; more lanes than tiles are of no use."""
    places: dict[Place, int] = {}
    bound = einsum.extent[dimension]
    for index, level in enumerate(arch.levels):
        places[index, "t"] = bound
        for kind in "xy":
            axis = level.fanout.axis(kind)
            named = partitioning.is_any or dimension in spread(partitioning, einsum)["xy".index(kind)]
            if named and _able(dimension, axis, einsum):
                places[index, kind] = axis.lanes
    for factors in _covering(tuple(places.items()), bound):
        yield dict(zip(places, factors, strict=True))


@lru_cache(maxsize=1024)
def _covering(places: tuple[tuple[Place, int], ...], bound: int) -> list[tuple[int, ...]]:
    names = [place for place, _ in places]
    every = itertools.product(*(range(1, most + 1) for _, most in places))
    return [factors for factors in every if covers(dict(zip(names, factors, strict=True)), bound)]


def _able(dimension: str, axis: Axis, einsum: Einsum) -> bool:
    reduces = dimension not in einsum.output.dimensions
    indexed = any(t.role in axis.irrelevant_to and dimension in t.dimensions for t in einsum.tensors)
    return (axis.allowed is None or dimension in axis.allowed) and (axis.reduction or not reduces) and not indexed


def covers(chain: Chain, bound: int) -> bool:
    """Innermost first: a temporal factor divides what is left, lanes take rounds, one of them may be uneven."""
    left, uneven = bound, 0
    for (_, kind), factor in reversed(chain.items()):
        if kind == "t" and left % factor:
            return False
        if kind != "t" and factor > left:
            return False
        uneven += left % factor != 0
        left = math.ceil(left / factor)
    return left == 1 and uneven <= 1


def lanes_fit(chosen: dict[str, Chain], arch: Accelerator) -> bool:
    """Whether every axis is wide enough for one chain per dimension."""
    return all(
        math.prod(chain.get((index, kind), 1) for chain in chosen.values()) <= level.fanout.axis(kind).lanes
        for index, level in enumerate(arch.levels)
        for kind in "xy"
    )


def keeps(einsum: Einsum, arch: Accelerator) -> Iterator[tuple[frozenset[str] | None, ...]]:
    """Kept tensors per level as a mapping states them: None where the accelerator leaves nothing open."""
    levels: list[list[frozenset[str] | None]] = []
    for index, level in enumerate(arch.levels):
        names = [t.name for t in einsum.tensors if t.role in level.may_keep]
        always = frozenset(t.name for t in einsum.tensors if t.role in level.keep)
        subsets = [frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)]
        levels.append([always | s for s in subsets] if names and index else [None])
    return itertools.product(*levels)


def obeys(nest: LoopNest, einsum: Einsum, asked: Constraints) -> bool:
    """Whether a mapping is what the constraints want of factors, orders and kept tensors."""
    levels = {one.name: one for one in nest.levels}
    for limit in asked.limits:
        if dict(levels[limit.level].loops(limit.kind)).get(limit.dimension, 1) not in limit.factors:
            return False
    for name, one in levels.items():
        loops = [dimension for dimension, _ in one.temporal]
        first = [dimension for dimension in asked.prefix(name) if dimension in loops]
        if loops[: len(first)] != first:
            return False
        for tensor in einsum.tensors if one.keeps is not None else ():
            if asked.keeps(name, tensor) not in (None, tensor.name in (one.keeps or ())):
                return False
    return True
