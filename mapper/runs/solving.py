"""Solve many problems, each by itself, so that where and in which order says nothing about what comes of it.

What a store holds is taken from there, the others are committed to it as they end. A worker that is lost is replaced,
and what it was doing is done again: alone, so that a problem that ends its workers is found, and after `LOSSES` workers
it is given up with that reason.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from mapper.errors import MapperError
from mapper.runs import work
from mapper.runs.executors import InProcess, Processes
from mapper.runs.outcome import read, read_measured
from mapper.runs.store import Store
from mapper.runs.work import Measured, Measurement, Outcome
from mapper.search.solve import Problem, Solution

T = TypeVar("T", bound=Outcome | Measurement)

OnDone = Callable[[Problem, Any], None]
"""Is told of every problem and what came of it."""

GRACE = 10.0
"""Seconds after the time limit within which a search that is under way must have returned what it found."""
LOSSES = 3
"""Workers that a problem may take with it."""
GIVEN_UP = f"{LOSSES} worker processes ended by themselves over it (out of memory? a smaller -j needs less)"


class Stop(StrEnum):
    """Why a run ended before all its problems were solved."""

    interrupted = "interrupted"
    timeout = "time limit reached"
    workers = "the workers are gone"


class WorkersLostError(MapperError):
    """Workers ended by themselves, as when the system is out of memory."""

    exit_code = 1


@dataclass(frozen=True)
class Work(Generic[T]):
    """What is made of a problem: `do` in a worker until a time of `work.clock`, `read` from what a store holds."""

    do: Callable[[Problem, float | None], T | None]
    read: Callable[[str, Problem], T]


SOLVE: Work[Outcome] = Work(work.attempt, read)
"""Mappings with everything that they cost."""
MEASURE: Work[Measurement] = Work(work.measure, read_measured)
"""Rows of a table."""


@dataclass(frozen=True)
class Solved(Generic[T]):
    """Outcomes of the problems that were finished, why not all of them, and how long it took."""

    outcomes: dict[Problem, T]
    stopped: Stop | None
    seconds: float


LOST, BROKEN = object(), object()
"""In place of an outcome: its worker, or every worker, ended before it had one."""


def ignore(_problem: Problem, _outcome: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class How:
    """On how many processes or by which executor, for how many seconds at most, with which store.

    `on_done` is called as each problem is solved, in no particular order, and before that `on_known` for each that the
    store holds, `on_done` where that is not given.
    """

    jobs: int = 1
    timeout: float | None = None
    on_done: OnDone = ignore
    store: Store | None = None
    executor: Executor | None = None
    on_known: OnDone | None = None

    def workers(self, most: int) -> AbstractContextManager[Executor]:
        """The executor, for so many problems; one that was given is left open."""
        if self.executor is not None:
            return nullcontext(self.executor)
        size = min(self.jobs, most)
        return Processes(size) if size > 1 else InProcess()


def solve_all(problems: Sequence[Problem], how: How, kind: Work[T]) -> Solved[T]:
    """Solve distinct problems; Ctrl-C, the end of the time and lost workers keep what is finished.

    Raises the `InputError` of a store that cannot be used.
    """
    start = time.monotonic()
    outcomes: dict[Problem, T] = {}
    stopped: Stop | None = None
    try:
        for problem, outcome, tell in _outcomes(problems, how, kind, start):
            outcomes[problem] = outcome
            tell(problem, outcome)
            if _interrupted(outcome):
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        stopped = Stop.interrupted
    except WorkersLostError:
        stopped = Stop.workers
    cut = any(isinstance(o, Solution | Measured) and not o.certificate.optimal for o in outcomes.values())
    if stopped is None and (cut or len(outcomes) < len(problems)):
        stopped = Stop.timeout
    return Solved(outcomes, stopped, time.monotonic() - start)


def _outcomes(
    problems: Sequence[Problem], how: How, kind: Work[T], start: float
) -> Iterator[tuple[Problem, T, OnDone]]:
    """What the store holds, then the others as they end, with who is told."""
    missing = []
    for problem in problems:
        known = None if how.store is None else how.store.get(problem, kind.read)
        if known is None:
            missing.append(problem)
        else:
            yield problem, known, how.on_known or how.on_done
    left = None if how.timeout is None else max(0.0, how.timeout - (time.monotonic() - start))
    with how.workers(len(missing)) as executor:
        for problem, outcome in solved(missing, executor, kind, left):
            if how.store is not None:
                how.store.put(problem, outcome)
            yield problem, outcome, how.on_done


def solved(
    problems: Sequence[Problem], executor: Executor, kind: Work[T], timeout: float | None = None
) -> Iterator[tuple[Problem, T]]:
    """Outcomes as they come, of all that is found within `timeout` seconds. Raises `WorkersLostError`."""
    until = None if timeout is None else work.clock() + timeout
    end = None if timeout is None else time.monotonic() + timeout + GRACE
    queue, running, losses = deque(problems), dict[Future[Any], Problem](), Counter[Problem]()
    while queue or running:
        while queue and len(running) < _room(executor, [*running.values(), queue[0]], losses):
            try:
                running[executor.submit(kind.do, queue[0], until)] = queue[0]
            except BrokenExecutor:
                # It has just lost a worker: what is running will say so.
                if running:
                    break
                _renew(executor)
            else:
                queue.popleft()
        done, _ = wait(running, None if end is None else max(0.0, end - time.monotonic()), FIRST_COMPLETED)
        if not done:
            return
        lost, broken = list[Problem](), False
        for future in done:
            problem, outcome = running.pop(future), _result(future)
            if outcome is LOST or outcome is BROKEN:
                lost.append(problem)
                broken |= outcome is BROKEN
            elif outcome is not None:
                yield problem, outcome
        if broken:
            _renew(executor)
            lost += running.values()
            running.clear()
        yield from _done_again(lost, queue, losses)


def _room(executor: Executor, problems: Sequence[Problem], losses: Counter[Problem]) -> float:
    """Jobs that may run beside each other, where these are the next: a suspect runs alone."""
    if any(losses[problem] for problem in problems):
        return 1
    return float(getattr(executor, "window", math.inf))


def _result(future: Future[Any]) -> Any:
    """The outcome; `LOST` where its worker was, `BROKEN` where all of them were."""
    try:
        return future.result()
    except WorkersLostError:
        return LOST
    except BrokenExecutor:
        return BROKEN
    except CancelledError:
        raise WorkersLostError("what runs the workers has cancelled their work") from None


def _renew(executor: Executor) -> None:
    """New workers. Raises `WorkersLostError` where the executor has no way to get them."""
    renew = getattr(executor, "renew", None)
    if renew is None:
        raise WorkersLostError("a worker ended by itself")
    renew()


def _done_again(lost: Sequence[Problem], queue: deque[Problem], losses: Counter[Problem]) -> list[tuple[Problem, Any]]:
    """What was lost goes to the front of the queue, but for what is given up."""
    losses.update(lost)
    queue.extendleft(problem for problem in reversed(lost) if losses[problem] < LOSSES)
    return [(problem, WorkersLostError(GIVEN_UP)) for problem in lost if losses[problem] >= LOSSES]


def _interrupted(outcome: object) -> bool:
    return isinstance(outcome, Solution | Measured) and outcome.certificate.interrupted
