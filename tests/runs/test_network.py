"""Runs of a whole network: each problem once, the plan's order, and whatever happens to one search, the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from mapper.errors import InfeasibleError, InputError, MapperError
from mapper.report.tables import mappings_table
from mapper.runs import Stop, WorkersLostError, executors, run, solving, work
from mapper.runs.executors import InProcess
from mapper.runs.work import Outcome
from mapper.search.solve import Problem, Solution, solve
from mapper.workload import Phase
from tests import tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.write(tmp_path)
    return tmp_path


def test_identical_layers_are_one_problem_and_rows_of_each(folder: Path) -> None:
    plan = tiny.plan(folder)
    assert [str(task) for task in plan.tasks] == [
        *("first fw 1/1 KN", "first fw 1/1 CN", "twin fw 1/1 KN", "twin fw 1/1 CN", "last fw 1/1 KN", "last fw 1/1 CN"),
    ]
    assert len(plan.problems) == 4
    done: list[Problem] = []
    found = run(plan, on_done=lambda problem, _outcome: done.append(problem))
    assert done == list(plan.problems)
    assert [task for task, _ in found.rankings] == list(plan.tasks)
    first, twin = (next(r for t, r in found.rankings if t.layer.name == name) for name in ("first", "twin"))
    assert [str(r.mapping) for r in first] == [str(r.mapping) for r in twin]
    assert (first.layer, twin.layer) == ("first", "twin")


def test_two_processes_find_what_one_finds(folder: Path) -> None:
    plan = tiny.plan(folder)
    alone, together = run(plan), run(plan, jobs=2)
    assert together.stopped is None
    assert [(str(task), [str(r.mapping) for r in ranking]) for task, ranking in alone.rankings] == [
        (str(task), [str(r.mapping) for r in ranking]) for task, ranking in together.rankings
    ]


def test_phases_that_training_does_not_need_are_left_out(folder: Path) -> None:
    plan = tiny.plan(folder, phases=tuple(Phase), partitionings="KN")
    assert [str(task.phase) for task in plan.tasks if task.layer.name == "first"] == ["fw", "wu"]


def test_a_plan_without_any_search_is_an_error(folder: Path) -> None:
    network = "name: one\nlayers: [{name: a, linear: {C: 2, K: 2}, input_gradient: false}]\n"
    (folder / "one.yaml").write_text(network)
    with pytest.raises(InputError, match="no layer of 'one' has a phase bw"):
        tiny.plan(folder, "one", phases=(Phase.bw,))


def test_a_problem_without_a_mapping_does_not_stop_the_others(folder: Path) -> None:
    found = run(tiny.plan(folder, "mixed", "picky", partitionings="KN"))
    assert [task.layer.name for task, _ in found.rankings] == ["fits"]
    ((task, error),) = found.failures
    assert task.layer.name == "does_not"
    assert isinstance(error, InfeasibleError)
    assert error.diagnosis is not None
    assert error.reasons == {"RF": error.diagnosis.tilings}
    assert not found.unfinished


def test_a_problem_that_cannot_be_costed_does_not_stop_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tiny.plan(folder)

    def fails(problem: Problem, _deadline: float | None) -> Solution:
        if problem is plan.problems[0]:
            raise InputError("counts leave 63 bits")
        return solve(problem)

    monkeypatch.setattr(work, "solve", fails)
    found = run(plan)
    assert [str(task) for task, _ in found.failures] == ["first fw 1/1 KN", "twin fw 1/1 KN"]
    assert len(found.rankings) == 4


def test_a_time_limit_ends_a_run_on_several_processes(folder: Path) -> None:
    found = run(tiny.plan(folder), jobs=2, timeout=1e-3)
    assert found.stopped is Stop.timeout
    assert len(found.unfinished) == 6


class Deadly:
    """What ends the process that receives it, as the system does when memory is exhausted."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        import os

        return os._exit, (1,)


def test_a_problem_that_ends_its_workers_is_given_up_and_the_others_are_solved(folder: Path) -> None:
    others = tiny.plan(folder).problems
    problems: list[Problem] = [others[0], Deadly(), *others[1:]]  # type: ignore[list-item]
    with executors.Processes(2) as executor:
        found = dict(solving.solved(problems, executor, solving.SOLVE))
    assert set(found) == set(problems)
    ((problem, error),) = ((p, o) for p, o in found.items() if isinstance(o, MapperError))
    assert problem is problems[1]
    assert isinstance(error, WorkersLostError)
    assert str(error) == "3 worker processes ended by themselves over it (out of memory? a smaller -j needs less)"


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(folder: Path) -> None:
    plan = tiny.plan(folder, phases=tuple(Phase))
    killed: list[object] = []

    def kill(_problem: Problem, _outcome: Outcome) -> None:
        if len(killed) < 2:
            worker = active_children()[0]
            worker.kill()
            killed.append(worker)

    found = run(plan, jobs=2, on_done=kill)
    assert len(killed) == 2
    assert found.stopped is None
    assert mappings_table(found) == mappings_table(run(plan))


def test_any_executor_of_the_standard_interface_will_do(folder: Path) -> None:
    plan = tiny.plan(folder)
    with ThreadPoolExecutor(2) as executor:
        found = run(plan, executor=executor)
    assert mappings_table(found) == mappings_table(run(plan))


class BreaksBetween(InProcess):
    """Breaks after every other job, which only the next one notices."""

    window = 2

    def __init__(self) -> None:
        self.submitted = self.renewed = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.submitted == 2:
            raise BrokenExecutor("since the last job")
        self.submitted += 1
        return super().submit(fn, *args, **kwargs)

    def renew(self) -> None:
        self.submitted, self.renewed = 0, self.renewed + 1


def test_workers_that_are_lost_between_two_jobs_cost_nothing(folder: Path) -> None:
    plan = tiny.plan(folder, phases=tuple(Phase))
    executor = BreaksBetween()
    assert mappings_table(run(plan, executor=executor)) == mappings_table(run(plan))
    assert executor.renewed == (len(plan.problems) - 1) // 2


class Broken(InProcess):
    """Has lost its workers and cannot have others."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ARG002
        future: Future[Any] = Future()
        future.set_exception(BrokenExecutor("gone"))
        return future


def test_a_run_that_loses_its_workers_says_so(folder: Path) -> None:
    found = run(tiny.plan(folder), executor=Broken())
    assert found.stopped is Stop.workers
    assert len(found.unfinished) == len(tiny.plan(folder).tasks)


ORPHANS = """
import os, signal, threading, time
from multiprocessing import active_children
from mapper.runs import executors, solving

class Endless:
    def __reduce__(self):
        return time.sleep, (600,)

def end():
    while len(active_children()) < 2:
        time.sleep(0.1)
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=end).start()
with executors.Processes(2) as executor:
    list(solving.solved([Endless(), Endless()], executor, solving.SOLVE))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_workers_end_when_the_main_process_is_killed() -> None:
    root = Path(__file__).parents[2]
    # They hold the pipe too: it is closed, and `run` returns, when all of them have ended.
    done = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, cwd=root, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
