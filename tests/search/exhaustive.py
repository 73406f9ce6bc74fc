"""The answer to a small problem by enumeration: every factor, every permutation, every choice of kept tensors.

Mappings are costed in arrays, some hundred thousand in seconds. Those of the same factors and kept tensors whose
counts agree for every tensor and level are one class, and its first text stands for it. The innermost level's loops
take one order: compute asks for every word in every step, whatever the order (`test_orders.py`).
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapper.cost.batch import Costs, moves_of, rank_counted
from mapper.cost.single import Evaluation
from mapper.errors import InfeasibleError
from mapper.mapping.loopnest import Ints, Nests
from mapper.search.pool import metric_values
from mapper.search.rows import METRIC_COLUMNS
from mapper.search.solve import PARETO, Problem, Solution, solve
from tests.search import brute


@dataclass(frozen=True, order=True)
class Entry:
    """A class of mappings; energy, cycles, then the text decide between equals."""

    value: float
    energy_pj: float
    cycles: int
    text: str


def answer(problem: Problem) -> list[Entry]:
    """The best classes of a problem, best first: its ranking, or its front."""
    return _front(problem) if problem.metric == PARETO else ranking(problem)


def ranking(problem: Problem) -> list[Entry]:
    """The `top` best classes, best first."""
    found: dict[tuple[object, ...], Entry] = {}
    values: list[float] = []
    for nests, costs, counts in _costed(problem):
        value = metric_values(costs, problem.metric)
        for row in np.argsort(value, kind="stable").tolist():
            if value[row] > (values[problem.top - 1] if len(values) >= problem.top else np.inf) or value[row] == np.inf:
                break
            text = _text(problem, nests, row)
            if text:
                entry = Entry(float(value[row]), float(costs.energy_pj[row]), int(costs.cycles[row]), text)
                key = (_factors(nests, row), nests.keeps, counts[row].tobytes())
                if key not in found:
                    bisect.insort(values, entry.value)
                found[key] = min(entry, found.get(key, entry))
    return sorted(found.values())[: problem.top]


def _front(problem: Problem) -> list[Entry]:
    """Mappings that none beats in both energy and cycles, the least energy-delay product first."""
    least: dict[int, tuple[float, str]] = {}
    for nests, costs, _ in _costed(problem):
        for row in np.argsort(costs.energy_pj, kind="stable").tolist():
            energy, cycles = float(costs.energy_pj[row]), int(costs.cycles[row])
            if costs.feasible[row] and energy <= least.get(cycles, (np.inf, ""))[0]:
                text = _text(problem, nests, row)
                if text:
                    least[cycles] = min((energy, text), least.get(cycles, (energy, text)))
    found = [
        Entry(energy * max(cycles, 1), energy, cycles, text)
        for cycles, (energy, text) in least.items()
        if all(energy < other for fewer, (other, _) in least.items() if fewer < cycles)
    ]
    return sorted(found, key=lambda entry: (entry.value, entry.text))


def _costed(problem: Problem) -> Iterator[tuple[Nests, Costs, Ints]]:
    """All mappings, with the costs of those that are used enough; the others, like those that do not fit, do not."""
    accelerator, asked = problem.accelerator, problem.constraints
    dimensions = brute.looped(problem.einsum)
    first = [d for d in asked.prefix(accelerator.level_names[-1]) if d in dimensions]
    innermost = (*first, *sorted(set(dimensions) - set(first)))
    for nests in brute.arrays(problem.einsum, accelerator, problem.partitioning, innermost):
        costs, counts = rank_counted(nests, accelerator, problem.sparsity)
        macs = moves_of(problem.einsum, accelerator, problem.sparsity, nests.keeps).effectual_macs
        used = macs / (np.maximum(costs.cycles, 1) * accelerator.pes)
        enough = costs.feasible & (used >= (asked.min_utilization or 0.0))
        yield nests, Costs(costs.cycles, np.where(enough, costs.energy_pj, np.inf), enough), counts


def _text(problem: Problem, nests: Nests, row: int) -> str:
    """A mapping as text; empty where it is not what the constraints want."""
    nest = nests.nest(row, problem.accelerator.level_names, problem.accelerator.open_levels)
    return str(nest) if brute.obeys(nest, problem.einsum, problem.constraints) else ""


def _factors(nests: Nests, row: int) -> frozenset[tuple[int, str, str, int]]:
    loops = zip(nests.slots, nests.factors[row].tolist(), strict=True)
    return frozenset((slot.level, slot.kind, slot.dimension, factor) for slot, factor in loops if factor > 1)


def entry_of(found: Evaluation, metric: str) -> Entry:
    """What a search has found as the enumeration gives it: no cycle at all ranks as one."""
    value = float(getattr(found, METRIC_COLUMNS[metric]))
    if not found.cycles and METRIC_COLUMNS[metric] == "edp_pj_cycles":
        value = found.energy_pj
    return Entry(value, found.energy_pj, found.cycles, str(found.mapping))


def differences(problem: Problem) -> list[str]:
    """Where the search answers otherwise than the enumeration, or does not call its answer proven: a line each."""
    expected = answer(problem)
    try:
        solution = solve(problem)
    except InfeasibleError as error:
        return [f"the search finds nothing: {error}; enumeration {expected[0]}"] if expected else []
    return [*compare(expected, solution, problem.metric), *_unproven(solution)]


def compare(expected: list[Entry], solution: Solution, metric: str) -> Iterator[str]:
    """A line for each rank that differs, and for ranks that one side lacks."""
    found = [entry_of(ranked.evaluation, metric) for ranked in solution.ranked]
    if len(found) != len(expected):
        yield f"number of mappings: search {len(found)}, enumeration {len(expected)}"
    for rank, (mine, other) in enumerate(zip(found, expected, strict=False), start=1):
        if mine != other:
            kind = "value" if mine.value != other.value else "energy" if mine.energy_pj != other.energy_pj else "text"
            yield f"{kind} at rank {rank}: search {mine}, enumeration {other}"


def _unproven(solution: Solution) -> Iterator[str]:
    certificate = solution.certificate
    if not certificate.optimal or certificate.gap or certificate.interrupted:
        yield f"not called proven: {certificate}"
