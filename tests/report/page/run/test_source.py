"""What no search wrote is refused with one message that says where."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapper.errors import InputError
from mapper.report.page import read_source


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run to spoil."""
    return Path(shutil.copytree(run, tmp_path / "copy"))


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_source(folder)
    return str(caught.value)


@pytest.mark.parametrize("name", ["mappings.csv", "breakdown.csv", "totals.csv", "manifest.json"])
def test_a_file_that_is_missing(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert name in refused(copy)


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    assert "no such folder" in refused(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["mappings.csv", "breakdown.csv", "totals.csv"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda _: "", "no row in it|no mapping in it|no column"),
        (lambda text: text.partition("\n")[0] + "\n", "no row in it|no mapping in it"),
        (lambda text: text.replace("cycles", "cicles").replace("bits", "bytes"), "no column"),
        (lambda text: text + "procrustes,net\n", "as many columns as the header"),
        (lambda text: text + "," * 200 + "\n", "as many columns as the header"),
        (lambda text: text + '"', ""),
        (lambda text: text.replace(",fw,", ",forth,"), "phase 'forth' is none of fw, bw, wu"),
        (lambda _: "\0" * 100, ""),
    ],
)
def test_a_table_that_is_damaged(copy: Path, name: str, spoil: Callable[[str], str], message: str) -> None:
    path = copy / name
    path.write_text(spoil(path.read_text(encoding="utf-8")), encoding="utf-8")
    found = refused(copy)
    assert str(path) in found
    assert any(part in found for part in message.split("|"))


def test_a_table_that_is_no_text(copy: Path) -> None:
    (copy / "totals.csv").write_bytes(b"\xff\xfe\x00")
    assert "totals.csv: cannot be read" in refused(copy)


@pytest.mark.parametrize("wrong", ["abc", "", "nan", "inf", "-1", "True", "<b>" * 30])
@pytest.mark.parametrize(
    ("name", "column"),
    [("mappings.csv", "cycles"), ("mappings.csv", "energy_MAC_pj"), ("breakdown.csv", "bits"), ("totals.csv", "macs")],
)
def test_a_number_that_is_none(copy: Path, name: str, column: str, wrong: str) -> None:
    path = copy / name
    head, first, *others = path.read_text(encoding="utf-8").splitlines()
    cells = first.split(",")
    cells[head.split(",").index(column)] = wrong
    path.write_text("\n".join([head, ",".join(cells), *others]) + "\n", encoding="utf-8")
    found = refused(copy)
    assert f"{path}: {column} " in found
    assert "is not a number that it can be, in " in found
    assert len(found) < len(str(path)) + 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"kind": "walk"},
            "holds neither a search nor a sweep but 'walk' (give a folder that mapper search or mapper ",
        ),
        ({"kind": []}, "holds neither a search nor a sweep but an empty list"),
        ({"kind": "sweep"}, "'sweep' is missing or wrong: this is no manifest of mapper sweep"),
        ({"metric": "speed"}, "'metric' is missing or wrong"),
        ({"limits": None}, "'limits' is missing or wrong"),
        ({"limits": {}}, "'limits.name' is missing or wrong"),
        ({"network": 3}, "'network' is missing or wrong"),
        ({"problems": {"failed": [{"ranking": "x"}]}}, "'problems.failed.0.reason' is missing or wrong"),
        ({"inputs": 1}, "'inputs' is missing or wrong"),
        ({"zeros": {"density": [0.1]}}, "'zeros.density"),
    ],
)
def test_a_manifest_that_is_none_of_a_search(copy: Path, changes: dict[str, Any], message: str) -> None:
    path = copy / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    assert message in refused(copy)


@pytest.mark.parametrize("units", ["4", True, 0, 10**400, math.nan])
def test_an_accelerator_that_cannot_be(copy: Path, units: object) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["limits"]["compute"]["units"] = units
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert "'limits.compute.units' is missing or wrong" in refused(copy)
