"""One order for each combination of tails is enough: what equal tails do is the same, and every order has its like."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from mapper.arch import Accelerator
from mapper.cost.batch import rank_counted
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.search.orders import Order, Reuse, orders_of, reuse_of, tail
from mapper.workload import Einsum
from tests.search import brute
from tests.search.problems import describe, random_problem

SEEDS = range(80)
ROWS = 6
"""Random chains that each problem is tried with."""


@pytest.mark.parametrize("seed", SEEDS)
def test_orders_of_equal_tails_move_the_same_words(seed: int) -> None:
    """All permutations of each level in turn, those of the other levels random; of the innermost, all are alike."""
    rng = random.Random(f"orders {seed}")
    problem = random_problem(rng)
    einsum, accelerator = problem.einsum, problem.accelerator
    slots, rows = brute.combinations(einsum, accelerator, problem.partitioning)
    rows = np.array(rng.sample(rows.tolist(), min(ROWS, len(rows))))
    dimensions, reuses = brute.looped(einsum), reuse_of(einsum)
    kept = tuple(rng.choice([accelerator.kept(i, einsum), everything(einsum)]) for i in range(len(accelerator.levels)))
    for varied in range(len(accelerator.levels)):
        orders = [tuple(rng.sample(dimensions, len(dimensions))) for _ in accelerator.levels]
        found: dict[tuple[object, ...], set[bytes]] = defaultdict(set)
        for order in itertools.permutations(dimensions):
            orders[varied] = order
            counts = counted(einsum, accelerator, slots, rows, orders, kept)
            for i, loops in enumerate(looping(rows, slots, varied, order)):
                tails = tuple(tail(loops, reuse) for reuse in reuses)
                found[i, tails if varied < len(orders) - 1 else ()].add(counts[i].tobytes())
        assert all(len(words) == 1 for words in found.values()), (describe(problem), orders, varied)


def everything(einsum: Einsum) -> frozenset[str]:
    return frozenset(tensor.name for tensor in einsum.tensors)


def looping(rows: Ints, slots: list[Slot], level: int, order: Order) -> list[Order]:
    """The loops of more than one step in a level, per row."""
    column = {slot.dimension: i for i, slot in enumerate(slots) if (slot.level, slot.kind) == (level, "t")}
    return [tuple(d for d in order if row[column[d]] > 1) for row in rows.tolist()]


def counted(
    einsum: Einsum,
    accelerator: Accelerator,
    slots: list[Slot],
    rows: Ints,
    orders: list[Order],
    kept: tuple[frozenset[str], ...],
) -> Ints:
    """Words of every mapping; all capacities unlimited, for there is nothing to count where a tile does not fit."""
    column = {slot: i for i, slot in enumerate(slots)}
    placed: list[Slot] = []
    for level, order in enumerate(orders):
        placed += [Slot(level, "t", d) for d in order]
        placed += [slot for kind in "xy" for slot in slots if (slot.level, slot.kind) == (level, kind)]
    nests = Nests(einsum, tuple(placed), rows[:, [column[slot] for slot in placed]], kept)
    costs, counts = rank_counted(nests, without_capacities(accelerator))
    assert costs.feasible.all()
    return counts


def without_capacities(accelerator: Accelerator) -> Accelerator:
    levels = (
        replace(level, buffers=tuple(replace(buffer, capacity_bits=None) for buffer in level.buffers))
        for level in accelerator.levels
    )
    return replace(accelerator, levels=tuple(levels))


def random_reuses(rng: random.Random, dimensions: Order) -> tuple[Reuse, ...]:
    """Of up to four tensors, most of which slide along nothing."""
    out = []
    for _ in range(rng.randint(1, 4)):
        kinds = {d: rng.choice("pppmms" if rng.random() < 0.5 else "pm") for d in dimensions}
        puts, slides = (frozenset(d for d, kind in kinds.items() if kind == wanted) for wanted in "ps")
        out.append(Reuse(puts, slides))
    return tuple(out)


@pytest.mark.parametrize("seed", range(40))
def test_every_permutation_has_one_order_of_its_tails_the_first_by_name(seed: int) -> None:
    rng = random.Random(seed)
    dimensions: Order = tuple(rng.sample("ABCDEF", rng.randint(0, 6)))
    reuses = random_reuses(rng, dimensions)
    first = min_by_tails(reuses, itertools.permutations(dimensions))
    assert orders_of(reuses, frozenset(dimensions)) == tuple(sorted(first.values()))


@pytest.mark.parametrize("seed", range(40))
def test_with_a_prefix_every_permutation_that_begins_with_it_has_one(seed: int) -> None:
    rng = random.Random(f"prefix {seed}")
    dimensions: Order = tuple(rng.sample("ABCDE", rng.randint(1, 5)))
    prefix = tuple(rng.sample("ABCDEF", rng.randint(1, 6)))
    first = tuple(d for d in prefix if d in dimensions)
    reuses = random_reuses(rng, dimensions)
    beginning = (order for order in itertools.permutations(dimensions) if order[: len(first)] == first)
    found = min_by_tails(reuses, beginning)
    assert orders_of(reuses, frozenset(dimensions), prefix) == tuple(sorted(found.values()))


def min_by_tails(reuses: tuple[Reuse, ...], orders: Iterable[Order]) -> dict[tuple[object, ...], Order]:
    """The first order by name of each combination of tails."""
    found: dict[tuple[object, ...], Order] = {}
    for order in orders:
        key = tuple(tail(order, reuse) for reuse in reuses)
        found[key] = min(order, found.get(key, order))
    return found


def test_a_tail_ends_at_the_first_loop_that_moves_the_tile_to_other_words() -> None:
    einsum = Einsum.parse("O[K,P,Q] += W[K,C,R] * I[C,P+R,Q]; K=2 C=2 P=2 Q=1 R=2")
    of_w, of_i, of_o = reuse_of(einsum)
    assert of_w == Reuse(frozenset("P"), frozenset())
    assert of_i == Reuse(frozenset("K"), frozenset("PR"))
    assert of_o == Reuse(frozenset("CR"), frozenset())
    order = ("C", "P", "K", "R")
    assert tail(order, of_w) == ()
    assert tail(order, of_i) == ("R", frozenset("K"), "P")
    assert tail(order, of_o) == (frozenset("R"),)
    assert tail(("K", "R", "C"), of_o) == tail(("K", "C", "R"), of_o) == (frozenset("CR"),)


def test_few_orders_stand_for_many() -> None:
    einsum = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=2 N=2 K=2")
    assert orders_of(reuse_of(einsum), frozenset("MNK")) == (("K", "M", "N"), ("K", "N", "M"), ("M", "N", "K"))
