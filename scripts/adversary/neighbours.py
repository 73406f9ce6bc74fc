"""Local search around a mapping: what is one or two steps away, until nothing there is better."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from adversary.ground import Ground, Structure, repaired
from adversary.moves import Moves
from adversary.referee import ROUNDING, Found, Referee
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import divisors

PAIRS = 20_000
"""Combinations of the chains of two dimensions tried around one mapping, at most."""
PAIRS_ELSEWHERE = 1000
"""The same in every structure around its own."""

Batch = tuple[Structure, Ints]


def descend(adversary: str, start: Found, referee: Referee, moves: Moves, until: float) -> Found:
    """The best mapping that steps lead to from `start`, until CPU second `until`."""
    current = start
    while current.structure is not None and current.row is not None:
        better = _better(adversary, current, around(moves, current.structure, current.row), referee, until)
        if better is None:
            break
        current = better
    return current


def _better(adversary: str, current: Found, batches: Iterator[Batch], referee: Referee, until: float) -> Found | None:
    """The best mapping of the first batch that has a better one; None without one, or when time is up."""
    for structure, factors in batches:
        if referee.over() or referee.clock() >= until:
            return None
        values = referee.values(adversary, structure, factors)
        winner = int(values.argmin())
        if values[winner] < current.value * (1 - ROUNDING):
            return Found(float(values[winner]), structure, factors[winner].copy())
    return None


def around(moves: Moves, structure: Structure, row: Ints) -> Iterator[Batch]:
    """Mappings around one, the nearest first; the first batch holds the mapping itself."""
    ground, rng = moves.ground, moves.random
    chains = [near_chains(ground, row[d], d) for d in range(len(row))]
    near = np.concatenate([row[None], *(_with(row, (d,), (each,)) for d, each in enumerate(chains))])
    near = near[ground.legal(near)]
    pairs = list(itertools.combinations(range(len(row)), 2))
    others = list(near_structures(ground, structure, row))

    def both(pair: int, most: int) -> Ints:
        return _pairs(ground, row, pairs[pair], chains, most, rng)

    yield structure, near
    yield from ((other, near) for other in others)
    yield from ((structure, both(pair, PAIRS)) for pair in rng.permutation(len(pairs)))
    yield from ((structure, _with(row, (d,), (pool,))) for d, pool in enumerate(moves.pools))
    yield from ((other, both(pair, PAIRS_ELSEWHERE)) for other in others for pair in rng.permutation(len(pairs)))


def near_chains(ground: Ground, chain: Ints, dimension: int) -> Ints:
    """Chains one step away: a divisor of a factor in another place, or other lanes with the rounds anywhere."""
    able = np.flatnonzero(ground.allowed[dimension]).tolist()
    tried, absorbers = [chain], [0]
    for source, target in itertools.permutations(able, 2):
        for part in divisors(int(chain[source]))[1:]:
            step = chain.copy()
            step[source] //= part
            step[target] *= part
            tried.append(step)
            absorbers.append(0)
    for place in set(able) & set(ground.spatial):
        for lanes, absorber in itertools.product(range(1, int(ground.lanes[place]) + 1), ground.temporal):
            step = chain.copy()
            step[place] = lanes
            tried.append(step)
            absorbers.append(absorber)
    extents = np.full(len(tried), ground.extents[dimension])
    return np.unique(repaired(ground, np.array(tried), extents, np.array(absorbers)), axis=0)


def near_structures(ground: Ground, structure: Structure, row: Ints) -> Iterator[Structure]:
    """Every other choice of kept tensors, and every loop that loops moved to the place of another one of its level."""
    yield from (replace(structure, keeps=keeps) for keeps in ground.keeps if keeps != structure.keeps)
    for level, order in enumerate(structure.orders):
        factors = row[:, ground.temporal[level]]
        looping = tuple(d for d in order if factors[d] > 1)
        rest = tuple(d for d in order if factors[d] == 1)
        moved = {_inserted(looping, a, b) for a in range(len(looping)) for b in range(len(looping))}
        for other in sorted(moved - {looping}):
            orders = (*structure.orders[:level], (*other, *rest), *structure.orders[level + 1 :])
            yield replace(structure, orders=orders)


def _pairs(
    ground: Ground, row: Ints, pair: tuple[int, int], chains: list[Ints], most: int, rng: np.random.Generator
) -> Ints:
    """Combinations of the near chains of two dimensions whose lanes fit, a random part of very many."""
    sizes = [len(chains[d]) for d in pair]
    total = math.prod(sizes)
    picks = np.arange(total) if total <= most else rng.choice(total, most, replace=False)
    first, second = np.unravel_index(picks, sizes)
    both = _with(row, pair, (chains[pair[0]][first], chains[pair[1]][second]))
    return both[ground.legal(both)]


def _with(row: Ints, dimensions: tuple[int, ...], chains: tuple[Ints, ...]) -> Ints:
    """Copies of a mapping with those chains of those dimensions."""
    out = np.repeat(row[None], len(chains[0]), axis=0)
    for d, each in zip(dimensions, chains, strict=True):
        out[:, d] = each
    return out


def _inserted(order: tuple[int, ...], source: int, target: int) -> tuple[int, ...]:
    rest = [*order[:source], *order[source + 1 :]]
    rest.insert(target, order[source])
    return tuple(rest)
