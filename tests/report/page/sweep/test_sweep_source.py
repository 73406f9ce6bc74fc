"""What no sweep wrote is refused with one message that says where."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapper.errors import InputError
from mapper.report.page import read_source
from mapper.report.page.sweep import Source
from tests.report.page.cells import rows, write
from tests.report.page.conftest import SCRIPT


@pytest.fixture
def copy(swept: Path, tmp_path: Path) -> Path:
    """A sweep to spoil."""
    return Path(shutil.copytree(swept, tmp_path / "copy"))


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_source(folder)
    return str(caught.value)


def test_a_sweep_is_read_as_one(swept: Path) -> None:
    source = read_source(swept)
    assert isinstance(source, Source)
    assert (source.name, source.axes, source.work) == ("mine", (SCRIPT, "density"), ("density",))
    assert {row["rank"] for row in source.mappings} == {"1"}
    assert list(source.works) == ["density 0.25", "density 1"]


@pytest.mark.parametrize("name", ["points.csv", "mappings.csv", "failed.csv"])
def test_a_file_that_is_missing(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert refused(copy) == f"{copy / name}: cannot be read: No such file or directory (mapper sweep writes it)"


@pytest.mark.parametrize("name", ["points.csv", "mappings.csv", "failed.csv"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text.replace("partitioning", "partition"), "no column partitioning: this is no table of mapper"),
        (lambda text: text.replace("density", "thickness"), "no column density"),
        (lambda text: text + "procrustes,net\n", "has not as many columns as the header"),
        (lambda text: text + "," * 200 + "\n", "has not as many columns as the header"),
        (lambda text: text + '"', ""),
        (lambda text: text.replace(",fw,", ",forth,"), "phase 'forth' is none of fw, bw, wu"),
        (lambda _: "\0" * 100, ""),
        (lambda _: "\udcff", "cannot be read"),
    ],
)
def test_a_table_that_is_damaged(copy: Path, name: str, spoil: Callable[[str], str], message: str) -> None:
    path = copy / name
    text = spoil(path.read_text(encoding="utf-8"))
    path.write_bytes(text.encode(errors="surrogateescape"))
    found = refused(copy)
    assert str(path) in found
    assert message in found


def test_points_there_must_be(copy: Path) -> None:
    path = copy / "points.csv"
    for text in ("", "\n", path.read_text(encoding="utf-8").partition("\n")[0] + "\n"):
        path.write_text(text, encoding="utf-8")
        assert refused(copy) == f"{path}: no row in it"


def test_other_tables_may_be_empty(copy: Path) -> None:
    for name in ("mappings.csv", "failed.csv"):
        (copy / name).write_text("\n", encoding="utf-8")
    source = read_source(copy)
    assert (source.mappings, source.failed) == ((), ())  # type: ignore[union-attr]


@pytest.mark.parametrize("wrong", ["abc", "nan", "inf", "-1", "True", "<b>" * 30, "9" * 5000])
@pytest.mark.parametrize(("table", "column"), [("points", "cycles"), ("points", "energy_MAC_pj"), ("mappings", "gap")])
def test_a_number_that_is_none(copy: Path, table: str, column: str, wrong: str) -> None:
    write(copy, table, [row | {column: wrong} for row in rows(copy, table)])
    found = refused(copy)
    assert f"{table}.csv: {column} " in found
    assert "is not a number that it can be, in small & <b> 0.25 " in found
    assert len(found) < len(str(copy)) + 200


def test_a_front_that_is_neither(copy: Path) -> None:
    write(copy, "points", [row | {"pareto": "perhaps"} for row in rows(copy, "points")])
    assert "pareto is neither True nor False, in " in refused(copy)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sweep": 3}, "'sweep' is missing or wrong: this is no manifest of mapper sweep"),
        ({"axes": "array"}, "'axes' is missing or wrong"),
        ({"points": [1]}, "'points.0' is missing or wrong"),
        ({"limits": {"a": {}}}, "'limits.a.name' is missing or wrong"),
        ({"inputs": [1]}, "'inputs.0' is missing or wrong"),
        ({"command": [1]}, "'command.0' is missing or wrong"),
        ({"problems": {"failed": 1, "finished": "x"}}, "'problems.finished' is missing or wrong"),
    ],
)
def test_a_manifest_that_is_none_of_a_sweep(copy: Path, changes: dict[str, Any], message: str) -> None:
    path = copy / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    assert message in refused(copy)
