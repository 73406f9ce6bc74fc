"""How a run gets on: a log for programs, a line per search, a bar on a terminal; none of it among the results."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mapper.cli import progress as module
from mapper.cli.main import cli
from mapper.cli.progress import progress
from mapper.errors import MapperError
from mapper.runs.work import attempt, measure
from mapper.search.solve import Problem, Solution
from tests import tiny

KEYS = ["search", "finished", "of", "elapsed_s", "resumed"]
FIGURES = ["cycles", "energy_pj", "utilization", "mapping", "optimal", "gap", "evaluated"]
SWEEP = "network: net.yaml\narch: toy.yaml\nphase: fw\npartition: KN\ngrid: {array: [1x2, 2x2]}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    Path("s.yaml").write_text(SWEEP, encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "-j", "1", "--output", "out"], prog_name="mapper")


def logged(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("command", [("search", *tiny.USUAL), ("sweep", "s.yaml")])
def test_a_log_has_a_line_of_json_for_each_search(command: tuple[str, ...]) -> None:
    assert run(*command, "--log-json", "log").exit_code == 0
    lines = logged(Path("log").read_text(encoding="utf-8"))
    assert [list(line) for line in lines] == [[*KEYS, *FIGURES]] * 4
    assert [(line["finished"], line["of"], line["resumed"]) for line in lines] == [(n, 4, False) for n in (1, 2, 3, 4)]
    assert [line["elapsed_s"] for line in lines] == sorted(line["elapsed_s"] for line in lines)
    assert all(line["optimal"] and line["gap"] == 0 for line in lines)


def test_a_log_of_a_sweep_has_the_figures_of_its_tables() -> None:
    run("sweep", "s.yaml", "--log-json", "log")
    first, *_, last = logged(Path("log").read_text(encoding="utf-8"))
    assert first["search"] == "array=1x2: first fw 1/1 KN"
    assert last["search"] == "array=2x2: last fw 1/1 KN"
    row = Path("out", "mappings.csv").read_text(encoding="utf-8").splitlines()[1].split(",")
    assert [str(first[name]) for name in ("mapping", "cycles", "energy_pj")] == [row[9], row[13], row[18]]


def test_a_resumed_run_says_what_it_did_not_search() -> None:
    run("search", *tiny.USUAL, "--layer", "last")
    for again in ("--resume",):
        run("search", *tiny.USUAL, again, "--log-json", "log")
    lines = logged(Path("log").read_text(encoding="utf-8"))
    assert [(line["search"], line["resumed"]) for line in lines] == [
        ("last fw 1/1 KN", True),
        ("last fw 1/1 CN", True),
        ("first fw 1/1 KN", False),
        ("first fw 1/1 CN", False),
    ]


def test_a_log_on_standard_error_leaves_the_results_alone() -> None:
    plain = run("sweep", "s.yaml")
    result = run("sweep", "s.yaml", "--log-json", "-")
    assert result.stdout == plain.stdout
    assert len(logged(result.stderr)) == 4
    assert len(logged(run("sweep", "s.yaml", "--log-json", "-", "--quiet").stderr)) == 4


def test_a_search_without_a_mapping_says_why() -> None:
    Path("s.yaml").write_text("network: mixed.yaml\narch: picky.yaml\nphase: fw\npartition: KN\n", encoding="utf-8")
    assert run("sweep", "s.yaml", "--log-json", "log", "-v").exit_code == 1
    fits, fails = logged(Path("log").read_text(encoding="utf-8"))
    assert list(fits) == [*KEYS, *FIGURES]
    assert list(fails) == [*KEYS, "failed"]
    assert fails["failed"].startswith("no mapping fits")


@pytest.mark.parametrize("log", ["none/log", ".", ""])
def test_a_log_that_cannot_be_written_is_one_error_before_any_search(log: str) -> None:
    result = run("sweep", "s.yaml", "--log-json", log)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: --log-json: cannot write '{log}': ")
    assert os.listdir("out") == ["jobs.sqlite"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_log_on_a_full_disk_is_one_error_and_what_is_finished_is_kept() -> None:
    result = run("sweep", "s.yaml", "--log-json", "/dev/full")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: --log-json: cannot write '/dev/full': No space left on device (give another file; --resume continues)\n"
    )
    assert run("sweep", "s.yaml", "--resume").stderr == "resumed: 1 of 4 searches are in out/jobs.sqlite\n"


def test_names_that_no_log_has_seen_come_through() -> None:
    Path("s.yaml").write_text(SWEEP.replace("{array: [1x2, 2x2]}", '{"é": {"☃\\n\\"": {batch: 2}}}'), encoding="utf-8")
    assert run("sweep", "s.yaml", "--log-json", "log").exit_code == 0
    assert logged(Path("log").read_text(encoding="utf-8"))[0]["search"] == 'é=☃\n": first fw 1/1 KN'


def test_verbose_has_a_line_for_each_search() -> None:
    result = run("sweep", "s.yaml", "-v")
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("array=1x2: first fw 1/1 KN: ")
    assert lines[0].endswith(" mappings evaluated")
    assert run("sweep", "s.yaml", "-v", "--quiet").stderr == ""


def test_a_solution_and_its_rows_are_told_alike() -> None:
    problem = tiny.plan(Path()).problems[0]
    solution, rows = attempt(problem), measure(problem)
    assert isinstance(solution, Solution)
    assert module._said(solution) == module._said(rows)
    assert module._outcome(solution) == module._outcome(rows)
    assert module._outcome(MapperError("why")) == "why"


def test_on_a_terminal_a_bar_counts_and_rates_what_was_searched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    problems: list[Problem] = list(tiny.plan(Path()).problems)
    with progress(dict.fromkeys(problems, "x"), quiet=False, verbose=False) as told:
        for problem in problems[:2]:
            told.known(problem, MapperError("why"))
        for problem in problems[2:]:
            told(problem, MapperError("why"))
    shown = capsys.readouterr().err
    assert "searching" in shown
    assert "4/4" in shown
    assert " each" in shown


@pytest.mark.parametrize("log", ["net.yaml", "toy.yaml", "./net.yaml", "out/jobs.sqlite", "out/mappings.csv"])
def test_a_log_takes_the_place_of_nothing(log: str) -> None:
    assert run("search", *tiny.USUAL, "--quiet").exit_code == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = run("search", *tiny.USUAL, "--log-json", log)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: --log-json: '{log}' is ")
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    assert run("sweep", "s.yaml", "--log-json", "s.yaml").exit_code == 2
    assert Path("s.yaml").read_text(encoding="utf-8") == SWEEP
