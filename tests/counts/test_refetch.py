"""Which loop moves words again: factors against a step-by-step count, and their product against the model."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from mapper.counts.refetch import Moves, moves
from mapper.counts.traffic import Action, Sharing, count, kept_levels
from mapper.mapping.loopnest import Nests, Slot
from mapper.workload.einsum import Einsum, Tensor
from tests.strategies import random_case

ONCE = Fraction(1)


def two_levels(einsum: Einsum, outer: list[tuple[str, int]]) -> Nests:
    """Temporal loops over a buffer that holds what is left of each dimension."""
    left = dict(einsum.extent)
    for dimension, factor in outer:
        left[dimension] //= factor
    loops = [(0, d, n) for d, n in outer] + [(1, d, n) for d, n in left.items()]
    slots = tuple(Slot(level, "t", dimension) for level, dimension, _ in loops)
    everything = frozenset(t.name for t in einsum.tensors)
    return Nests(einsum, slots, np.array([[n for _, _, n in loops]]), (everything, everything))


def by_hand(nests: Nests, tensor: Tensor) -> list[Fraction]:
    """`times` of each outer loop, by executing the loops: F(j) forgets at every step of a loop outside j."""
    loops = [i for i, slot in enumerate(nests.slots) if slot.level == 0]
    strides = [
        math.prod(int(nests.factors[0, k]) for k in range(i + 1, len(nests.slots)) if nests.slots[k].dimension == d)
        for i, d in ((i, nests.slots[i].dimension) for i in loops)
    ]
    held, needed = [], []
    for j in range(len(loops) + 1):
        moved, groups = 0, dict[tuple[int, ...], set[tuple[int, ...]]]()
        before: set[tuple[int, ...]] = set()
        for step in itertools.product(*(range(int(nests.factors[0, i])) for i in loops)):
            if all(counter == 0 for counter in step[j:]):
                before = set()
            now = tile(nests, tensor, loops, strides, step)
            moved += len(now - before)
            groups.setdefault(step[:j], set()).update(now)
            before = now
        held.append(moved)
        needed.append(sum(map(len, groups.values())))
    return [Fraction(needed[j + 1] * held[j], needed[j] * held[j + 1]) for j in range(len(loops))]


def tile(
    nests: Nests, tensor: Tensor, loops: list[int], strides: list[int], step: tuple[int, ...]
) -> set[tuple[int, ...]]:
    start = dict.fromkeys(nests.einsum.dimensions, 0)
    for index, stride, counter in zip(loops, strides, step, strict=True):
        start[nests.slots[index].dimension] += stride * counter
    inside = {s.dimension: int(n) for s, n in zip(nests.slots, nests.factors[0], strict=True) if s.level == 1}
    ranges = [range(start[d], start[d] + inside[d]) for d in nests.einsum.dimensions]
    return {
        tuple(
            sum(t.coefficient * at[nests.einsum.dimensions.index(t.dimension)] for t in rank) for rank in tensor.ranks
        )
        for at in itertools.product(*ranges)
    }


def blame(found: Moves) -> list[float]:
    """`times` of each loop, outermost first."""
    return [float(cause.times) for cause in found.causes]


@pytest.mark.parametrize("seed", range(60))
def test_each_loop_is_blamed_for_what_execution_shows(seed: int) -> None:
    rng = random.Random(seed)
    einsum = Einsum.parse(
        f"O[K,P] += W[K,C,R] * I[C,{rng.randint(1, 3)}*P+{rng.randint(1, 3)}*R]", K=4, C=2, P=rng.choice((4, 6)), R=3
    )
    outer = [("K", 2), ("K", 2), ("C", 2), ("P", 2), ("P", einsum.extent["P"] // 2), ("R", 3)]
    nests = two_levels(einsum, rng.sample(outer, rng.randint(1, len(outer))))
    for tensor in einsum.tensors:
        found = moves(nests, tensor, 0, 1, Sharing.everywhere(2))
        assert [cause.times for cause in found.causes] == by_hand(nests, tensor), (str(einsum), nests)


@pytest.mark.parametrize("block", range(6))
def test_blame_multiplies_to_words_moved_over_distinct_words(block: int) -> None:
    for seed in range(50 * block, 50 * (block + 1)):
        case = random_case(random.Random(seed))
        sharing = Sharing(case.multicast)
        traffic = count(case.nests, sharing)
        for tensor in case.einsum.tensors:
            action: Action = "updates" if tensor is case.einsum.output else "reads"
            for parent, level in itertools.pairwise(kept_levels(case.nests, tensor)):
                found = moves(case.nests, tensor, parent, level, sharing)
                words = int(traffic.words[parent, tensor.name, action][0])
                if parent == 0 and tensor.name in traffic.padding:
                    words += int(traffic.padding[tensor.name][0])
                assert found.words == words
                assert math.prod(cause.times for cause in found.causes) == found.times
                assert all(cause.times >= 1 for cause in found.causes)


def test_the_loop_outside_the_one_that_moves_the_tile_refetches_it() -> None:
    conv = Einsum.parse("O[K,P] += W[K,R] * I[P+R]; K=32 P=16 R=3")
    inputs = conv.tensor("I")
    bad = moves(two_levels(conv, [("K", 32), ("P", 16)]), inputs, 0, 1, Sharing.everywhere(2))
    good = moves(two_levels(conv, [("P", 16), ("K", 32)]), inputs, 0, 1, Sharing.everywhere(2))
    assert (bad.words, bad.distinct, blame(bad)) == (576, 18, [32, 1])
    assert (good.words, good.distinct, blame(good)) == (18, 18, [1, 1])


def test_partial_sums_leave_because_the_reduction_is_outermost() -> None:
    gemm = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4")
    found = moves(two_levels(gemm, [("K", 4), ("M", 4)]), gemm.output, 0, 1, Sharing.everywhere(2))
    assert (found.words, found.distinct, blame(found)) == (64, 16, [4, 1])


def test_halo_is_read_again_where_another_loop_moves_the_window_between() -> None:
    conv = Einsum.parse("O[P] += W[C,R] * I[C,P+R]; C=2 P=4 R=3")
    slid = moves(two_levels(conv, [("C", 2), ("P", 4)]), conv.tensor("I"), 0, 1, Sharing.everywhere(2))
    again = moves(two_levels(conv, [("P", 4), ("C", 2)]), conv.tensor("I"), 0, 1, Sharing.everywhere(2))
    assert slid.times == ONCE
    # Windows of 3 words, 4 positions, 2 channels: 24 words for 12 distinct ones.
    assert (again.words, again.distinct, blame(again)) == (24, 12, [2, 1])
