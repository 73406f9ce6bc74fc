"""What a worker does with a problem: solve it, or solve it and keep only what tables say of its mappings.

What is wrong with a problem is returned, so that it does not stop the others. Times are of the day's clock, which
machines share, until a search begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, time

from mapper.errors import MapperError
from mapper.search.result import Certificate
from mapper.search.rows import Row, measures
from mapper.search.solve import Problem, Solution, infeasible, solve


@dataclass(frozen=True)
class Measured:
    """Best mappings as rows of a table, without names of layers; a hundredth of a `Solution` in memory."""

    rows: tuple[Row, ...]
    certificate: Certificate


Outcome = Solution | MapperError
"""What came of a problem: a solution, or why there is none."""
Measurement = Measured | MapperError
"""The same, as rows."""


def clock() -> float:
    """Seconds of the day's clock: those of one machine mean the same on another."""
    return time()


def attempt(problem: Problem, until: float | None = None) -> Outcome | None:
    """Solve one problem. None where the time `until` (of `clock`) came before any mapping was found."""
    left = None if until is None else until - clock()
    if left is not None and left <= 0:
        return None
    try:
        solution = solve(problem, None if left is None else monotonic() + left)
    except MapperError as error:
        return error
    if solution.certificate.interrupted and not solution.ranked:
        raise KeyboardInterrupt
    if solution.ranked:
        return solution
    return infeasible(problem) if solution.certificate.optimal else None


def measure(problem: Problem, until: float | None = None) -> Measurement | None:
    """Solve one problem as `attempt` does, and keep its rows."""
    outcome = attempt(problem, until)
    return measured(outcome) if isinstance(outcome, Solution) else outcome


def measured(solution: Solution) -> Measured:
    """The rows of a solution."""
    return Measured(tuple(measures(ranked) for ranked in solution.ranked), solution.certificate)
