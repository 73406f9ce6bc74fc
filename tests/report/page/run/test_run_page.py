"""The page of a run: every number is that of the tables, every text stays text, nothing is asked of another place."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mapper.report.page.figure import inline
from mapper.report.page.run import View, drawings, explained, look, rankings, read_search, run_page
from mapper.report.recorded import KEYS
from tests.report.page.cells import check_number, check_row, lines, rows, write
from tests.report.page.conftest import SCRIPT
from tests.report.page.dom import Node, parse

# Numbers --------------------------------------------------------------------------------------------------------------


def test_every_cell_of_the_ranked_mappings_is_that_of_the_table(run: Path, tree: Node) -> None:
    table, written = tree.one("table", id="rankings"), rows(run, "mappings")
    assert table.attributes["data-file"] == "mappings"
    checked = sum(check_row(line, row) for line, row in zip(lines(table), written, strict=True))
    assert checked > 10 * len(written)


@pytest.mark.parametrize("table", ["totals", "certified"])
def test_other_tables_repeat_theirs(run: Path, tree: Node, table: str) -> None:
    found = tree.one("table", id=table)
    written = rows(run, found.attributes["data-file"])
    if table == "certified":
        written = [row for row in written if row["rank"] == "1"]
    assert sum(check_row(line, row) for line, row in zip(lines(found), written, strict=True))


def test_every_charge_of_an_explained_mapping_is_that_of_the_breakdown(run: Path, tree: Node) -> None:
    written = rows(run, "breakdown")
    folds = list(tree.one("section", id="explained").all("details"))
    assert len(folds) > 5
    for fold in folds:
        (where,) = {span.attributes["data-row"] for span in fold.one("summary").all("span", data_file="mappings")}
        charges = [row for row in written if " ".join(row[name] for name in KEYS) == where]
        assert all(check_row(line, row) for line, row in zip(lines(fold.one("table")), charges, strict=True))


def test_numbers_outside_the_tables_say_where_they_are_from(run: Path, tree: Node) -> None:
    tables = {name: rows(run, name) for name in ("mappings", "totals")}
    keys = {"mappings": KEYS, "totals": ("phase", "partitioning")}
    spans = list(tree.all("span", data_file="totals")) + list(tree.all("span", data_file="mappings"))
    assert len(spans) > 20
    for span in spans:
        file, where, column = (span.attributes[f"data-{name}"] for name in ("file", "row", "column"))
        (row,) = [row for row in tables[file] if " ".join(row[name] for name in keys[file]) == where]
        assert span.attributes["data-value"] == row[column]


def test_every_exact_value_is_in_a_cell_that_a_test_compares(tree: Node) -> None:
    known = {"rankings", "totals", "certified", "layers", "components"}
    names = ((table, table.attributes.get("id", "")) for table in tree.all("table"))
    tables = [table for table, name in names if name in known or name.endswith("-charges")]
    cells = [cell for table in tables for cell in table.all("td") if "data-value" in cell.attributes]
    spans = [span for span in tree.all("span") if "data-value" in span.attributes]
    assert all("data-file" in span.attributes for span in spans)
    assert len(cells) + len(spans) == sum("data-value" in node.attributes for node in tree.all())


def test_a_layer_adds_its_parts_under_their_best_partitionings(run: Path, tree: Node) -> None:
    table = tree.one("table", id="layers")
    line = {head.attributes["data-column"]: cell for head, cell in next(lines(table))}
    firsts = [r for r in rows(run, "mappings") if (r["layer"], r["phase"], r["rank"]) == (SCRIPT, "bw", "1")]
    parts = sorted({row["part"] for row in firsts})
    assert parts == ["1/4", "2/4", "3/4", "4/4"]
    best = [min((r for r in firsts if r["part"] == p), key=lambda r: float(r["edp_pj_cycles"])) for p in parts]
    cycles = sum(int(row["cycles"]) for row in best)
    assert line["cycles bw"].attributes["data-value"] == str(cycles)
    energy = math.fsum(float(row["energy_pj"]) for row in best)
    assert float(line["energy bw"].attributes["data-value"]) == energy
    busy = math.fsum(float(row["effectual_macs"]) for row in best) / (256 * cycles)
    assert float(line["utilization bw"].attributes["data-value"]) == pytest.approx(busy, rel=1e-12)
    imbalance = math.fsum(float(row["imbalance_mean"]) * int(row["cycles"]) for row in best) / cycles
    assert float(line["imbalance bw"].attributes["data-value"]) == pytest.approx(imbalance, rel=1e-12)
    assert line["partitioning bw"].text == "+".join(dict.fromkeys(row["partitioning"] for row in best))
    (forward,) = [min((r for r in rows(run, "mappings") if r["layer"] == SCRIPT and r["phase"] == "fw"), key=_edp)]
    for column, name in (("cycles", "cycles"), ("energy", "energy_pj"), ("imbalance", "imbalance_mean")):
        assert line[f"{column} fw"].attributes["data-value"] == forward[name]


def _edp(row: dict[str, str]) -> float:
    return float(row["edp_pj_cycles"])


def test_stars_stand_where_the_search_prints_them(run: Path, tree: Node) -> None:
    starred = {
        (cells[0].text, cells[1].text, head.attributes["data-column"])
        for line in lines(tree.one("table", id="totals"))
        for pairs in [list(line)]
        for cells in [[cell for _, cell in pairs]]
        for head, cell in pairs
        if cell.text.endswith("*")
    }
    assert starred
    for phase in ("fw", "bw", "all"):
        fixed = {
            r["partitioning"]: r for r in rows(run, "totals") if r["phase"] == phase and r["partitioning"] != "best"
        }
        for column, best in (("cycles", min), ("energy_pj", min), ("edp_pj_cycles", min), ("utilization", max)):
            winner = best(fixed, key=lambda name: float(fixed[name][column]))
            assert (phase, winner, column) in starred
    assert not {place for place in starred if place[1] == "best"}


def test_energies_have_the_values_and_sources_of_the_manifest(run: Path, tree: Node) -> None:
    limits = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["limits"]
    found = {}
    for line in lines(tree.one("table", id="components")):
        cells = {head.attributes["data-column"]: cell for head, cell in line}
        found[cells["component"].text] = cells
    for level in limits["levels"]:
        (buffer,) = level["buffers"]
        for action, energy in buffer["energy_pj_per_bit"].items():
            check_number(found[buffer["name"]][action], str(energy), "pJ/bit")
        assert found[buffer["name"]]["source"].text == buffer["source"]
    assert found["MAC"]["event_pj"].attributes["data-value"] == str(limits["compute"]["energy_pj"])
    assert {event["name"] for event in limits["zeros"]["events"]} < set(found)
    assert all(cells["source"].text for cells in found.values())


# Texts ----------------------------------------------------------------------------------------------------------------


def test_the_page_tells_what_was_searched(tree: Node) -> None:
    header = tree.one("header").text
    assert tree.one("title").text == "net <b> on procrustes"
    for text in (
        "net <b> on procrustes",
        "3 layers, batch 2",
        "256 compute units below DRAM, GLB 128 KiB, RF 1 KiB each",
    ):
        assert text in header
    assert "$ mapper search net.yaml --arch procrustes --density 0.5 --phase fw,bw" in header
    trust = tree.one("ul", class_="trust").text
    assert "Optimal: 18 rankings, all proven" in trust
    assert "9 mappings were evaluated again: cycles and energy are those of the tables." in trust
    contents = ["Summary", "Network", "Ranked mappings", "Best mappings explained", "Certificates"]
    assert [item.text for item in tree.one("nav").all("a")] == [*contents, "Sources of energies", "Manifest"]


def test_no_name_becomes_an_element(page: bytes, tree: Node) -> None:
    assert SCRIPT.encode() not in page
    assert page.count(b"<script>") == 1
    assert sum(cell.text == SCRIPT for cell in tree.one("table", id="rankings").all("td")) > 5
    assert not list(tree.one("header").all("b"))


def test_nothing_is_asked_of_another_place(page: bytes, tree: Node) -> None:
    assert not re.search(rb"https?:|//[a-z]|@import|url\((?!#)", page)
    for node in tree.all():
        assert not {"src", "srcset", "action", "poster"} & set(node.attributes)
        assert node.attributes.get("href", "#").startswith(("#", "data:"))
    policy = next(meta for meta in tree.all("meta") if meta.attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.attributes["content"].startswith("default-src 'none'")


def test_names_are_there_once_and_links_lead_somewhere(tree: Node) -> None:
    names = [node.attributes["id"] for node in tree.all() if "id" in node.attributes]
    assert len(names) == len(set(names))
    for node in tree.all():
        if node.attributes.get("href", "").startswith("#"):
            assert node.attributes["href"][1:] in names
        for key in ("for", "data-for", "aria-labelledby"):
            assert node.attributes.get(key, names[0]) in names


def test_the_same_run_gives_the_same_page(run: Path, page: bytes) -> None:
    assert run_page(look(read_search(run))) == page


def test_what_explain_prints_stands_in_the_fold(run: Path, tree: Node) -> None:
    from tests.cli.shown import mapper

    fold = next(fold for fold in tree.one("section", id="explained").all("details") if "open" in fold.attributes)
    where = next(fold.one("summary").all("span", data_file="mappings")).attributes["data-row"]
    (row,) = [row for row in rows(run, "mappings") if " ".join(row[name] for name in KEYS) == where]
    options = (
        "--layer",
        row["layer"],
        "--phase",
        row["phase"],
        "--part",
        row["part"],
        "--partition",
        row["partitioning"],
    )
    printed = mapper("explain", str(run), *options)
    assert printed.exit_code == 0
    assert fold.one("pre").text == printed.stdout
    heaviest = max(
        (row for row in rows(run, "mappings") if row["rank"] == "1" and row == _best_of(run, row)),
        key=lambda row: float(row["edp_pj_cycles"]) * int(row["repeat"]),
    )
    assert row == heaviest


def _best_of(run: Path, row: dict[str, str]) -> dict[str, str]:
    same = ("layer", "phase", "part")
    rivals = (r for r in rows(run, "mappings") if r["rank"] == "1" and all(r[k] == row[k] for k in same))
    return min(rivals, key=_edp)


def test_twins_share_a_fold(tree: Node) -> None:
    folds = list(tree.one("section", id="explained").all("details"))
    twins = [fold for fold in folds if fold.one("summary").one("code").text == 'twin "&']
    assert len(twins) == 2
    assert all("The same for twin b." in fold.text for fold in twins)
    assert not [fold for fold in folds if fold.one("summary").one("code").text == "twin b"]


# What is missing ------------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run to spoil."""
    return Path(shutil.copytree(run, tmp_path / "copy"))


def spoilt(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def trust(folder: Path) -> str:
    return parse(run_page(look(read_search(folder)))).one("ul", class_="trust").text


def test_failed_and_unfinished_rankings_are_named(copy: Path) -> None:
    failed = [{"ranking": f"l fw 1/1 {name}", "reason": "no mapping fits <x>"} for name in ("KN", "CK")]
    spoilt(copy, problems={"failed": failed, "unfinished": ["m fw 1/1 KN"], "stopped": "timeout", "finished": 3})
    text = trust(copy)
    assert "2 rankings have no mapping: no mapping fits <x>.l fw 1/1 KNl fw 1/1 CK" in text
    assert "The search ended early (timeout): 3 of 0 searches were finished." in text
    assert "1 ranking was not finished.m fw 1/1 KN" in text


def test_a_gap_is_named(copy: Path) -> None:
    written = rows(copy, "mappings")
    written[0] |= {"optimal": "False", "gap": "0.0125"}
    write(copy, "mappings", written)
    text = trust(copy)
    assert (
        "Not all optimal: 17 of 18 rankings are proven; the others are the best mappings found, at most 1.2 %" in text
    )


def test_figures_that_do_not_come_back_are_named(copy: Path) -> None:
    written = [
        row | {"cycles": str(int(row["cycles"]) + 1)} if row["layer"] == "twin b" else row
        for row in rows(copy, "mappings")
    ]
    write(copy, "mappings", written)
    tree = parse(run_page(look(read_search(copy))))
    assert "2 mappings come out differently when evaluated again" in tree.one("ul", class_="trust").text
    assert sum("are not those of the tables" in fold.text for fold in tree.all("details")) == 2


def test_a_run_whose_inputs_are_gone_is_shown_from_its_tables(copy: Path) -> None:
    inputs = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))["inputs"]
    spoilt(copy, inputs=[entry | {"path": "/nowhere/net.yaml", "given": "gone.yaml"} for entry in inputs])
    view = look(read_search(copy))
    assert view.heaviest is None
    (warning,) = view.told.warnings
    assert warning.startswith("not evaluated again: gone.yaml: no such file")
    assert "Not evaluated again: gone.yaml" in trust(copy)
    assert parse(run_page(view)).one("table", id="rankings")


def test_without_matplotlib_the_page_says_how_to_get_figures(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapper.report.page.figure.find_spec", lambda _: None)
    found = look(read_search(run))
    assert drawings(found, "png") == {}
    tree = parse(run_page(found))
    assert not list(tree.all("svg"))
    assert "Figures need matplotlib: pip install 'mapper[plot]'" in tree.one("section", id="network").text


def test_of_many_mappings_the_heaviest_are_explained(run: Path) -> None:
    source = read_search(run)
    every = explained.explanations(source)
    told = explained.explanations(source, most=3)
    assert (len(told.anchors), told.left_out) == (3, len(every.anchors) - 3)
    weights = {key: float(row["edp_pj_cycles"]) * int(row["repeat"]) for row in source.mappings for key in [_key(row)]}
    lightest = min(weights[key] for key in told.anchors)
    assert all(weights[key] <= lightest for key in set(every.anchors) - set(told.anchors))


def test_of_very_many_mappings_the_first_of_each_ranking_are_shown(
    run: Path, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = rows(run, "mappings")
    first = [row for row in every if row["rank"] == "1"]
    monkeypatch.setattr(rankings, "MOST", len(every) - 1)
    table = parse(run_page(view)).one("table", id="rankings")
    told = f"The first mapping of each ranking, {len(first)} of {len(every)} mappings; mappings.csv has all; "
    assert table.one("caption").text.startswith(told)
    assert all(check_row(line, row) for line, row in zip(lines(table), first, strict=True))


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEYS)


# Figures --------------------------------------------------------------------------------------------------------------


def test_figures_are_those_of_the_files(view: View, page: bytes) -> None:
    files = {f"{name}.{form}": data for form in ("svg", "png") for name, data in drawings(view, form).items()}
    names = {name.partition(".")[0] for name in files}
    assert {"energy", "utilization", "roofline"} <= names
    assert {f"{name}.{form}" for name in names for form in ("svg", "png")} == set(files)
    assert all(data.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml") for name, data in files.items())
    alt = parse(page).one("figure", id="figure-energy").one("svg").attributes["aria-label"]
    assert inline(files["energy.svg"], "energy", alt).encode() in page
    only = replace(view, mapping_figures={})
    assert not list(parse(run_page(only)).one("section", id="explained").all("figure"))
