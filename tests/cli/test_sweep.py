"""`mapper sweep`: the same tables however it is run, stopped, shared out and merged; and one clear error otherwise."""

from __future__ import annotations

import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mapper.cli.main import cli
from mapper.cli.stored import STORE
from mapper.runs import store as store_module
from mapper.runs import work
from mapper.search.solve import Problem, Solution, solve
from tests import tiny
from tests.cli.shown import mapper
from tests.runs import killed

SPEC = """\
network: net.yaml
arch: toy.yaml
phase: fw
partition: [KN, CN]
top: 2
grid:
  array: [1x2, 2x2]
  batch: [1, 2]
"""
"""Four points, sixteen searches."""
NAMES = ["failed.csv", STORE, "manifest.json", "mappings.csv", "points.csv"]
OUT = Path("out")

Sweep = Callable[..., Result]


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """Run `mapper sweep s.yaml` on one process in a folder with the tiny files."""
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    Path("s.yaml").write_text(SPEC, encoding="utf-8")

    def run(*arguments: str, spec: str = "s.yaml") -> Result:
        return CliRunner().invoke(cli, ["sweep", spec, "-j", "1", *arguments], prog_name="mapper")

    return run


def written(folder: str | Path = OUT) -> dict[str, bytes]:
    return killed.tables(Path(folder), killed.SWEEP)


def rows(table: str, folder: Path = OUT) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def stored(folder: str | Path = OUT) -> int:
    return len(killed.committed(Path(folder)))


# Tables ---------------------------------------------------------------------------------------------------------------


def test_a_sweep_writes_its_tables_and_prints_its_points(sweep: Sweep) -> None:
    result = sweep()
    assert (result.exit_code, result.stderr) == (0, "")
    head, _, title, columns, *lines = result.stdout.splitlines()
    assert head == "s: 4 points over array, batch; 24 rankings from 16 searches"
    assert title.startswith("Points, totals of all phases. *: on the Pareto front of energy and cycles")
    names = ("array", "batch", "partitioning", "cycles", "energy", "edp (pJ x cycles)", "utilization")
    assert re.split(" {2,}", columns) == list(names)
    assert [line.split()[:3] for line in lines[:8]] == [
        list(each) for each in itertools.product(("1x2", "2x2"), ("1", "2"), ("KN", "CN"))
    ]
    assert lines[8:] == [
        "",
        "optimal: yes, all 24 rankings are proven",
        f"written to {Path('results', 's')}: points.csv, mappings.csv, failed.csv, manifest.json",
        f"next: mapper report {Path('results', 's')}",
    ]
    folder = Path("results", "s")
    assert sorted(os.listdir(folder)) == NAMES
    assert (len(rows("points", folder)), len(rows("mappings", folder))) == (4 * 2 * 3, 24 * 2)
    assert (folder / "failed.csv").read_text() == (
        "array,batch,arch,network,layer,repeat,phase,part,partitioning,reason\n"
    )
    assert stored(folder) == 16


def test_a_point_has_what_the_search_of_its_settings_writes(sweep: Sweep) -> None:
    """Text of the tables, to the last digit."""
    assert sweep("--output", "out", "--quiet").output == ""
    small = tiny.ARCH.replace("{x: 2, y: 2}", "{x: 1, y: 2}")
    Path("small.yaml").write_text(small, encoding="utf-8")
    mapper("search", *tiny.USUAL, "--arch", "small.yaml", "-j", "1", "--output", "alone")
    for name, table in (("mappings", "mappings"), ("points", "totals")):
        alone = rows(table, Path("alone"))
        found = [row for row in rows(name) if (row["array"], row["batch"]) == ("1x2", "2")]
        assert [{column: row[column] for column in alone[0]} for row in found] == alone


def test_other_formats_and_standard_names(sweep: Sweep) -> None:
    assert sweep("--output", "out", "--format", "json").exit_code == 0
    assert len(json.loads(Path("out", "points.json").read_text())) == 24
    assert sweep("--output", "out", "--format", "md").exit_code == 0
    assert sorted(os.listdir(OUT)) == sorted([*NAMES, "points.md", "mappings.md", "failed.md"])
    head = Path("out", "points.md").read_text().splitlines()[0]
    assert head.startswith("| array | batch | phase | partitioning | cycles | utilization | energy_pj |")


def test_what_fits_nowhere_is_a_row_with_its_reason_and_the_others_go_on(sweep: Sweep) -> None:
    text = "network: mixed.yaml\npartition: KN\nphase: fw\ngrid: {arch: [picky.yaml, toy.yaml], batch: [1, 2]}\n"
    Path("m.yaml").write_text(text, encoding="utf-8")
    result = sweep("--output", "out", spec="m.yaml")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "2 rankings have no mapping: see failed.csv" in result.stdout
    failed = rows("failed")
    assert [(row["arch"], row["batch"], row["layer"]) for row in failed] == [
        ("picky.yaml", "1", "does_not"),
        ("picky.yaml", "2", "does_not"),
    ]
    assert all(row["reason"].startswith("no mapping fits") for row in failed)
    assert [row["layers_without_mapping"] for row in rows("points") if row["phase"] == "all"] == list("11110000")
    before = written()
    again = sweep("--output", "out", "--resume", spec="m.yaml")
    assert (again.exit_code, again.stdout, written()) == (1, result.stdout, before)


def test_two_processes_write_the_same_bytes(sweep: Sweep) -> None:
    sweep("--output", "one")
    assert sweep("-j", "2", "--output", "two").exit_code == 0
    assert written("two") == written("one")


# Stopped and resumed --------------------------------------------------------------------------------------------------


def test_ctrl_c_says_that_resume_continues_and_it_does(sweep: Sweep, interrupt: Callable[[int], None]) -> None:
    assert sweep("--output", "whole").exit_code == 0
    interrupt(7)
    result = sweep("--output", "out")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: 6 of 16 searches are finished; --resume continues\n"
    assert stored() == 6
    assert sum(row["layers_without_mapping"] == "0" for row in rows("points") if row["phase"] == "all") == 3
    result = sweep("--output", "out", "--resume")
    assert (result.exit_code, result.stderr) == (0, f"resumed: 6 of 16 searches are in {OUT / STORE}\n")
    assert written() == written("whole")


def test_before_anything_is_finished_nothing_is_written(sweep: Sweep, interrupt: Callable[[int], None]) -> None:
    interrupt(1)
    result = sweep("--output", "out")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "interrupted: 0 of 16 searches are finished; --resume continues\n"
    assert os.listdir(OUT) == [STORE]


def test_a_time_limit_keeps_what_is_finished(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep("--output", "whole")
    clock = itertools.count()
    with monkeypatch.context() as patch:
        patch.setattr(work, "clock", lambda: next(clock))
        patch.setattr(work, "solve", lambda problem, _deadline: solve(problem))
        result = sweep("--output", "out", "--timeout", "5.5")
    assert "time limit reached: 5 of 16 searches are finished; --resume continues\n" in result.stderr
    assert stored() == 5
    assert sweep("--output", "out", "--resume").exit_code == 0
    assert written() == written("whole")
    result = sweep("--output", "none", "--timeout", "1e-9")
    assert (result.exit_code, os.listdir("none")) == (1, [STORE])


def test_all_of_a_finished_sweep_is_taken_and_nothing_is_searched(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sweep("--output", "out")
    before = written()

    def fail(problem: Problem, _deadline: float | None) -> Solution:
        raise AssertionError(f"searched {problem}")

    monkeypatch.setattr(work, "solve", fail)
    result = sweep("--output", "out", "--resume", "--log-json", "log")
    assert (result.exit_code, result.stdout, written()) == (0, first.stdout, before)
    lines = [json.loads(line) for line in Path("log").read_text().splitlines()]
    assert [line["finished"] for line in lines] == list(range(1, 17))
    assert all(line["resumed"] for line in lines)


def test_without_resume_a_store_is_replaced(sweep: Sweep, interrupt: Callable[[int], None]) -> None:
    sweep("--output", "out")
    interrupt(2)
    sweep("--output", "out")
    assert stored() == 1


def test_a_search_and_a_sweep_take_what_the_other_has_finished(sweep: Sweep) -> None:
    sweep("--output", "whole")
    asked = ("search", *tiny.USUAL, "-j", "1", "--output")
    mapper(*asked, "whole_search")
    mapper(*asked, "out")
    assert sweep("--output", "out", "--resume").stderr == f"resumed: 4 of 16 searches are in {OUT / STORE}\n"
    assert written() == written("whole")
    result = mapper(*asked, "whole", "--resume")
    assert result.stderr == f"resumed: 4 of 4 searches are in {Path('whole', STORE)}\n"
    assert killed.tables(Path("whole")) == killed.tables(Path("whole_search"))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
@pytest.mark.parametrize(("jobs", "kills"), [("1", 2), ("2", 1)])
def test_after_kills_at_random_moments_the_tables_have_the_same_bytes(tmp_path: Path, jobs: str, kills: int) -> None:
    tally = killed.kill_and_resume(tmp_path, kills, random.Random(), "-j", jobs, kind=killed.SMALL_SWEEP)
    assert (tally.kills, tally.problems) == (kills, 40)
    assert tally.ended


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="other signals")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_two_processes_end_at_once_and_keep_what_they_have_finished(tmp_path: Path, sign: signal.Signals) -> None:
    killed.write(tmp_path)
    process = killed.start(tmp_path, "-j", "2", "--output", "out", "--quiet", kind=killed.SWEEP)
    deadline = time.monotonic() + 60
    while stored(tmp_path / "out") < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(sign)
    _, errors = process.communicate(timeout=60)
    kept = stored(tmp_path / "out")
    said = re.fullmatch(r"interrupted: (\d+) of 200 searches are finished; --resume continues\n", errors)
    assert process.returncode == 130
    assert said is not None, errors
    # One may have been committed and not yet been counted.
    assert 3 <= kept < 200
    assert int(said[1]) in (kept - 1, kept)


# Shards ---------------------------------------------------------------------------------------------------------------


def test_shards_in_folders_of_their_own_are_merged_into_the_same_bytes(sweep: Sweep) -> None:
    sweep("--output", "whole")
    for number, share in ((1, 6), (2, 5), (3, 5)):
        result = sweep("--shard", f"{number}/3", "--output", f"s{number}")
        assert result.exit_code == 0
        assert result.stdout == (
            f"{share} of the shard's {share} searches are finished and in {Path(f's{number}', STORE)}\n"
            f"when all shards are: mapper sweep s.yaml --merge s{number} ...\n"
        )
        assert os.listdir(f"s{number}") == [STORE]
    result = sweep("--merge", "s1", "--merge", "s2", "--merge", str(Path("s3", STORE)), "--output", "out")
    assert (result.exit_code, result.stderr.splitlines()) == (
        0,
        [
            "merged: 6 finished searches of s1",
            "merged: 5 finished searches of s2",
            f"merged: 5 finished searches of {Path('s3', STORE)}",
            f"resumed: 16 of 16 searches are in {OUT / STORE}",
        ],
    )
    assert written() == written("whole")


def test_what_no_shard_has_is_searched(sweep: Sweep) -> None:
    sweep("--output", "whole")
    sweep("--shard", "2/2", "--output", "half")
    result = sweep("--merge", "half", "--output", "out", "--log-json", "log")
    assert result.exit_code == 0
    assert written() == written("whole")
    lines = [json.loads(line) for line in Path("log").read_text().splitlines()]
    assert [line["resumed"] for line in lines] == [True] * 8 + [False] * 8


def test_shards_may_share_a_folder_and_go_on_after_a_stop(sweep: Sweep, interrupt: Callable[[int], None]) -> None:
    """What is there is another shard's work, or this one's before it was stopped: it is never thrown away."""
    sweep("--output", "whole")
    interrupt(4)
    assert sweep("--shard", "1/2", "--output", "out").exit_code == 130
    assert stored() == 3
    for number in (1, 2):
        assert sweep("--shard", f"{number}/2", "--output", "out").exit_code == 0
    assert sweep("--output", "out", "--resume").exit_code == 0
    assert written() == written("whole")


def test_a_share_of_nothing_is_done(sweep: Sweep) -> None:
    result = sweep("--shard", "17/17", "--output", "out", "--quiet")
    assert (result.exit_code, result.output, stored()) == (0, "", 0)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/3", "1.0/2", ""])
def test_a_share_that_is_none_is_refused(sweep: Sweep, shard: str) -> None:
    result = sweep("--shard", shard, "--output", "out")
    assert result.exit_code == 2
    assert f"'{shard}' is no share; 1/4 is the first of four" in result.stderr
    assert not OUT.exists()


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE birds (name)")
    connection.close()


@pytest.mark.parametrize(
    ("accident", "message"),
    [
        (damage, f"{Path('half', STORE)}: it is damaged (remove it, or search without --resume)"),
        (foreign, f"{Path('half', STORE)}: a database, but not of mapper (move it, or give another --output)"),
        (lambda path: path.unlink(), f"{Path('half', STORE)}: no such store (the folder of a shard has it)"),
        (lambda path: shutil.rmtree(path.parent), "half: no such store (the folder of a shard has it)"),
    ],
)
def test_a_shard_that_cannot_be_merged_is_one_error(
    sweep: Sweep, accident: Callable[[Path], object], message: str
) -> None:
    sweep("--shard", "1/2", "--output", "half")
    accident(Path("half", STORE))
    result = sweep("--merge", "half", "--output", "out")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {message}\n")
    assert os.listdir(OUT) == [STORE]


# What cannot be -------------------------------------------------------------------------------------------------------


def test_a_wrong_file_is_one_error_and_nothing_is_made(sweep: Sweep) -> None:
    Path("s.yaml").write_text(SPEC.replace("2x2", "2y2"), encoding="utf-8")
    result = sweep("--output", "out")
    message = "error: s.yaml:7: array: expected lanes of X and Y, found '2y2' (16x16)\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)
    assert not OUT.exists()
    assert sweep(spec="t.yaml").stderr == "error: t.yaml: no such file (did you mean 'toy.yaml'?)\n"
    assert sweep(spec=".").stderr == "error: .: this is a directory, not a YAML file\n"


def test_a_folder_that_cannot_be_written_is_one_error_before_any_work(sweep: Sweep) -> None:
    OUT.write_text("a file", encoding="utf-8")
    result = sweep("--output", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --output: cannot write into 'out': File exists (give a folder that can be")


def test_a_store_of_somebody_else_is_one_error_and_stays(sweep: Sweep) -> None:
    OUT.mkdir()
    (OUT / STORE).write_text("my notes")
    for more in ((), ("--resume",), ("--shard", "1/2"), ("--merge", "out")):
        result = sweep("--output", "out", *more)
        assert (result.exit_code, result.stdout) == (2, "")
        reason = "not a store of finished searches (move it, or give another --output)"
        assert result.stderr == f"error: {OUT / STORE}: {reason}\n"
        assert (OUT / STORE).read_text() == "my notes"


def test_a_full_disk_is_one_error_and_resume_continues(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep("--output", "whole")
    lay_out = store_module._lay_out

    def on_a_small_disk(connection: sqlite3.Connection, fresh: bool) -> None:
        lay_out(connection, fresh)
        connection.execute("PRAGMA max_page_count = 9")

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_lay_out", on_a_small_disk)
        result = sweep("--output", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    reason = "no room left on the disk (what is finished is kept: make room, then --resume continues)"
    assert result.stderr == f"error: {OUT / STORE}: {reason}\n"
    kept = stored()
    assert 0 < kept < 16
    assert sweep("--output", "out", "--resume").stderr == f"resumed: {kept} of 16 searches are in {OUT / STORE}\n"
    assert written() == written("whole")


def test_a_disk_that_is_full_at_the_end_leaves_the_tables_of_before(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep("--output", "out")
    before = written()

    def full(_source: object, _target: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        result = sweep("--output", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --output: cannot write into 'out': No space left on device")
    assert (written(), sorted(os.listdir(OUT))) == (before, NAMES)


def test_sizes_under_one_energy_are_a_warning_and_no_obstacle(sweep: Sweep) -> None:
    Path("s.yaml").write_text(SPEC.replace("batch: [1, 2]", "RF.capacity_words: [8, 16]"), encoding="utf-8")
    result = sweep("--output", "out")
    expected = "s.yaml:8: RF.capacity_words varies, and the energies of RF stay those of the accelerator's file"
    assert (result.exit_code, result.stderr) == (0, f"warning: {expected}\n")


# Dry runs -------------------------------------------------------------------------------------------------------------


def test_a_dry_run_lists_the_points_and_writes_nothing(sweep: Sweep) -> None:
    before = sorted(os.listdir())
    result = sweep("--dry-run", "--output", "out", "-j", "2")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "s: 4 points over array, batch; 24 rankings from 16 searches"
    assert lines[2].split() == ["array", "batch", "arch", "layers", "partitionings", "searches"]
    assert [line.split() for line in lines[3:7]] == [
        [array, batch, "toy", "3", "KN,CN", "4"] for array in ("1x2", "2x2") for batch in ("1", "2")
    ]
    assert lines[8].startswith("16 searches are left; 12 of them took ")
    assert lines[8].endswith(" on 2 processes (-j 2)")
    assert lines[9:] == ["dry run: nothing is written"]
    assert sorted(os.listdir()) == before


def test_a_dry_run_leaves_out_what_is_finished_and_what_is_not_of_the_share(
    sweep: Sweep, interrupt: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context():
        interrupt(11)
        sweep("--output", "out")
    monkeypatch.setattr(work, "solve", solve)
    result = sweep("--output", "out", "--resume", "--dry-run")
    assert "10 searches are finished\n6 searches are left; 6 of them took" in result.stdout
    assert stored() == 10
    assert "\n4 searches are left; 4 of them took" in sweep("--dry-run", "--shard", "2/4").stdout
    sweep("--output", "out", "--resume")
    assert (
        "16 searches are finished\nnothing is left to search\n"
        in sweep("--output", "out", "--resume", "--dry-run").stdout
    )
