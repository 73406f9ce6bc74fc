"""The oracle against counts made by hand, and against itself: sums come out right whatever the loop nest."""

from __future__ import annotations

import itertools
import random

import pytest

from mapper.workload.einsum import Einsum
from tests.oracle import OracleCounts, run
from tests.strategies import MAX_INSTANCES, MAX_POINTS, make_case, random_case

CONV1D = "O[K,P] += W[K,C,R] * I[C,P+R]; K={K} C={C} R=3 P=16"


def oracle(formula: str, mapping: str, keeps: tuple[str, ...] = ()) -> OracleCounts:
    """Execute a case written by hand; each sum must come out right."""
    counts = run(make_case(formula, mapping, keeps))
    assert counts.result == counts.expected
    assert counts.points == Einsum.parse(formula).points
    return counts


def moved(counts: OracleCounts, level: int, tensor: str, actions: str) -> tuple[int, ...]:
    return tuple(counts[level, tensor, action] for action in actions.split())


@pytest.mark.parametrize(
    ("mapping", "reads"),
    [("L0: K32 P16 | L1: R3", 576), ("L0: K16 P16 | L1: K2 R3", 288), ("L0: P16 K32 | L1: R3", 18)],
)
def test_window_slides_over_inputs_that_stay(mapping: str, reads: int) -> None:
    assert oracle(CONV1D.format(K=32, C=1), mapping)[0, "I", "reads"] == reads


@pytest.mark.parametrize("order", ["P16 R3", "R3 P16"])
def test_conv1d_in_one_buffer_moves_each_word_once(order: str) -> None:
    counts = oracle(CONV1D.format(K=1, C=1), f"L0: | L1: {order}")
    assert (counts.points, counts.cycles) == (48, 48)
    assert counts[0, "W", "reads"] == counts[1, "W", "fills"] == 3
    assert counts[0, "I", "reads"] == counts[1, "I", "fills"] == 18
    assert moved(counts, 0, "O", "fills reads updates drains") == (0, 0, 16, 0)
    assert moved(counts, 1, "O", "fills reads updates drains") == (0, 32, 48, 16)


def test_partial_sums_return_when_the_reduction_is_outermost() -> None:
    gemm = "Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4"
    assert moved(oracle(gemm, "L0: K4 M4 | L1: N4"), 0, "Z", "updates reads") == (64, 48)
    assert moved(oracle(gemm, "L0: M4 K4 | L1: N4"), 0, "Z", "updates reads") == (16, 0)


@pytest.mark.parametrize(
    "mapping",
    [
        "L0: P4 C8 K2 | X: K16 | L1: R3 P4 C4",
        "L0: C2 K2 P16 | X: K16 | Y: R3 | L1: C16",
        "L0: R3 | X: K16 C2 | L1: C16 K2 P16",
    ],
)
def test_reductions_are_the_same_for_every_mapping(mapping: str) -> None:
    counts = oracle(CONV1D.format(K=32, C=32), mapping)
    assert counts.temporal_reductions + counts.spatial_reductions == 49152 - 512 == 48640


@pytest.mark.parametrize(("taps", "words"), [(1, 28 * 28), (3, 57 * 57)])
def test_strided_inputs_are_counted_without_holes(taps: int, words: int) -> None:
    formula = f"O[P,Q] += W[R,S] * I[2*P+R,2*Q+S]; P=28 Q=28 R={taps} S={taps}"
    assert oracle(formula, f"L0: | L1: P28 Q28 R{taps} S{taps}")[1, "I", "fills"] == words


def test_one_level_has_no_fills() -> None:
    counts = oracle("Z[M] += A[M,K] * B[K]; M=3 K=4", "L0: M3 K4")
    assert moved(counts, 0, "Z", "fills reads updates drains") == (0, 9, 12, 0)
    assert moved(counts, 0, "A", "fills reads") == moved(counts, 0, "B", "fills reads") == (0, 12)


def test_array_shares_the_halo_of_a_filter() -> None:
    counts = oracle("O[P] += W[R] * I[P+R]; P=3 R=3", "L0: | X: P3 | Y: R3 | L1:")
    assert counts.cycles == 1
    assert moved(counts, 0, "I", "reads") == (5,)
    assert moved(counts, 1, "I", "fills") == (9,)
    assert counts.edge[1, "I"] == {"reductions": 0, "max_multicast": 3}
    assert counts.edge[1, "O"] == {"reductions": 6, "max_multicast": 3}


def test_seven_tiles_on_four_lanes_take_two_rounds() -> None:
    counts = oracle("O[P] += W[] * I[P]; P=7", "L0: P2 | X: P4 | L1:")
    assert (counts.cycles, counts.lanes, counts.active_lanes, counts.points) == (2, 4, 4, 7)
    assert moved(counts, 1, "I", "fills") == moved(counts, 0, "I", "reads") == (7,)
    assert moved(counts, 1, "W", "fills") == (4,)
    assert counts.instance[1, (3, 0)]["O", "drains"] == 1


def test_lane_idle_in_a_dimension_of_the_tensor_holds_nothing() -> None:
    counts = oracle("Z[P,M] += A[P] * W[M]; P=2 M=3", "L0: P2 M2 | X: M2 | L1:")
    assert counts.instance[1, (0, 0)]["W", "fills"] == 4
    assert counts.instance[1, (1, 0)]["W", "fills"] == 2
    counts = oracle("Z[P,M] += A[P] * W[M]; P=2 M=1", "L0: P2 | X: M1 | L1:")
    assert counts[1, "W", "fills"] == 1


def test_lane_idle_in_another_dimension_loads_nothing_that_counts() -> None:
    counts = oracle("Z[P,M] += A[P] * W[M]; P=2 M=3", "L0: M2 P2 | X: M2 | L1:")
    assert counts.instance[1, (0, 0)]["A", "fills"] == 4
    assert counts.instance[1, (1, 0)]["A", "fills"] == 2
    assert counts[0, "A", "reads"] == 4


def test_refill_goes_to_the_first_reducing_child() -> None:
    counts = oracle("Z[M] += A[M,K] * B[K]; M=2 K=4", "L0: K2 M2 | X: K2 | L1:")
    assert moved(counts, 0, "Z", "fills reads updates drains") == (0, 2, 4, 0)
    assert moved(counts, 1, "Z", "fills reads updates drains") == (2, 2, 8, 8)
    assert counts.instance[1, (0, 0)]["Z", "fills"] == counts.instance[1, (0, 0)]["Z", "reads"] == 2
    assert ("Z", "fills") not in counts.instance[1, (1, 0)]
    assert (counts.temporal_reductions, counts.spatial_reductions) == (2, 4)
    assert counts.final_updates == {(0, ()): 2}


def test_lanes_below_the_innermost_level_share_its_reads() -> None:
    counts = oracle("Z[M,N] += A[M,K] * B[K,N]; M=2 N=2 K=2", "L0: | L1: M2 | X: N2 | Y: K2")
    assert counts.cycles == 2
    assert moved(counts, 1, "A", "reads") == (4,)
    assert moved(counts, 1, "B", "reads") == (8,)
    assert moved(counts, 1, "Z", "updates reads drains") == (4, 0, 4)
    assert counts.edge[2, "Z"] == {"reductions": 4, "max_multicast": 2}


def test_bypassed_level_is_transparent() -> None:
    counts = oracle("Z[M] += A[M,K] * B[K]; M=2 K=2", "L0: M2 | L1: K2 | L2:", ("Z A B", "A", "A B Z"))
    assert moved(counts, 0, "B", "reads") == moved(counts, 2, "B", "fills") == (4,)
    assert moved(counts, 1, "B", "fills reads") == (0, 0)
    assert moved(counts, 0, "Z", "updates reads") == (2, 0)


@pytest.mark.parametrize("seed", range(300))
def test_sums_are_right_for_every_loop_nest(seed: int) -> None:
    """Each point lands once in its word, and the description's identities of partial sums hold when executed."""
    case = random_case(random.Random(seed))
    counts, output = run(case), case.einsum.output.name
    assert counts.result == counts.expected, str(case)
    assert counts.points == case.einsum.points <= MAX_POINTS
    assert counts.lanes <= MAX_INSTANCES
    assert counts.temporal_reductions + counts.spatial_reductions == case.einsum.points - len(counts.expected)
    assert counts.final_updates[0, ()] == len(counts.expected)
    chain = [level for level, kept in enumerate(case.nests.keeps) if output in kept]
    from_zero = len(counts.expected)
    for parent, child in itertools.pairwise(chain):
        fills, _, _, drains = moved(counts, child, output, "fills reads updates drains")
        united = drains - counts.edge[child, output]["reductions"]
        assert counts[parent, output, "updates"] == united, str(case)
        assert counts[parent, output, "reads"] == fills == united - from_zero, str(case)
        from_zero = drains - fills
    innermost = chain[-1]
    assert counts[innermost, output, "reads"] == counts[innermost, output, "updates"] - from_zero, str(case)


def test_instances_add_up_to_the_totals() -> None:
    for seed in range(100):
        counts = run(random_case(random.Random(seed)))
        for (level, tensor, action), total in counts.counts.items():
            mine = [c.get((tensor, action), 0) for (at, _), c in counts.instance.items() if at == level]
            assert sum(mine) == total
