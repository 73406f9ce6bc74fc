"""Tables of a sweep: which points are on the front, who competes with whom, and what stands in the columns."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapper.report.bundle import sweep_files
from mapper.report.formats import to_csv
from mapper.report.sweep_tables import failed_table, front, points_table, sweep_mappings_table
from mapper.report.sweep_text import sweep_summary
from mapper.runs.solving import How
from mapper.runs.sweep import SweepRun, load_sweep, sweep
from mapper.search.rows import Row
from tests import tiny

pytestmark = pytest.mark.filterwarnings("ignore::mapper.errors.MapperWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)


def swept(
    text: str, head: str = "network: net.yaml\narch: toy.yaml\nphase: [fw, bw]\npartition: [KN, CN]\n"
) -> SweepRun:
    Path("s.yaml").write_text(head + text, encoding="utf-8")
    return sweep(load_sweep("s.yaml"), How())


def beaten(point: tuple[float, ...], points: list[tuple[float, ...]]) -> bool:
    return any(all(a <= b for a, b in zip(q, point, strict=True)) and q != point for q in points)


NUMBERS = st.one_of(st.integers(0, 4), st.sampled_from([0.5, 2.5, 2**60, 2**60 + 1, 1e30]))


@pytest.mark.parametrize("size", [2, 3])
@given(data=st.data())
def test_the_front_is_what_no_other_point_beats(size: int, data: st.DataObject) -> None:
    """Integers beyond 53 bits, as cycles may be, are compared exactly."""
    points = data.draw(st.lists(st.tuples(*[NUMBERS] * size), max_size=14))
    assert front(points) == [not beaten(point, points) for point in points]


def test_a_front_of_many_points_is_found_at_once() -> None:
    """Every one of them is on it: comparing each with each would be 10^10 comparisons."""
    points = [(i, 100_000 - i, (i * 7919) % 100_003) for i in range(100_000)]
    assert all(front(points))
    assert sum(front([*points, (-1, -1, -1)])) == 1


AREAS = "set: {DRAM.area_um2: 10, MAC.area_um2: 1}\n"
GRID = "grid:\n  array: [1x1, 1x2, 2x2]\n  RF.capacity_words: [8, 16, 64]\n  batch: [1, 2]\n"
SIZED = GRID.replace(
    "RF.capacity_words: [8, 16, 64]",
    "rf: {a: {RF.capacity_words: 8, RF.area_um2: 3}, b: {RF.capacity_words: 16, RF.area_um2: 7}}",
)


@pytest.mark.parametrize(("text", "objectives"), [(GRID, 2), (AREAS + GRID, 2), (AREAS + SIZED, 3)])
def test_points_of_the_same_work_compete_in_area_where_that_is_known(text: str, objectives: int) -> None:
    rows = points_table(swept(text)).rows
    judged = [row for row in rows if row["phase"] == "all" and row["partitioning"] != "best"]
    for batch in (1, 2):
        group = [row for row in judged if row["batch"] == batch]
        figures = [tuple(row[name] for name in ("energy_pj", "cycles", "area_um2")[:objectives]) for row in group]
        assert [row["pareto"] for row in group] == [not beaten(each, figures) for each in figures]  # type: ignore[arg-type]
    assert {row["batch"] for row in judged if row["pareto"]} == {1, 2}
    assert {row["pareto"] for row in rows if row not in judged} == {None}
    assert all((row["area_um2"] is not None) == (objectives == 3) for row in rows)


def test_area_is_that_of_the_chip() -> None:
    """The memory outside of it does not count."""
    rows = points_table(swept(AREAS + SIZED)).rows
    assert {(row["array"], row["rf"]): row["area_um2"] for row in rows} == {
        (array, rf): lanes * (1 + area)
        for array, lanes in (("1x1", 1), ("1x2", 2), ("2x2", 4))
        for rf, area in (("a", 3), ("b", 7))
    }


def test_work_that_a_name_stands_for_does_not_compete() -> None:
    """Half the batch takes half the energy: were it a design, no whole batch would be on the front."""
    rows = points_table(swept("grid:\n  a: {half: {batch: 1}, whole: {batch: 2}}\n  array: [1x2, 2x2]\n")).rows
    assert {row["a"] for row in rows if row["pareto"]} == {"half", "whole"}


MIXED = "network: mixed.yaml\npartition: KN\nphase: fw\ngrid: {arch: [picky.yaml, toy.yaml], batch: [1, 2]}\n"


def test_what_fits_nowhere_is_a_row_with_its_reason_and_no_point_of_the_front() -> None:
    found = swept(MIXED, "")
    failed = failed_table(found)
    assert [tuple(row.values())[:8] for row in failed.rows] == [
        ("picky.yaml", batch, "mixed", "does_not", 1, "fw", "1/1", "KN") for batch in (1, 2)
    ]
    assert all(str(row["reason"]).startswith("no mapping fits") for row in failed.rows)
    totals = {(row["arch"], row["batch"]): row for row in points_table(found).rows if row["phase"] == "all"}
    assert {key: (row["layers"], row["layers_without_mapping"]) for key, row in totals.items()} == {
        ("picky.yaml", 1): (2, 1),
        ("picky.yaml", 2): (2, 1),
        ("toy.yaml", 1): (2, 0),
        ("toy.yaml", 2): (2, 0),
    }
    fronts = {(row["arch"], row["pareto"]) for row in points_table(found).rows if row["pareto"] is not None}
    assert fronts == {("toy.yaml", True)}
    text = sweep_summary(found, points_table(found))
    assert "2 rankings have no mapping: see failed.csv" in text
    lines = [line for line in text.splitlines() if line.startswith(("arch", "picky.yaml", "toy.yaml"))]
    assert lines[0].endswith("utilization     layers without a mapping")
    assert [line.endswith("1 of 2") for line in lines[1:]] == ["picky" in line for line in lines[1:]]


def test_where_nothing_fits_every_table_has_its_head() -> None:
    found = swept(
        "arch: picky.yaml\ngrid: {batch: [1, 2]}\n", "network: mixed.yaml:does_not\npartition: KN\nphase: fw\n"
    )
    files = sweep_files(found, points_table(found), "md", ["sweep"], [])
    assert sorted(files) == sorted(
        [*(f"{name}.{form}" for name in ("points", "mappings", "failed") for form in ("csv", "md")), "manifest.json"]
    )
    assert files["mappings.csv"].decode().startswith("batch,network,layer,repeat,phase,part,partitioning,rank,")
    assert files["mappings.csv"].count(b"\n") == 1
    assert files["failed.csv"].count(b"\n") == 3
    text = sweep_summary(found, points_table(found))
    assert "0 rankings are proven" in text
    points = [line.split() for line in text.splitlines() if line.endswith("1 of 1")]
    assert points == [[batch, "KN", *"----", "1", "of", "1"] for batch in ("1", "2")]


def test_without_failures_the_table_of_them_has_the_head_that_it_would_have() -> None:
    """Whoever reads it need not know which case it is."""
    fine, failed = failed_table(swept(MIXED.replace("picky.yaml, ", ""), "")), failed_table(swept(MIXED, ""))
    head = "arch,batch,network,layer,repeat,phase,part,partitioning,reason\n"
    assert to_csv(fine).decode() == head
    assert to_csv(failed).decode().startswith(head)


def test_designs_of_other_components_have_the_columns_of_all() -> None:
    found = swept("partition: CN\nnetwork: net.yaml\nphase: fw\ngrid: {arch: [procrustes, toy.yaml]}\n", "")
    for table in (points_table(found), sweep_mappings_table(found)):
        assert {tuple(row) for row in table.rows} == {table.columns}
        by_arch = {row["arch"]: row for row in table.rows}
        assert by_arch["toy.yaml"]["energy_GLB_pj"] is None
        assert by_arch["procrustes"]["energy_GLB_pj"] is not None
        rows = list(csv.reader(io.StringIO(to_csv(table).decode())))
        assert {len(row) for row in rows} == {len(table.columns)}


def test_names_with_everything_in_them_come_through() -> None:
    odd = 'a,b "c"\n| \\ é ☃'
    found = swept(f"grid:\n  {json.dumps('x,y|z')}:\n    {json.dumps(odd)}: {{array: 1x2}}\n    b: {{array: 2x2}}\n")
    rows = list(csv.DictReader(io.StringIO(to_csv(points_table(found)).decode())))
    assert {row["x,y|z"] for row in rows} == {odd, "b"}
    files = sweep_files(found, points_table(found), "json", ["sweep"], [])
    assert {row["x,y|z"] for row in json.loads(files["points.json"])} == {odd, "b"}
    assert sweep_summary(found, points_table(found))


def test_the_manifest_has_every_point_and_each_accelerator_once() -> None:
    found = swept(GRID)
    document = json.loads(sweep_files(found, points_table(found), "csv", ["sweep", "s.yaml"], [])["manifest.json"])
    assert document["kind"] == "sweep"
    assert document["command"] == ["mapper", "sweep", "s.yaml"]
    assert document["axes"] == ["array", "RF.capacity_words", "batch"]
    assert document["points"] == [dict(point.names) for point in found.sweep.points]
    assert list(document["limits"]) == [str(point) for point in found.sweep.points[::2]]
    assert document["limits"]["array=1x2 RF.capacity_words=16 batch=1"]["levels"][1]["instances"] == 2
    assert document["problems"] == {
        "rankings": 18 * 10,
        "searches": 18 * 8,
        "finished": 18 * 8,
        "stopped": None,
        "failed": 0,
    }
    assert document["files"] == ["points.csv", "mappings.csv", "failed.csv", "manifest.json"]


def test_the_summary_lists_few_points_and_of_many_the_front() -> None:
    few, many = swept("grid: {array: [1x2, 2x2]}\n"), swept(GRID)
    text = sweep_summary(few, points_table(few))
    assert text.startswith("s: 2 points over array; 20 rankings from 16 searches\n\nPoints, totals of all phases.")
    assert sum(line.endswith("*") for line in text.splitlines()) == sum(
        bool(r["pareto"]) for r in points_table(few).rows
    )
    text = sweep_summary(many, points_table(many))
    on: list[Row] = [row for row in points_table(many).rows if row["pareto"]]
    assert "\n\nPareto front, totals of all phases. *: on the Pareto front of energy and cycles among" in text
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("array"))
    assert lines[start + 1 + len(on)] == ""
    assert all(line.endswith("*") for line in lines[start + 1 : start + 1 + len(on)])
