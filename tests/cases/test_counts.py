"""Field cases 1 to 6, 8 and 9: counts. Right values are derived by hand; neighbours of the same kind stand beside."""

from __future__ import annotations

import math
import random
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.cli.main import cli
from mapper.cost import Evaluation, evaluate, evaluate_one
from mapper.errors import InputError
from mapper.mapping import parse_partitioning
from mapper.mapping.loopnest import Nests
from mapper.search.space import Mapspace
from mapper.workload import Conv2d, Einsum, load_layer
from tests.machines import dram_words, level, machine, words
from tests.strategies import random_case

CONV1D = "O[K,P] += W[K,R] * I[{u}*P+{d}*R]; K={K} P=16 R={R}"
GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4")
WIDE = Einsum.parse("O[K,P] += W[K,C,R] * I[C,P+R]; K=32 C=32 R=3 P=16")

TWO = machine(level("DRAM"), level("BUF"))
SPREAD = machine(level("DRAM"), level("GLB", x=16, y=16, may_keep="WIO"), level("RF", may_keep="WIO"))


def conv1d(K: int = 1, R: int = 3, u: int = 1, d: int = 1) -> Einsum:
    return Einsum.parse(CONV1D.format(K=K, R=R, u=u, d=d))


# 1: the window slides over inputs that stay ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mapping", "reads", "held"),
    [
        ("DRAM: K32 P16 | BUF: R3", 576, 3 + 3 + 1),
        ("DRAM: K16 P16 | BUF: K2 R3", 288, 6 + 3 + 2),
        ("DRAM: P16 K32 | BUF: R3", 18, 3 + 3 + 1),
    ],
)
def test_case_01_a_buffer_of_one_output_column_reads_inputs_by_loop_order(mapping: str, reads: int, held: int) -> None:
    found = evaluate(conv1d(K=32), machine(level("DRAM"), level("BUF", words=held)), mapping)
    assert words(found, "DRAM", "I", "reads") == words(found, "BUF", "I", "fills") == (reads,)
    assert sum(count for (at, _), count in found.tiles.items() if at == "BUF") == held
    assert found.fits


@pytest.mark.parametrize(
    ("stride", "dilation", "taps", "reads"),
    [
        (2, 1, 3, 15 * 2 + 3),  # neighbours share one of three
        (3, 1, 3, 16 * 3),  # neighbours touch
        (4, 1, 3, 16 * 3),  # a word between neighbours is never read
        (1, 2, 3, 16 * 3),  # p, p+2, p+4: the next column shares none of them
        (2, 2, 3, 15 * 1 + 3),  # as stride 1, dilation 1 on the even words
        (1, 1, 5, 20),
    ],
)
def test_case_01_windows_share_what_stride_and_dilation_leave(
    stride: int, dilation: int, taps: int, reads: int
) -> None:
    once = evaluate(conv1d(32, taps, stride, dilation), TWO, f"DRAM: P16 K32 | BUF: R{taps}")
    again = evaluate(conv1d(32, taps, stride, dilation), TWO, f"DRAM: K32 P16 | BUF: R{taps}")
    assert words(once, "DRAM", "I", "reads") == (reads,)
    assert words(again, "DRAM", "I", "reads") == (32 * reads,)


def test_case_01_windows_slide_in_the_plane() -> None:
    plane = Einsum.parse("O[P,Q] += W[R,S] * I[P+R,Q+S]; P=6 Q=5 R=3 S=3")
    rows = evaluate(plane, TWO, "DRAM: P6 Q5 | BUF: R3 S3")
    assert words(rows, "DRAM", "I", "reads") == (6 * (3 * 3 + 4 * 3),)
    columns = evaluate(plane, TWO, "DRAM: Q5 P6 | BUF: R3 S3")
    assert words(columns, "DRAM", "I", "reads") == (5 * (3 * 3 + 5 * 3),)
    lines = evaluate(plane, TWO, "DRAM: P6 | BUF: Q5 R3 S3")
    assert words(lines, "DRAM", "I", "reads") == (8 * 7,)


# 2, 3: partial sums ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mapping", ["DRAM: | BUF: P16 R3", "DRAM: | BUF: R3 P16"])
def test_case_02_output_and_weight_stationary_loops_move_each_word_once(mapping: str) -> None:
    found = evaluate(conv1d(), TWO, mapping)
    assert found.macs == found.points == 48
    assert found.cycles == 48
    assert words(found, "DRAM", "W", "reads") == (3,)
    assert words(found, "DRAM", "I", "reads") == (18,)
    assert words(found, "DRAM", "O", "updates reads") == (16, 0)
    assert words(found, "BUF", "O", "updates reads fills") == (48, 32, 0)


@pytest.mark.parametrize(
    ("mapping", "writes", "rereads"),
    [
        ("DRAM: K4 M4 | BUF: N4", 64, 48),
        ("DRAM: M4 K4 | BUF: N4", 16, 0),
        ("DRAM: K2 M4 | BUF: K2 N4", 32, 16),
        ("DRAM: K2 M4 K2 | BUF: N4", 32, 16),
    ],
)
def test_case_03_partial_sums_return_only_below_an_outer_reduction(mapping: str, writes: int, rereads: int) -> None:
    found = evaluate(GEMM, TWO, mapping)
    assert found.tiles["BUF", "Z"] == 4
    assert words(found, "DRAM", "Z", "updates reads") == (writes, rereads)
    assert words(found, "BUF", "Z", "fills drains") == (rereads, writes)


# 4: reductions --------------------------------------------------------------------------------------------------------


@cache
def wide_space() -> Mapspace:
    return Mapspace(WIDE, SPREAD, parse_partitioning("any", WIDE.dimensions))


@cache
def wide_chains(dimension: str) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Chains of a dimension of `WIDE`: 16 lanes of X for K, which leaves the others Y."""
    chains = wide_space().chains(dimension)
    place = wide_space().places(dimension)
    x, y = place.index((1, "x")), place.index((1, "y"))
    chosen = (chains[:, x] == 16) & (chains[:, y] == 1) if dimension == "K" else chains[:, x] == 1
    return np.asarray(chains[chosen])


def random_wide(rng: random.Random) -> Nests:
    """A mapping of `WIDE` with K16 on X and anything on Y, in any loop order, keeping anything."""
    space = wide_space()
    while True:
        picked = [rng.choice(list(wide_chains(dimension))) for dimension in space.looped]
        row = np.concatenate(picked)[None]
        lanes = [n for n, (place, _) in zip(row[0], space.columns(), strict=True) if place == (1, "y")]
        if math.prod(lanes) <= 16:
            break
    orders = tuple(tuple(rng.sample(space.looped, len(space.looped))) for _ in SPREAD.levels)
    return space.nests(orders, rng.choice(space.keeps()), row)


def reductions(found: Evaluation) -> int:
    return found.temporal_reductions + sum(found.reductions.values())


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_case_04_reductions_are_the_same_for_every_mapping(seed: int) -> None:
    found = evaluate_one(random_wide(random.Random(seed)), SPREAD)
    assert "K16" in str(found.mapping)
    assert reductions(found) == 49_152 - 512 == 48_640, str(found.mapping)


@pytest.mark.parametrize(
    "mapping",
    [
        "DRAM: P16 | GLB[W,I,O]: C2 | X: K16 | Y: C16 | RF[W,I,O]: K2 R3",
        "DRAM: R3 C32 | GLB[]: P4 | X: K16 | Y: P4 | RF[O]: K2",
        "DRAM: C32 K2 | GLB[O]: P4 | X: K16 | Y: P5 | RF[W]: R3",
    ],
)
def test_case_04_reductions_with_temporal_spatial_and_idle_lanes(mapping: str) -> None:
    assert reductions(evaluate(WIDE, SPREAD, mapping)) == 48_640


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_case_04_every_einsum_is_reduced_points_less_outputs_times(seed: int) -> None:
    case = random_case(random.Random(seed))
    found = evaluate_one(case.nests, case.accelerator)
    output = math.prod(case.einsum.extent[d] for d in case.einsum.output.dimensions)
    assert reductions(found) == case.einsum.points - output, str(case)


# 5, 6: strided inputs -------------------------------------------------------------------------------------------------

ALEXNET_TILES = """\
DRAM
W K96 C3 R11 S11 34,848 words
I C3 h227 w227 154,587 words
O K96 P55 Q55 290,400 words
GLB
W K1 C3 R11 S11 363 words
I C3 h11 w227 7,491 words
O K1 P1 Q55 55 words
RF
W K1 C1 R11 S11 121 words
I C1 h11 w11 121 words
O K1 P1 Q1 1 words"""


def test_case_05_alexnet_conv1_reads_an_input_of_227_by_227() -> None:
    derived = Conv2d(C=3, K=96, R=11, S=11, P=55, Q=55, stride=4)
    assert (derived.H, derived.W) == (227, 227)
    for layer in (derived, load_layer("alexnet_grouped:conv1")):
        found = evaluate(layer, "procrustes", "DRAM: K96 P55 | GLB: Q55 | X: C3 | RF: R11 S11")
        assert found.tiles["DRAM", "I"] == 3 * 227 * 227 == 154_587


def test_case_05_explain_prints_tile_dimensions_and_words_of_every_level_and_tensor() -> None:
    mapping = "DRAM: K96 P55 | GLB: Q55 | X: C3 | RF: R11 S11"
    arguments = ["explain", "alexnet_grouped:conv1", "--arch", "procrustes", "--mapping", mapping]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    nest = lines[lines.index("DRAM") :]
    tiles = [line.split(" words")[0] + " words" if " words" in line else line.split(" (")[0] for line in nest]
    at = 0
    for expected in ALEXNET_TILES.splitlines():
        assert expected in tiles[at:], expected
        at += tiles[at:].index(expected)


def test_case_05_the_torchvision_variant_touches_227_of_its_228_padded_rows() -> None:
    layer = load_layer("alexnet:conv1")
    found = evaluate(layer, "procrustes", "DRAM: K64 P55 | GLB: Q55 | X: C3 | RF: R11 S11")
    assert found.tiles["DRAM", "I"] == 3 * 227 * 227
    padded = layer.parts("fw")[0].einsum.operands[1]
    assert found.tiles["DRAM", "I"] - padded.padding_words == 3 * 224 * 224


@pytest.mark.parametrize(
    ("taps", "stride", "dilation", "span", "touched"),
    [
        (1, 2, 1, 55, 28),  # holes: 784 words, not 55 x 55 = 3,025
        (3, 2, 1, 57, 57),  # all of the span
        (1, 3, 1, 82, 28),
        (2, 3, 1, 83, 56),
        (2, 4, 2, 111, 56),
        (3, 2, 2, 59, 30),  # strides and taps both skip the odd words
        (3, 4, 3, 115, 84),  # three residues of four, no two windows meet
        (3, 1, 2, 32, 32),
    ],
)
def test_case_06_holes_of_strided_inputs_are_not_words(
    taps: int, stride: int, dilation: int, span: int, touched: int
) -> None:
    layer = Conv2d(C=1, K=1, R=taps, S=taps, P=28, Q=28, stride=stride, dilation=dilation)
    assert (layer.H, layer.W) == (span, span)
    found = evaluate(layer, TWO, f"DRAM: | BUF: P28 Q28 R{taps} S{taps}")
    assert found.tiles["BUF", "I"] == touched**2
    assert words(found, "DRAM", "I", "reads") == words(found, "BUF", "I", "fills") == (touched**2,)


def test_case_06_a_1x1_layer_of_stride_2_has_784_inputs() -> None:
    found = evaluate(Conv2d(C=1, K=8, R=1, S=1, P=28, Q=28, stride=2), TWO, "DRAM: P28 Q28 | BUF: K8")
    assert words(found, "DRAM", "I", "reads") == (784,) != (3_025,)
    three = evaluate(Conv2d(C=1, K=8, R=3, S=3, P=28, Q=28, stride=2), TWO, "DRAM: P28 | BUF: Q28 K8 R3 S3")
    assert words(three, "DRAM", "I", "reads") == (57 * 57,)


# 8: nothing above -----------------------------------------------------------------------------------------------------


def test_case_08_one_level_has_no_fills_and_finite_energy() -> None:
    found = evaluate(Einsum.parse("Z[M] += A[M,K] * B[K]; M=3 K=4"), machine(level("DRAM")), "DRAM: M3 K4")
    assert all(item.count == 0 for item in found.items if item.action in ("fills", "drains"))
    assert words(found, "DRAM", "A", "reads") == words(found, "DRAM", "B", "reads") == (12,)
    assert words(found, "DRAM", "Z", "updates reads") == (12, 9)
    assert math.isfinite(found.energy_pj)
    assert found.energy_pj == 12 + 12 + 12 + 9 + 12
    assert all(math.isfinite(edge.multicast) for edge in found.edges)
    assert found.fill_drain_cycles == 0


def test_case_08_an_einsum_of_one_point_on_one_level_costs_its_words() -> None:
    found = evaluate(Einsum.parse("Z[] += A[K] * B[K]; K=1"), machine(level("DRAM")), "DRAM:")
    assert (found.cycles, found.utilization, dram_words(found)) == (1, 1.0, 3)


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_case_08_no_count_is_ever_negative(seed: int) -> None:
    case = random_case(random.Random(seed))
    found = evaluate_one(case.nests, case.accelerator)
    assert all(item.count >= 0 and item.bits >= 0 and item.energy_pj >= 0 for item in found.items), str(case)
    assert all(count >= 0 for count in (*found.reductions.values(), found.temporal_reductions)), str(case)
    assert all(edge.reads >= 0 and edge.delivered >= 0 and edge.multicast >= 0 for edge in found.edges), str(case)
    assert min(found.tiles.values()) >= 1, str(case)
    assert found.cycles == max(found.bounds.values()) >= 1, str(case)


def test_case_08_counts_of_the_largest_problems_are_exact() -> None:
    m, n, k = 2**19 + 1, 2**19 - 1, 2**15 - 1
    gemm = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=m, N=n, K=k)
    found = evaluate(gemm, TWO, f"DRAM: M{m} N{n} K{k} | BUF:")
    assert words(found, "DRAM", "A", "reads") == words(found, "DRAM", "B", "reads") == (m * n * k,)
    assert words(found, "DRAM", "Z", "updates reads") == (m * n, 0)
    assert found.cycles == m * n * k


@pytest.mark.parametrize("power", [55, 58, 60, 62, 63, 64, 80])
def test_case_08_counts_beyond_63_bits_are_refused(power: int) -> None:
    m, k = 2 ** (power // 2), 2 ** (power - power // 2)
    gemm = Einsum.parse("Z[M] += A[M,K] * B[K]", M=m, K=k)
    with pytest.raises(InputError, match="do not fit 63-bit integers"):
        evaluate(gemm, TWO, f"DRAM: M{m} | BUF: K{k}")


# 9: neighbours on the array -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["X: P3 | Y: R3", "X: R3 | Y: P3"])
def test_case_09_a_3_by_3_array_reads_five_distinct_inputs(axes: str) -> None:
    found = evaluate(
        Einsum.parse("O[P] += W[R] * I[P+R]; P=3 R=3"), machine(level("GLB", x=3, y=3), level("RF")), f"GLB: | {axes}"
    )
    assert found.cycles == 1
    assert words(found, "GLB", "I", "reads") == (5,)
    assert words(found, "RF", "I", "fills") == (9,)
    edge = next(edge for edge in found.edges if (edge.level, edge.tensor) == ("GLB", "I"))
    assert (edge.multicast, edge.multicast_max) == (9 / 5, 3)


@pytest.mark.parametrize(
    ("stride", "dilation", "distinct"), [(2, 1, 7), (3, 1, 9), (1, 2, 7), (2, 2, 5), (1, 3, 9), (3, 2, 9)]
)
def test_case_09_strides_and_dilations_change_what_neighbours_share(stride: int, dilation: int, distinct: int) -> None:
    einsum = Einsum.parse(f"O[P] += W[R] * I[{stride}*P+{dilation}*R]; P=3 R=3")
    found = evaluate(einsum, machine(level("GLB", x=3, y=3), level("RF")), "GLB: | X: P3 | Y: R3")
    assert distinct == len({stride * p + dilation * r for p in range(3) for r in range(3)})
    assert words(found, "GLB", "I", "reads") == (distinct,)


def test_case_09_halos_of_a_16_by_16_array_of_3x3_filters_are_shared() -> None:
    einsum = Einsum.parse("O[P,Q] += W[R,S] * I[P+R,Q+S]; P=16 Q=16 R=3 S=3")
    found = evaluate(einsum, machine(level("GLB", x=16, y=16), level("RF")), "GLB: | X: P16 | Y: Q16 | RF: R3 S3")
    assert words(found, "GLB", "I", "reads") == (18 * 18,)
    assert 18 * 18 / 256 == pytest.approx(1.27, abs=0.005)
    assert words(found, "RF", "I", "fills") == (256 * 9,)
