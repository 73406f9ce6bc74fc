"""The dense figures of Timeloop v4 for the mapping given: its own words, its own exceptions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from mapper.arch.accelerator import Axis, Fanout
from mapper.cost import evaluate_one
from tests.golden.cases import Golden, timeloop_cases
from tests.golden.checks import (
    Pairs,
    cycles_with_their_windows,
    operand_energies,
    over_counted,
    sliding_faults,
    unequal,
    unequal_sizes,
)
from tests.golden.convert import TIMELOOP, converted, used_instances

CASES = {case.name: case for case in timeloop_cases()}

EXCEPTIONS: dict[str, Pairs] = {
    "mm_3lvl_noreuse": {("GLB", "A", "reads"): (Fraction(384), 1536)},
    "mm_3lvl_imperfect": {
        ("RF", "A", "reads"): (Fraction(2880, 16), 216),
        ("RF", "B", "reads"): (Fraction(2880, 16), 216),
        ("RF", "Z", "updates"): (Fraction(2880, 16), 216),
        ("RF", "Z", "reads"): (Fraction(2880 - 120, 16), 209),
        ("RF", "Z", "temporal_reductions"): (Fraction(2880 - 120, 16), 209),
        ("RF", "Z", "fills"): (Fraction(960 - 120, 16), 53),
    },
}
"""Ours, theirs."""

OVER_COUNTED: dict[tuple[str, ...], tuple[float, int]] = {
    ("conv1d_Router", "DRAM", "Inputs", "reads"): (46, 48),
    ("conv1d_Router", "BUF", "Inputs", "fills"): (46, 48),
    ("conv2d_3lvl_PQ_halo", "GLB", "Inputs", "reads"): (1152, 4608),
    ("depthwise", "GLB", "Inputs", "reads"): (1152, 2304),
    ("conv2d_3lvl_link", "GLB", "Inputs", "reads"): (480, 1152),
    ("ref_simple_output_stationary", "DRAM", "Inputs", "reads"): (152550, 157296),
    ("ref_simple_output_stationary", "shared_glb", "Inputs", "fills"): (152550, 157296),
}
"""Ours, theirs: overlap that the innermost loop does not make, and halos of neighbours; neither is shared there."""

every_case = pytest.mark.parametrize("case", CASES.values(), ids=str)


def test_every_dense_case_is_there() -> None:
    assert len(CASES) == 31


@every_case
def test_tensors_that_do_not_slide_are_equal_to_the_word_but_for_the_named_exceptions(case: Golden) -> None:
    assert unequal(case, TIMELOOP, sliding=False) == EXCEPTIONS.get(case.name, {})


@every_case
def test_tiles_and_used_instances_are_equal_but_for_imperfect_factors(case: Golden) -> None:
    sixteen_or_thirteen = {("RF", tensor, "instances"): (16, 13) for tensor in "ABZ"}
    assert unequal_sizes(case) == (sixteen_or_thirteen if case.name == "mm_3lvl_imperfect" else {})


@every_case
def test_sliding_tensors_are_as_executed_and_never_above(case: Golden) -> None:
    assert list(sliding_faults(case, TIMELOOP)) == []


def test_only_the_known_windows_are_over_counted_there() -> None:
    assert over_counted(CASES.values(), TIMELOOP) == OVER_COUNTED


@every_case
def test_cycles_are_equal_level_by_level(case: Golden) -> None:
    bounds = case.evaluation.bounds
    for level, cycles in case.level_cycles.items():
        ports = [bound for name, bound in bounds.items() if name.startswith(f"{level} ")]
        assert max([bounds["compute"], *ports]) == cycles, level
    assert case.evaluation.cycles == cycles_with_their_windows(case, TIMELOOP) == case.cycles


@every_case
def test_compute_units_and_points_are_equal(case: Golden) -> None:
    nests = case.evaluation.nests
    assert used_instances(nests, nests.level_count) == case.units
    assert case.evaluation.points == (2880 if case.name == "mm_3lvl_imperfect" else case.computes)


@every_case
def test_what_was_mapped_there_fits_here(case: Golden) -> None:
    assert case.evaluation.fits


@pytest.mark.parametrize("case", [c for n, c in CASES.items() if c.energy_pj and n not in EXCEPTIONS], ids=str)
def test_energy_of_operands_is_equal(case: Golden) -> None:
    for at, energy in operand_energies(case).items():
        assert energy == pytest.approx(case.energy_pj[at], rel=1e-6), at


def test_imperfect_factors_lose_72_of_2880_points_there() -> None:
    case = CASES["mm_3lvl_imperfect"]
    assert case.einsum.points == 10 * 12 * 24 == 2880
    assert case.computes == 216 * 13 == 2808  # 216 cycles of 13 compute units, where 40 in 3 rounds are 13 1/3


def test_no_reuse_of_one_tensor_is_an_axis_that_cannot_multicast_it() -> None:
    case = CASES["mm_3lvl_noreuse"]
    accelerator = case.evaluation.accelerator
    dram, glb, rf = accelerator.levels
    alone = replace(glb, fanout=Fanout(Axis(4), Axis(4, multicast=False)))  # Y carries N, which does not index A
    evaluation = evaluate_one(case.evaluation.nests, replace(accelerator, levels=(dram, alone, rf)))
    assert unequal(replace(case, evaluation=evaluation), TIMELOOP, sliding=False) == {}


def test_read_modify_write_also_reads_and_fills_the_first_time() -> None:
    case = CASES["mm_2lvl_rmw"]
    assert case.rmw
    ours = converted(case.evaluation, TIMELOOP)
    extra = {key: words - ours.get(key, 0) for key, words in case.counts.items() if words != ours.get(key, 0)}
    first_visits = {("DRAM", "reads"), ("DRAM", "temporal_reductions"), ("BUF", "reads"), ("BUF", "fills")}
    first_visits |= {("BUF", "temporal_reductions")}
    assert extra == {(level, "Z", action): 64 for level, action in first_visits}
