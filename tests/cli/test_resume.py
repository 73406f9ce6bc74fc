"""`mapper search --resume`: what was finished is not searched again, and the tables have the bytes they would have."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from mapper.cli.stored import STORE
from mapper.runs import store as store_module
from mapper.runs import work
from mapper.search.solve import Problem, Solution, solve
from tests.runs import killed
from tests.tiny import USUAL

Search = Callable[..., Result]


def stored(folder: str = "out") -> int:
    connection = sqlite3.connect(Path(folder, STORE))
    number = connection.execute("SELECT count(*) FROM jobs").fetchone()[0]
    connection.close()
    return int(number)


def test_a_search_leaves_its_store_beside_the_tables(search: Search) -> None:
    assert search(*USUAL, "--output", "out").exit_code == 0
    assert sorted(os.listdir("out")) == ["breakdown.csv", STORE, "manifest.json", "mappings.csv", "totals.csv"]
    assert stored() == 4


def test_ctrl_c_says_that_resume_continues_and_it_does(search: Search, interrupt: Callable[[int], None]) -> None:
    assert search(*USUAL, "--output", "whole").exit_code == 0
    interrupt(3)
    result = search(*USUAL, "--output", "out")
    assert result.exit_code == 130
    assert result.stderr == (
        "interrupted: 2 of 4 searches are finished; their tables are written; --resume continues\n"
    )
    result = search(*USUAL, "--output", "out", "--resume")
    assert (result.exit_code, result.stderr) == (0, f"resumed: 2 of 4 searches are in {Path('out', STORE)}\n")
    assert killed.tables(Path("out")) == killed.tables(Path("whole"))


def test_a_time_limit_keeps_what_is_finished(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    search(*USUAL, "--output", "whole")
    clock = itertools.count()
    with monkeypatch.context() as patch:
        patch.setattr(work, "clock", lambda: next(clock))
        patch.setattr(work, "solve", lambda problem, _deadline: solve(problem))
        search(*USUAL, "--output", "out", "--timeout", "2.5")
    assert stored() == 2
    assert search(*USUAL, "--output", "out", "--resume").exit_code == 0
    assert killed.tables(Path("out")) == killed.tables(Path("whole"))


def test_all_of_a_finished_run_is_taken_and_nothing_is_searched(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = search(*USUAL, "--output", "out")
    before = killed.tables(Path("out"))

    def fail(problem: Problem, _deadline: float | None) -> Solution:
        raise AssertionError(f"searched {problem}")

    monkeypatch.setattr(work, "solve", fail)
    result = search(*USUAL, "--output", "out", "--resume", "--verbose")
    assert result.exit_code == 0
    assert result.stdout == first.stdout
    assert result.stderr.splitlines()[0] == f"resumed: 4 of 4 searches are in {Path('out', STORE)}"
    assert killed.tables(Path("out")) == before
    assert search(*USUAL, "--output", "out", "--resume", "--quiet").stderr == ""


def test_without_resume_a_store_is_replaced(search: Search, interrupt: Callable[[int], None]) -> None:
    search(*USUAL, "--output", "out")
    interrupt(2)
    search(*USUAL, "--output", "out")
    assert stored() == 1


def test_another_search_into_the_same_folder_takes_only_what_is_its_own(search: Search) -> None:
    search(*USUAL, "--output", "whole", "--top", "3")
    search(*USUAL, "--output", "out", "--layer", "last")
    result = search(*USUAL, "--output", "out", "--resume", "--top", "3")
    assert result.stderr == f"resumed: 0 of 4 searches are in {Path('out', STORE)}\n"
    assert killed.tables(Path("out")) == killed.tables(Path("whole"))
    assert stored() == 6


def test_layers_that_fit_nowhere_say_the_same_when_resumed(search: Search) -> None:
    asked = ("mixed.yaml", "--arch", "picky.yaml", "--phase", "fw", "--partition", "KN", "--output", "out")
    first, before = search(*asked), killed.tables(Path("out"))
    again = search(*asked, "--resume")
    assert again.exit_code == first.exit_code == 1
    assert again.stderr == f"resumed: 2 of 2 searches are in {Path('out', STORE)}\n{first.stderr}"
    assert killed.tables(Path("out")) == before


def test_where_nothing_is_written_no_store_is_left(search: Search) -> None:
    result = search("mixed.yaml:does_not", "--arch", "picky.yaml", "--phase", "fw", "--output", "out")
    assert (result.exit_code, os.listdir("out")) == (1, [])


def test_a_file_of_somebody_else_is_one_error_and_stays(search: Search) -> None:
    Path("out").mkdir()
    Path("out", STORE).write_text("my notes")
    for more in ((), ("--resume",)):
        result = search(*USUAL, "--output", "out", *more)
        assert (result.exit_code, result.stdout) == (2, "")
        reason = "not a store of finished searches (move it, or give another --output)"
        assert result.stderr == f"error: {Path('out', STORE)}: {reason}\n"
        assert Path("out", STORE).read_text() == "my notes"
        assert os.listdir("out") == [STORE]


def test_a_full_disk_is_one_error_and_resume_continues(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    killed.write(Path())
    asked = (*killed.ASKED, "--top", "40")
    assert search(*asked, "--output", "whole").exit_code == 0
    lay_out = store_module._lay_out

    def on_a_small_disk(connection: sqlite3.Connection, fresh: bool) -> None:
        lay_out(connection, fresh)
        connection.execute("PRAGMA max_page_count = 8")

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_lay_out", on_a_small_disk)
        result = search(*asked, "--output", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    reason = "no room left on the disk (what is finished is kept: make room, then --resume continues)"
    assert result.stderr == f"error: {Path('out', STORE)}: {reason}\n"
    kept = stored()
    assert 0 < kept < 20
    result = search(*asked, "--output", "out", "--resume")
    assert result.stderr == f"resumed: {kept} of 20 searches are in {Path('out', STORE)}\n"
    assert killed.tables(Path("out")) == killed.tables(Path("whole"))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_after_kills_at_random_moments_the_tables_have_the_same_bytes(tmp_path: Path) -> None:
    tally = killed.kill_and_resume(tmp_path, 3, random.Random(), "-j", "1")
    assert tally.kills == 3
    assert tally.ended


def test_two_searches_at_once_may_share_a_folder(tmp_path: Path) -> None:
    killed.write(tmp_path)
    started = [killed.start(tmp_path, "-j", "1", "--output", "out", "--resume") for _ in range(2)]
    for process in started:
        killed.finish(process)
    killed.finish(killed.start(tmp_path, "-j", "1", "--output", "whole"))
    assert killed.tables(tmp_path / "out") == killed.tables(tmp_path / "whole")
