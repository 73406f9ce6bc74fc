"""The page of a sweep: its numbers are those of the tables, its fronts those that the sweep marked, text stays text."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mapper.report.page.sweep import Source, View, drawings, look, mappings, points, read_sweep, sweep_page
from tests.report.page.cells import Rows, check_number, check_row, lines, rows, write
from tests.report.page.conftest import SCRIPT
from tests.report.page.dom import Node, parse

AXES = (SCRIPT, "density")
COSTS = ("cycles", "energy_pj", "edp_pj_cycles", "area_um2")


def source_of(folder: Path) -> Source:
    return read_sweep(folder, json.loads((folder / "manifest.json").read_text(encoding="utf-8")))


def tree_of(folder: Path) -> Node:
    """The page without its figures."""
    return parse(sweep_page(View(source_of(folder), {})))


@pytest.fixture
def copy(swept: Path, tmp_path: Path) -> Path:
    """A sweep to spoil."""
    return Path(shutil.copytree(swept, tmp_path / "copy"))


def competing(written: Rows) -> Rows:
    """Sums over all phases of fixed partitionings that have all mappings."""
    fixed = [row for row in written if row["phase"] == "all" and row["partitioning"] != "best"]
    return [row for row in fixed if row["layers_without_mapping"] == "0"]


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "file"), [("totals", "points"), ("rankings", "mappings"), ("failed", "failed")])
def test_every_cell_is_that_of_the_table(swept: Path, sweep_tree: Node, table: str, file: str) -> None:
    found, written = sweep_tree.one("table", id=table), rows(swept, file)
    assert found.attributes["data-file"] == file
    checked = sum(check_row(line, row) for line, row in zip(lines(found), written, strict=True))
    assert checked > {"points": 8, "mappings": 6, "failed": 0}[file] * len(written)


def test_the_front_has_the_points_that_the_sweep_marked(swept: Path, sweep_tree: Node) -> None:
    on = [row for row in rows(swept, "points") if row["pareto"] == "True"]
    on.sort(key=lambda r: (r[AXES[1]] != "0.25", int(r["cycles"]), float(r["energy_pj"]), float(r["area_um2"])))
    assert len(on) > 2
    assert sum(check_row(line, row) for line, row in zip(lines(sweep_tree.one("table", id="fronts")), on, strict=True))


def test_stars_stand_at_the_least_of_each_work(swept: Path, sweep_tree: Node) -> None:
    starred = {
        (cells[AXES[1]].text, name, cells[name].attributes["data-value"])
        for line in lines(sweep_tree.one("table", id="fronts"))
        for cells in [{head.attributes["data-column"]: cell for head, cell in line}]
        for name in cells
        if cells[name].text.endswith("*")
    }
    every = competing(rows(swept, "points"))
    assert starred == {
        (work, name, min((row[name] for row in every if row[AXES[1]] == work), key=float))
        for work in ("0.25", "1")
        for name in COSTS
    }


def test_figures_over_two_axes_are_those_of_the_best_partitionings(swept: Path, sweep_tree: Node) -> None:
    written = {" ".join(row[name] for name in (*AXES, "phase", "partitioning")): row for row in rows(swept, "points")}
    section = sweep_tree.one("section", id="grid")
    grids = list(section.all("table", class_="grid"))
    assert [next(grid.all("caption")).text.split()[0] for grid in grids] == ["Cycles", "Energy", "EDP"]
    for grid in grids:
        unit = grid.one("caption").one("span").text.strip()
        columns = [head.text for head in grid.one("thead").all("th")][1:]
        shades, values = [], []
        for line in grid.one("tbody").all("tr"):
            for column, cell in zip(columns, line.all("td"), strict=True):
                place = f"{line.one('th').text} {column} all best"
                assert cell.attributes["data-row"] == place
                check_number(cell, written[place][cell.attributes["data-column"]], unit)
                shades.append(int(cell.attributes["style"].removeprefix("--share:").removesuffix("%")))
                values.append(float(cell.attributes["data-value"]))
        assert len(values) == 4
        darkest = 45 if len(set(values)) > 1 else 0
        assert [shades[values.index(end(values))] for end in (min, max)] == [0, darkest]
        assert sorted(zip(values, shades, strict=True)) == sorted(zip(sorted(values), sorted(shades), strict=True))


def test_with_one_piece_of_work_the_extremes_lead(copy: Path) -> None:
    keep_work(copy, "0.25")
    tree, every = tree_of(copy), competing(rows(copy, "points"))
    tiles = tree.one("dl", class_="tiles")
    spans = [span for span in tiles.all("span") if "data-value" in span.attributes]
    assert [span.attributes["data-column"] for span in spans] == list(COSTS)
    for span, of in zip(spans, tiles.all("dd", class_="of"), strict=True):
        least = min(every, key=lambda row: float(row[span.attributes["data-column"]]))
        assert span.attributes["data-value"] == least[span.attributes["data-column"]]
        assert of.text == f"{SCRIPT}={least[SCRIPT]} density=0.25 {least['partitioning']}"
    assert not list(tree.all("section", id="grid"))


def keep_work(folder: Path, density: str) -> None:
    for table in ("points", "mappings", "failed"):
        write(folder, table, [row for row in rows(folder, table) if row[AXES[1]] == density])


def test_every_exact_value_is_in_a_cell_that_a_test_compares(sweep_tree: Node) -> None:
    known = {"totals", "rankings", "fronts", "failed", "components"}
    tables = [t for t in sweep_tree.all("table") if t.attributes.get("id") in known or t.has("class_", "grid")]
    cells = sum("data-value" in cell.attributes for table in tables for cell in table.all("td"))
    assert cells == sum("data-value" in node.attributes for node in sweep_tree.all())


def test_accelerators_have_the_energies_of_the_manifest_and_equal_ones_stand_once(
    swept: Path, sweep_tree: Node
) -> None:
    limits = json.loads((swept / "manifest.json").read_text(encoding="utf-8"))["limits"]
    found: dict[tuple[str, str], dict[str, Node]] = {}
    for line in lines(sweep_tree.one("table", id="components")):
        cells = {head.attributes["data-column"]: cell for head, cell in line}
        found[cells["component"].text, cells["accelerators"].text] = cells
    assert {where for name, where in found if name in ("DRAM", "MAC")} == {"all"}
    buffers = {where: cells for (name, where), cells in found.items() if name == "GLB"}
    assert list(buffers) == [f"{SCRIPT} small & <b>", f"{SCRIPT} large, {SCRIPT} none"]
    for cells, (name, of) in zip(buffers.values(), limits.items(), strict=False):
        assert name.startswith(f"{SCRIPT}=")
        (buffer,) = of["levels"][1]["buffers"]
        check_number(cells["capacity_bits"], str(buffer["capacity_bits"]), "bits")
        check_number(cells["read"], str(buffer["energy_pj_per_bit"]["read"]), "pJ/bit")
        check_number(cells["area_um2"], str(buffer["area_um2"]), "µm²")
        assert cells["source"].text == buffer["source"]


# Texts ----------------------------------------------------------------------------------------------------------------


def test_the_page_tells_what_was_swept(sweep_tree: Node) -> None:
    assert sweep_tree.one("title").text == "mine: net <b> on procrustes"
    facts = sweep_tree.one("header").one("dl")
    told = dict(zip((t.text for t in facts.all("dt")), (d.text for d in facts.all("dd")), strict=True))
    assert told["Points"].startswith(f"6 points over {SCRIPT}, density; ")
    assert told[SCRIPT] == "small & <b>, large, none"
    assert told["density"] == "0.25, 1"
    assert told["Accelerators"].startswith("3; the first has 256 compute units below DRAM, GLB 64 KiB")
    assert told["Phases"] == "fw (forward), bw (backward-data)"
    assert told["Partitionings"] == "KN, CK"
    assert "$ mapper sweep mine.yaml --output mine -j 1 --quiet" in sweep_tree.one("header").text
    contents = ["Summary", "Pareto front", f"Over {SCRIPT} and density", "Points", "Without a mapping"]
    listed = [item.text for item in sweep_tree.one("nav").all("a")]
    assert listed == [*contents, "Mappings", "Sources of energies", "Manifest"]
    assert "No other point of the same density is as low in energy, cycles and area" in sweep_tree.text


def test_what_has_no_mapping_is_told_with_its_reason(swept: Path, sweep_tree: Node) -> None:
    trust, failed = sweep_tree.one("ul", class_="trust").text, rows(swept, "failed")
    assert len(failed) > 10
    assert f"Optimal: {len({_ranking(r) for r in rows(swept, 'mappings')})} rankings, all proven" in trust
    (reason,) = {row["reason"] for row in failed if row["layer"] == "twin b" and row["phase"] == "fw"}
    assert f"have no mapping: {reason}." in trust
    assert f'{SCRIPT}=none density=0.25: twin "& fw 1/1 KN' in trust
    assert "2 points lack mappings of some layers" in trust


def _ranking(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in (*AXES, "layer", "phase", "part", "partitioning"))


def test_no_name_becomes_an_element_and_nothing_is_asked_of_another_place(sweep_page: bytes, sweep_tree: Node) -> None:
    assert SCRIPT.encode() not in sweep_page
    assert sweep_page.count(b"<script>") == 1
    assert not list(sweep_tree.all("b"))
    assert sum(head.text == SCRIPT for head in sweep_tree.all("th")) == 4
    assert not re.search(rb"https?:|//[a-z]|@import|url\((?!#)", sweep_page)
    names = [node.attributes["id"] for node in sweep_tree.all() if "id" in node.attributes]
    assert len(names) == len(set(names))
    for node in sweep_tree.all():
        if node.attributes.get("href", "").startswith("#"):
            assert node.attributes["href"][1:] in names
        assert node.attributes.get("data-for", names[0]) in names


def test_figures_stand_on_the_page_and_in_files(sweep_view: View, sweep_tree: Node) -> None:
    assert list(sweep_view.figures) == ["pareto_density_0.25", "pareto_density_1"]
    found = [figure.attributes["id"] for figure in sweep_tree.all("figure")]
    assert found == [f"figure-{name}" for name in sweep_view.figures]
    pngs = drawings(sweep_view, "png")
    assert list(pngs) == list(sweep_view.figures)
    assert all(data.startswith(b"\x89PNG") for data in pngs.values())


def test_the_same_sweep_gives_the_same_page(swept: Path, sweep_page: bytes) -> None:
    from mapper.report.page.sweep import sweep_page as page

    assert page(look(source_of(swept))) == sweep_page


def test_without_matplotlib_the_page_says_how_to_get_figures(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapper.report.page.figure.find_spec", lambda _: None)
    found = look(source_of(swept))
    assert found.figures == {}
    assert "Figures need matplotlib" in parse(sweep_page(found)).one("section", id="front").text


# Much and little ------------------------------------------------------------------------------------------------------


def test_of_many_points_the_sums_are_shown(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = [row for row in rows(swept, "points") if row["phase"] == "all"]
    monkeypatch.setattr(points, "MOST", len(written))
    table = tree_of(swept).one("table", id="totals")
    assert "sums over all phases; points.csv has 54 rows" in table.one("caption").text
    assert all(check_row(line, row) for line, row in zip(lines(table), written, strict=True))


def test_of_very_many_points_those_on_a_front_and_of_least_edp_are_shown(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = [row for row in rows(swept, "points") if row["phase"] == "all"]
    on = [row for row in sums if row["pareto"] == "True"]
    monkeypatch.setattr(points, "MOST", len(on) + 2)
    table = tree_of(swept).one("table", id="totals")
    assert f"{len(on) + 2} of 18 sums over all phases" in table.one("caption").text
    others = [row for row in sums if row["pareto"] != "True" and row["layers_without_mapping"] == "0"]
    least = [min((row for row in others if row[AXES[1]] == work), key=_edp) for work in ("0.25", "1")]
    shown = [row for row in sums if row in on or row in least]
    assert all(check_row(line, row) for line, row in zip(lines(table), shown, strict=True))


def _edp(row: dict[str, str]) -> float:
    return float(row["edp_pj_cycles"])


def test_of_many_mappings_those_of_the_front_are_shown_or_none(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(row: dict[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in (*AXES, "partitioning"))

    on = {place(row) for row in rows(swept, "points") if row["pareto"] == "True"}
    every = rows(swept, "mappings")
    wanted = [row for row in every if place(row) in on]
    assert 10 < len(wanted) < len(every)
    monkeypatch.setattr(mappings, "MOST", len(wanted))
    table = tree_of(swept).one("table", id="rankings")
    assert f"The best mappings of points on a front, {len(wanted)} of {len(every)} rankings" in table.text
    assert all(check_row(line, row) for line, row in zip(lines(table), wanted, strict=True))
    monkeypatch.setattr(mappings, "MOST", len(wanted) - 1)
    said = tree_of(swept).one("section", id="mappings").one("p").text
    assert said == f"mappings.csv has the best mappings of {len(every)} rankings, more than a page can show."


def test_one_phase_has_no_rows_beside_its_sums(copy: Path) -> None:
    for name in ("points", "mappings", "failed"):
        write(copy, name, [row for row in rows(copy, name) if row["phase"] in ("fw", "all")])
    table = tree_of(copy).one("table", id="totals")
    written = [row for row in rows(copy, "points") if row["phase"] == "all"]
    assert all(check_row(line, row) for line, row in zip(lines(table), written, strict=True))


def test_a_sweep_without_any_mapping_has_a_page(copy: Path) -> None:
    write(copy, "points", [row for row in rows(copy, "points") if row[SCRIPT] == "none"])
    path = copy / "mappings.csv"
    path.write_text(path.read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    tree = tree_of(copy)
    assert "No point has a mapping of every layer." in tree.one("section", id="front").text
    assert "No ranking has a mapping." in tree.one("ul", class_="trust").text
    assert "There is none." in tree.one("section", id="mappings").text


def test_points_without_their_sums_have_a_page(copy: Path) -> None:
    write(copy, "points", rows(copy, "points")[:1])
    assert not list(lines(tree_of(copy).one("table", id="totals")))


def test_a_very_long_manifest_is_cut(swept: Path) -> None:
    source = source_of(swept)
    many: list[dict[str, Any]] = [{SCRIPT: f"{'x' * 100}{i}"} for i in range(3000)]
    page = sweep_page(View(replace(source, manifest=dict(source.manifest) | {"points": many}), {}))
    text = parse(page).one("details", id="manifest-json").text
    assert '"points": "... 3,000 entries: see the file"' in text
    assert len(text) < 60_000
