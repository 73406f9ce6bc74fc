"""`mapper compare` as a user meets it: what it prints and writes, and what it says when something is wrong."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from mapper.cli import compare
from mapper.report import comparison
from tests import tiny
from tests.cli.shown import mapper

ROOT = Path(__file__).parents[2]

Search = Callable[..., Result]

SEARCHED = ("--network", "net.yaml", "--batch", "2", "--phase", "fw", "--partition", "KN,CN", "-j", "1")
"""Options that search accelerators as `runs` was searched."""


@pytest.fixture
def runs(search: Search) -> None:
    """A run `one`, and `two` on an accelerator whose DRAM takes half of the energy, without the layer `first`."""
    Path("cheap.yaml").write_text(tiny.ARCH.replace("toy", "cheap").replace("100", "50"), encoding="utf-8")
    options = ("--batch", "2", "--phase", "fw,wu", "--partition", "KN,CN", "--quiet")
    assert search("net.yaml", "--arch", "toy.yaml", *options, "--output", "one").exit_code == 0
    less = ("--layer", "twin", "--layer", "last")
    assert search("net.yaml", "--arch", "cheap.yaml", *options, *less, "--output", "two").exit_code == 0


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("runs")
def test_runs_stand_side_by_side_with_their_ratios_and_what_is_left_out() -> None:
    # Energy: twin 2,000 + 104 pJ against 1,000 + 104, three times; last 1,200 + 52 against 600 + 52.
    result = mapper("compare", "one", "two", "--phase", "fw")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert (
        result.stdout
        == """\
net, batch 2: designs one, two; every part of a layer takes the best partitioning by edp

Totals: every layer times its repeat. Ratios are to one, the baseline: above 1 is better than it.
phase  design  cycles  speedup    energy  saving  edp (pJ x cyc.)   gain    util.   gain
fw     one         14    1.000  7.564 nJ   1.000        1.059e+05  1.000  100.0 %  1.000
       two         14    1.000  3.964 nJ   1.908        5.550e+04  1.908  100.0 %  1.000

Geometric means of the ratios of single layers: each counts as often as it is repeated; above 1 is better.
phase  design  layers  speedup  energy saving  edp gain  utilization gain
fw     one          4    1.000          1.000     1.000             1.000
       two          4    1.000          1.909     1.909             1.000

left out, not searched in two: first fw
"""
    )


@pytest.mark.usefixtures("runs")
def test_one_layer_one_by_one_and_by_another_baseline() -> None:
    result = mapper("compare", "one", "two", "--layer", "first", "--layer", "last", "--layers", "--baseline", "two")
    assert result.exit_code == 0
    assert "Ratios are to two, the baseline" in result.stdout
    assert "Layers, fw: figures of one, whatever its repeat.\n" in result.stdout
    assert "Layers, wu: figures of one, whatever its repeat.\n" in result.stdout
    assert "Layers, all" not in result.stdout
    assert "left out, not searched in two: first fw, first wu" in result.stdout


@pytest.mark.usefixtures("runs")
def test_tables_are_written_in_every_format_and_are_the_same_each_time() -> None:
    for folder in ("a", "b"):
        result = mapper("compare", "one", "two", "--output", folder, "--format", "md")
        assert result.exit_code == 0
    names = {"comparison.csv", "comparison.md", "comparison_layers.csv", "comparison_layers.md"}
    assert names <= set(os.listdir("a"))
    assert set(os.listdir("a")) == set(os.listdir("b")), "no figure where there is no matplotlib"
    for name in os.listdir("a"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name
    found = rows("a/comparison.csv")
    assert [(row["phase"], row["name"]) for row in found] == [
        (p, n) for p in ("fw", "wu", "all") for n in ("one", "two")
    ]
    head = "by,name,baseline,phase,layers,layers_repeated,macs,effectual_macs,cycles,speedup,energy_pj,energy_saving"
    assert ",".join(found[0]).startswith(head)
    assert "written to a: comparison.csv, comparison_layers.csv, comparison.md, comparison_layers.md" in (
        mapper("compare", "one", "two", "--output", "a", "--format", "md").stdout
    )


@pytest.mark.usefixtures("runs")
def test_a_figure_is_written_with_matplotlib() -> None:
    pytest.importorskip("matplotlib")
    for by in (["two"], ["--by", "partitioning"]):
        result = mapper("compare", "one", *by, "--output", by[-1])
        assert result.stdout.endswith("comparison_layers.csv, speedup.svg, speedup.png\n")
        assert Path(by[-1], "speedup.png").read_bytes().startswith(b"\x89PNG")
        assert "one" in Path(by[-1], "speedup.svg").read_text(encoding="utf-8") or by != ["two"]


@pytest.mark.usefixtures("runs")
def test_the_same_run_twice_has_ratios_of_exactly_one() -> None:
    mapper("compare", "one", "one", "--output", "out")
    for name in ("comparison.csv", "comparison_layers.csv"):
        for row in rows(f"out/{name}"):
            ratios = {column: value for column, value in row.items() if "speedup" in column or "gain" in column}
            assert set(ratios.values()) == {"1.0"}, row


@pytest.mark.usefixtures("runs")
def test_accelerators_are_searched_and_compared_as_their_runs_are() -> None:
    mapper("compare", "one", "two", "--phase", "fw", "--layer", "twin", "--output", "read")
    result = mapper("compare", "toy.yaml", "cheap.yaml", *SEARCHED, "--layer", "twin", "--output", "searched")
    assert result.exit_code == 0
    assert (
        "net, batch 2: designs toy, cheap; every part of a layer takes the best partitioning of KN, CN" in result.stdout
    )
    read, searched = rows("read/comparison.csv"), rows("searched/comparison.csv")
    names = {"one": "toy", "two": "cheap"}
    assert [row | {"name": names[row["name"]], "baseline": "toy"} for row in read] == searched
    mixed = mapper("compare", "one", "cheap.yaml", *SEARCHED, "--layer", "twin", "--output", "mixed")
    assert mixed.exit_code == 0
    assert [row["cycles"] for row in rows("mixed/comparison.csv")] == [row["cycles"] for row in read]
    assert [row["energy_saving"] for row in rows("mixed/comparison.csv")] == [row["energy_saving"] for row in read]


@pytest.mark.usefixtures("runs")
def test_partitionings_and_phases_of_one_run() -> None:
    found = mapper("compare", "one", "--by", "partitioning", "--baseline", "CN", "--phase", "fw")
    assert "net, batch 2: partitionings of one KN, CN, best\n" in found.stdout
    assert "Ratios are to CN" in found.stdout
    phases = mapper("compare", "one", "--by", "phase", "--partition", "kn")
    assert "net, batch 2: phases of one fw, wu, partitioning kn\n" in phases.stdout
    assert "\nphase  cycles  speedup" in phases.stdout
    searched = mapper("compare", "toy.yaml", "--by", "partitioning", *SEARCHED)
    assert searched.exit_code == 0
    assert "partitionings of toy KN, CN, best\n" in searched.stdout


@pytest.mark.usefixtures("runs")
def test_a_training_step_tells_what_a_fixed_partitioning_loses() -> None:
    result = mapper("compare", "one", "--training-step", "--layers", "--output", "out")
    assert result.exit_code == 0
    assert result.stdout.startswith("one: one training step (fw, wu), every layer times its repeat.\n")
    assert "not in the step, as they were not searched: bw" in result.stdout
    assert "written to out: training_step.csv, training_step_layers.csv" in result.stdout
    totals = {row["partitioning"]: row for row in rows("one/totals.csv") if row["phase"] == "all"}
    found = {row["choice"]: row for row in rows("out/training_step.csv")}
    for name, total in {"KN": "KN", "CN": "CN", "best of each": "best"}.items():
        for column in ("cycles", "energy_pj", "edp_pj_cycles"):
            assert found[name][column] == totals[total][column]
    assert mapper("compare", "toy.yaml", "--training-step", *SEARCHED).exit_code == 0


def test_a_layer_without_a_mapping_on_one_design_is_left_out_and_named(search: Search) -> None:
    options = ("--batch", "1", "--phase", "fw", "--partition", "KN", "--quiet")
    assert search("mixed.yaml", "--arch", "picky.yaml", *options, "--output", "picky").exit_code == 1
    given = ("--network", "mixed.yaml", "--phase", "fw", "--partition", "KN", "-j", "1")
    for one in ("picky", "picky.yaml"):
        result = mapper("compare", one, "toy.yaml", *given)
        assert result.exit_code == 0, result.output
        assert "left out, no mapping of every part in picky: does_not fw\n" in result.stdout
    result = mapper("compare", "picky.yaml", "toy.yaml", *given, "--layer", "does_not")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: picky: nothing fits; does_not fw 1/1 KN: ")


@pytest.mark.usefixtures("runs")
def test_what_differs_is_a_warning_and_other_work_an_error(search: Search) -> None:
    others = ("net.yaml", "--arch", "toy.yaml", "--phase", "fw", "--partition", "KN", "--quiet")
    search(*others, "--batch", "2", "--density", "0.5", "--metric", "energy", "--output", "sparse")
    search(*others, "--batch", "4", "--output", "more")
    result = mapper("compare", "one", "sparse", "--phase", "fw")
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: not the same densities: dense in one; density 0.5 in sparse\n"
        "warning: not the same metric: edp in one; energy in sparse\n"
    )
    result = mapper("compare", "one", "more")
    assert (result.exit_code, result.stdout) == (2, "")
    work = "error: first fw is not the same work: 16 MACs in one, 32 in more (batch 2 and batch 4)\n"
    assert result.stderr == work


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one"], "'one' alone has nothing to be compared with (give another, or --by partitioning, --by phase, "),
        (["one", "two", "--by", "phase"], "--by phase: it takes one operand, and there are 2"),
        (["one", "two", "--training-step"], "--training-step: it takes one operand, and there are 2"),
        (["one", "--training-step", "--by", "phase"], "--by: a training step is compared with its own best choice"),
        (["one", "tow"], "no folder of a run, no accelerator and no file 'tow' (did you mean 'two'?)"),
        (["one", "procrustis"], "no file 'procrustis' (did you mean 'procrustes'?)"),
        (["one", "no/where"], "no file 'no/where' (mapper list archs)"),
        (["one", "toy.yaml"], "--network: 'toy.yaml' is an accelerator: say which network (resnet18)"),
        (["one", "toy.yaml", "--network", "net.yaml"], "--batch: the run 'one' has batch 2, the accelerators 1 (2)"),
        (
            ["one", "toy.yaml", "--network", "mixed.yaml", "--batch", "2"],
            "'fits' is not a layer of both 'one' and mixed",
        ),
        (["two", "toy.yaml", "--network", "net.yaml", "--batch", "2"], "'first' is not a layer of both 'two' and net"),
        (["one", "two", "--batch", "1"], "--batch: a run has its own; the option is for accelerators"),
        (["one", "two", "--density", "0.1"], "--density: a run has its own; the option is for accelerators"),
        (["one", "two", "--constrain", "RF: K=1"], "--constrain: a run has its own"),
        (["one", "two", "--baseline", "tow"], "--baseline: nothing compared is called 'tow' (did you mean 'two'?)"),
        (["one", "two", "--layer", "lost"], "--layer: no layer 'lost' there (did you mean 'last'?)"),
        (["one", "two", "--partition", "CK"], "--partition: no partitioning 'CK' there"),
        (
            ["one", "two", "--phase", "bw"],
            "no layer and phase has its mappings in all of them: one, two (the layers and ",
        ),
        (["one", "--by", "partitioning", "--partition", "KN"], "one has one partitioning to compare: KN"),
        (["one", "two", "--output", "net.yaml/x"], "--output: cannot write into 'net.yaml/x'"),
        (["one", "."], "mappings.csv: no such file"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_nearest_that_would_do(arguments: list[str], message: str) -> None:
    result = mapper("compare", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("mappings.csv", ",cycles,", ",cykles,", "broken: twin fw 1/1 KN: cycles is not there"),
        ("mappings.csv", ",1/1,", ",one,", "broken: twin fw one KN: 'one' is no part"),
        ("mappings.csv", ",1/1,", ",3/2,", "broken: twin fw 3/2 KN: '3/2' is no part"),
        ("mappings.csv", ",True,", ",perhaps,", "broken: twin fw 1/1 KN: optimal is 'perhaps'"),
        ("mappings.csv", ",fw,", ",forward,", "broken: twin forward 1/1 KN: 'forward' is no phase"),
        ("mappings.csv", ",KN,1,", ",KN,first,", "broken: twin fw 1/1 KN: rank is 'first'"),
        ("mappings.csv", "twin,3,", "twin,2.5,", "broken: twin fw 1/1 KN: repeat is 2.5"),
        ("mappings.csv", "twin,3,", "twin,0,", "broken: twin fw 1/1 KN: repeat is 0"),
        ("mappings.csv", "twin,3,", f"twin,{'1' * 400},", "broken: twin fw 1/1 KN: repeat is 1111"),
        ("mappings.csv", "layer", "lair", "mappings.csv: no column layer: this is no table of mapper search"),
        ("manifest.json", '"limits"', '"batch": "x", "limits"', "'batch' is missing or wrong"),
        (
            "manifest.json",
            '"limits": {',
            '"limits": "?", "": {',
            "'limits' is wrong: this is no manifest of mapper search",
        ),
        ("manifest.json", "{", "", "manifest.json:2: not JSON"),
    ],
)
def test_a_run_in_another_format_is_refused(file: str, old: str, new: str, message: str) -> None:
    path = Path("two").rename("broken") / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    result = mapper("compare", "one", "broken")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("options", [("one", "two"), ("two", "--by", "partitioning"), ("two", "--training-step")])
def test_a_mapping_that_is_there_twice_is_refused(options: tuple[str, ...]) -> None:
    path = Path("two/mappings.csv")
    head, first, *others = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([head, first, *others, first, ""]), encoding="utf-8")
    result = mapper("compare", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: two: twin fw 1/1 KN: it is there twice: this is no table of mapper search\n"


@pytest.mark.usefixtures("runs")
def test_what_a_manifest_cannot_say_is_not_told() -> None:
    path = Path("two/manifest.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["problems"]["failed"] = 5
    manifest["limits"]["compute"]["units"] = 10**400
    path.write_text(json.dumps(manifest), encoding="utf-8")
    result = mapper("compare", "one", "two", "--phase", "fw")
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if line.startswith("       two "))
    assert line.split()[-2:] == ["-", "-"], "a utilization that nobody knows"


@pytest.mark.usefixtures("runs")
def test_a_folder_whose_name_is_not_utf8_is_compared_and_written() -> None:
    other = os.fsdecode(b"two\xff")
    try:
        Path("two").rename(other)
    except OSError:
        pytest.skip("this file system has no such names")
    assert mapper("compare", "one", other, "--output", "out").exit_code == 0
    assert {row["name"] for row in rows("out/comparison.csv")} == {"one", "two\\udcff"}


@pytest.mark.usefixtures("runs")
def test_no_figure_of_an_earlier_comparison_stays_beside_other_tables() -> None:
    pytest.importorskip("matplotlib")
    assert mapper("compare", "one", "two", "--output", "out").exit_code == 0
    assert {path.name for path in Path("out").glob("speedup.*")} == {"speedup.svg", "speedup.png"}
    assert mapper("compare", "one", "--by", "phase", "--output", "out").exit_code == 0
    assert not list(Path("out").glob("speedup.*"))


def test_the_words_of_by_are_those_of_the_report() -> None:
    assert compare.BY == comparison.BY


def test_the_example_in_python_runs_on_a_small_layer(tmp_path: Path) -> None:
    text = (ROOT / "scripts" / "compare_designs.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert '("layer2.0.conv2", "fc")' in text
    script = tmp_path / "copied.py"
    script.write_text(text.replace('("layer2.0.conv2", "fc")', '("fc",)'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert "dense_baseline: speedup 1.00, geometric mean 1.00\n" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("procrustes: speedup ")
    assert 3 < float(last.split()[2].rstrip(",")) < 5, "fw and bw skip 9 of 10 weights, wu half of the activations"
