"""The dense figures of the Procrustes simulator, for every mapping and accelerator it was run with."""

from __future__ import annotations

import pytest

from tests.golden.cases import Golden, procrustes_cases, slides
from tests.golden.checks import (
    cycles_with_their_windows,
    operand_energies,
    over_counted,
    sliding_faults,
    unequal,
    unequal_sizes,
)
from tests.golden.convert import PROCRUSTES

CASES = procrustes_cases()

OVER_COUNTED: dict[tuple[str, ...], tuple[float, int]] = {
    ("fw_conv3_CK", "GLB", "Inputs", "reads"): (13568, 15360),
    ("fw_conv3_CK", "RF", "Inputs", "fills"): (848, 960),
    ("fw_conv3_KN", "GLB", "Inputs", "reads"): (7680, 9216),
    ("fw_conv3_KN", "RF", "Inputs", "fills"): (480, 576),
    ("fw_conv3_PQ", "GLB", "Inputs", "reads"): (10368, 73728),
    ("bw_conv3_CK", "GLB", "Outputs", "reads"): (13568, 15360),
    ("bw_conv3_CK", "RF", "Outputs", "fills"): (848, 960),
    ("bw_conv3_KN", "GLB", "Outputs", "reads"): (122880, 147456),
    ("bw_conv3_KN", "RF", "Outputs", "fills"): (480, 576),
    ("bw_conv3_PQ", "GLB", "Outputs", "reads"): (5184, 36864),
    ("wu_conv3_CK", "GLB", "Outputs", "reads"): (13568, 15360),
    ("wu_conv3_CK", "RF", "Outputs", "fills"): (848, 960),
    ("s_fw_conv3_CK", "GLB", "Inputs", "reads"): (480, 576),
    ("s_fw_conv3_CK", "RF", "Inputs", "fills"): (120, 144),
    ("s_fw_conv3_KN", "GLB", "Inputs", "reads"): (1920, 2304),
    ("s_fw_conv3_KN", "RF", "Inputs", "fills"): (480, 576),
    ("s_fw_conv3_CN", "GLB", "Inputs", "reads"): (15360, 18432),
    ("s_fw_conv3_CN", "RF", "Inputs", "fills"): (960, 1152),
    ("s_dw_CN", "GLB", "Inputs", "reads"): (3840, 4608),
    ("s_dw_CN", "RF", "Inputs", "fills"): (240, 288),
    ("s_bw_dw_CN", "GLB", "Outputs", "reads"): (3840, 4608),
    ("s_bw_dw_CN", "RF", "Outputs", "fills"): (240, 288),
    ("s_bw_conv3_CK", "DRAM", "Outputs", "reads"): (704, 768),
    ("s_bw_conv3_CK", "GLB", "Outputs", "fills"): (704, 768),
    ("s_wu_conv3_CK", "GLB", "Outputs", "reads"): (960, 1152),
    ("s_wu_conv3_CK", "RF", "Outputs", "fills"): (240, 288),
    ("s_wu_conv3_PQ", "GLB", "Outputs", "reads"): (1152, 4608),
    ("s_fw_bypass_W_GLB", "GLB", "Inputs", "reads"): (480, 576),
    ("s_fw_bypass_W_GLB", "RF", "Inputs", "fills"): (120, 144),
    ("s_fw_bandwidth", "GLB", "Inputs", "reads"): (480, 576),
    ("s_fw_bandwidth", "RF", "Inputs", "fills"): (120, 144),
    ("s_fw_overflow_PQ", "GLB", "Inputs", "reads"): (2304, 9216),
    ("s_fw_weight1", "GLB", "Inputs", "reads"): (1472, 1536),
    ("s_fw_weight1", "RF", "Inputs", "fills"): (368, 384),
}
"""Ours, theirs: windows that move along two axes, and halos of neighbours, which are not shared there."""

LOWER_CYCLES = {"s_fw_bandwidth": (4976, 5024)}
"""Ours, theirs: the over-counted window of that case bounds its cycles."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def test_all_95_cases_are_there_each_once() -> None:
    ids = [name for case in CASES for name in case.ids]
    assert len(ids) == len(set(ids)) == 95
    assert len(CASES) == 29


@every_case
def test_tensors_that_do_not_slide_are_equal_to_the_word(case: Golden) -> None:
    assert unequal(case, PROCRUSTES, sliding=False) == {}


@every_case
def test_tiles_and_used_instances_are_equal(case: Golden) -> None:
    assert unequal_sizes(case) == {}


@every_case
def test_sliding_tensors_are_as_executed_and_never_above(case: Golden) -> None:
    assert list(sliding_faults(case, PROCRUSTES)) == []


def test_only_the_known_windows_are_over_counted_there() -> None:
    assert over_counted(CASES, PROCRUSTES) == OVER_COUNTED


@every_case
def test_cycles_are_equal_unless_an_over_counted_window_bounds_them(case: Golden) -> None:
    assert cycles_with_their_windows(case, PROCRUSTES) == case.cycles
    assert (case.evaluation.cycles, case.cycles) == LOWER_CYCLES.get(case.name, (case.cycles, case.cycles))


@every_case
def test_multicast_below_the_glb_is_equal_or_shares_halos_too(case: Golden) -> None:
    edges = {edge.tensor: edge for edge in case.evaluation.edges if edge.level == "GLB"}
    for tensor, receivers in case.multicast.items():
        if tensor not in edges:
            assert not any(level == "GLB" for level, name in case.evaluation.tiles if name == tensor), "bypasses"
        elif slides(case.einsum, tensor):
            assert edges[tensor].multicast_max >= receivers
        else:
            assert edges[tensor].multicast == edges[tensor].multicast_max == receivers


@every_case
def test_energy_of_operands_is_equal(case: Golden) -> None:
    for at, energy in operand_energies(case).items():
        assert energy == pytest.approx(case.energy_pj[at], rel=1e-6), at


@every_case
def test_only_the_cases_made_to_overflow_do_not_fit(case: Golden) -> None:
    assert case.evaluation.fits == (not case.name.startswith("s_fw_overflow"))
