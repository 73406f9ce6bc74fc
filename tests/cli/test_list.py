"""`mapper list`: what ships."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from mapper import shipped
from mapper.arch import load_arch
from mapper.workload import load_network
from tests.cli.shown import mapper
from tests.tiny import USUAL


def test_archs_are_listed_with_their_arrays_and_levels() -> None:
    result = mapper("list", "archs", "--format", "csv")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(result.stdout))}
    assert tuple(rows) == shipped.names("arch_specs")
    expected = {"pes": "256", "arrays": "16x16", "levels": "DRAM > GLB > RF", "technology_nm": "40"}
    assert expected.items() <= rows["procrustes"].items()
    assert all(int(row["pes"]) == load_arch(name).pes for name, row in rows.items())


def test_networks_are_listed_with_layers_macs_and_params() -> None:
    rows = {row["name"]: row for row in json.loads(mapper("list", "networks", "--format", "json").stdout)}
    assert tuple(rows) == shipped.names("layer_zoo")
    resnet = rows["resnet18"]
    assert (resnet["layers"], resnet["macs"], resnet["params"]) == (21, 1814073344, 11689512)


def test_the_table_of_partitionings_says_what_the_letters_mean() -> None:
    assert mapper("list", "partitionings").stdout == (
        "name  over columns (X)     over rows (Y)\n"
        "CK    C (input channels)   K (output channels)\n"
        "KN    K (output channels)  N (samples)\n"
        "CN    C (input channels)   N (samples)\n"
        "PQ    P (output rows)      Q (output columns)\n"
        "all   the four above\n"
        "any   the search chooses\n"
        "XY    any dimension        any other: KP, or KP/N for K and P on X\n"
    )


def test_layers_of_a_network_are_listed_with_their_dimensions() -> None:
    lines = mapper("list", "layers", "resnet18").stdout.splitlines()
    words = [" ".join(line.split()) for line in lines]
    assert words[0] == "layer kind repeat N G K C P Q R S stride gradient_parts macs weights"
    assert words[1] == "conv1 conv2d 1 1 1 64 3 112 112 7 7 2x2 4 118,013,952 9,408"
    assert len(lines) == 1 + len(load_network("resnet18"))


def test_layers_sum_to_their_network() -> None:
    rows = list(csv.DictReader(io.StringIO(mapper("list", "layers", "bert_base", "--format", "csv").stdout)))
    assert sum(int(row["macs"]) * int(row["repeat"]) for row in rows) == load_network("bert_base").macs


def test_formats_are_listed() -> None:
    assert "parquet" in mapper("list", "formats").stdout


def test_finished_searches_of_a_folder_are_listed_with_what_came_of_them(search: Callable[..., Result]) -> None:
    search(*USUAL, "--output", "out")
    rows = list(csv.DictReader(io.StringIO(mapper("list", "jobs", "out", "--format", "csv").stdout)))
    found = list(csv.DictReader(Path("out/mappings.csv").read_text(encoding="utf-8").splitlines()))
    best = {(row["cycles"], row["energy_pj"]) for row in found if row["rank"] == "1"}
    assert {(row["cycles"], row["energy_pj"]) for row in rows} == best
    assert {row["mappings"] for row in rows} == {"2"}
    assert all(row["search"].startswith("fw 1/1 ") and " by edp, top 2" in row["search"] for row in rows)
    assert mapper("list", "jobs", "out/jobs.sqlite", "--format", "csv").stdout.count("\n") == 1 + len(rows)


@pytest.mark.parametrize("outcome", ["?", "5", "[]", "{}", '{"ranked": []}', '{"error": "none"}'])
def test_a_damaged_search_is_one_line(search: Callable[..., Result], outcome: str) -> None:
    search(*USUAL, "--output", "out")
    with closing(sqlite3.connect("out/jobs.sqlite")) as store, store:
        store.execute("UPDATE jobs SET outcome = ?", (outcome,))
    result = mapper("list", "jobs", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: out/jobs.sqlite: ")
    assert "damaged" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("layers",), "error: mapper list layers: which network's layers? (mapper list layers resnet18)\n"),
        (("layers", "resnet81"), "did you mean 'resnet18'?"),
        (("layers", "none.yaml"), "error: none.yaml: no such file"),
        (("networks", "resnet18"), "error: mapper list networks takes no argument, found 'resnet18'"),
        (("jobs", "nowhere"), "error: nowhere: no store of finished searches (mapper list jobs DIR"),
        (("netwrks",), "did you mean 'networks'?"),
        ((), "Missing argument"),
    ],
)
def test_what_cannot_be_listed_is_refused(arguments: tuple[str, ...], message: str) -> None:
    result = mapper("list", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
