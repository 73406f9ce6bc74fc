"""Field cases 25 to 31: cycles, bandwidths, energies, their units, and counts too large for a float."""

from __future__ import annotations

import csv
import io
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from mapper.arch import Accelerator, load_arch
from mapper.cli.main import cli
from mapper.cost import Evaluation, evaluate
from mapper.errors import InputError, MapperWarning
from mapper.report.evaluation import as_csv, figures
from mapper.report.tables import tables
from mapper.runs import run
from mapper.workload import Conv2d, Einsum
from tests import tiny
from tests.machines import array, beside, buffer, level, machine, words

HUGE = "Z[M,N] += A[M,K] * B[K,N]; M=65536 N=65536 K=65536"
HUGE_MACS = 281_474_976_710_656

SPEC = """\
name: wide
clock_ghz: 1.0
bits: {default: 16}
levels:
  - name: DRAM
    capacity: unlimited
    bandwidth_gb_per_s: {shared: 25.6}
    energy_pj_per_word: {read: 200, write: 200, source: by hand}
  - name: GLB
    capacity_kib: 64
    energy_pj_per_word: {read: 6, write: 6, source: by hand}
    fanout: {x: 16, y: 16}
  - name: PE
    buffers:
      - {name: weights, tensors: [W], capacity_words: 8, energy_pj_per_word: {read: 1, write: 1, source: by hand}}
      - {name: others, tensors: [I, O], capacity_words: 8, energy_pj_per_word: {read: 1, write: 1, source: by hand}}
compute: {energy_pj: 1, source: by hand}
"""


def load(folder: Path, *edits: tuple[str, str]) -> Accelerator:
    """The spec with each first text replaced by the second."""
    text = SPEC
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    (folder / "wide.yaml").write_text(text, encoding="utf-8")
    return load_arch(folder / "wide.yaml")


# 25, 26: the slowest resource decides ---------------------------------------------------------------------------------


def three_bounds(outer: float = 5.0, inner: float = 20.0) -> Evaluation:
    """100 words from DRAM, 1,000 words from the GLB, 10,000 points on 1,000 units."""
    arch = machine(
        beside("DRAM", buffer("DRAM_A", "W", read=outer), buffer("DRAM_rest", "IO")),
        beside("GLB", buffer("GLB_B", "I", read=inner), buffer("GLB_rest", "WO"), x=10, y=100),
    )
    einsum = Einsum.parse("Z[M,N] += A[M] * B[N]; M=100 N=100")
    return evaluate(einsum, arch, "DRAM: | GLB: M10 | X: M10 | Y: N100")


def test_case_25_the_second_of_three_bounds_makes_50_cycles() -> None:
    found = three_bounds()
    assert words(found, "DRAM_A", "A", "reads") == (100,)
    assert words(found, "GLB_B", "B", "reads") == (1_000,)
    assert found.points == 10_000
    assert found.accelerator.pes == 1_000
    assert found.bounds == {"compute": 10, "DRAM_A read": 20, "GLB_B read": 50}
    assert found.cycles == 50
    assert found.bound_by == "GLB_B read"
    assert found.utilization == 10_000 / (50 * 1_000)


@pytest.mark.parametrize(
    ("outer", "inner", "cycles", "bound_by"),
    [(5, 100, 20, "DRAM_A read"), (10, 100, 10, "compute"), (3, 100, 34, "DRAM_A read"), (0.5, 20, 200, "DRAM_A read")],
)
def test_case_25_whichever_is_slowest_bounds_and_cycles_are_rounded_up(
    outer: float, inner: float, cycles: int, bound_by: str
) -> None:
    found = three_bounds(outer, inner)
    assert (found.cycles, found.bound_by) == (cycles, bound_by)


def test_case_26_half_the_bandwidth_doubles_the_cycles_of_a_dram_bound_layer() -> None:
    layer = Conv2d(C=32, K=32, R=1, S=1, P=8, Q=8)
    mapping = "DRAM: P8 Q8 K2 C2 | GLB: | X: C16 | Y: K16"
    full, half = (evaluate(layer, array(16, 16, shared=bandwidth), mapping) for bandwidth in (1.0, 0.5))
    assert full.bound_by == half.bound_by == "DRAM shared"
    assert half.cycles == 2 * full.cycles
    assert half.energy_pj == full.energy_pj


# 27: bandwidths in the units of data sheets ---------------------------------------------------------------------------


def test_case_27_25_6_gb_per_s_at_1_ghz_move_12_8_words_of_16_bits_a_cycle(tmp_path: Path) -> None:
    arch = load(tmp_path)
    limit = arch.levels[0].buffers[0].shared_bandwidth
    assert limit is not None
    assert limit / 16 == Fraction("12.8")
    found = evaluate(Einsum.parse("Z[M] += A[M] * B[M]; M=128"), arch, "DRAM: M128")
    assert found.bounds["DRAM shared"] == 128 * 3 / 12.8 == 30


@pytest.mark.parametrize(
    ("given", "clock", "words_per_cycle"),
    [("25.6", "2.0", "6.4"), ("12.8", "1.0", "6.4"), ("25.6", "0.5", "25.6"), ("19.2", "0.2", "48")],
)
def test_case_27_bandwidth_follows_the_clock(tmp_path: Path, given: str, clock: str, words_per_cycle: str) -> None:
    arch = load(tmp_path, ("shared: 25.6", f"shared: {given}"), ("clock_ghz: 1.0", f"clock_ghz: {clock}"))
    assert arch.levels[0].buffers[0].shared_bandwidth == 16 * Fraction(words_per_cycle)


def test_case_27_ports_that_contradict_a_bandwidth_warn_with_both_numbers(tmp_path: Path) -> None:
    with pytest.warns(MapperWarning, match=r"64 x ports 2 is 128 bits per cycle, but .* is 204\.8 bits per cycle"):
        arch = load(tmp_path, ("{shared: 25.6}", "{shared: 25.6}\n    port_width_bits: 64\n    ports: 2"))
    assert arch.levels[0].buffers[0].shared_bandwidth == Fraction("204.8")


# 28: fewer units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lanes", "outer"), [((14, 3), 4), ((7, 6), 4), ((14, 6), 2), ((7, 12), 2)])
def test_case_28_fewer_units_cost_cycles_and_no_mac_energy(lanes: tuple[int, int], outer: int) -> None:
    einsum = Einsum.parse("O[K,C] += W[K] * I[C]; K=14 C=12")
    whole = evaluate(einsum, array(14, 12), "GLB: | X: K14 | Y: C12")
    x, y = lanes
    fewer = evaluate(einsum, array(x, y), f"GLB: K{14 // x} C{12 // y} | X: K{x} | Y: C{y}")
    assert whole.accelerator.pes == 168
    assert fewer.accelerator.pes * outer == 168
    assert fewer.energy_by("component")["MAC"] == whole.energy_by("component")["MAC"] == 168
    assert whole.bound_by == fewer.bound_by == "compute"
    assert fewer.cycles == outer * whole.cycles
    assert fewer.utilization == whole.utilization == 1.0


# 29: energies that are missing ----------------------------------------------------------------------------------------

ENERGIES = [
    ("DRAM", "    energy_pj_per_word: {read: 200, write: 200, source: by hand}\n"),
    ("GLB", "    energy_pj_per_word: {read: 6, write: 6, source: by hand}\n"),
    ("weights", ", energy_pj_per_word: {read: 1, write: 1, source: by hand}"),
    ("MAC", "energy_pj: 1, "),
]


@pytest.mark.parametrize(("component", "energy"), ENERGIES, ids=[name for name, _ in ENERGIES])
def test_case_29_a_component_without_energy_is_named(tmp_path: Path, component: str, energy: str) -> None:
    with pytest.raises(InputError, match=rf"wide\.yaml:\d+: .*component {component} has no energy"):
        load(tmp_path, (energy, ""))


@pytest.mark.parametrize("action", ["read", "write"])
def test_case_29_an_action_without_energy_is_named(tmp_path: Path, action: str) -> None:
    with pytest.raises(InputError, match=rf"levels\.GLB\.energy_pj_per_word\.{action}: is missing"):
        load(tmp_path, (f"{action}: 6, ", ""))


def test_case_29_a_stated_zero_is_zero(tmp_path: Path) -> None:
    arch = load(tmp_path, ("energy_pj: 1, ", "energy_pj: 0, "))
    found = evaluate(Einsum.parse("Z[M] += A[M] * B[M]; M=2"), arch, "DRAM: M2")
    assert found.energy_by("component")["MAC"] == 0.0


# 30: units ------------------------------------------------------------------------------------------------------------


def names_without_unit(names: list[str]) -> list[str]:
    """Names of energies that do not end in their unit."""
    energies = [name for name in names if re.search(r"energy|edp|leakage", name)]
    assert energies
    return [name for name in energies if not name.endswith(("_pj", "_pj_cycles"))]


def test_case_30_every_energy_column_of_every_table_has_its_unit(tmp_path: Path) -> None:
    tiny.write(tmp_path)
    for table in tables(run(tiny.plan(tmp_path))):
        assert names_without_unit(list(table.columns)) == [], table.name


def test_case_30_every_energy_figure_of_an_evaluation_has_its_unit() -> None:
    leaking = machine(level("DRAM"), level("BUF"), leakage_mw=0.5)
    found = evaluate(Einsum.parse("Z[M] += A[M,K] * B[K]; M=3 K=4"), leaking, "DRAM: M3 | BUF: K4")
    assert names_without_unit([figure.figure for figure in figures(found)]) == []
    assert names_without_unit(list(found.breakdown().columns)) == []


# 31: exact beyond 32 bits ---------------------------------------------------------------------------------------------

HUGE_MAPPING = "DRAM: M4096 N4096 K16 | GLB: K4096 | X: M16 | Y: N16"


def evaluated(form: str) -> str:
    arguments = ["evaluate", HUGE, "--arch", "procrustes", "--mapping", HUGE_MAPPING, "--format", form]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code in (0, 1), result.output
    return result.stdout


def test_case_31_a_gemm_of_65536_cubed_counts_every_mac() -> None:
    found = evaluate(Einsum.parse(HUGE), "procrustes", HUGE_MAPPING)
    assert found.macs == found.points == HUGE_MACS == 65_536**3
    assert found.cycles == HUGE_MACS // 256
    assert words(found, "RF", "A", "reads") == words(found, "RF", "Z", "updates") == (HUGE_MACS,)
    assert found.temporal_reductions == HUGE_MACS - 65_536**2


def test_case_31_json_has_the_exact_integer() -> None:
    document = json.loads(evaluated("json"))
    assert document["macs"] == HUGE_MACS
    assert document["components"]["RF"]["A"]["reads_words"] == HUGE_MACS
    assert f'"macs": {HUGE_MACS},' in evaluated("json")


def test_case_31_csv_has_the_exact_integer() -> None:
    rows = list(csv.DictReader(io.StringIO(evaluated("csv"))))
    values = {(row["component"], row["tensor"], row["figure"]): row["value"] for row in rows}
    assert values["", "", "macs"] == "281474976710656"
    assert values["RF", "Z", "updates_words"] == "281474976710656"


def test_case_31_odd_counts_beyond_2_to_53_are_not_rounded() -> None:
    einsum = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=262145 N=262145 K=131073")
    found = evaluate(einsum, machine(level("DRAM"), level("BUF")), "DRAM: M262145 N262145 K131073")
    assert found.macs == 262_145 * 262_145 * 131_073 > 2**53
    assert int(float(found.macs)) != found.macs
    assert words(found, "DRAM", "A", "reads") == (found.macs,)
    assert f",{found.macs}\n" in as_csv(found)
