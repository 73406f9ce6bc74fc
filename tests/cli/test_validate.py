"""`mapper validate`: every file is checked, every error is shown with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapper import shipped
from mapper.mapping import nest_to_yaml, parse_nest
from tests.arch.specs import RIGHT, bent
from tests.cli.shown import ARCH, MAPPING, mapper

pytestmark = pytest.mark.usefixtures("folder")

NETWORK = "name: n\nlayers:\n  - {name: fc, linear: {C: 4, K: 2, bias: true}, repeat: 3}\n"


def write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


def test_each_kind_of_file_is_recognised_and_summed_up() -> None:
    write("n.yaml", NETWORK)
    write("layer.yaml", "name: one\nconv: {C: 1, K: 2, R: 1, S: 1, P: 3, Q: 3}\n")
    write("m.yaml", nest_to_yaml(parse_nest(MAPPING)))
    result = mapper("validate", ARCH, "n.yaml", "layer.yaml", "m.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "ok: right.yaml: accelerator right, DRAM > GLB > RF, 168 compute units\n"
        "ok: n.yaml: network n, 3 layers, 24 macs, 30 params\n"
        "ok: layer.yaml: layer one, 18 macs, 2 weights\n"
        f"ok: m.yaml: mapping {MAPPING}\n"
    )


SWEEP = "network: n.yaml\narch: right.yaml\npartition: any\ngrid:\n  batch: [1, 2]\n"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (SWEEP, "sweep of 2 points, 6 searches"),
        (SWEEP.replace("[1, 2]", "[1]"), "sweep of 1 point, 3 searches"),
        ("network: n.yaml:fc\narch: right.yaml\nphase: fw\npartition: any\n", "sweep of 1 point, 1 search"),
        (
            SWEEP.replace("grid:\n  batch: [1, 2]", "points: [{array: 2x2}, {batch: 4}]"),
            "sweep of 2 points, 6 searches",
        ),
    ],
)
def test_a_sweep_is_summed_up_by_its_points_and_searches(text: str, summary: str) -> None:
    write("n.yaml", NETWORK)
    write("s.yaml", text)
    result = mapper("validate", "s.yaml")
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"ok: s.yaml: {summary}\n", "")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (SWEEP.replace("batch", "btch"), "s.yaml:5: btch: unknown key (did you mean 'batch'?)"),
        (SWEEP.replace("network: n.yaml\n", ""), "s.yaml:1: network: is missing (network: resnet18)"),
        (SWEEP.replace("arch: right.yaml\n", ""), "s.yaml:1: arch: is missing (arch: procrustes)"),
        (SWEEP.replace("batch: [1, 2]", "repeat: {a: {batch: 1}}"), "s.yaml:5: what varies is called 'repeat', as"),
        (SWEEP.replace("n.yaml", "none.yaml"), "s.yaml:1: network: no such file"),
        ("grid: {batch: [1]}\n", "s.yaml:1: network: is missing"),
        ("points: []\n", "s.yaml:1: points: expected a list of points"),
    ],
)
def test_a_wrong_sweep_is_one_error_with_its_line(text: str, error: str) -> None:
    write("n.yaml", NETWORK)
    write("s.yaml", text)
    result = mapper("validate", "s.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {error}")
    assert result.stderr.count("error:") == 1


def test_all_files_are_checked_and_all_errors_shown() -> None:
    write("bad.yaml", bent(("capacity_kib: 64", "capacity_kb: 64")))
    write("n.yaml", NETWORK.replace("linear", "lineer"))
    result = mapper("validate", "bad.yaml", "none.yaml", ARCH, "n.yaml")
    assert result.exit_code == 2
    assert result.stdout == "ok: right.yaml: accelerator right, DRAM > GLB > RF, 168 compute units\n"
    errors = result.stderr.splitlines()
    assert [error.split(": ")[1] for error in errors] == ["bad.yaml:9", "none.yaml", "n.yaml:3"]
    assert "did you mean 'capacity_kib'?" in errors[0]
    assert "did you mean 'linear'?" in errors[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour: red\n", "error: f.yaml: neither accelerator, network, layer, mapping, constraints nor sweep"),
        ("layer: [1]\n", "did you mean 'layers'?"),
        ("[1, 2]\n", "neither accelerator, network, layer, mapping, constraints nor sweep"),
        ("", "error: f.yaml"),
        ("layers: []\n", "error: f.yaml:1"),
        ("name: n\nname: m\nlayers: []\n", "error: f.yaml:2"),
        ("levels:\n  - {name: DRAM, temporal: [N0]}\n", "error: f.yaml:2: factor 0 of N is not positive"),
        (RIGHT.replace("compute: {energy_pj: 1, source: s}\n", ""), "compute"),
        ("\x00", "error: f.yaml:1: not a text file"),
    ],
)
def test_a_wrong_file_is_one_error_with_its_place(text: str, message: str) -> None:
    write("f.yaml", text)
    result = mapper("validate", "f.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("error:") == 1


def test_a_folder_is_no_file() -> None:
    assert mapper("validate", ".").stderr == "error: .: this is a directory, not a YAML file\n"


def test_everything_that_ships_is_valid() -> None:
    files = [
        str(shipped.find(folder, name)) for folder in ("arch_specs", "layer_zoo") for name in shipped.names(folder)
    ]
    result = mapper("validate", *files)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == len(files)
