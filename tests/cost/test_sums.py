"""What every evaluation obeys: parts sum to wholes, nothing is negative, energy is linear, utilization is at most 1."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.arch import Accelerator, Buffer, Energies
from mapper.cost import Evaluation, evaluate, evaluate_one
from mapper.cost.energy import area_um2
from mapper.errors import InputError
from mapper.workload import Einsum
from tests.machines import array, beside, buffer, level, machine
from tests.strategies import Case, random_case

seeds = given(st.integers(min_value=0, max_value=2**32))
GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4")


def drawn(seed: int) -> tuple[Case, Evaluation]:
    """A random case, with energies of its own for every buffer and action."""
    rng = random.Random(seed)
    case = random_case(rng)
    charged = with_buffers(case.accelerator, lambda b: replace(b, energies=random_energies(rng)))
    case = replace(case, accelerator=charged)
    return case, evaluate_one(case.nests, case.accelerator)


def random_energies(rng: random.Random) -> Energies:
    return Energies(rng.uniform(0, 9), rng.uniform(0, 9), rng.uniform(0, 9), "drawn")


def with_buffers(accelerator: Accelerator, change: Callable[[Buffer], Buffer]) -> Accelerator:
    """The accelerator with every buffer changed."""
    levels = tuple(replace(at, buffers=tuple(map(change, at.buffers))) for at in accelerator.levels)
    return replace(accelerator, levels=levels)


@settings(max_examples=50, deadline=None)
@seeds
def test_energy_is_the_sum_of_its_items_however_they_are_grouped(seed: int) -> None:
    case, found = drawn(seed)
    whole = math.fsum(item.energy_pj for item in found.items)
    assert found.energy_pj == pytest.approx(whole, rel=1e-12), str(case)
    for field in ("component", "tensor", "action"):
        assert math.fsum(found.energy_by(field).values()) == pytest.approx(whole, rel=1e-12), field
    assert found.breakdown()["energy_pj"].sum() == pytest.approx(whole, rel=1e-12)
    assert found.edp_pj_cycles == found.energy_pj * found.cycles


@settings(max_examples=50, deadline=None)
@seeds
def test_every_item_costs_its_bits_times_the_energy_of_its_action(seed: int) -> None:
    case, found = drawn(seed)
    buffers = {b.name: b.energies for at in case.accelerator.levels for b in at.buffers}
    for item in found.items:
        if item.component in buffers:
            energies = buffers[item.component]
            each = {"reads": energies.read, "drains": energies.drain}.get(item.action, energies.write)
            assert item.energy_pj == item.bits * each
            assert (item.bits == 0) is (item.count == 0)
    assert found.energy_by("component")["MAC"] == found.points * case.accelerator.compute.energy_pj


@settings(max_examples=50, deadline=None)
@seeds
def test_doubled_energies_double_the_energy_and_nothing_else(seed: int) -> None:
    case, found = drawn(seed)

    def doubled(b: Buffer) -> Buffer:
        e = b.energies
        return replace(b, energies=Energies(2 * e.read, 2 * e.write, 2 * e.drain, e.source))

    compute = replace(case.accelerator.compute, energy_pj=2 * case.accelerator.compute.energy_pj)
    twice = evaluate_one(case.nests, replace(with_buffers(case.accelerator, doubled), compute=compute))
    assert twice.energy_pj == pytest.approx(2 * found.energy_pj, rel=1e-12)
    assert [item.energy_pj for item in twice.items] == [2 * item.energy_pj for item in found.items]
    assert (twice.cycles, twice.tiles, twice.bounds) == (found.cycles, found.tiles, found.bounds)


@settings(max_examples=50, deadline=None)
@seeds
def test_figures_stay_in_their_range(seed: int) -> None:
    case, found = drawn(seed)
    assert 0 < found.utilization <= 1, str(case)
    assert found.fill_drain_cycles >= 0
    assert found.cycles == found.bounds[found.bound_by] == max(found.bounds.values())
    assert found.bounds["compute"] * found.accelerator.pes >= found.points
    assert all(item.count >= 0 and item.bits >= 0 for item in found.items)
    assert all(math.isfinite(value) and value >= 0 for value in found.reuse.values())
    assert all(edge.multicast_max >= 1 and edge.multicast >= 0 for edge in found.edges)


@settings(max_examples=50, deadline=None)
@seeds
def test_what_a_level_reads_for_the_next_is_what_enters_there(seed: int) -> None:
    case, found = drawn(seed)
    counts = {(item.component, item.tensor, item.action): item.count for item in found.items}
    for edge in found.edges:
        at = case.accelerator.levels[case.accelerator.level_names.index(edge.level)]
        name = at.buffer(case.einsum.tensor(edge.tensor)).name
        assert counts[name, edge.tensor, "reads"] == edge.reads
        if edge.tensor != case.einsum.output.name and edge.level != case.accelerator.level_names[0]:
            assert edge.delivered >= edge.reads, str(case)


def test_leakage_runs_for_all_instances_during_all_cycles() -> None:
    idle = machine(level("DRAM", pj=0.0), level("BUF", pj=0.0), mac_pj=0.0, leakage_mw=3.0)
    found = evaluate(GEMM, replace(idle, clock_ghz=2.0), "DRAM: M4 K4 | BUF: N4")
    assert found.energy_pj == 64 * 3.0 / 2.0
    wide = machine(level("DRAM", pj=0.0, x=4, y=4), mac_pj=0.0, leakage_mw=3.0)
    assert evaluate(GEMM, wide, "DRAM: K4 N4 | X: M4").energy_pj == 16 * 16 * 3.0
    with pytest.raises(InputError, match=r"toy: MAC leaks, which needs a clock \(clock_ghz\)"):
        evaluate(GEMM, replace(wide, clock_ghz=None), "DRAM: K4 N4 | X: M4")


def test_counts_name_the_level_also_where_it_has_several_buffers() -> None:
    arch = machine(level("DRAM"), beside("PE", buffer("a", "W"), buffer("b", "I"), buffer("z", "O")))
    counts = evaluate(GEMM, arch, "DRAM: M4 K4 | PE: N4").counts
    assert set(counts["level"]) == {"DRAM", "PE"}


def test_a_component_without_energy_in_the_mapping_is_left_out_not_negative() -> None:
    found = evaluate(GEMM, array(2, 2), "DRAM: M4 K4 N4")
    assert set(found.energy_by("component")) == {"DRAM", "GLB", "RF", "MAC"}
    assert min(found.energy_by("component").values()) > 0


def test_area_counts_every_instance_and_says_what_is_unknown() -> None:
    arch = machine(
        level("DRAM"),
        level("GLB", x=4, y=3, area=100.0),
        beside("RF", buffer("w", "W", area=2.0), buffer("rest", "IO", area=0.5), x=2),
        area=7.0,
    )
    assert area_um2(arch) == {"DRAM": None, "GLB": 100.0, "w": 24.0, "rest": 6.0, "MAC": 168.0}


def test_area_of_a_shipped_spec_is_the_sum_over_its_instances() -> None:
    arch = machine(level("DRAM", area=1.5, x=5), level("BUF", area=2.5), area=0.25)
    known = [area for area in area_um2(arch).values() if area is not None]
    assert sum(known) == 1.5 + 5 * 2.5 + 5 * 0.25


@pytest.mark.parametrize("bandwidth", [None, 1.0])
@pytest.mark.parametrize("double", [False, True])
def test_sums_of_bits_beyond_63_bits_are_refused_not_wrapped(bandwidth: float | None, double: bool) -> None:
    # 2^58 - 2^20 points of 16 bits are below 2^62 for each tensor and action, but not in sum.
    einsum = Einsum.parse("Z[M,N] += A[M,N] * B[M,N]", M=2**38 - 1, N=2**20)
    arch = machine(level("DRAM", shared=bandwidth), level("BUF", words=2**57, double=double))
    with pytest.raises(InputError, match="do not fit 63-bit integers"):
        evaluate(einsum, arch, f"DRAM: | BUF: M{2**38 - 1} N{2**20}")


def test_the_largest_problem_that_is_accepted_is_exact() -> None:
    m, n = 2**27 - 1, 2**26 - 3
    einsum = Einsum.parse("Z[M,N] += A[M,N] * B[M,N]", M=m, N=n)
    arch = machine(level("DRAM", shared=1.0), level("BUF", words=6 * m * n - 1, double=True))
    found = evaluate(einsum, arch, f"DRAM: | BUF: M{m} N{n}")
    assert found.bounds["DRAM shared"] == 3 * m * n
    assert next(o.bits for o in found.occupancy if o.buffer == "BUF") == 6 * m * n * 16
    assert not found.fits


def test_a_bandwidth_of_many_digits_is_exact_and_one_whose_cycles_do_not_fit_is_refused() -> None:
    m = 2**40
    einsum = Einsum.parse("Z[M] += A[M] * B[M]", M=m)
    found = evaluate(einsum, machine(level("DRAM", shared=0.3333333333333333)), f"DRAM: M{m}")
    assert found.bounds["DRAM shared"] == math.ceil(3 * m / Fraction("0.3333333333333333"))
    with pytest.raises(InputError, match="bits per cycle do not fit 63-bit integers"):
        evaluate(einsum, machine(level("DRAM", shared=1e-9)), f"DRAM: M{m}")
