"""Cycles: ports and compute by hand, what fills and drains add, and monotone in bandwidth and in capacity."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.arch import Accelerator, Buffer
from mapper.cost import evaluate, evaluate_one
from mapper.errors import InputError
from mapper.workload import Conv2d, Einsum
from tests.machines import array, beside, buffer, level, machine
from tests.strategies import random_case

seeds = given(st.integers(min_value=0, max_value=2**32))
GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4")


def scaled(accelerator: Accelerator, factor: Fraction) -> Accelerator:
    """Every bandwidth times `factor`."""

    def one(b: Buffer) -> Buffer:
        limits = (b.read_bandwidth, b.write_bandwidth, b.shared_bandwidth)
        read, write, shared = (None if limit is None else limit * factor for limit in limits)
        return replace(b, read_bandwidth=read, write_bandwidth=write, shared_bandwidth=shared)

    levels = tuple(replace(at, buffers=tuple(map(one, at.buffers))) for at in accelerator.levels)
    return replace(accelerator, levels=levels)


@settings(max_examples=50, deadline=None)
@given(st.integers(min_value=0, max_value=2**32), st.fractions(min_value=1, max_value=50, max_denominator=7))
def test_more_bandwidth_never_makes_a_mapping_slower(seed: int, factor: Fraction) -> None:
    case = random_case(random.Random(seed))
    slow = evaluate_one(case.nests, case.accelerator)
    fast = evaluate_one(case.nests, scaled(case.accelerator, factor))
    assert fast.cycles <= slow.cycles, str(case)
    assert all(fast.bounds[name] <= cycles for name, cycles in slow.bounds.items())
    assert fast.fill_drain_cycles <= slow.fill_drain_cycles
    assert fast.energy_pj == slow.energy_pj
    for name, cycles in slow.bounds.items():
        if name != "compute":
            assert fast.bounds[name] >= cycles / factor - 1


@settings(max_examples=40, deadline=None)
@seeds
def test_a_mapping_that_fits_goes_on_fitting_in_larger_buffers(seed: int) -> None:
    rng = random.Random(seed)
    case = random_case(rng)
    held = evaluate_one(case.nests, case.accelerator).occupancy
    bits = {occupancy.buffer: occupancy.bits for occupancy in held}

    def fits(spare: int) -> bool:
        levels = tuple(
            replace(at, buffers=tuple(replace(b, capacity_bits=max(bits[b.name] + spare, 0)) for b in at.buffers))
            for at in case.accelerator.levels
        )
        return evaluate_one(case.nests, replace(case.accelerator, levels=levels)).fits

    assert [fits(spare) for spare in (-1, 0, 1, 1000)] == [False, True, True, True], str(case)


def test_without_limits_only_compute_bounds() -> None:
    found = evaluate(GEMM, machine(level("DRAM"), level("BUF")), "DRAM: M4 K4 | BUF: N4")
    assert found.bounds == {"compute": 64}
    assert (found.bound_by, found.fill_drain_cycles) == ("compute", 0)


def test_each_port_carries_its_actions() -> None:
    arch = machine(level("DRAM", read=0.5, write=0.25, shared=1.0), level("BUF", read=1.0, write=1.0))
    found = evaluate(GEMM, arch, "DRAM: K4 M4 | BUF: N4")
    # DRAM reads A 16, B 16 and Z 48, and is updated 64 times; the buffer is read for A, B, Z and drained.
    assert found.bounds == {
        "compute": 64,
        "DRAM read": 160,
        "DRAM write": 256,
        "DRAM shared": 144,
        "BUF read": 64 + 64 + 48 + 64,
        "BUF write": 16 + 16 + 48 + 64,
    }


def test_an_instance_of_many_carries_its_share() -> None:
    arch = machine(level("DRAM"), level("GLB", x=4), level("RF", read=1.0))
    found = evaluate(GEMM, arch, "DRAM: K4 | GLB: N4 | X: M4")
    assert found.bounds["compute"] == 16
    # One of four: it reads A and B for its 16 points, partial sums of 12 to add to, and sends 16 up.
    drains = sum(i.count for i in found.items if (i.component, i.action) == ("RF", "drains")) // 4
    reads = sum(i.count for i in found.items if (i.component, i.action) == ("RF", "reads")) // 4
    assert found.bounds["RF read"] == drains + reads


def test_first_loads_and_the_last_store_are_reported_beside_the_cycles() -> None:
    arch = machine(level("DRAM", read=2.0, write=1.0), level("BUF"))
    found = evaluate(GEMM, arch, "DRAM: M4 N4 | BUF: K4")
    # 4 words of A and 4 of B at 2 a cycle, then one of Z at 1.
    assert found.fill_drain_cycles == 4 + 1
    assert found.cycles == max(64, (16 + 64) // 2)


def test_levels_fill_one_after_the_other() -> None:
    arch = machine(level("DRAM", shared=1.0), level("GLB", x=4, shared=8.0), level("RF", shared=1.0))
    found = evaluate(GEMM, arch, "DRAM: M4 | GLB: N4 | X: K4")
    # Into the GLB: a row of A and all of B. Into the PEs: 4 words of A, 4 of B. Back: 1 sum, then the row of Z.
    assert found.fill_drain_cycles == (4 + 16) + 1 + 1 + 4


def test_the_last_store_of_finished_words_has_the_width_of_results() -> None:
    arch = machine(level("DRAM", write=1.0), level("BUF"))
    wide = replace(arch, bits=(("W", 16), ("I", 16), ("O", 16), ("partial_sum", 48)))
    assert evaluate(GEMM, wide, "DRAM: M4 | BUF: N4 K4").fill_drain_cycles == 4
    inner = machine(level("DRAM"), level("GLB", write=1.0), level("RF"))
    inner = replace(inner, bits=wide.bits)
    assert evaluate(GEMM, inner, "DRAM: M4 | GLB: N4 | RF: K4").fill_drain_cycles == 1
    assert evaluate(GEMM, inner, "DRAM: M4 K4 | GLB: N4").fill_drain_cycles == 3


def test_buffers_side_by_side_have_ports_of_their_own() -> None:
    arch = machine(beside("DRAM", buffer("a", "W", read=1.0), buffer("b", "I", read=1.0), buffer("z", "O")))
    found = evaluate(GEMM, arch, "DRAM: M4 N4 K4")
    assert found.bounds == {"compute": 64, "a read": 64, "b read": 64}


def test_fractions_of_a_word_per_cycle_round_up_once() -> None:
    einsum = Einsum.parse("Z[M] += A[M] * B[M]; M=7")
    found = evaluate(einsum, machine(beside("DRAM", buffer("a", "W", read=0.3), buffer("r", "IO"))), "DRAM: M7")
    assert found.bounds["a read"] == 24  # 7 / 0.3 = 23.3


def test_bandwidths_beyond_64_bits_are_exact_or_refused() -> None:
    einsum = Einsum.parse("Z[M] += A[M] * B[M]; M=7")
    wide = machine(beside("DRAM", buffer("a", "W", read=1e30, write=1e-30), buffer("r", "IO")))
    found = evaluate(einsum, wide, "DRAM: M7")
    assert (found.bounds["a read"], found.bounds["a write"]) == (1, 0)
    with pytest.raises(InputError, match="do not fit 63-bit integers"):
        evaluate(einsum, machine(beside("DRAM", buffer("a", "W", read=1e-30), buffer("r", "IO"))), "DRAM: M7")


@pytest.mark.parametrize(("bandwidth", "cycles"), [(1.0, 1), (0.5, 2), (0.25, 4), (0.125, 8)])
def test_a_memory_bound_layer_scales_with_its_bandwidth(bandwidth: float, cycles: int) -> None:
    layer = Conv2d(C=16, K=16, R=1, S=1, P=4, Q=4)
    mapping = "DRAM: P4 Q4 | GLB: | X: C16 | Y: K16"
    base = evaluate(layer, array(16, 16, shared=1.0), mapping)
    found = evaluate(layer, array(16, 16, shared=bandwidth), mapping)
    assert found.cycles == cycles * base.cycles
