"""Options about zeros: equal ways to say a thing give equal tables, contradictions and slips are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from mapper.arch.zeros import BALANCES
from mapper.cli import zeros
from tests.cli.shown import mapper as run

LAYER = "resnet18:layer4.1.conv1"
COMMON = ("--arch", "procrustes", "--partition", "KN", "--phase", "fw", "--top", "2", "--quiet")


def search(folder: Path, *options: str, workload: str = LAYER) -> bytes:
    shown = run("search", workload, *COMMON, "--output", str(folder), *options)
    assert shown.exit_code == 0, shown.stderr
    return (folder / "mappings.csv").read_bytes()


def refused(*options: str) -> Result:
    shown = run("search", LAYER, *COMMON, *options)
    assert shown.exit_code == 2
    assert "Traceback" not in shown.stderr
    return shown


def test_the_choices_of_balance_are_those_of_the_hardware() -> None:
    assert zeros.BALANCES == BALANCES


def test_sparsity_is_one_minus_density(tmp_path: Path) -> None:
    first = search(tmp_path / "a", "--density", "0.1")
    assert search(tmp_path / "b", "--sparsity", "0.9", "-j", "2") == first
    assert search(tmp_path / "c", "--density", "10%", "--sparsity", "90%") == first
    assert search(tmp_path / "d") != first


def test_a_file_gives_every_layer_its_density(tmp_path: Path) -> None:
    file = tmp_path / "densities.yaml"
    file.write_text("layer4.1.conv1: 0.1\n")
    assert search(tmp_path / "a", "--density", str(file)) == search(tmp_path / "b", "--density", "0.1")
    file.write_text("W: {layer4.1.conv1: 0.1}\nI: 0.5\n")
    other = search(tmp_path / "c", "--density", "0.1", "--activation-density", "0.5")
    assert search(tmp_path / "d", "--density", str(file)) == other


def test_explain_takes_zeros_from_the_run(tmp_path: Path) -> None:
    search(tmp_path, "--density", "0.1", "--balance", "none")
    options = ("--layer", "layer4.1.conv1", "--partition", "KN")
    shown = run("explain", str(tmp_path), *options)
    assert shown.exit_code == 0
    assert "PEs that find work" in shown.stdout
    cycles = (tmp_path / "mappings.csv").read_text().splitlines()[1].split(",")
    header = (tmp_path / "mappings.csv").read_text().splitlines()[0].split(",")
    assert f"{int(cycles[header.index('cycles')]):,} cycles" in shown.stdout
    assert json.loads((tmp_path / "manifest.json").read_text())["zeros"] == {"density": "0.1", "balance": "none"}
    assert run("explain", str(tmp_path), *options, "--density", "0.2").exit_code == 2


def test_masks_are_read_for_a_layer_and_for_its_network(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "masks").mkdir()
    np.save(tmp_path / "masks" / "layer4.1.conv1.weight.npy", rng.random((512, 512, 3, 3)) < 0.1)
    masks = ("--masks", str(tmp_path / "masks"))
    found = search(tmp_path / "a", *masks, "--partial-masks")
    assert b"true" in found.lower()
    assert "20 layers have no mask: conv1" in refused(*masks).stderr
    shown = run("explain", str(tmp_path / "a"), "--layer", "layer4.1.conv1", "--partition", "KN")
    assert shown.exit_code == 0, shown.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--density", "6.63"), "6.63 % is 0.0663"),
        (("--density", "-0.1"), "'-0.1' is no density"),
        (("--density", "nan"), "'nan' is no density"),
        (("--density", "0.1", "--sparsity", "0.8"), "contradicts --density 0.1"),
        (("--sparsity", "90"), "is no sparsity"),
        (("--sparsity", "2:4"), "--density 2:4"),
        (("--density", "nowhere.yaml"), "nowhere.yaml"),
        (("--balance", "halftile"), "half_tile"),
        (("--axes", "RSCK"), "--masks FILE"),
        (("--masks", "nowhere.npz"), "nowhere.npz"),
        (("--activation-density", "lots"), "--activation-density"),
    ],
)
def test_a_slip_is_one_line_with_the_way_out(options: tuple[str, ...], message: str) -> None:
    assert message in refused(*options).stderr


def test_an_unknown_layer_in_a_density_file_is_named_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "densities.yaml"
    file.write_text("layer4.1.conv11: 0.1\n")
    assert "layer4.1.conv1" in refused("--density", str(file)).stderr
