"""Solve many problems, here or in worker processes; each by itself, so that where and in which order says nothing.

Workers are started anew (`spawn`), the same on every system. Ctrl-C belongs to the main process alone: workers never
see it, and are ended when the caller stops taking results. Where the main process is killed they end by themselves.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from time import monotonic

from mapper.errors import InfeasibleError, MapperError
from mapper.search.run import Problem, Solution, no_mapping, solve

Outcome = Solution | MapperError
"""What came of a problem: a solution, or why there is none."""


class WorkersLostError(MapperError):
    """A worker process ended by itself, as when the system is out of memory."""

    exit_code = 1


def attempt(problem: Problem) -> Outcome:
    """Solve one problem; what is wrong with it is returned, so that it does not stop the others."""
    try:
        solution = solve(problem)
    except MapperError as error:
        return error
    if solution.ranked:
        return solution
    reasons = {"exceed a buffer": solution.certificate.infeasible}
    return InfeasibleError(no_mapping(problem.accelerator, solution.certificate), reasons)


def attempt_all(
    problems: Sequence[Problem], jobs: int = 1, timeout: float | None = None
) -> Generator[tuple[Problem, Outcome], None, None]:
    """Outcomes as they come, on `jobs` processes; ends early after `timeout` seconds.

    On one process a search that has begun is finished. Raises `WorkersLostError`.
    """
    deadline = None if timeout is None else monotonic() + timeout
    if min(jobs, len(problems)) > 1:
        yield from _in_processes(problems, min(jobs, len(problems)), timeout)
        return
    for problem in problems:
        if deadline is not None and monotonic() >= deadline:
            return
        yield problem, attempt(problem)


def _in_processes(problems: Sequence[Problem], jobs: int, timeout: float | None) -> Iterator[tuple[Problem, Outcome]]:
    others = set(active_children())
    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _end_with_parent)
    finished = False
    try:
        with _interrupts_held():
            futures = {executor.submit(attempt, problem): problem for problem in problems}
        for future in as_completed(futures, timeout):
            yield futures[future], future.result()
        finished = True
    except TimeoutError:
        return
    except BrokenProcessPool:
        raise WorkersLostError("a worker process ended by itself") from None
    finally:
        if not finished:
            for worker in set(active_children()) - others:
                worker.terminate()
        executor.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: end when the process that started it does, however it does."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while workers are started: they inherit that, and this process gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
