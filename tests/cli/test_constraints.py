"""`mapper search --constrain` and `--constraints` as a user meets them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mapper.cli.main import cli
from mapper.mapping import parse_nest
from tests import tiny

Search = Callable[..., Result]

FILE = """\
constraints:
  - name: DRAM
    x: [K=2]
    order: [N, K]
  - name: RF
    temporal: [C<=2]
"""


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """Run a small `mapper search` in a folder with the tiny files and `c.yaml`."""
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    Path("c.yaml").write_text(FILE, encoding="utf-8")

    def run(*arguments: str, partition: str = "KN") -> Result:
        usual = ("net.yaml", "--arch", "toy.yaml", "--batch", "2", "--phase", "fw", "--partition", partition)
        return CliRunner().invoke(cli, ["search", "-j", "1", *usual, *arguments], prog_name="mapper")

    return run


def mappings(folder: str) -> list[dict[str, str]]:
    with Path(folder, "mappings.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_mappings_of_a_constrained_search_obey_and_the_manifest_says_what_was_asked(search: Search) -> None:
    result = search("--constraints", "c.yaml", "--constrain", "RF: K=1", "--output", "out")
    assert result.exit_code == 0
    lines = ["DRAM X: K=2", "DRAM order: N K", "RF: C<=2 K=1"]
    assert f"\nconstraints: {' | '.join(lines)}\n" in result.stdout
    for row in mappings("out"):
        dram, rf = parse_nest(row["mapping"]).levels
        assert dram.x == (("K", 2),)
        assert dict(rf.temporal).get("C", 1) <= 2
        assert "K" not in dict(rf.temporal)
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["constraints"] == lines
    assert [(entry["option"], entry["given"]) for entry in manifest["inputs"]] == [
        ("NETWORK", "net.yaml"),
        ("--arch", "toy.yaml"),
        ("--constraints", "c.yaml"),
    ]
    explain = ("explain", "out", "--layer", "last", "--phase", "fw", "--partition", "KN", "--rank", "1")
    assert CliRunner().invoke(cli, [*explain], prog_name="mapper").exit_code == 0


def test_without_constraints_the_manifest_lists_none(search: Search) -> None:
    search("--output", "out", "--layer", "last")
    assert json.loads(Path("out/manifest.json").read_text())["constraints"] == []


def test_a_dry_run_counts_what_is_left_and_says_where_nothing_is(search: Search) -> None:
    result = search("--constraints", "c.yaml", "--constrain", "RF: N=1", "--dry-run", partition="KN,CN")
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
net on toy: 3 layers, batch 2, 6 rankings from 4 searches, metric edp
constraints: DRAM X: K=2 | DRAM order: N K | RF: C<=2 N=1

layer  phase  part  partitioning  same as  mappings
first  fw     1/1   KN                            4
first  fw     1/1   CN                            0
twin   fw     1/1   KN            first           4
twin   fw     1/1   CN            first           0
last   fw     1/1   KN                            4
last   fw     1/1   CN                            0

first fw 1/1 CN: no chain of K=2 satisfies: DRAM X: K=2 (c.yaml:3); partitioning CN does not spread K over X below DRAM
last fw 1/1 CN: no chain of K=2 satisfies: DRAM X: K=2 (c.yaml:3); partitioning CN does not spread K over X below DRAM

dry run: nothing is searched or written
"""
    )


def test_a_layer_that_has_no_such_mapping_is_told_and_does_not_stop_the_others(search: Search) -> None:
    result = search("--constrain", "DRAM: C=4", "--output", "out")
    assert result.exit_code == 1
    reason = "no chain of C=2 satisfies: DRAM: C=4 (--constrain 'DRAM: C=4')"
    assert result.stderr == f"error: last fw 1/1 KN: {reason}\n"
    assert {row["layer"] for row in mappings("out")} == {"first", "twin"}
    failed = json.loads(Path("out/manifest.json").read_text())["problems"]["failed"]
    assert failed == [{"ranking": "last fw 1/1 KN", "reason": reason}]


def test_a_search_under_constraints_that_fits_nowhere_names_them(search: Search) -> None:
    result = search("--layer", "last", "--constrain", "DRAM: K=1 C=1 N=1 | X: K=1 | Y: N=1")
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    start = "error: last fw 1/1 KN: no mapping fits toy under DRAM: C=1 K=1 N=1 | DRAM X: K=1 | DRAM Y: N=1 "
    assert said.startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--constrain", "RF: C=4", "--constrain", "RF: C>=8"],
            "--constrain 'RF: C>=8': RF: C>=8 contradicts RF: C=4 (--constrain 'RF: C=4')",
        ),
        (
            ["--constraints", "c.yaml", "--constrain", "RF: C=4"],
            "--constrain 'RF: C=4': RF: C=4 contradicts RF: C<=2 (c.yaml:6)",
        ),
        (
            ["--constrain", "DRAM X: K=4"],
            "--constrain 'DRAM X: K=4': DRAM X: K=4: 4 lanes, where toy has 2 on X below DRAM (at most 2)",
        ),
        (
            ["--constraints", "c.yaml", "--constrain", "DRAM X: C=2"],
            "--constrain 'DRAM X: C=2' and c.yaml:3: DRAM X: C=2 and DRAM X: K=2: 4 lanes, where toy has 2 on X",
        ),
        (["--constrain", "rf: C=4"], "--constrain 'rf: C=4': toy has no level 'rf' (did you mean 'RF'?)"),
        (["--constrain", "RF: Z=4"], "--constrain 'RF: Z=4': RF: Z=4: no dimension 'Z' (one of: N, G, K, C,"),
        (["--constrain", "RF keeps: B"], "--constrain 'RF keeps: B': RF keeps: B: no tensor 'B' (one of: W, I, O)"),
        (["--constrain", "RF bypasses: W"], "RF bypasses: W: toy always keeps W in RF"),
        (["--constrain", "RF; C=4"], "--constrain 'RF; C=4': 'RF; C=4' is not a constraint"),
        (["--constrain", "min_utilization: 2"], "min_utilization: 2 is not between 0 and 1"),
        (["--constrain", "c.yaml"], "'c.yaml' is not a constraint (--constraints reads a file)"),
        (["--constraints", "RF: C=4"], "--constraints: no file 'RF: C=4' (for constraints as text: --constrain)"),
        (["--constraints", "d.yaml"], "d.yaml: no such file (did you mean 'c.yaml'?)"),
        (["--constraints", "net.yaml"], "net.yaml:1: name: unknown key"),
    ],
)
def test_wrong_constraints_are_one_message_before_any_search(
    search: Search, arguments: list[str], message: str
) -> None:
    result = search(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert not Path("results").exists()


@pytest.mark.usefixtures("search")
def test_a_file_of_constraints_is_validated() -> None:
    result = CliRunner().invoke(cli, ["validate", "c.yaml"], prog_name="mapper")
    assert result.output == "ok: c.yaml: constraints DRAM X: K=2 | DRAM order: N K | RF: C<=2\n"
    Path("c.yaml").write_text(FILE.replace("[C<=2]", "[C<=2, C4]"), encoding="utf-8")
    result = CliRunner().invoke(cli, ["validate", "c.yaml"], prog_name="mapper")
    assert result.exit_code == 2
    assert result.output == "error: c.yaml:6: RF: C=4 contradicts RF: C<=2\n"
