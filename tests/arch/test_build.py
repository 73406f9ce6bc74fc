"""What a spec means: bits, bits per cycle and picojoules per bit, exactly as its decimal text says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from mapper.arch import Accelerator, Axis, Compute, Energies, arch_template, load_arch
from mapper.errors import InputError, MapperWarning
from tests.arch.specs import Load, bent

GLB_BANDWIDTH = "bandwidth_words_per_cycle: {read: 16, write: 8}"


def glb_with(load: Load, new: str, *more: tuple[str, str]) -> Accelerator:
    return load(bent((GLB_BANDWIDTH, new), *more))


def test_words_and_kib_become_bits(load: Load) -> None:
    arch = load(bent())
    dram, glb, rf = (level.buffers[0] for level in arch.levels)
    assert (dram.capacity_bits, glb.capacity_bits, rf.capacity_bits) == (None, 64 * 8192, 256 * 16)
    assert (glb.read_bandwidth, glb.write_bandwidth, glb.shared_bandwidth) == (Fraction(256), Fraction(128), None)
    assert glb.energies == Energies(read=6 / 16, write=7 / 16, drain=0.0, source="s")
    assert arch.compute == Compute(1.0, "s")
    assert arch.bits == (("W", 16), ("I", 16), ("O", 16), ("partial_sum", 32))
    assert arch.instances == (1, 1, 168, 168)
    assert (arch.name, arch.clock_ghz, arch.technology_nm) == ("right", 1.0, None)


def test_a_drain_costs_a_read_unless_given(load: Load) -> None:
    dram, glb, _ = (level.buffers[0] for level in load(bent()).levels)
    assert dram.energies.drain == dram.energies.read == 12.5
    assert glb.energies.drain == 0.0


@pytest.mark.parametrize(
    ("size", "bits"),
    [
        ("capacity_kib: 0.5", 4096),
        ("capacity_bytes: 3", 24),
        ("capacity_bits: 7", 7),
        ("capacity_words: 3", 48),
        ("capacity_words: 3\n    word_bits: 24", 72),
        ("capacity: unlimited", None),
    ],
)
def test_a_capacity_is_exact_in_every_unit(load: Load, size: str, bits: int | None) -> None:
    assert load(bent(("capacity_words: 256", size))).levels[2].buffers[0].capacity_bits == bits


def test_case_27_25_6_gb_per_s_at_1_ghz_are_12_8_words_of_16_bits(load: Load) -> None:
    arch = glb_with(load, "bandwidth_gb_per_s: {shared: 25.6}")
    bits_per_cycle = arch.levels[1].buffers[0].shared_bandwidth
    assert bits_per_cycle == Fraction(1024, 5)
    assert bits_per_cycle / 16 == Fraction("12.8")


@pytest.mark.parametrize(
    ("given", "clock", "bits"),
    [
        ("bandwidth_gb_per_s: {shared: 34}", "0.7", Fraction(2720, 7)),
        ("bandwidth_gb_per_s: {shared: 0.1}", "0.3", Fraction(8, 3)),
        ("bandwidth_bits_per_cycle: {shared: 16.777216}", "1", Fraction(16777216, 1000000)),
        ("bandwidth_words_per_cycle: {shared: 0.1}", "1", Fraction(8, 5)),
        ("bandwidth_words_per_cycle: {shared: 1e-9}", "1", Fraction(16, 10**9)),
        ("bandwidth_words_per_cycle: {shared: 2}\n    word_bits: 24", "1", Fraction(48)),
        ("bandwidth: unlimited", "1", None),
    ],
)
def test_a_bandwidth_is_the_fraction_of_its_decimal_text(
    load: Load, given: str, clock: str, bits: Fraction | None
) -> None:
    arch = glb_with(load, given, ("clock_ghz: 1.0", f"clock_ghz: {clock}"))
    assert arch.levels[1].buffers[0].shared_bandwidth == bits


def test_case_27_ports_that_contradict_the_bandwidth_warn_with_both_numbers(load: Load) -> None:
    message = (
        "a.yaml:11: levels.GLB: port_width_bits 64 x ports 4 is 256 bits per cycle, "
        "but bandwidth_words_per_cycle is 204.8 bits per cycle; bandwidth_words_per_cycle counts"
    )
    given = "bandwidth_words_per_cycle: {shared: 12.8}\n    port_width_bits: 64\n    ports: 4"
    with pytest.warns(MapperWarning) as caught:
        arch = glb_with(load, given)
    assert [str(warning.message) for warning in caught] == [message]
    assert arch.levels[1].buffers[0].shared_bandwidth == Fraction("204.8")


@pytest.mark.parametrize("given", ["{shared: 16}", "{read: 12, write: 4}", "{read: 16}"])
def test_ports_that_agree_with_the_bandwidth_do_not_warn(load: Load, given: str) -> None:
    glb_with(load, f"bandwidth_words_per_cycle: {given}\n    port_width_bits: 64\n    ports: 4")


def test_ports_alone_are_a_shared_bandwidth(load: Load) -> None:
    arch = glb_with(load, "port_width_bits: 64\n    ports: 4")
    assert arch.levels[1].buffers[0].shared_bandwidth == 256
    assert arch.levels[1].buffers[0].read_bandwidth is None


@pytest.mark.parametrize(
    ("lines", "keep", "may_keep"),
    [
        ("", "WIO", ""),
        ("\n    keep: [I, O]", "IO", ""),
        ("\n    may_keep: [W]", "IO", "W"),
        ("\n    may_keep: [W, I, O]", "", "WIO"),
        ("\n    keep: [I]\n    may_keep: [O]", "I", "O"),
    ],
)
def test_keep_is_whatever_may_keep_leaves_unless_given(load: Load, lines: str, keep: str, may_keep: str) -> None:
    level = load(bent(("name: GLB", f"name: GLB{lines}"))).levels[1]
    assert (level.keep, level.may_keep) == (frozenset(keep), frozenset(may_keep))
    assert level.buffers[0].roles == frozenset(keep + may_keep)


def test_buffers_side_by_side_hold_their_own_tensors(load: Load) -> None:
    spads = """may_keep: [W]
    buffers:
      - {name: w_spad, tensors: [W], capacity_bits: 8, energy_pj_per_bit: {read: 1, write: 2, source: s}, area_um2: 5}
      - name: io_spad
        tensors: [I, O]
        capacity_words: 2
        energy_pj_per_word: {read: 1, write: 1, source: s}
        leakage_mw: 0.25
        double_buffered: true
        drain_on_read_port: false
"""
    edits = (("capacity_words: 256\n    energy_pj_per_word: {read: 1, write: 1, source: s}\n", spads),)
    level = load(bent(*edits)).levels[2]
    first, second = level.buffers
    assert (level.keep, level.may_keep) == (frozenset("IO"), frozenset("W"))
    assert (first.name, first.roles, first.capacity_bits, first.area_um2) == ("w_spad", frozenset("W"), 8, 5.0)
    assert (second.name, second.roles, second.capacity_bits, second.leakage_mw) == (
        "io_spad",
        frozenset("IO"),
        32,
        0.25,
    )
    assert second.double_buffered
    assert not second.drain_on_read_port


def test_a_fanout_says_what_its_axes_can_and_may(load: Load) -> None:
    fanout = "{x: 14, y: 12, pes: 168, multicast: {x: true, y: false}, reduction: false, spread_x: [K, N], "
    fanout += "spread_y_irrelevant_to: [O]}"
    arch = load(bent(("{x: 14, y: 12}", fanout), ("name: RF", "name: RF\n    instances: 168")))
    assert arch.levels[1].fanout.x == Axis(14, True, False, frozenset("KN"))
    assert arch.levels[1].fanout.y == Axis(12, False, False, None, frozenset("O"))
    assert load(bent(("{x: 14, y: 12}", "{y: 3}"))).levels[1].fanout.lanes == 3


def test_bits_of_each_tensor_override_the_default(load: Load) -> None:
    arch = load(bent(("partial_sum: 32", "W: 8, O: 24, partial_sum: 40")))
    assert arch.bits == (("W", 8), ("I", 16), ("O", 24), ("partial_sum", 40))


def test_no_clock_is_needed_where_nothing_depends_on_it(load: Load) -> None:
    assert load(bent(("clock_ghz: 1.0\n", ""))).clock_ghz is None


def test_an_energy_of_zero_may_be_stated(load: Load) -> None:
    assert load(bent(("energy_pj: 1,", "energy_pj: 0,"))).compute.energy_pj == 0.0


def test_a_spec_loads_from_a_path_or_by_name(load: Load, tmp_path: Path) -> None:
    arch = load(bent())
    assert load_arch(tmp_path / "a.yaml") == load_arch("./a.yaml") == arch
    Path("mine").write_text(bent(), encoding="utf-8")
    Path("procrustes").write_text(bent(), encoding="utf-8")
    assert load_arch("mine") == arch
    assert load_arch("procrustes").name == "procrustes", "a shipped name goes first"


def test_a_name_that_does_not_ship_is_an_error_with_the_nearest(load: Load) -> None:
    load(bent())
    with pytest.raises(
        InputError, match=r"'procruste' ships, and there is no such file \(did you mean 'procrustes'\?\)"
    ):
        load_arch("procruste")
    with pytest.raises(InputError, match=r"^b\.yaml: no such file \(did you mean 'a\.yaml'\?\)$"):
        load_arch("b.yaml")


@pytest.mark.parametrize("name", ["mine", "168", "v1.0-b", "NO"])
def test_the_template_loads_under_its_name(load: Load, name: str) -> None:
    text = arch_template(name)
    arch = load(text)
    assert arch.name == name
    assert arch.instances == (1, 1, 16, 16)
    assert text.count("\n") < 80
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", 'a"', "a\n"])
def test_a_template_needs_a_name_for_a_file(name: str) -> None:
    with pytest.raises(InputError, match="cannot name an accelerator"):
        arch_template(name)
