"""The accelerators that ship: all load without a warning, and their numbers are the published ones."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest

from mapper import shipped
from mapper.arch import Accelerator, Buffer, load_arch

NAMES = (
    "accelforge_eyeriss",
    "ampere_stc",
    "dense_baseline",
    "dense_baseline_eyeriss_ratios",
    "eyeriss",
    "eyeriss_v2_pe",
    "procrustes",
    "procrustes_eyeriss_ratios",
    "scnn_like",
    "simba_like",
    "spartan_gpu",
    "timeloop_p1",
    "timeloop_p5",
    "tpu_like",
)


def buffers(arch: Accelerator) -> list[Buffer]:
    return [buffer for level in arch.levels for buffer in level.buffers]


def per_word(buffer: Buffer, bits: int) -> tuple[float, float, float]:
    energies = buffer.energies
    return (energies.read * bits, energies.write * bits, energies.drain * bits)


def test_these_accelerators_ship() -> None:
    assert set(NAMES) <= set(shipped.names("arch_specs"))


@pytest.mark.parametrize("name", shipped.names("arch_specs"))
def test_every_shipped_spec_loads_under_its_name_with_a_description_and_sources(name: str) -> None:
    arch = load_arch(name)
    assert arch.name == name
    assert arch.description
    sources = [arch.compute.source, *(b.energies.source for b in buffers(arch))]
    if arch.zeros is not None:
        sources += [event.source for event in arch.zeros.events]
        sources += [arch.zeros.overhead_source] * (arch.zeros.overhead_energy > 0 or arch.zeros.overhead_area > 0)
    assert all(len(text) > 10 for text in sources)


def test_procrustes_has_the_40_nm_table() -> None:
    arch = load_arch("procrustes")
    dram, glb, rf = buffers(arch)
    assert arch.level_names == ("DRAM", "GLB", "RF")
    assert arch.instances == (1, 1, 256, 256)
    assert (arch.levels[1].fanout.x.lanes, arch.levels[1].fanout.y.lanes) == (16, 16)
    assert (arch.technology_nm, dict(arch.bits)) == (40, {"W": 32, "I": 32, "O": 32, "partial_sum": 32})
    assert (dram.capacity_bits, glb.capacity_bits, rf.capacity_bits) == (None, 128 * 1024 * 8, 256 * 32)
    assert per_word(dram, 32) == (256, 256, 256)
    assert per_word(glb, 32) == (11.1, 11.8, 11.1)
    assert per_word(rf, 32) == (1.9, 1.9, 1.9)
    assert arch.compute.energy_pj == 32.3
    assert all(level.keep == frozenset("WIO") for level in arch.levels)
    assert all(b.read_bandwidth is b.write_bandwidth is b.shared_bandwidth is None for b in (dram, glb, rf))


def test_procrustes_with_eyeriss_ratios_follows_the_formula() -> None:
    arch = load_arch("procrustes_eyeriss_ratios")
    dram, glb, rf = buffers(arch)

    def sram(kib: float, bits: int) -> float:
        return ((kib - 0.5) * 5 / 99.5 + 1) * bits / 16

    assert per_word(dram, 64) == (800, 800, 800)
    assert per_word(glb, 64) == pytest.approx((sram(128, 64),) * 3, rel=1e-15)
    assert per_word(rf, 32) == pytest.approx((sram(1, 32),) * 3, rel=1e-15)
    assert arch.compute.energy_pj == 4


@pytest.mark.parametrize("suffix", ["", "_eyeriss_ratios"])
def test_the_dense_baseline_is_the_same_hardware(suffix: str) -> None:
    dense, sparse = load_arch(f"dense_baseline{suffix}"), load_arch(f"procrustes{suffix}")
    assert (dense.levels, dense.compute, dense.bits) == (sparse.levels, sparse.compute, sparse.bits)


def test_eyeriss_has_the_published_scratchpads_and_ratios() -> None:
    arch = load_arch("eyeriss")
    dram, glb, ifmap, filters, psum = buffers(arch)
    assert (arch.levels[1].fanout.x.lanes, arch.levels[1].fanout.y.lanes, arch.pes) == (14, 12, 168)
    assert arch.levels[1].keep == frozenset("IO")
    assert glb.capacity_bits == 108 * 1024 * 8
    assert [b.capacity_bits for b in (ifmap, filters, psum)] == [12 * 16, 224 * 16, 24 * 16]
    assert [b.roles for b in (ifmap, filters, psum)] == [frozenset("I"), frozenset("W"), frozenset("O")]
    assert [b.energies.read * 16 for b in (dram, glb, ifmap)] == [200, 6, 1]


def test_timeloop_p1_is_the_problem_as_measured() -> None:
    arch = load_arch("timeloop_p1")
    dram, glb, rf = buffers(arch)
    assert (arch.levels[1].fanout.x.lanes, arch.levels[1].fanout.y.lanes, arch.pes) == (14, 12, 168)
    assert set(dict(arch.bits).values()) == {16}
    assert (dram.capacity_bits, glb.capacity_bits, rf.capacity_bits) == (None, 65536 * 16, 256 * 16)
    assert (per_word(dram, 16), per_word(glb, 16), per_word(rf, 16)) == ((200, 200, 0), (6, 6, 0), (1, 1, 0))
    assert (dram.shared_bandwidth, dram.read_bandwidth, dram.write_bandwidth) == (Fraction(4 * 16), None, None)
    assert (glb.shared_bandwidth, glb.read_bandwidth, glb.write_bandwidth) == (
        None,
        Fraction(16 * 16),
        Fraction(16 * 16),
    )
    assert (rf.shared_bandwidth, rf.read_bandwidth, rf.write_bandwidth) == (None, None, None)
    assert not any(b.drain_on_read_port for b in (dram, glb, rf))
    assert arch.compute.energy_pj == 1


def test_timeloop_p5_is_the_problem_as_measured() -> None:
    arch = load_arch("timeloop_p5")
    dram, glb, rf = buffers(arch)
    assert (arch.levels[1].fanout.x.lanes, arch.levels[1].fanout.y.lanes) == (2, 2)
    assert (glb.capacity_bits, rf.capacity_bits) == (32 * 16, 6 * 16)
    assert (dram.shared_bandwidth, glb.read_bandwidth, glb.write_bandwidth) == (
        Fraction(2 * 16),
        Fraction(4 * 16),
        Fraction(4 * 16),
    )
    assert (per_word(dram, 16), per_word(glb, 16), per_word(rf, 16)) == ((200, 200, 0), (6, 6, 0), (1, 1, 0))
    assert not any(b.drain_on_read_port for b in (dram, glb, rf))


def test_accelforge_eyeriss_is_the_problem_as_measured() -> None:
    arch = load_arch("accelforge_eyeriss")
    dram, glb, inputs, weights, outputs = buffers(arch)
    assert (arch.clock_ghz, arch.technology_nm, set(dict(arch.bits).values())) == (0.2, 65, {8})
    assert (dram.energies.read, dram.energies.write, dram.energies.drain) == (8, 8, 0)
    assert dram.shared_bandwidth == Fraction(3_355_443_200, 200_000_000)
    assert (glb.capacity_bits, glb.shared_bandwidth, glb.leakage_mw) == (1_048_576, Fraction(32 * 64), 0.25508)
    assert per_word(glb, 64) == (90.564, 91.223, 0)
    assert (arch.levels[1].keep, arch.levels[1].may_keep) == (frozenset(), frozenset("WIO"))
    x, y = arch.levels[1].fanout.x, arch.levels[1].fanout.y
    assert (x.lanes, x.irrelevant_to, y.lanes, y.irrelevant_to) == (14, frozenset("W"), 12, frozenset("O"))
    pads = [(b.roles, b.capacity_bits, b.energies.read, b.energies.write, b.leakage_mw) for b in buffers(arch)[2:]]
    assert pads == [
        (frozenset("I"), 192, 0.022734, 0.031555, 4.3816e-4),
        (frozenset("W"), 3072, 0.040153, 0.062356, 7.6637e-4),
        (frozenset("O"), 256, 0.026247, 0.037287, 4.4144e-4),
    ]
    assert {b.energies.drain for b in (inputs, weights, outputs)} == {0.0}
    assert (arch.compute.energy_pj, arch.compute.leakage_mw) == (1.28138, 8.8519e-3)


def test_tpu_like_keeps_only_weights_in_its_array() -> None:
    arch = load_arch("tpu_like")
    assert arch.pes == 128 * 128
    assert arch.levels[2].keep == frozenset("W")
    assert arch.levels[2].buffers[0].capacity_bits == 2 * 8
    assert [b.roles for b in arch.levels[1].buffers] == [frozenset("I"), frozenset("O")]


def test_simba_like_has_five_levels_and_three_fanouts() -> None:
    arch = load_arch("simba_like")
    assert arch.instances == (1, 1, 16, 128, 1024, 1024)
    assert arch.levels[3].buffers[0].capacity_bits == 3 * 1024 * 8 // 8, "an eighth of 3 KiB"


def test_hardware_alone_imports_neither_pydantic_nor_yaml() -> None:
    code = "import sys, mapper.arch; print([m for m in ('pydantic', 'ruamel.yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
