"""Solve one problem: one einsum, one accelerator, one partitioning. The unit of work of every run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mapper.arch import Accelerator
from mapper.cost.single import evaluate_one
from mapper.errors import InfeasibleError, InputError, did_you_mean
from mapper.mapping.partitioning import Partitioning
from mapper.search.constraint_checks import unsatisfied
from mapper.search.constraints import UNCONSTRAINED, Constraints
from mapper.search.nofit import diagnose
from mapper.search.optimal import Search
from mapper.search.pool import METRICS, Candidate, Pool
from mapper.search.result import Certificate, Ranked
from mapper.search.space import Mapspace
from mapper.sparsity.zeros import DENSE, Moves, Sparsity
from mapper.workload import Einsum

TOP = 5
"""Mappings in a ranking by default."""

PARETO = "pareto"
"""The metric that asks for all mappings of which none is better in both energy and cycles."""
ASKED = (*METRICS, PARETO)


@dataclass(frozen=True)
class Problem:
    """One search: what identical layers share."""

    einsum: Einsum
    accelerator: Accelerator
    partitioning: Partitioning
    metric: str = METRICS[0]
    top: int = TOP
    constraints: Constraints = UNCONSTRAINED
    sparsity: Sparsity = DENSE


@dataclass(frozen=True)
class Solution:
    """The best mappings found for a problem, best first; empty where none fits, or none was found in time."""

    ranked: tuple[Ranked, ...]
    certificate: Certificate


def solve(problem: Problem, deadline: float | None = None) -> Solution:
    """Search one problem; with a `deadline` (of `time.monotonic`) the best found until then, and a gap."""
    if problem.metric not in ASKED:
        raise InputError(
            f"unknown metric '{problem.metric}'", where="--metric", hint=did_you_mean(problem.metric, ASKED)
        )
    space = mapspace(problem)
    search = Search(space)
    most = _most_cycles(problem)
    ranked = _front if problem.metric == PARETO else _ranking
    found, proven = ranked(search, problem, most, deadline)
    # Of a front that was cut nothing is known about the points to come.
    gap = 0.0 if proven else 1.0 if problem.metric == PARETO else _gap(search, found)
    certificate = Certificate(proven, space.size, search.evaluated, search.infeasible, gap, search.interrupted)
    evaluated = (
        Ranked(rank, evaluate_one(candidate.nests, problem.accelerator, problem.sparsity), certificate)
        for rank, candidate in enumerate(found, start=1)
    )
    return Solution(tuple(evaluated), certificate)


def _ranking(search: Search, problem: Problem, most: float, deadline: float | None) -> tuple[list[Candidate], bool]:
    pool = Pool(problem.metric, problem.top, problem.accelerator.level_names, problem.accelerator.open_levels)
    proven = search.run(pool, most, deadline)
    return pool.best(), proven


def _front(search: Search, problem: Problem, most: float, deadline: float | None) -> tuple[list[Candidate], bool]:
    """The front of energy and cycles, the least energy-delay product first: one search per point, each faster."""
    accelerator, found = problem.accelerator, list[Candidate]()
    proven = True
    while proven:
        pool = Pool("energy", 1, accelerator.level_names, accelerator.open_levels)
        proven = search.run(pool, most, deadline)
        if not pool.best():
            break
        if proven:
            found.append(pool.best()[0])
            most = found[-1].cycles - 1
    return sorted(found, key=lambda c: (c.energy_pj * max(c.cycles, 1), c.text)), proven


def _gap(search: Search, found: list[Candidate]) -> float:
    """How much better than the first mapping one might still be, as a share of its value."""
    if not found or not math.isfinite(found[0].value) or found[0].value <= 0:
        return 1.0
    return max(0.0, 1.0 - search.bound / found[0].value)


def _most_cycles(problem: Problem) -> float:
    """Cycles up to which the utilization is what the constraints ask for."""
    least = problem.constraints.min_utilization
    if not least:
        return np.inf
    slots, keeps = problem.accelerator.pes, (frozenset[str](),) * len(problem.accelerator.levels)
    macs = Moves(problem.einsum, problem.accelerator, problem.sparsity, keeps).effectual_macs
    cycles = int(macs / (least * slots)) + 1
    while cycles > 0 and macs / (cycles * slots) < least:
        cycles -= 1
    return float(cycles)


def mapspace(problem: Problem) -> Mapspace:
    """The mapspace of a problem. Raises `InfeasibleError` where its constraints leave no mapping."""
    space = _space(problem)
    if unsatisfied(space) is not None:
        raise infeasible(problem)
    return space


def infeasible(problem: Problem) -> InfeasibleError:
    """Why no mapping of a problem fits."""
    found = diagnose(_space(problem))
    return InfeasibleError(str(found), found.counts, found)


def _space(problem: Problem) -> Mapspace:
    return Mapspace(problem.einsum, problem.accelerator, problem.partitioning, problem.constraints, problem.sparsity)
