"""A mapspace by brute force: every factor in every place, every order, every choice of kept tensors, as texts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from mapper.arch import Accelerator, Axis
from mapper.cost import rank_costs
from mapper.mapping import LoopNest, Partitioning, bind, parse_nest
from mapper.mapping.loopnest import LevelLoops, Nests
from mapper.mapping.partitioning import spread
from mapper.search.pool import metric_values
from mapper.workload import Einsum

Place = tuple[int, str]
Chain = dict[Place, int]


def texts(einsum: Einsum, arch: Accelerator, partitioning: Partitioning) -> set[str]:
    """The canonical text of every mapping, whether it fits or not."""
    looped = [d for d in einsum.dimensions if einsum.extent[d] > 1]
    chains = [list(_chains(d, einsum, arch, partitioning)) for d in looped]
    found = set()
    for combination in itertools.product(*chains):
        chosen = dict(zip(looped, combination, strict=True))
        if _lanes_fit(chosen, arch):
            for orders in itertools.product(*(_orders(chosen, index) for index in range(len(arch.levels)))):
                found |= {str(_nest(chosen, orders, keeps, arch)) for keeps in _keeps(einsum, arch)}
    return found


def _chains(dimension: str, einsum: Einsum, arch: Accelerator, partitioning: Partitioning) -> Iterator[Chain]:
    """Factors that cover the bound by the rule of chains; more lanes than tiles are of no use."""
    places: dict[Place, range] = {}
    bound = einsum.extent[dimension]
    for index, level in enumerate(arch.levels):
        places[index, "t"] = range(1, bound + 1)
        for kind in "xy":
            axis = level.fanout.axis(kind)
            named = partitioning.is_any or dimension in spread(partitioning, einsum)["xy".index(kind)]
            if named and _able(dimension, axis, einsum):
                places[index, kind] = range(1, axis.lanes + 1)
    for factors in itertools.product(*places.values()):
        chain = dict(zip(places, factors, strict=True))
        if covers(chain, bound):
            yield chain


def _able(dimension: str, axis: Axis, einsum: Einsum) -> bool:
    reduces = dimension not in einsum.output.dimensions
    return (axis.allowed is None or dimension in axis.allowed) and (axis.reduction or not reduces)


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


def _lanes_fit(chosen: dict[str, Chain], arch: Accelerator) -> bool:
    return all(
        math.prod(chain.get((index, kind), 1) for chain in chosen.values()) <= level.fanout.axis(kind).lanes
        for index, level in enumerate(arch.levels)
        for kind in "xy"
    )


def _orders(chosen: dict[str, Chain], level: int) -> Iterator[tuple[str, ...]]:
    return itertools.permutations(d for d, chain in chosen.items() if chain[level, "t"] > 1)


def _keeps(einsum: Einsum, arch: Accelerator) -> Iterator[tuple[frozenset[str] | None, ...]]:
    """Kept tensors per level as a mapping states them: None where the accelerator leaves nothing open."""
    levels: list[list[frozenset[str] | None]] = []
    for index, level in enumerate(arch.levels):
        names = [t.name for t in einsum.tensors if t.role in level.may_keep]
        always = frozenset(t.name for t in einsum.tensors if t.role in level.keep)
        subsets = [frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)]
        levels.append([always | s for s in subsets] if names and index else [None])
    return itertools.product(*levels)


def _nest(
    chosen: dict[str, Chain],
    orders: tuple[tuple[str, ...], ...],
    keeps: tuple[frozenset[str] | None, ...],
    arch: Accelerator,
) -> LoopNest:
    levels = []
    for index, name in enumerate(arch.level_names):
        temporal = tuple((d, chosen[d][index, "t"]) for d in orders[index])
        x, y = (tuple((d, chain.get((index, kind), 1)) for d, chain in chosen.items()) for kind in "xy")
        levels.append(LevelLoops(name, temporal, x, y, keeps[index]))
    return LoopNest(tuple(levels))


@dataclass(frozen=True, order=True)
class Entry:
    """A mapping that fits: its value and its text, which decides between equals."""

    value: float
    text: str


def best(einsum: Einsum, arch: Accelerator, partitioning: Partitioning, metric: str, top: int) -> list[Entry]:
    """The `top` best mappings; those that differ only in loop order, at no difference in cost, count once."""
    found: dict[tuple[object, ...], Entry] = {}
    for text in sorted(texts(einsum, arch, partitioning)):
        nests = bind(parse_nest(text), einsum, arch)
        costs = rank_costs(nests, arch)
        if costs.feasible[0]:
            entry = Entry(float(metric_values(costs, metric)[0]), text)
            key = (_factors(nests), nests.keeps, int(costs.cycles[0]), float(costs.energy_pj[0]))
            found[key] = min(entry, found.get(key, entry))
    return sorted(found.values())[:top]


def _factors(nests: Nests) -> frozenset[tuple[int, str, str, int]]:
    return frozenset(
        (s.level, s.kind, s.dimension, int(f)) for s, f in zip(nests.slots, nests.factors[0], strict=True) if f > 1
    )
