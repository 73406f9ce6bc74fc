"""`mapper explain`: what a mapping does, from the tables of a search or from its text."""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from mapper.report.results import read_results
from tests import tiny
from tests.cli.shown import ARCH, GEMM, MAPPING, golden, mapper

NETWORK = """\
name: tiny
layers:
  - {name: a, conv: {C: 2, K: 2, R: 2, S: 1, H: 4, W: 1, stride: [2, 1]}}
  - {name: b, linear: {C: 4, K: 4}}
"""
"""The gradient of `a` has two parts."""

OTHER = "DRAM: M2 K2 | GLB: N2 | X: M2 | Y: N2 | RF: K2"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a search of two layers, phases and partitionings wrote `run`."""
    folder = tmp_path_factory.mktemp("searched")
    (folder / "toy.yaml").write_text(tiny.ARCH, encoding="utf-8")
    (folder / "tiny.yaml").write_text(NETWORK, encoding="utf-8")
    arguments = ("--arch", "toy.yaml", "--phase", "fw,bw", "--partition", "KN,CK", "--top", "2", "-j", "1", "--quiet")
    with contextlib.chdir(folder):
        result = mapper("search", "tiny.yaml", *arguments, "--output", "run")
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def run(searched: Path, folder: Path) -> Path:
    """A copy of that folder to work in."""
    shutil.copytree(searched, folder, dirs_exist_ok=True)
    return folder / "run"


def test_a_small_mapping_is_explained_on_a_page(folder: Path) -> None:  # noqa: ARG001
    result = mapper("explain", GEMM, "--arch", ARCH, "--mapping", MAPPING, "--versus", OTHER)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == golden("explain.txt")
    assert max(map(len, result.stdout.splitlines())) <= 110


def test_a_mapping_of_a_run_is_found_by_its_rank_and_compared(run: Path) -> None:
    with (run / "mappings.csv").open(newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if (r["layer"], r["phase"], r["partitioning"]) == ("b", "fw", "KN")]
    result = mapper("explain", "run", "--layer", "b", "--phase", "forward", "--partition", "kn", "--versus", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"tiny:b, fw 1/1, on toy: KN, rank 1\n  {rows[0]['mapping']}\n")
    assert f"  {int(rows[0]['cycles']):,} cycles, bound by {rows[0]['bound_by']}; " in result.stdout
    assert "\nrank 1 against rank 2: " in result.stdout


def test_a_part_of_a_run_is_chosen_by_its_number_or_label(run: Path) -> None:  # noqa: ARG001
    choice = ("--layer", "a", "--phase", "bw", "--partition", "CK")
    outputs = {mapper("explain", "run", *choice, "--part", part).stdout for part in ("2", "2/2")}
    assert len(outputs) == 1
    assert outputs.pop().startswith("tiny:a, bw 2/2, on toy: CK, rank 1\n")


def test_what_the_tables_leave_no_choice_of_need_not_be_given(run: Path) -> None:  # noqa: ARG001
    whole = mapper("explain", "run", "--layer", "b", "--phase", "fw", "--partition", "KN", "--part", "1/1")
    assert mapper("explain", "run", "--layer", "b", "--phase", "fw", "--partition", "KN").stdout == whole.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: --layer: run has several: say which layer (one of: a, b)\n"),
        (("--layer", "c"), "error: --layer: run has no layer 'c' there (one of: a, b)\n"),
        (("--layer", "b"), "error: --phase: run has several: say which phase (one of: fw, bw)\n"),
        (("--layer", "b", "--phase", "wu"), "error: --phase: run has no phase 'wu' there (one of: fw, bw)\n"),
        (("--layer", "b", "--phase", "zz"), "error: no phase 'zz'"),
        (("--layer", "b", "--phase", "fw", "--partition", "PQ"), "run has no partitioning 'PQ' there (one of: "),
        (("--layer", "a", "--phase", "bw", "--partition", "KN"), "error: --part: run has several: say which part"),
        (
            ("--layer", "b", "--phase", "fw", "--partition", "KN", "--rank", "9"),
            "error: --rank: run has no rank '9' there (one of: 1, 2)\n",
        ),
        (
            ("--layer", "b", "--phase", "fw", "--partition", "KN", "--versus", "9"),
            "error: --rank: run has no rank '9' there (one of: 1, 2)\n",
        ),
        (("--layer", "b", "--versus", "best"), "error: --versus: 'best' is not a rank (2)\n"),
        (("--layer", "b", "--versus", "²"), "error: --versus: '²' is not a rank (2)\n"),
        (("--arch", "toy.yaml"), "error: --arch: the run 'run' has its own\n"),
        (("--batch", "2"), "error: --batch: the run 'run' has its own\n"),
    ],
)
def test_a_choice_that_the_tables_do_not_have_is_refused(run: Path, arguments: tuple[str, ...], message: str) -> None:
    assert run.is_dir()
    result = mapper("explain", "run", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mappings.csv", None, "mappings.csv: no such file"),
        ("mappings.csv", "", "mappings.csv: no column layer"),
        ("mappings.csv", "layer,phase\na,fw\n", "no column part"),
        ("mappings.csv", "layer,phase,part,partitioning,rank,mapping\n", "no mapping in it"),
        ("mappings.csv", "layer,phase,part,partitioning,rank,mapping\na,fw\n", "not as many columns"),
        ("mappings.csv", "layer,phase,part,partitioning,rank,mapping\nb,fw,1/9,KN,1,DRAM:\n", "b has no part 1/9"),
        (
            "mappings.csv",
            "layer,phase,part,partitioning,rank,mapping\nb,fw,1/1,KN,1,DRAM: C3\n",
            "no factors cover its bound 4",
        ),
        ("mappings.csv", "layer,phase,part,partitioning,rank,mapping\nz,fw,1/1,KN,1,DRAM:\n", "has no layer 'z'"),
        ("manifest.json", None, "manifest.json: no such file"),
        ("manifest.json", "{", "manifest.json:1: not JSON"),
        ("manifest.json", "[" * 100_000, "manifest.json: nested too deep, or a number too long"),
        ("manifest.json", "9" * 5000, "manifest.json: nested too deep, or a number too long"),
        ("manifest.json", "[]", "'workload' is missing or wrong"),
        ("manifest.json", '{"workload": "tiny.yaml", "batch": 1, "inputs": [3]}', "'inputs' is wrong"),
        ("manifest.json", '{"workload": "tiny.yaml", "batch": 1, "inputs": []}', "names no NETWORK"),
    ],
)
def test_a_folder_that_no_search_wrote_is_refused(run: Path, name: str, text: str | None, message: str) -> None:
    if text is None:
        (run / name).unlink()
    else:
        (run / name).write_text(text, encoding="utf-8")
    choice = () if name == "mappings.csv" else ("--layer", "b", "--phase", "fw", "--partition", "KN")
    result = mapper("explain", "run", *choice)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_an_input_that_has_changed_since_the_search_is_told(run: Path, searched: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["inputs"][0]["sha256"] = "0"
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    result = mapper("explain", "run", "--layer", "b", "--phase", "fw", "--partition", "KN")
    assert (result.exit_code, result.stderr) == (0, f"warning: {searched / 'tiny.yaml'} has changed since the search\n")


def test_a_run_is_explained_from_any_folder(run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    choice = ("--layer", "b", "--phase", "fw", "--partition", "KN")
    here = mapper("explain", "run", *choice)
    with contextlib.chdir(tmp_path_factory.mktemp("elsewhere")):
        assert mapper("explain", str(run), *choice).stdout == here.stdout


def test_the_run_of_an_einsum_is_explained(folder: Path) -> None:
    tiny.write(folder)
    arguments = ("search", GEMM, "--arch", "toy.yaml", "--top", "1", "-j", "1", "--quiet", "--output", "gemm")
    assert mapper(*arguments).exit_code == 0
    assert json.loads((folder / "gemm" / "manifest.json").read_text(encoding="utf-8"))["workload"] == GEMM
    result = mapper("explain", "gemm")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Z[M,N] += A[M,K] * B[K,N]" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "error: nowhere: no such folder, and no layer is called so"),
        (("x" * 5000,), "no such folder, and no layer is called so"),
        (("resnet18:conv1",), "error: --arch: 'resnet18:conv1' is no folder of a run, and a layer needs --arch\n"),
        ((GEMM, "--arch", ARCH), "a layer needs --mapping\n"),
        ((GEMM, "--arch", ARCH, "--mapping", MAPPING, "--layer", "b"), "error: --layer: it chooses among the mappings"),
        ((GEMM, "--arch", ARCH, "--mapping", "DRAM: K3"), "error: M: no factors cover its bound 4"),
        (
            (GEMM, "--arch", ARCH, "--mapping", MAPPING, "--versus", "DRAM: K3"),
            "error: M: no factors cover its bound 4",
        ),
        ((GEMM, "--arch", ARCH, "--mapping", MAPPING, "--rank", "1"), "error: --rank: it chooses among the mappings"),
        (("resnet19:conv1", "--arch", ARCH, "--mapping", MAPPING), "did you mean 'resnet18'?"),
        ((GEMM, "--arch", "procrust", "--mapping", MAPPING), "did you mean 'procrustes'?"),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    assert folder.is_dir()
    result = mapper("explain", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_mapping_that_does_not_fit_is_explained_and_refused(folder: Path) -> None:  # noqa: ARG001
    mapping = "GLB: K64 C3 P112 Q112 R7 S7"
    result = mapper("explain", "resnet18:conv1", "--arch", "procrustes", "--mapping", mapping)
    assert result.exit_code == 1
    assert "31,025,504 of 1,048,576 bits: DOES NOT FIT" in result.stdout
    assert result.stderr.startswith("error: the tiles do not fit GLB: 31,025,504 bits")


@pytest.mark.parametrize("name", ["two\\nlines", "line\\u2028separator", 'quote\\", comma'])
def test_names_of_layers_come_back_from_the_tables_as_they_are(search: Callable[..., Result], name: str) -> None:
    Path("odd.yaml").write_text(f'name: odd\nlayers: [{{name: "{name}", linear: {{C: 4, K: 2}}}}]\n', encoding="utf-8")
    asked = ("--arch", "toy.yaml", "--phase", "fw", "--partition", "KN", "--output", "odd", "--quiet")
    assert search("odd.yaml", *asked).exit_code == 0
    found = read_results(Path("odd"))
    assert {row["layer"] for row in found.mappings} == {json.loads(f'"{name}"')}
    assert mapper("explain", "odd").exit_code == 0
