"""The `zeros:` block: what it means, and each way it can be wrong, with the line and the nearest valid."""

from __future__ import annotations

import pytest

from mapper.arch import Accelerator, arch_template, load_arch
from mapper.arch.zeros import Event, Format, Zeros
from mapper.errors import InputError
from tests.arch.specs import RIGHT, Load, bent

FULL = """\
zeros:
  skip: [W]
  gate: [I]
  balance: half_tile
  formats:
    DRAM: csb
    GLB: {W: {kind: csb, block: 9, pointer_bits: 18}, I: rle}
    RF: {W: 2:4, I: {kind: csc, index_bits: 4}, O: bitmask}
  capacity_quantile: 0.95
  skip_block: 16
  compaction: true
  monitor_samples: 4096
  overhead: {energy: 0.11, area: 0.14, source: paper}
  events:
    - {name: estimator, kind: gradient, energy_pj: 1.5, area_um2: 20, source: guess}
    - {name: monitor, kind: sample, energy_pj: 0, source: guess}
"""
FIRST = RIGHT.count("\n") + 1
"""Line of `zeros:`."""


def zeros(load: Load, block: str) -> Zeros:
    found = load(RIGHT + block).zeros
    assert found is not None
    return found


def refusal(load: Load, block: str) -> str:
    with pytest.raises(InputError) as caught:
        load(RIGHT + block)
    return str(caught.value)


def test_hardware_without_the_block_does_nothing_about_zeros(load: Load) -> None:
    assert load(RIGHT).zeros is None


def test_every_key_arrives(load: Load) -> None:
    assert zeros(load, FULL) == Zeros(
        skip=frozenset("W"),
        gate=frozenset("I"),
        balance="half_tile",
        formats=(
            (("DRAM", "W"), Format("csb", pointer_bits=20)),
            (("GLB", "W"), Format("csb", block=9, pointer_bits=18)),
            (("GLB", "I"), Format("rle", run_bits=4)),
            (("RF", "W"), Format("n_m", n=2, m=4)),
            (("RF", "I"), Format("csc", index_bits=4)),
            (("RF", "O"), Format("bitmask")),
        ),
        events=(Event("estimator", "gradient", 1.5, "guess", 20.0), Event("monitor", "sample", 0.0, "guess")),
        overhead_energy=0.11,
        overhead_area=0.14,
        overhead_source="paper",
        capacity_quantile=0.95,
        skip_block=16,
        compaction=True,
        monitor_samples=4096,
    )


def test_what_is_not_given_does_nothing(load: Load) -> None:
    assert zeros(load, "zeros: {skip: [W]}\n") == Zeros(skip=frozenset("W"))
    assert zeros(load, "zeros: {}\n") == Zeros()


def test_a_format_is_found_by_level_and_role_and_events_by_kind(load: Load) -> None:
    found = zeros(load, FULL)
    assert found.format("GLB", "W") == Format("csb", 9, 18)
    assert found.format("DRAM", "I") is found.format("ALU", "W") is None
    assert [event.name for event in found.events_of("sample")] == ["monitor"]
    assert found.events_of("sort") == ()


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("DRAM: csb", "DRAM: {W: {kind: csb, pointer_bits: 20}}"),
        ("DRAM: 1:4", "DRAM: {W: {kind: n_m, n: 1, m: 4}}"),
        ("RF: {I: rle}", "RF: {I: {kind: rle, run_bits: 4}}"),
        ("RF: {I: dense}, DRAM: csb", "DRAM: csb, RF: {I: {kind: dense}}"),
    ],
)
def test_short_forms_mean_the_long_ones(load: Load, short: str, long: str) -> None:
    assert zeros(load, f"zeros: {{formats: {{{short}}}}}\n") == zeros(load, f"zeros: {{formats: {{{long}}}}}\n")


def test_a_level_that_may_keep_a_tensor_may_store_it_in_a_format(load: Load) -> None:
    text = bent(("name: GLB", "name: GLB\n    keep: [I, O]\n    may_keep: [W]"))
    found = load(text + "zeros: {formats: {GLB: csb}}\n").zeros
    assert found is not None
    assert found.format("GLB", "W") == Format("csb")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("skip:", "skips:", 1, "skips: unknown key (did you mean 'skip'?)"),
        ("[W]\n  gate", "[V]\n  gate", 1, "skip.0: expected 'W' or 'I', found 'V'"),
        ("[W]\n  gate", "[O]\n  gate", 1, "skip.0: expected 'W' or 'I', found 'O'"),
        ("[W]\n  gate", "W\n  gate", 1, "skip: expected a list, found 'W'"),
        ("[W]\n  gate", "[W, W]\n  gate", 1, "skip: W is given twice"),
        ("gate: [I]", "gate: [I, W]", 2, "gate: W is in skip too (skipped or gated: choose)"),
        ("half_tile", "half_tiel", 3, "balance: no balance 'half_tiel' (did you mean 'half_tile'?)"),
        ("half_tile", "3", 3, 'balance: expected text, found 3 (as text, write "3")'),
        ("DRAM: csb", "DRAN: csb", 5, "formats: no level 'DRAN' (did you mean 'DRAM'?)"),
        ("DRAM: csb", "DRAM: bitmap", 5, "formats.DRAM.W: no format 'bitmap' (did you mean 'bitmask'?)"),
        ("DRAM: csb", "DRAM: [csb]", 5, "formats.DRAM: expected a mapping, found a list"),
        ("DRAM: csb", "DRAM: {kind: csb}", 5, "formats.DRAM.kind: unknown key (one of: W, I, O)"),
        ("DRAM: csb", "DRAM: {W: 2}", 5, "formats.DRAM.W: expected the name of a format or {kind: ..., ...}, found 2"),
        ("DRAM: csb", "DRAM: 5:4", 5, "formats.DRAM.W.n: 5 of every 4 words (at most 4)"),
        ("DRAM: csb", "DRAM: 0:4", 5, "formats.DRAM.W.n: expected 1 or more, found 0"),
        ("DRAM: csb", "DRAM: n_m", 5, "formats.DRAM.W.n: is missing (kind: n_m, n: 2, m: 4)"),
        ("DRAM: csb", "DRAM: {W: {kind: n_m, n: 2}}", 5, "formats.DRAM.W.m: is missing (kind: n_m, n: 2, m: 4)"),
        ("kind: csb, block", "kind: csbs, block", 6, "formats.GLB.W.kind: no format 'csbs' (did you mean 'csb'?)"),
        ("kind: csb, ", "", 6, "formats.GLB.W.kind: is missing"),
        ("block: 9", "blok: 9", 6, "formats.GLB.W.blok: unknown key (did you mean 'block'?)"),
        ("block: 9", "block: 0", 6, "formats.GLB.W.block: expected 1 or more, found 0"),
        ("pointer_bits: 18", "pointer_bits: 65", 6, "formats.GLB.W.pointer_bits: expected 64 or less, found 65"),
        ("block: 9", "run_bits: 9", 6, "formats.GLB.W.run_bits: says nothing in csb (csb takes block, pointer_bits)"),
        ("O: bitmask", "O: {kind: bitmask, m: 2}", 7, "formats.RF.O.m: says nothing in bitmask "
         "(bitmask takes no other key)"),
        ("0.95", "0", 8, "capacity_quantile: expected more than 0, found 0"),
        ("0.95", "1.5", 8, "capacity_quantile: expected 1 or less, found 1.5"),
        ("skip_block: 16", "skip_block: 0", 9, "skip_block: expected 1 or more, found 0"),
        ("compaction: true", "compaction: yes", 10, "compaction: expected true or false, found 'yes'"),
        ("monitor_samples: 4096", "monitor_samples: -1", 11, "monitor_samples: expected 0 or more, found -1"),
        ("monitor_samples: 4096", "monitor_samples: 0", 15, "events.monitor: no monitor takes samples "
         "(monitor_samples: 4096)"),
        (", source: paper", "", 12, "overhead.source: is missing (where the numbers come from)"),
        ("energy: 0.11", "energy: -0.11", 12, "overhead.energy: expected 0 or more, found -0.11"),
        ("energy: 0.11", "energie: 0.11", 12, "overhead.energie: unknown key (did you mean 'energy'?)"),
        ("kind: gradient", "kind: gradients", 14, "events.estimator.kind: no kind of event 'gradients' "
         "(did you mean 'gradient'?)"),
        ("energy_pj: 1.5, ", "", 14, "events.estimator.energy_pj: is missing"),
        ("energy_pj: 1.5", "energy_pj: .inf", 14, "events.estimator.energy_pj: expected a finite number, found inf"),
        ("area_um2: 20, source: guess", "area_um2: 20", 14, "events.estimator.source: is missing (where the numbers "
         "come from)"),
    ],
)  # fmt: skip
def test_a_wrong_block_is_refused_at_its_line(load: Load, old: str, new: str, line: int, message: str) -> None:
    assert old in FULL
    assert refusal(load, FULL.replace(old, new, 1)) == f"a.yaml:{FIRST + line}: zeros.{message}"


def test_a_name_is_given_once_among_levels_and_units(load: Load) -> None:
    block = FULL.replace("name: monitor", "name: GLB")
    assert (
        refusal(load, block) == f"a.yaml:{FIRST + 15}: name 'GLB' is given twice, on lines 8 and {FIRST + 15} (GLB_2)"
    )
    block = FULL.replace("name: monitor", "name: estimator")
    lines = f"on lines {FIRST + 14} and {FIRST + 15}"
    assert refusal(load, block) == f"a.yaml:{FIRST + 15}: name 'estimator' is given twice, {lines} (estimator_2)"


@pytest.mark.parametrize("key", ["balance: global", "skip_block: 4", "compaction: true"])
def test_what_helps_skipping_needs_something_to_skip(load: Load, key: str) -> None:
    name = key.partition(":")[0]
    block = f"zeros:\n  gate: [W]\n  {key}\n"
    message = f"zeros.{name}: says nothing where no zeros are skipped (skip: [W])"
    assert refusal(load, block) == f"a.yaml:{FIRST + 2}: {message}"


def test_a_tensor_that_bypasses_a_level_has_no_format_there(load: Load) -> None:
    text = bent(("name: GLB", "name: GLB\n    keep: [I, O]")) + "zeros:\n  formats:\n    GLB: csb\n"
    with pytest.raises(InputError) as caught:
        load(text)
    message = "zeros.formats.GLB: level GLB does not keep W (it keeps I, O)"
    assert str(caught.value) == f"a.yaml:{FIRST + 3}: {message}"


def test_the_block_of_the_template_loads_once_uncommented(load: Load) -> None:
    plain, _, block = arch_template("mine").partition("# zeros:\n")
    found = load(plain + "zeros:\n" + "".join(line.removeprefix("#") + "\n" for line in block.splitlines())).zeros
    assert found is not None
    assert (found.skip, found.balance, len(found.formats), len(found.events)) == (frozenset("W"), "half_tile", 2, 1)


def shipped_zeros(name: str) -> tuple[Accelerator, Zeros]:
    arch = load_arch(name)
    assert arch.zeros is not None
    return arch, arch.zeros


@pytest.mark.parametrize("suffix", ["", "_eyeriss_ratios"])
def test_procrustes_skips_weights_in_csb_and_the_baseline_nothing(suffix: str) -> None:
    arch, found = shipped_zeros(f"procrustes{suffix}")
    assert (found.skip, found.gate, found.balance) == (frozenset("W"), frozenset(), "half_tile")
    assert [found.format(level, "W") for level in arch.level_names] == [
        Format("csb", pointer_bits=20),
        Format("csb", pointer_bits=20),
        Format("bitmask"),
    ]
    assert (found.overhead_energy, found.overhead_area) == (0.11, 0.14)
    assert load_arch(f"dense_baseline{suffix}").zeros is None


@pytest.mark.parametrize("suffix", ["", "_eyeriss_ratios"])
def test_events_of_procrustes_follow_from_its_other_energies(suffix: str) -> None:
    arch, found = shipped_zeros(f"procrustes{suffix}")
    _, glb, rf = (level.buffers[0].energies for level in arch.levels)
    energy = {event.kind: event.energy_pj for event in found.events}
    assert energy["gradient"] == arch.compute.energy_pj
    assert energy["regenerated"] == 0
    assert energy["sort"] == pytest.approx(2 * 32 * (rf.read + rf.write), rel=1e-12)
    assert energy["pointer"] == pytest.approx(20 * glb.read, rel=1e-12)


def test_the_sparse_tensor_core_has_1024_multipliers_and_2_of_4_weights_everywhere() -> None:
    arch, found = shipped_zeros("ampere_stc")
    assert arch.pes == 1024
    assert 128 * 1152 * 1024 // arch.pes == 147_456
    assert (found.skip, found.balance) == (frozenset("W"), "ideal")
    assert {found.format(level, "W") for level in arch.level_names} == {Format("n_m", n=2, m=4)}
    buffers = [buffer for level in arch.levels for buffer in level.buffers]
    assert all(b.read_bandwidth is b.write_bandwidth is b.shared_bandwidth is None for b in buffers)


@pytest.mark.parametrize(
    ("name", "pes", "bits"), [("scnn_like", 8 * 8 * 4 * 4, 16), ("eyeriss_v2_pe", 1, 8), ("spartan_gpu", 64, 32)]
)
def test_these_skip_zeros_of_both_operands(name: str, pes: int, bits: int) -> None:
    arch, found = shipped_zeros(name)
    assert found.skip == frozenset("WI")
    assert (arch.pes, dict(arch.bits)["W"]) == (pes, bits)


@pytest.mark.parametrize("name", ["procrustes", "ampere_stc", "scnn_like", "eyeriss_v2_pe", "spartan_gpu"])
def test_skipped_weights_are_private_to_a_pe_so_that_skipping_saves_cycles(name: str) -> None:
    arch, found = shipped_zeros(name)
    innermost = max(i for i, level in enumerate(arch.levels) if "W" in level.keep)
    assert arch.instances[innermost] == arch.pes
    capacity = arch.levels[innermost].buffers
    assert all(b.capacity_bits is None or b.capacity_bits > arch.bits[0][1] for b in capacity if "W" in b.roles)
    assert "W" in found.skip


def test_the_scratchpads_of_eyeriss_v2_hold_data_and_addresses() -> None:
    arch, found = shipped_zeros("eyeriss_v2_pe")
    sizes = {buffer.name: buffer.capacity_bits for buffer in arch.levels[1].buffers}
    assert sizes == {"iact_spad": 16 * 12 + 9 * 4, "weight_spad": 96 * 24 + 16 * 7, "psum_spad": 32 * 20}
    assert found.format("PE", "W") == Format("csc", pointer_bits=7, index_bits=4)


def test_what_is_unknown_of_spartan_is_a_parameter_of_its_file() -> None:
    _, found = shipped_zeros("spartan_gpu")
    assert (found.skip_block, found.compaction, found.monitor_samples) == (16, True, 4096)
    assert found.formats == ()
