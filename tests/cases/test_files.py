"""Field cases 35, 39 and 40: files with a wrong key, mappings that do not fit, totals of a network."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from mapper.arch import load_arch
from mapper.cli.main import cli
from mapper.cost import evaluate, rank_costs
from mapper.errors import InfeasibleError, InputError
from mapper.mapping import bind, parse_nest
from mapper.report.evaluation import as_text, misfits
from mapper.search.run import search
from mapper.workload import Conv2d, Einsum, load_network
from tests import tiny
from tests.machines import level, machine

NETWORK = """\
name: net
input: {C: 3, H: 8, W: 8}
layers:
  - {name: conv1, conv: {C: 3, K: 4, R: 3, S: 3, H: 8, W: 8, stride: 2, padding: 1}}
  - {name: fc, linear: {C: 64, K: 10}, repeat: 2}
"""


# 35: keys that nobody reads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stride: 2", "Stride: 2", "4: layers.conv1.conv.Stride: unknown key (did you mean 'stride'?)"),
        ("stride: 2", "HStride: 2", "4: layers.conv1.conv.HStride: unknown key (did you mean 'stride'?)"),
        ("padding: 1", "paddding: 1", "4: layers.conv1.conv.paddding: unknown key (did you mean 'padding'?)"),
        ("repeat: 2", "repeats: 2", "5: layers.fc.repeats: unknown key (did you mean 'repeat'?)"),
        ("linear: {C", "linear: {c", "5: layers.fc.linear.c: unknown key (did you mean 'C'?)"),
        ("input: {", "inputs: {", "2: inputs: unknown key (did you mean 'input'?)"),
    ],
)
def test_case_35_an_unknown_key_of_a_network_is_refused_with_the_nearest(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(NETWORK.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_network(path)
    assert str(caught.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("capacity_words", "Capacity_Words",
         "9: levels.RF.Capacity_Words: unknown key (did you mean 'capacity_words'?)"),
        ("fanout", "fan_out", "7: levels.DRAM.fan_out: unknown key (did you mean 'fanout'?)"),
        ("read: 1,", "Read: 1,", "10: levels.RF.energy_pj_per_word.Read: unknown key (did you mean 'read'?)"),
        ("compute: {energy_pj", "compute: {energy", "11: compute.energy: unknown key (did you mean 'energy_pj'?)"),
    ],
)  # fmt: skip
def test_case_35_an_unknown_key_of_an_accelerator_is_refused_with_the_nearest(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(tiny.ARCH.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_arch(path)
    assert str(caught.value) == f"{path}:{message}"


def test_case_35_search_stops_at_an_unknown_key_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    Path("net.yaml").write_text(NETWORK.replace("stride", "HStride"), encoding="utf-8")
    result = run_search("--phase", "fw")
    assert result.exit_code == 2
    assert result.stderr == "error: net.yaml:4: layers.conv1.conv.HStride: unknown key (did you mean 'stride'?)\n"
    assert not Path("out").exists()


def run_search(*arguments: str) -> Result:
    """`mapper search` of the files in the current folder into `out`, on one process."""
    usual = ["search", "net.yaml", "--arch", "toy.yaml", "--output", "out", "--partition", "KN,CN", "-j", "1"]
    return CliRunner().invoke(cli, [*usual, *arguments])


# 39: what does not fit ------------------------------------------------------------------------------------------------

GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4")
SMALL = machine(level("DRAM", pj=100.0), level("BUF", words=12))


@pytest.mark.parametrize(
    ("mapping", "bits", "fits"),
    [
        ("DRAM: | BUF: M4 N4 K4", 48 * 16, False),
        ("DRAM: K4 | BUF: M4 N4", 24 * 16, False),
        ("DRAM: K2 N2 | BUF: M2 N2 K2 M2", 20 * 16, False),
        ("DRAM: M2 N2 K2 | BUF: M2 N2 K2", 12 * 16, True),  # to the last word
        ("DRAM: M4 N4 K4 | BUF:", 3 * 16, True),
    ],
)
def test_case_39_evaluate_says_which_level_is_too_small(mapping: str, bits: int, fits: bool) -> None:
    found = evaluate(GEMM, SMALL, mapping)
    assert found.fits is fits
    assert {occupancy.buffer: occupancy.fits for occupancy in found.occupancy} == {"DRAM": True, "BUF": fits}
    held = next(occupancy for occupancy in found.occupancy if occupancy.buffer == "BUF")
    assert (held.bits, held.capacity_bits) == (bits, 12 * 16)
    assert held.bits == sum(held.tensors.values())


def test_case_39_the_limit_is_echoed_with_what_would_fit() -> None:
    found = evaluate(GEMM, SMALL, "DRAM: K4 | BUF: M4 N4")
    assert misfits(found).startswith("the tiles do not fit BUF: 384 bits (A 64, B 64, Z 256) in 192 (a capacity of 384")
    rows = [line.split()[:3] for line in as_text(found, "gemm").splitlines()]
    assert ["BUF", "384", "192"] in rows


def test_case_39_double_buffering_counts_twice() -> None:
    twice = machine(level("DRAM"), level("BUF", words=12, double=True))
    assert not evaluate(GEMM, twice, "DRAM: M2 N2 K2 | BUF: M2 N2 K2").fits
    assert evaluate(GEMM, twice, "DRAM: M4 N2 K2 | BUF: N2 K2").tiles["BUF", "B"] == 4


def test_case_39_a_mapping_that_does_not_fit_costs_infinitely_much() -> None:
    for text, fits in {"DRAM: K4 | BUF: M4 N4": False, "DRAM: M2 N2 K2 | BUF: M2 N2 K2": True}.items():
        costs = rank_costs(bind(parse_nest(text), GEMM, SMALL), SMALL)
        assert costs.feasible.tolist() == [fits]
        assert bool(np.isfinite(costs.edp[0])) is fits


@pytest.mark.parametrize("metric", ["edp", "energy", "cycles"])
@pytest.mark.parametrize("capacity", [3, 12, 47])
def test_case_39_search_never_ranks_what_does_not_fit(metric: str, capacity: int) -> None:
    arch = machine(level("DRAM", pj=100.0, x=2), level("BUF", words=capacity))
    result = search(GEMM, arch, partitioning="any", metric=metric, top=20)
    assert len(result) >= 10
    assert result.only.certificate.optimal
    for ranked in result:
        assert ranked.evaluation.fits
        assert sum(count for (at, _), count in ranked.evaluation.tiles.items() if at == "BUF") <= capacity


def test_case_39_nothing_is_ranked_where_no_mapping_fits() -> None:
    arch = machine(level("DRAM"), level("BUF", words=2))
    with pytest.raises(InfeasibleError, match=r"no mapping fits toy \(smallest change: BUF: capacity_bits 32 -> 48\)"):
        search(Conv2d(C=2, K=2, R=3, S=3, P=4, Q=4), arch, partitioning="CK")


def test_case_39_the_command_line_prints_everything_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    mapping = ["--mapping", "DRAM: | RF: M4 N4 K4"]
    result = CliRunner().invoke(cli, ["evaluate", GEMM.text, "--arch", "toy.yaml", *mapping])
    assert result.exit_code == 1
    assert "the tiles do not fit RF: 768 bits (A 256, B 256, Z 256) in 128" in result.stderr
    assert "energy_pj" in result.stdout
    explained = CliRunner().invoke(cli, ["explain", GEMM.text, "--arch", "toy.yaml", *mapping])
    assert "768 of 128 bits: DOES NOT FIT" in explained.stdout


# 40: totals -----------------------------------------------------------------------------------------------------------


def read(name: str) -> list[dict[str, str]]:
    with Path("out", name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def weighted(rows: list[dict[str, str]], phase: str, partitioning: str, column: str) -> float:
    """Sum over layers times their repeat of the first rank of every part."""
    chosen = [r for r in rows if (r["phase"], r["partitioning"], r["rank"]) == (phase, partitioning, "1")]
    return math.fsum(int(row["repeat"]) * float(row[column]) for row in chosen)


def test_case_40_totals_are_sums_over_layers_times_their_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    assert run_search().exit_code == 0
    mappings, totals = read("mappings.csv"), read("totals.csv")
    assert {row["repeat"] for row in mappings} == {"1", "3"}
    sums = ("macs", "cycles", "energy_pj", "energy_DRAM_pj", "energy_MAC_pj", "energy_role_W_pj")
    for total in totals:
        if total["partitioning"] in ("KN", "CN") and total["phase"] != "all":
            for column in sums:
                expected = weighted(mappings, total["phase"], total["partitioning"], column)
                assert float(total[column]) == pytest.approx(expected, rel=1e-12), column
    for partitioning in ("KN", "CN", "best"):
        rows = {row["phase"]: row for row in totals if row["partitioning"] == partitioning}
        for column in sums:
            parts = math.fsum(float(rows[phase][column]) for phase in ("fw", "bw", "wu"))
            assert float(rows["all"][column]) == pytest.approx(parts, rel=1e-12), column


def test_case_40_repeating_a_layer_adds_what_the_layer_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    found = {}
    for repeat in (1, 7):
        text = f"name: net\nlayers:\n  - {{name: only, linear: {{C: 4, K: 2}}, repeat: {repeat}}}\n"
        Path("net.yaml").write_text(text, encoding="utf-8")
        assert run_search("--phase", "fw").exit_code == 0
        found[repeat] = next(row for row in read("totals.csv") if row["partitioning"] == "KN")
    for column in ("macs", "cycles", "energy_pj"):
        assert float(found[7][column]) == 7 * float(found[1][column])


def test_case_40_a_phase_of_several_parts_adds_the_best_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    conv = "{C: 1, K: 2, R: 3, S: 1, H: 4, W: 1, stride: [2, 1], padding: [1, 0]}"
    Path("net.yaml").write_text(f"name: net\nlayers:\n  - {{name: only, conv: {conv}, repeat: 2}}\n", encoding="utf-8")
    assert run_search("--phase", "bw").exit_code == 0
    mappings = read("mappings.csv")
    assert {row["part"] for row in mappings} == {"1/2", "2/2"}
    total = next(row for row in read("totals.csv") if (row["phase"], row["partitioning"]) == ("bw", "KN"))
    for column in ("macs", "cycles", "energy_pj"):
        assert float(total[column]) == pytest.approx(weighted(mappings, "bw", "KN", column), rel=1e-12)
