"""Workers of a Dask scheduler find what this machine's processes find, and may be lost as they may."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mapper.errors import InputError
from mapper.report.tables import mappings_table
from mapper.runs import Stop, WorkersLostError, run
from mapper.runs.outcome import read
from mapper.runs.solving import Work, solved
from mapper.runs.work import Outcome, attempt
from mapper.search.solve import Problem, Solution
from mapper.workload import Phase
from tests import tiny

pytest.importorskip("distributed", reason="Dask is an extra")
pytestmark = pytest.mark.filterwarnings("default")

from mapper.runs import dask_executor  # noqa: E402
from mapper.runs.dask_executor import DaskWorkers, dask_workers  # noqa: E402


@pytest.fixture(scope="module")
def workers() -> Iterator[DaskWorkers]:
    with dask_workers("local", 2) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.write(tmp_path)
    return tmp_path


def test_dask_finds_what_one_process_finds(workers: DaskWorkers, folder: Path) -> None:
    plan = tiny.plan(folder, phases=tuple(Phase))
    assert workers.window == 4
    assert mappings_table(run(plan, executor=workers)) == mappings_table(run(plan))


def test_a_time_limit_ends_it(workers: DaskWorkers, folder: Path) -> None:
    found = run(tiny.plan(folder), executor=workers, timeout=1e-6)
    assert found.stopped is Stop.timeout
    assert len(found.unfinished) == 6


def test_a_problem_that_ends_its_workers_is_given_up_and_the_others_are_solved(
    workers: DaskWorkers, folder: Path
) -> None:
    deadly, *others = tiny.plan(folder).problems

    def do(problem: Problem, until: float | None) -> Outcome | None:
        return os._exit(1) if problem == deadly else attempt(problem, until)

    found = dict(solved([deadly, *others], workers, Work(do, read)))
    assert isinstance(found.pop(deadly), WorkersLostError)
    assert set(found) == set(others)
    assert all(isinstance(outcome, Solution) for outcome in found.values())


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Something that listens and is no scheduler; it says nothing until it is spoken to, nor then."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server


def test_an_address_without_a_scheduler_is_one_error(monkeypatch: pytest.MonkeyPatch, listening: socket.socket) -> None:
    monkeypatch.setattr(dask_executor, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", f"tcp://127.0.0.1:{listening.getsockname()[1]}"):
        with pytest.raises(InputError, match=rf"--scheduler: no scheduler answers at '{address}'"):
            dask_workers(address, 2).__enter__()


@pytest.mark.parametrize(
    ("address", "hint"),
    [("LOCAL", "did you mean 'local'?"), ("nonsense://x", "local, or tcp://HOST:8786"), ("", "local, or tcp://")],
)
def test_what_is_no_address_is_refused_at_once(address: str, hint: str) -> None:
    with pytest.raises(InputError, match=rf"'{address}' is no address of a scheduler") as error:
        dask_workers(address, 2).__enter__()
    assert hint in str(error.value)
