"""The reproduction of Procrustes on one small layer: the script runs, and its tables add up."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from mapper.workload import load_network

SCRIPTS = Path(__file__).parent.parent / "scripts"
LAYER = "vgg_s:fc.1"

Rows = list[dict[str, str]]


def _module(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes of one layer at batch 2."""
    out = tmp_path_factory.mktemp("procrustes")
    arguments = ["--networks", LAYER, "--partitionings", "CK", "--batch", "2", "-j", "1", "--output", str(out)]
    result = CliRunner().invoke(_module("reproduce_procrustes").main, arguments)
    assert result.exit_code == 0, result.output
    assert "each proven optimal" in result.output
    assert "weights kept: " in result.output
    return out


def _rows(folder: Path, table: str) -> Rows:
    with (folder / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_phases_sum_to_the_step(folder: Path) -> None:
    *phases, whole = _rows(folder, "savings")
    assert [row["phase"] for row in (*phases, whole)] == ["fw", "bw", "wu", "all"]
    for column in ("cycles", "dense_cycles"):
        assert sum(int(row[column]) for row in phases) == int(whole[column])
    for column in ("energy_pj", "dense_energy_pj"):
        assert sum(float(row[column]) for row in phases) == pytest.approx(float(whole[column]))
    assert float(whole["energy"]) == pytest.approx(float(whole["dense_energy_pj"]) / float(whole["energy_pj"]))
    assert float(whole["speedup"]) == pytest.approx(int(whole["dense_cycles"]) / int(whole["cycles"]))


def test_components_sum_to_the_energy_of_each_design(folder: Path) -> None:
    whole = _rows(folder, "savings")[-1]
    rows = {row["design"]: row for row in _rows(folder, "components") if row["phase"] == "all"}
    for row in rows.values():
        parts = sum(float(row[name]) for name in ("DRAM", "GLB", "RF", "MAC", "zeros"))
        assert parts == pytest.approx(float(row["sum"]))
    assert float(rows["dense"]["sum"]) == pytest.approx(1)
    assert float(rows["dense"]["zeros"]) == 0
    assert float(rows["sparse"]["sum"]) == pytest.approx(1 / float(whole["energy"]))


def test_partitionings_tell_the_cycles_of_the_savings_and_better_balancing_is_not_slower(folder: Path) -> None:
    rows = {row["balance"]: row for row in _rows(folder, "partitionings") if row["network"] == "sum"}
    assert rows["half_tile"]["KN"] == _rows(folder, "savings")[-1]["cycles"]
    for name in ("KN", "CK"):
        assert int(rows["ideal"][name]) <= int(rows["global"][name]) <= int(rows["half_tile"][name])


def test_the_first_row_of_the_sensitivity_is_the_result(folder: Path) -> None:
    whole = _rows(folder, "savings")[-1]
    for table, column in (("sensitivity_energy", "energy"), ("sensitivity_speed", "speedup")):
        first, *others = _rows(folder, table)
        assert first["assumption"] == "as assumed"
        assert float(first["vgg_s"]) == pytest.approx(float(whole[column]))
        assert len(others) > 5


def test_figures_and_markdown_are_written(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert (folder / "procrustes_savings.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "procrustes_partitionings.svg").read_bytes()
    assert (folder / "savings.md").read_text(encoding="utf-8").startswith("| network | phase |")


@pytest.mark.parametrize("allocation", ["erk", "uniform", "global"])
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "vgg_s", "wrn_28_10", "densenet_g24"])
def test_weights_keep_the_compression_of_the_paper(name: str, allocation: str) -> None:
    assumptions = _module("procrustes.assumptions").Assumptions(allocation)
    network = load_network(name)
    shares = assumptions.weights(network)
    kept = sum(shares[layer.label] * layer.weights * layer.repeat for layer in network)
    assert network.weights / kept == pytest.approx(assumptions.compression(network))


def test_what_no_relu_has_passed_is_dense() -> None:
    inputs = _module("procrustes.assumptions").Assumptions(activations=0.5).inputs(load_network("mobilenet_v2"))
    assert inputs["stem.0"] == 1
    assert inputs["blocks.1.conv.expand"] == 1
    assert inputs["blocks.1.conv.dw"] == 0.5
    assert inputs["head.0"] == 1
    assert inputs["fc"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--networks", "resnet81"], "resnet18"),
        (["--networks", "alexnet"], "--compression alexnet=4"),
        (["--compression", "resnet18"], "NETWORK=TIMES"),
        (["--compression", "resnet18=0.5"], "1 or more"),
        (["--partitionings", "KM"], "KM"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(_module("reproduce_procrustes").main, arguments)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output
