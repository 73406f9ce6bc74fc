"""The oracle with zeros against cases made by hand, against itself, and the model against it on random cases."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from mapper.arch.zeros import Format, Zeros
from mapper.cost.single import evaluate_one
from tests.compare_zeros import differences, evaluated
from tests.oracle_zeros import Hardware, compute, plain, run
from tests.strategies_zeros import dense_twin, make_zero_case, random_zero_case

DOT = "Z[] += A[K] * B[K]; K=16"
GEMM = "Z[M,N] += A[M,K] * B[K,N]; M=8 N=8 K=8"
SKIP_A, SKIP_B = frozenset("W"), frozenset("I")
BOTH = SKIP_A | SKIP_B

CASES, CHUNKS = 500, 20


def quarter(size: int = 16) -> list[int]:
    """A mask where every fourth word is nonzero."""
    return [int(i % 4 == 0) for i in range(size)]


def rows(*nonzeros: int, words: int = 4) -> list[list[int]]:
    """A mask of so many nonzeros per row, at its beginning."""
    return [[int(i < n) for i in range(words)] for n in nonzeros]


# Effectual points and cycles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zeros", "cycles", "effectual"),
    [(Zeros(), 16, 16), (Zeros(gate=SKIP_A), 16, 4), (Zeros(skip=SKIP_A), 4, 4), (Zeros(skip=SKIP_B), 16, 16)],
)
def test_gating_saves_energy_and_only_skipping_saves_cycles(zeros: Zeros, cycles: int, effectual: int) -> None:
    counts = run(make_zero_case(DOT, "L0: | L1: K16", {"A": quarter()}, zeros))
    assert (counts.cycles, counts.effectual) == (cycles, effectual)


def test_two_skipped_operands_execute_pairs_of_nonzeros() -> None:
    a = np.arange(8) < 2
    b = np.arange(8) < 4
    masks = {"A": np.tile(a, (8, 1)), "B": np.tile(b, (8, 1))}
    counts = run(make_zero_case(GEMM, "L0: M8 N8 | L1: K8", masks, Zeros(skip=BOTH)))
    assert (counts.dense.points, counts.effectual, counts.cycles) == (512, 64, 64)


def test_skipping_an_operand_of_unknown_zeros_saves_nothing() -> None:
    counts = run(make_zero_case(GEMM, "L0: M8 N8 | L1: K8", {"A": np.ones((8, 8))}, Zeros(skip=BOTH)))
    assert (counts.effectual, counts.cycles) == (512, 512)


@pytest.mark.parametrize("mapping", ["L0: M8 N8 | L1: K8", "L0: M8 K8 N8", "L0: N8 | X: M8 | L1: K8"])
def test_empty_tensor_takes_no_cycle(mapping: str) -> None:
    counts = run(make_zero_case(GEMM, mapping, {"A": np.zeros((8, 8))}, Zeros(skip=SKIP_A)))
    assert (counts.effectual, counts.cycles) == (0, 0)


def test_working_set_waits_for_its_fullest_tile() -> None:
    masks = {"A": rows(4, 1, 0, 2)}
    case = make_zero_case("Z[M,N] += A[M,K] * B[K,N]; M=4 N=3 K=4", "L0: M2 N3 | X: M2 | L1: K4", masks, Zeros(SKIP_A))
    assert run(case).compute == 3 * 4 + 3 * 2


def test_working_sets_weigh_as_often_as_they_are_visited() -> None:
    formula, masks = "Z[M,N] += A[M,K] * B[K,N]; M=4 N=3 K=4", {"A": rows(4, 1, 0, 2)}
    for mapping in ("L0: N3 M2 | X: M2 | L1: K4", "L0: M2 N3 | X: M2 | L1: K4", "L0: M2 | X: M2 | L1: N3 K4"):
        assert run(make_zero_case(formula, mapping, masks, Zeros(SKIP_A))).cycles == 18


def test_two_sided_work_is_even_over_a_longer_period() -> None:
    formula = "Z[M,N] += A[M,K] * B[K,N]; M=1 N=2 K=4"
    masks = {"A": [[1, 1, 1, 0]], "B": [[1, 0], [1, 0], [0, 1], [0, 1]]}
    long, short = "L0: | X: K2 | L1: N2 K2", "L0: K2 | X: N2 | L1: K2"
    assert run(make_zero_case(formula, long, masks, Zeros(skip=BOTH))).cycles == 2
    assert run(make_zero_case(formula, short, masks, Zeros(skip=BOTH))).cycles == 2 + 1


def test_tile_of_one_word_or_shared_by_pes_saves_no_cycles() -> None:
    for mapping in ("L0: K16 | L1:", "L0: K8 | L1: | X: K2"):
        counts = run(make_zero_case(DOT, mapping, {"A": quarter()}, Zeros(skip=SKIP_A)))
        assert (counts.cycles, counts.effectual) == (counts.dense.cycles, 4)


def test_tiles_stand_apart_where_a_level_is_left_out() -> None:
    case = make_zero_case(
        DOT, "L0: | L1: K2 | X: K2 | L2: K4", {"A": quarter()}, Zeros(SKIP_A), keeps=("A B Z", "A B Z", "B Z")
    )
    assert run(case).cycles == 8


# Balancing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("balance", "cycles"), [("none", 4), ("half_tile", 4), ("half_tile_uneven", 4), ("global", 4), ("ideal", 2)]
)
def test_halves_are_cut_along_the_spread_dimension_only(balance: str, cycles: int) -> None:
    """M is spread and one row in each tile: nothing to cut. An uneven cut leaves half a tile empty."""
    masks = {"A": rows(4, 1, 1, 2)}
    case = make_zero_case(
        "Z[M] += A[M,K] * B[K]; M=4 K=4", "L0: | X: M4 | L1: K4", masks, Zeros(SKIP_A), balance=balance
    )
    assert run(case).cycles == cycles


@pytest.mark.parametrize(("balance", "nonzeros"), [("none", 8), ("half_tile", 5), ("global", 5), ("ideal", 5)])
def test_heaviest_half_joins_the_lightest(balance: str, nonzeros: int) -> None:
    masks = {"A": rows(4, 4, 1, 1)}
    case = make_zero_case(
        "Z[M] += A[M,K] * B[K]; M=4 K=4", "L0: | X: M2 | L1: M2 K4", masks, Zeros(SKIP_A), balance=balance
    )
    assert run(case).cycles == nonzeros


def test_pes_that_share_a_tile_count_once_in_balancing() -> None:
    formula, masks = "Z[M,N] += A[M,K] * B[K,N]; M=4 N=2 K=4", {"A": rows(4, 3, 1, 0)}
    mapping = "L0: | X: M2 | Y: N2 | L1: M2 K4"
    assert run(make_zero_case(formula, mapping, masks, Zeros(SKIP_A), balance="half_tile")).cycles == 4


@pytest.mark.parametrize(("balance", "cycles"), [("half_tile", 4), ("global", 3), ("none", 4)])
def test_two_spread_dimensions_are_balanced_globally(balance: str, cycles: int) -> None:
    """Four tiles, the halves of three hold one nonzero each; one dimension alone has no rule for it."""
    masks = {"A": [[1, 1, 1, 1, 1, 0, 1, 0], [1, 0, 1, 0, 1, 0, 1, 0]]}
    formula, mapping = "Z[M] += A[M,K] * B[K]; M=2 K=8", "L0: | X: M2 | Y: K2 | L1: K4"
    assert run(make_zero_case(formula, mapping, masks, Zeros(SKIP_A), balance=balance)).cycles == cycles


@pytest.mark.parametrize(("balance", "cycles"), [("half_tile", 3), ("half_tile_uneven", 2)])
def test_odd_extent_is_cut_only_unevenly(balance: str, cycles: int) -> None:
    masks = {"A": [1, 1, 1, 0, 0, 1]}
    case = make_zero_case("Z[] += A[K] * B[K]; K=6", "L0: | X: K2 | L1: K3", masks, Zeros(SKIP_A), balance=balance)
    assert run(case).cycles == cycles


# Words and bits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zeros", "a", "b", "updates"),
    [
        (Zeros(), 16, 16, 16),
        (Zeros(skip=SKIP_A), 4, 4, 4),
        (Zeros(gate=SKIP_A), 16, 4, 4),
        (Zeros(gate=SKIP_B), 8, 16, 8),
        (Zeros(skip=SKIP_A, gate=SKIP_B), 2, 4, 2),
        (Zeros(skip=BOTH), 2, 2, 2),
    ],
)
def test_private_level_serves_effectual_points(zeros: Zeros, a: int, b: int, updates: int) -> None:
    masks = {"A": quarter(), "B": np.arange(16) < 8}
    counts = run(make_zero_case(DOT, "L0: | L1: K16", masks, zeros))
    assert (counts.words[1, "A", "reads"], counts.words[1, "B", "reads"]) == (a, b)
    assert counts.words.get((1, "Z", "updates")) == updates
    assert counts.words[1, "Z", "reads"] == Fraction(15 * updates, 16)


def test_shared_level_serves_all_but_its_own_zeros() -> None:
    masks = {"A": quarter(), "B": np.arange(16) < 8}
    counts = run(make_zero_case(DOT, "L0: | L1: K8 | X: K2", masks, Zeros(skip=SKIP_A, gate=SKIP_B)))
    assert (counts.words[1, "A", "reads"], counts.words[1, "B", "reads"]) == (4, 16)
    assert (1, "Z", "updates") not in counts.words


def test_each_end_of_a_movement_stores_the_tensor_its_way() -> None:
    formats = ((("L0", "W"), Format("bitmask")), (("L1", "W"), Format("rle", run_bits=3)))
    counts = run(make_zero_case(DOT, "L0: | L1: K4 | L2: K4", {"A": quarter()}, Zeros(formats=formats)))
    assert (counts.words[0, "A", "reads"], counts.bits[0, "A", "reads"]) == (4, 4 * 8 + 16)
    assert (counts.words[1, "A", "fills"], counts.bits[1, "A", "fills"]) == (4, 4 * (8 + 3))
    assert (counts.words[1, "A", "reads"], counts.bits[1, "A", "reads"]) == (4, 4 * (8 + 3))
    assert (counts.words[2, "A", "fills"], counts.bits[2, "A", "fills"]) == (16, 16 * 8)
    assert (counts.words[2, "A", "reads"], counts.words[2, "B", "reads"]) == (16, 16)


@pytest.mark.parametrize(
    ("stored", "bits"),
    [
        (Format("bitmask"), 4 * 8 + 16),
        (Format("csb", block=4, pointer_bits=20), 4 * 8 + 16 + 4 * 20),
        (Format("csb", pointer_bits=20), 4 * 8 + 16 + 20),
        (Format("rle", run_bits=5), 4 * (8 + 5)),
        (Format("coordinate"), 4 * (8 + 4)),
        (Format("n_m", n=2, m=4), 4 * (8 + 2)),
    ],
)
def test_metadata_of_each_format(stored: Format, bits: int) -> None:
    formats = ((("L0", "W"), stored),)
    counts = run(make_zero_case(DOT, "L0: | L1: K16", {"A": quarter()}, Zeros(formats=formats)))
    assert counts.bits[0, "A", "reads"] == bits


def test_positions_of_a_mask_cost_metadata_where_compute_reads() -> None:
    zeros = Zeros(skip=BOTH, formats=((("L1", "W"), Format("bitmask")),))
    masks = {"A": quarter(), "B": np.arange(16) < 8}
    counts = run(make_zero_case(DOT, "L0: | L1: K16", masks, zeros))
    assert (counts.words[1, "A", "reads"], counts.bits[1, "A", "reads"]) == (2, 2 * 8 + 16)


# The oracle against itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(10))
def test_nonzeros_of_a_plain_operand_move_as_often_as_zeros(chunk: int) -> None:
    """The closed form of movements: words times nonzeros over size, exactly."""
    for seed in range(chunk, 100, 10):
        case = random_zero_case(random.Random(seed))
        counts = run(case)
        for (level, tensor, action), nonzeros in counts.nonzeros.items():
            if plain(case.einsum.tensor(tensor)):
                assert nonzeros == counts.shares[level, tensor, action], case


def test_zeros_never_cost_cycles_and_balancing_never_hurts() -> None:
    for seed in range(1000, 1100):
        case = random_zero_case(random.Random(seed))
        hardware = Hardware.of(case)
        none, ideal, mine = (compute(hardware, balance) for balance in ("none", "ideal", case.balance))
        assert ideal <= mine <= none <= compute(Hardware.of(dense_twin(case)), "none"), case


# The model against the oracle -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_model_agrees_with_the_execution_of_masks(chunk: int) -> None:
    for seed in range(chunk, CASES, CHUNKS):
        case = random_zero_case(random.Random(seed))
        found = differences(case)
        assert not found, "\n".join([f"seed {seed}", str(case), *found])


def test_masks_without_zeros_cost_what_dense_tensors_cost() -> None:
    for seed in range(100):
        case = dense_twin(random_zero_case(random.Random(seed)))
        sparse, dense = evaluated(case), evaluate_one(case.nests, case.accelerator)
        assert (sparse.bounds, sparse.items) == (dense.bounds, dense.items), f"seed {seed}\n{case}"
        assert (sparse.cycles, sparse.energy_pj) == (dense.cycles, dense.energy_pj)
