"""Solve many problems, here or in worker processes; each by itself, so that where and in which order says nothing.

Workers are started anew (`spawn`), the same on every system. Ctrl-C belongs to the main process alone: workers never
see it, and are ended when the caller stops taking results. Where the main process is killed they end by themselves.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from time import monotonic

from mapper.errors import MapperError
from mapper.search.solve import Problem, Solution, infeasible, solve

Outcome = Solution | MapperError
"""What came of a problem: a solution, or why there is none."""


class WorkersLostError(MapperError):
    """A worker process ended by itself, as when the system is out of memory."""

    exit_code = 1


GRACE = 10.0
"""Seconds after the deadline within which a search that is under way must have returned what it found."""


def attempt(problem: Problem, deadline: float | None = None) -> Outcome | None:
    """Solve one problem; what is wrong with it is returned, so that it does not stop the others.

    None where the deadline (of `time.monotonic`, which all processes share) came before any mapping was found.
    """
    if deadline is not None and monotonic() >= deadline:
        return None
    try:
        solution = solve(problem, deadline)
    except MapperError as error:
        return error
    if solution.certificate.interrupted and not solution.ranked:
        raise KeyboardInterrupt
    if solution.ranked:
        return solution
    return infeasible(problem) if solution.certificate.optimal else None


def attempt_all(
    problems: Sequence[Problem], jobs: int = 1, timeout: float | None = None
) -> Generator[tuple[Problem, Outcome], None, None]:
    """Outcomes as they come, on `jobs` processes, of all that is found within `timeout` seconds.

    On one process Ctrl-C ends a search under way with what it has found. Raises `WorkersLostError`.
    """
    deadline = None if timeout is None else monotonic() + timeout
    if min(jobs, len(problems)) > 1:
        yield from _in_processes(problems, min(jobs, len(problems)), deadline)
        return
    for problem in problems:
        outcome = attempt(problem, deadline)
        if outcome is not None:
            yield problem, outcome
        if isinstance(outcome, Solution) and outcome.certificate.interrupted:
            raise KeyboardInterrupt


def _in_processes(problems: Sequence[Problem], jobs: int, deadline: float | None) -> Iterator[tuple[Problem, Outcome]]:
    others = set(active_children())
    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker)
    finished = False
    try:
        with _interrupts_held():
            futures = {executor.submit(attempt, problem, deadline): problem for problem in problems}
        left = None if deadline is None else max(0.0, deadline - monotonic()) + GRACE
        for future in as_completed(futures, left):
            outcome = future.result()
            if outcome is not None:
                yield futures[future], outcome
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


def _start_worker() -> None:
    _end_with_parent()
    # A search makes many small objects and few cycles of them: looking for those often takes 7 % of its time.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


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
