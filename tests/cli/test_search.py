"""`mapper search` as a user meets it: what it prints and writes, and what it says when something is wrong."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mapper.cli.main import cli
from mapper.runs import work
from mapper.search.solve import Problem, Solution, solve
from tests import tiny
from tests.tiny import USUAL

Search = Callable[..., Result]

TABLES = ("mappings.csv", "breakdown.csv", "totals.csv")


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching is an error."""

    def fail(problem: Problem, _deadline: float | None) -> Solution:
        raise AssertionError(f"searched {problem}")

    monkeypatch.setattr(work, "solve", fail)


def rows(path: str) -> list[dict[str, str]]:
    """Rows of a CSV file."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_search_ends_with_a_table_that_says_what_is_best_and_what_to_do_next(search: Search) -> None:
    result = search(*USUAL, "--phase", "fw,bw")
    assert result.exit_code == 0
    assert result.stderr == "", "no progress bar but on a terminal"
    assert (
        result.stdout
        == """\
net on toy: 3 layers, batch 2, 10 rankings from 8 searches, metric edp

Totals: every layer times its repeat. *: best fixed partitioning of the phase; best: the best of each layer.
phase  partitioning  cycles     energy   edp (pJ x cycles)   utilization
fw     KN                18*  9.704 nJ           1.747e+05       100.0 %*
       CN                18*  9.668 nJ*          1.740e+05*      100.0 %*
       best              18   9.668 nJ           1.740e+05       100.0 %
bw     KN                14*  7.552 nJ*          1.057e+05*      100.0 %*
       CN                14*  7.568 nJ           1.060e+05       100.0 %*
       best              14   7.552 nJ           1.057e+05       100.0 %
all    KN                32*  17.26 nJ           5.522e+05       100.0 %*
       CN                32*  17.24 nJ*          5.516e+05*      100.0 %*
       best              32   17.22 nJ           5.510e+05       100.0 %

Best partitioning of every layer, figures of one layer:
layer  repeat  fw  cycles    energy  util.  bw  cycles    energy  util.
first       1  CN       4  2.104 nJ  100 %
twin        3  CN       4  2.104 nJ  100 %  KN       4  2.100 nJ  100 %
last        1  CN       2  1.252 nJ  100 %  KN       2  1.252 nJ  100 %

optimal: yes, all 10 rankings are proven
bw: training does not need it for first; --input-gradients searches it all the same
written to results/net-toy: mappings.csv, breakdown.csv, totals.csv, manifest.json
next: mapper explain results/net-toy --layer first --phase fw --partition CN --rank 1
"""
    )


def test_rows_stand_in_the_order_of_the_network_whatever_was_solved_together(search: Search) -> None:
    search(*USUAL, "--output", "out", "--phase", "bw,fw")
    found = [(row["layer"], row["phase"], row["partitioning"], row["rank"]) for row in rows("out/mappings.csv")]
    places = [("first", "fw"), ("twin", "fw"), ("twin", "bw"), ("last", "fw"), ("last", "bw")]
    assert found == [(*place, p, rank) for place in places for p in ("KN", "CN") for rank in ("1", "2")]


def test_columns_are_those_that_scripts_count_on(search: Search) -> None:
    search(*USUAL, "--output", "out", "--layer", "last")
    head = Path("out/mappings.csv").read_text().partition("\n")[0]
    start = (
        "arch,network,layer,repeat,phase,part,partitioning,rank,mapping,macs,effectual_macs,points,cycles,"
        "fill_drain_cycles,utilization,imbalance_mean,imbalance_max,energy_pj,edp_pj_cycles,bound_by,optimal,gap,"
        "mapspace_size,evaluated,reuse_DRAM_W,"
    )
    assert head.startswith(start)
    assert "multicast_DRAM_W,multicast_DRAM_I,multicast_DRAM_O," in head
    assert head.endswith("energy_DRAM_pj,energy_RF_pj,energy_MAC_pj,energy_role_W_pj,energy_role_I_pj,energy_role_O_pj")
    breakdown = Path("out/breakdown.csv").read_text().partition("\n")[0]
    assert (
        breakdown
        == "arch,network,layer,repeat,phase,part,partitioning,rank,component,tensor,action,count,bits,energy_pj"
    )
    totals = Path("out/totals.csv").read_text().partition("\n")[0]
    assert totals.startswith(
        "arch,network,phase,partitioning,layers,layers_without_mapping,macs,effectual_macs,cycles,"
    )


def test_the_same_search_twice_and_on_two_processes_writes_the_same_bytes(search: Search) -> None:
    for folder, jobs in {"one": "1", "again": "1", "two": "2"}.items():
        assert search(*USUAL, "--output", folder, "-j", jobs).exit_code == 0
    for name in TABLES:
        assert Path("one", name).read_bytes() == Path("again", name).read_bytes() == Path("two", name).read_bytes()


def test_top_is_obeyed(search: Search) -> None:
    search(*USUAL, "--output", "out", "--top", "3", "--layer", "last", "--partition", "KN")
    assert [row["rank"] for row in rows("out/mappings.csv")] == ["1", "2", "3"]


@pytest.mark.usefixtures("no_search")
def test_a_dry_run_lists_the_mapspaces_and_writes_nothing(search: Search) -> None:
    result = search(*USUAL, "--partition", "KN", "--dry-run")
    assert (
        result.stdout
        == """\
net on toy: 3 layers, batch 2, 3 rankings from 2 searches, metric edp

layer  phase  part  partitioning  same as  mappings
first  fw     1/1   KN                           67
twin   fw     1/1   KN            first          67
last   fw     1/1   KN                           38

dry run: nothing is searched or written
"""
    )
    assert not Path("results").exists()


def test_a_partitioning_that_the_accelerator_bars_is_told_once(search: Search) -> None:
    result = search("resnet18", "--arch", "tpu_like", "--phase", "fw", "--partition", "CK,KC", "--dry-run")
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: fw CK: tpu_like cannot spread C over X (it indexes I; X takes K), "
        "K over Y (it indexes O; Y takes C, R, S)\n"
    )


def test_quiet_prints_nothing_and_writes_all(search: Search) -> None:
    result = search(*USUAL, "--quiet", "--output", "out")
    assert (result.exit_code, result.output) == (0, "")
    assert sorted(os.listdir("out")) == ["breakdown.csv", "jobs.sqlite", "manifest.json", "mappings.csv", "totals.csv"]


def test_verbose_says_each_search_as_it_is_done(search: Search) -> None:
    result = search(*USUAL, "-v", "--layer", "last")
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("last fw 1/1 KN: 2 cycles, 1.256 nJ, ")


def test_layers_are_chosen_by_name_and_keep_their_order(search: Search) -> None:
    search(*USUAL, "--output", "out", "--layer", "last", "--layer", "first")
    assert list(dict.fromkeys(row["layer"] for row in rows("out/mappings.csv"))) == ["first", "last"]


def test_gradients_of_the_input_are_searched_only_on_demand(search: Search) -> None:
    arguments = (*USUAL, "--output", "out", "--phase", "dgrad", "--layer", "first")
    refused = search(*arguments)
    assert refused.exit_code == 2
    message = "no layer of 'net' has a phase bw (--input-gradients searches bw where training does not need it)"
    assert refused.stderr == f"error: {message}\n"
    assert search(*arguments, "--input-gradients").exit_code == 0
    assert {row["phase"] for row in rows("out/mappings.csv")} == {"bw"}


def test_a_layer_of_a_network_has_a_folder_of_its_own(search: Search) -> None:
    result = search("net.yaml:last", *USUAL[1:])
    assert result.exit_code == 0
    assert {row["network"] + row["layer"] for row in rows("results/net-last-toy/mappings.csv")} == {"netlast"}


def test_an_einsum_in_quotes_is_searched_with_the_partitioning_left_to_the_search(search: Search) -> None:
    text = "Z[M,N] += A[M,K] * B[K,N]; M=2 N=2 K=2"
    assert search(text, "--arch", "toy.yaml", "--top", "1").exit_code == 0
    (row,) = rows("results/einsum-toy/mappings.csv")
    assert (row["layer"], row["phase"], row["partitioning"], row["macs"]) == (text, "fw", "any", "8")
    manifest = json.loads(Path("results/einsum-toy/manifest.json").read_text())
    assert [entry["given"] for entry in manifest["inputs"]] == ["toy.yaml"]


def test_a_gemm_of_65536_cubed_counts_every_multiply_accumulate(search: Search) -> None:
    flat = tiny.ARCH.partition("    fanout")[0] + tiny.ARCH[tiny.ARCH.index("compute:") :]
    Path("flat.yaml").write_text(flat)
    gemm = "Z[M,N] += A[M,K] * B[K,N]; M=65536 N=65536 K=65536"
    assert search(gemm, "--arch", "flat.yaml", "--top", "1", "--output", "out", "--format", "json").exit_code == 0
    (row,) = rows("out/mappings.csv")
    (entry,) = json.loads(Path("out/mappings.json").read_text())
    assert row["macs"] == row["cycles"] == "281474976710656"
    assert entry["macs"] == entry["cycles"] == 281_474_976_710_656


@pytest.mark.parametrize(("form", "suffix"), [("json", "json"), ("md", "md"), ("latex", "tex")])
def test_another_format_is_written_beside_the_csv(search: Search, form: str, suffix: str) -> None:
    assert search(*USUAL, "--output", "out", "--format", form, "--layer", "last").exit_code == 0
    names = {f"{name}.{end}" for name in ("mappings", "breakdown", "totals") for end in ("csv", suffix)}
    assert set(os.listdir("out")) == {*names, "manifest.json", "jobs.sqlite"}
    assert set(json.loads(Path("out/manifest.json").read_text())["files"]) == {*names, "manifest.json"}


@pytest.mark.usefixtures("no_search")
def test_parquet_without_its_package_says_what_to_install(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    result = search(*USUAL, "--format", "parquet")
    assert result.exit_code == 2
    assert result.stderr == "error: --format: parquet needs pyarrow (pip install 'mapper[parquet]')\n"


def test_a_layer_that_fits_nowhere_does_not_stop_the_others(search: Search) -> None:
    result = search("mixed.yaml", "--arch", "picky.yaml", "--phase", "fw", "--partition", "KN", "--output", "out")
    assert result.exit_code == 1
    reason = "no mapping fits picky (smallest change: RF: capacity_bits 30 -> 48)"
    assert result.stderr.startswith(f"error: does_not fw 1/1 KN: {reason}\n")
    assert {row["layer"] for row in rows("out/mappings.csv")} == {"fits"}
    assert [(row["layers"], row["layers_without_mapping"]) for row in rows("out/totals.csv")] == [("2", "1")] * 4
    failed = json.loads(Path("out/manifest.json").read_text())["problems"]["failed"]
    assert failed == [{"ranking": "does_not fw 1/1 KN", "reason": reason}]


def test_where_nothing_fits_nothing_is_written(search: Search) -> None:
    result = search("mixed.yaml:does_not", "--arch", "picky.yaml", "--phase", "fw", "--output", "out")
    assert (result.exit_code, result.stdout, os.listdir("out")) == (1, "", [])
    assert result.stderr.startswith("error: 4 rankings, does_not fw 1/1 CK, does_not fw 1/1 KN, ")
    assert result.stderr.count("no mapping fits picky") == 1


def test_ctrl_c_keeps_what_is_finished(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count(1)

    def interrupted(problem: Problem, _deadline: float | None) -> Solution:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return solve(problem)

    monkeypatch.setattr(work, "solve", interrupted)
    result = search(*USUAL, "--output", "out")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: 2 of 4 searches are finished; their tables are written; --resume continues\n"
    assert {row["layer"] for row in rows("out/mappings.csv")} == {"first", "twin"}
    assert json.loads(Path("out/manifest.json").read_text())["problems"]["unfinished"] == [
        "last fw 1/1 KN",
        "last fw 1/1 CN",
    ]


def test_a_time_limit_keeps_what_is_finished(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(work, "clock", lambda: next(clock))
    monkeypatch.setattr(work, "solve", lambda problem, _deadline: solve(problem))
    result = search(*USUAL, "--output", "out", "--timeout", "2.5")
    assert result.exit_code == 0
    assert result.stderr == "time limit reached: 2 of 4 searches are finished; their tables are written\n"


def test_a_time_limit_before_anything_is_finished_writes_nothing(search: Search) -> None:
    result = search(*USUAL, "--output", "out", "--timeout", "1e-9")
    assert (result.exit_code, result.stdout, os.listdir("out")) == (1, "", [])
    assert result.stderr == "time limit reached: 0 of 4 searches are finished; nothing is written\n"


def test_the_manifest_says_what_was_done_with_what(search: Search) -> None:
    search(*USUAL, "--output", "out", "--metric", "energy")
    text = Path("out/manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["command"] == ["mapper", "search", "-j", "1", *USUAL, "--output", "out", "--metric", "energy"]
    assert (manifest["metric"], manifest["top"], manifest["seeds"]) == ("energy", 2, {})
    assert [(entry["given"], len(entry["sha256"])) for entry in manifest["inputs"]] == [
        ("net.yaml", 64),
        ("toy.yaml", 64),
    ]
    assert manifest["limits"]["levels"][1]["buffers"][0]["capacity_bits"] == 8 * 16
    assert manifest["wall_time_s"] >= 0
    assert os.uname().nodename not in text


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nte", "--arch", "toy.yaml"], "no network 'nte' ships, and there is no such file"),
        (
            ["resnet81", "--arch", "procrustes"],
            "no network 'resnet81' ships, and there is no such file (did you mean 'resnet18'?)",
        ),
        (
            [*USUAL, "--arch", "procrusts"],
            "no accelerator 'procrusts' ships, and there is no such file (did you mean 'procrustes'?)",
        ),
        ([*USUAL, "--layer", "lst"], "network 'net' has no layer 'lst' (did you mean 'last'?)"),
        ([*USUAL, "--phase", "forwrd"], "no phase 'forwrd' (did you mean 'forward'?)"),
        ([*USUAL, "--phase", ","], "--phase: no phase is given (fw,bw,wu)"),
        ([*USUAL, "--partition", "KX"], "partitioning 'KX': no dimension 'X'"),
        ([*USUAL, "--metric", "enrgy"], "'enrgy' is none of edp, energy, cycles, pareto (did you mean 'energy'?)"),
        ([*USUAL, "--format", "jsn"], "'jsn' is none of csv, json, md, latex, parquet (did you mean 'json'?)"),
        ([*USUAL, "--top", "0"], "Invalid value for '--top': 0 is not in the range 1<=x<=1000."),
        ([*USUAL, "-j", "0"], "Invalid value for '-j' / '--jobs': 0 is not in the range x>=1."),
        ([*USUAL, "--batch", "0"], "Invalid value for '--batch': 0 is not in the range x>=1."),
        ([*USUAL, "--timeout", "0"], "Invalid value for '--timeout': 0.0 is not in the range x>0."),
        ([*USUAL, "--timeout", "nan"], "Invalid value for '--timeout': nan is no time."),
        ([*USUAL, "--output", ""], "Invalid value for '--output': the name is empty"),
        (["x" * 5000, "--arch", "toy.yaml"], "no network 'xxx"),
        ([*USUAL, "--arch", "x" * 5000], "no accelerator 'xxx"),
        (["net.yaml"], "Missing option '--arch'."),
        ([*USUAL, "--archh", "toy.yaml"], "id you mean one of: '--arch', "),
        (["Z[M] += A[M]; M=2", "--arch", "toy.yaml", "--batch", "2"], "state the batch in its bounds"),
        (["Z[M] += A[M]; M=2", "--arch", "toy.yaml", "--phase", "wu"], "no layer of 'einsum' has a phase wu (fw)"),
    ],
)
def test_wrong_input_is_one_message_with_the_nearest_valid_one(
    search: Search, arguments: list[str], message: str
) -> None:
    result = search(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not Path("results").exists()


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("output", ["net.yaml", "net.yaml/deeper"])
def test_an_output_that_cannot_be_written_is_refused_before_the_search(search: Search, output: str) -> None:
    before = sorted(os.listdir())
    result = search(*USUAL, "--output", output)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: --output: cannot write into '{output}': ")
    assert sorted(os.listdir()) == before


def test_a_table_that_cannot_be_replaced_leaves_no_temporary_files(search: Search) -> None:
    Path("out/totals.csv").mkdir(parents=True)
    result = search(*USUAL, "--output", "out")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --output: cannot write into 'out': ")
    assert not [name for name in os.listdir("out") if name.startswith(".")]


def test_a_contradiction_in_a_file_is_one_line_of_warning(search: Search) -> None:
    ports = "    bandwidth_bits_per_cycle: {shared: 64}\n    port_width_bits: 16\n    ports: 2\n    energy"
    Path("toy.yaml").write_text(tiny.ARCH.replace("    energy", ports, 1))
    lines = search(*USUAL, "--layer", "last").stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("warning: toy.yaml:")


def test_completion_offers_what_ships() -> None:
    def offered(incomplete: str, *before: str) -> list[Any]:
        from click.shell_completion import ShellComplete

        return [item.value for item in ShellComplete(cli, {}, "mapper", "_C").get_completions(list(before), incomplete)]

    assert offered("resnet1", "search") == ["resnet18", "resnet18_cifar100", "resnet18_tinyimagenet"]
    assert offered("proc", "search", "resnet18", "--arch") == ["procrustes", "procrustes_eyeriss_ratios"]
    assert offered("e", "search", "resnet18", "--metric") == ["edp", "energy"]
