"""What N:M stores and saves, beside published figures; and what blocks of zeros save a GPU in training."""

from __future__ import annotations

import importlib.util
import math
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

import mapper
from mapper.arch import load_arch
from mapper.sparsity.formats import stored_share

SCRIPTS = Path(__file__).parents[1] / "scripts"


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


structured, spartan = _script("reproduce_structured"), _script("reproduce_spartan")


# N:M.


@pytest.mark.parametrize(("bits", "share"), [(16, Fraction(5625, 10000)), (8, Fraction(625, 1000))])
def test_2_4_weights_leave_dram_in_exactly_56_25_and_62_5_percent_of_dense_bits(bits: int, share: Fraction) -> None:
    arch = structured.with_pattern(load_arch("ampere_stc"), 2, 4, bits)
    dense, sparse = (structured.on_tensor_cores(128, 1152, 1024, arch, density) for density in (None, "2:4"))
    moved = [structured.moved_bits(evaluation, "DRAM", "A") for evaluation in (sparse, dense)]
    assert moved[1] == 16 * 128 * 1152 * bits  # once for every 64 of 1024 columns
    assert Fraction(moved[0]) / Fraction(moved[1]) == share


@pytest.mark.parametrize(("n", "m"), structured.PATTERNS)
def test_n_m_stores_what_the_formula_says_and_is_m_over_n_times_faster(n: int, m: int) -> None:
    arch = structured.with_pattern(load_arch("ampere_stc"), n, m)
    dense, sparse = (structured.on_tensor_cores(128, 1152, 1024, arch, density) for density in (None, f"{n}:{m}"))
    moved = [Fraction(structured.moved_bits(evaluation, "DRAM", "A")) for evaluation in (sparse, dense)]
    assert moved[0] / moved[1] == stored_share(n, m, 16)
    assert sparse.cycles * m == dense.cycles * n
    assert sparse.utilization == dense.utilization == 1.0


def test_weights_that_hold_more_than_the_pattern_are_stored_densely() -> None:
    arch = load_arch("ampere_stc")
    dense, sparse = (structured.on_tensor_cores(128, 1152, 1024, arch, density) for density in (None, "3:4"))
    assert structured.moved_bits(sparse, "DRAM", "A") == structured.moved_bits(dense, "DRAM", "A")


# The case study.


def test_tensor_cores_take_the_cycles_of_the_case_study_exactly() -> None:
    rows = list(structured.tensor_cores())
    assert len(rows) == 32
    assert all(row["ours"] == row["theirs"] for row in rows)


def test_a_dense_gemm_takes_the_same_cycles_on_the_dual_side_core() -> None:
    for m, k, n, _ in structured.LAYERS:
        assert structured.dual_side(m, k, n, (1.0, 1.0)).cycles == m * k * n // 1024


def test_the_dual_side_core_issues_whole_groups_of_nonzeros_of_each_side() -> None:
    # Of 32 words at density 0.5 the mean of ceil(z / 8) is 2.4297 groups of 4, at 0.25 it is 1.3999.
    ours = structured.dual_side(128, 1152, 1024, (0.5, 0.25)).cycles / (128 * 1152)
    groups = [sum(math.comb(32, z) * d**z * (1 - d) ** (32 - z) * -(-z // 8) for z in range(33)) for d in (0.5, 0.25)]
    assert ours == pytest.approx(groups[0] * groups[1] / 16, rel=1e-4)


def test_the_dual_side_core_is_within_6_percent_where_weights_are_dense_and_lacks_an_overhead_elsewhere() -> None:
    rows = structured.dstc()
    ratios = {(row["activations"], row["weights"]): row["ours / theirs"] for row in rows}
    assert all(abs(ratio - 1) < 0.06 for (_, weights), ratio in ratios.items() if weights == "1.0")
    assert sum(abs(ratio - 1) <= 0.1 for ratio in ratios.values()) == 7
    assert (min(ratios.values()), max(ratios.values())) == pytest.approx((0.607, 1.026), abs=0.001)
    assert structured.line(rows, "theirs") == pytest.approx((0.147, 0.999), abs=0.001)


def test_the_measured_dual_side_core_is_within_12_percent() -> None:
    rows = structured.measured()
    assert all(abs(row["ours / measured"] - 1) < 0.12 for row in rows)
    assert all(abs(row["fit / measured"] - 1) < 0.1 for row in rows)
    assert structured.line(rows, "measured") == pytest.approx((0.148, 0.873), abs=0.001)


def test_layers_of_eyeriss_v2_take_up_to_7_percent_more_cycles_in_rtl_and_dense_ones_the_same() -> None:
    rows = list(structured.eyeriss_v2())
    assert len(rows) == 16
    assert all(0.93 < row["ours / RTL"] < 1 for row in rows if row["kind"] == "1x1")
    assert all(row["ours"] == row["RTL"] for row in rows if row["kind"] == "3x3")


# The whole chip.


def test_the_a100_peaks_at_its_312_tflops() -> None:
    arch = load_arch("a100_stc")
    assert arch.pes == 108 * 4 * 256
    assert structured.tflops(1152, 1152**3 // arch.pes, arch) == pytest.approx(312, rel=1e-3)


def test_a_small_gemm_is_bound_by_memory_and_a_large_one_twice_as_fast_at_2_4() -> None:
    small, large = structured.sweep((576, 2304))
    assert small["bound by"] == small["2:4 bound by"] == "L2 read"
    assert small["speed-up"] == pytest.approx(1.218, abs=0.001)
    assert large["speed-up"] == 2.0
    assert large["dense"] == 2 * large["2:4"] == 2304**3 // (108 * 1024)


# Blocks of zeros, the monitor.


def test_blocks_of_16_save_nothing_unless_rows_are_packed() -> None:
    product = spartan.Product("fw", 729, 1728, 384, (0.5, 1.0))
    dense = product.points / 64
    assert spartan.cycles(product, 1, False) / dense == pytest.approx(0.5, abs=1e-5)
    assert spartan.cycles(product, 16, False) / dense == pytest.approx(1 - 0.5**16, abs=1e-5)
    assert spartan.cycles(product, 16, True) / dense == pytest.approx(0.5 + 7.5 / 1728, abs=1e-4)


def test_both_operands_skipped_take_the_product_of_their_densities() -> None:
    product = spartan.Product("wu", 1728, 729, 384, (0.5, 0.25))
    assert spartan.cycles(product, 1, False) / (product.points / 64) == pytest.approx(0.125, abs=1e-5)


def test_products_of_training_have_the_points_of_the_convolution() -> None:
    layer = mapper.load_network("alexnet")["conv3"]
    found = list(spartan.products(layer, (0.5, 0.4), "masked"))
    assert [one.phase for one in found] == ["fw", "bw", "wu"]
    assert {one.points for one in found} == {layer.macs}
    assert [one.densities for one in found] == [(0.5, 1.0), (0.4, 1.0), (0.5, 0.4)]


def test_a_first_layer_has_no_backward_product() -> None:
    layer = mapper.load_network("alexnet")["conv1"]
    assert [one.phase for one in spartan.products(layer, (1.0, 0.4), "dense")] == ["fw", "wu"]


def test_the_standard_error_of_a_sampled_density_is_the_formula() -> None:
    assert spartan.standard_error(0.5, 4096) == 0.5 / 64
    for row in spartan.monitor((0.25,)):
        assert row["simulated / formula"] == pytest.approx(1, abs=0.1)


def test_the_monitor_is_charged_one_read_per_sampled_word() -> None:
    rows = list(spartan.monitor_cost())
    assert [row["monitor, pJ"] for row in rows] == pytest.approx([11.1 * samples for samples in spartan.SAMPLES])
    assert all(row["share, ppm"] < 100 for row in rows)
