from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mapper.cli.main import cli
from mapper.runs import work
from mapper.search.solve import Problem, Solution, solve
from tests import tiny
from tests.cli.shown import write_arch


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the accelerator `right.yaml`."""
    monkeypatch.chdir(tmp_path)
    write_arch()
    return tmp_path


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Press Ctrl-C in the search of that number, once."""

    def at(number: int) -> None:
        calls = itertools.count(1)

        def interrupted(problem: Problem, deadline: float | None) -> Solution:
            if next(calls) == number:
                raise KeyboardInterrupt
            return solve(problem, deadline)

        monkeypatch.setattr(work, "solve", interrupted)

    return at


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `mapper search` on one process in a folder with the tiny files."""
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["search", "-j", "1", *arguments], prog_name="mapper")

    return run
