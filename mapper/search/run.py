"""Search one layer: every part of a phase under one partitioning, ranked.

`solve` is the unit of work: one einsum, one accelerator, one partitioning. It is deterministic: the seed of a problem
comes from its text, so that the order in which problems are solved, or on how many processes, changes nothing.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from mapper.arch import Accelerator
from mapper.cost.given import accelerator_of, check_layer
from mapper.cost.single import evaluate_one
from mapper.errors import InfeasibleError, InputError, expect
from mapper.mapping.partitioning import Partitioning, parse_partitioning
from mapper.search.descent import Descent
from mapper.search.pool import METRICS, Pool
from mapper.search.result import Certificate, Ranked, Ranking, SearchResult
from mapper.search.space import Mapspace
from mapper.workload import Einsum, EinsumLayer, Layer, Part, Phase

TOP = 5
"""Mappings in a ranking by default."""


@dataclass(frozen=True)
class Problem:
    """One search: what identical layers share."""

    einsum: Einsum
    accelerator: Accelerator
    partitioning: Partitioning
    metric: str = METRICS[0]
    top: int = TOP
    seed: int = 0


@dataclass(frozen=True)
class Solution:
    """The best mappings found for a problem, best first; empty where none fits."""

    ranked: tuple[Ranked, ...]
    certificate: Certificate


def solve(problem: Problem) -> Solution:
    """Search one problem."""
    space = Mapspace(problem.einsum, problem.accelerator, problem.partitioning)
    accelerator = problem.accelerator
    pool = Pool(problem.metric, problem.top, accelerator.level_names, accelerator.open_levels)
    # Nothing of the hardware: designs that are compared start from the same random mappings.
    text = f"{problem.einsum.text}|{problem.partitioning}|{problem.seed}"
    complete = Descent(space, pool, zlib.crc32(text.encode())).run()
    certificate = Certificate(complete, space.size, pool.evaluated, pool.infeasible)
    best = enumerate(pool.best(), start=1)
    return Solution(
        tuple(Ranked(rank, evaluate_one(c.nests, accelerator), certificate) for rank, c in best), certificate
    )


def ranking(problem: Problem, solution: Solution, layer: Layer, part: Part) -> Ranking:
    """A solution under the names of the layer and part it was found for."""
    return Ranking(
        problem.accelerator.name,
        layer.label,
        str(part.phase),
        part.label,
        str(problem.partitioning),
        problem.metric,
        solution.ranked,
        solution.certificate,
    )


def search(
    layer: Layer | Einsum,
    arch: Accelerator | str,
    *,
    phase: Phase | str = Phase.fw,
    partitioning: Partitioning | str,
    metric: str = METRICS[0],
    top: int = TOP,
    seed: int = 0,
) -> SearchResult:
    """The best mappings of one phase of a layer (or of an einsum), one `Ranking` per part.

    `arch` is an accelerator or what `load_arch` takes; `partitioning` is a name such as "KN" or "any"; `metric` is
    edp, energy or cycles. Raises `InfeasibleError` where no mapping fits, `InputError` for arguments.
    """
    accelerator = accelerator_of(arch)
    check_layer(layer)
    expect(top, int, "a number of mappings", "5")
    if top < 1:
        raise InputError(f"top is {top}; a ranking has 1 mapping or more", where="top", hint="1")
    layer = EinsumLayer(name=layer.name, einsum=layer) if isinstance(layer, Einsum) else layer
    rankings = []
    for part in layer.parts(phase):
        spread = _partitioning(partitioning, part.einsum)
        problem = Problem(part.einsum, accelerator, spread, metric, top, seed)
        solution = solve(problem)
        if not solution.ranked:
            reason = no_mapping(accelerator, solution.certificate)
            raise InfeasibleError(f"{layer.label} {part.phase} {part.label} {spread}: {reason}")
        rankings.append(ranking(problem, solution, layer, part))
    return SearchResult(tuple(rankings))


def _partitioning(given: Partitioning | str, einsum: Einsum) -> Partitioning:
    return given if isinstance(given, Partitioning) else parse_partitioning(given, einsum.dimensions)


def no_mapping(accelerator: Accelerator, certificate: Certificate) -> str:
    """The reason where no mapping fits."""
    tried = f"{certificate.infeasible:,} of {certificate.evaluated:,} mappings tried exceed a buffer"
    return f"no mapping fits {accelerator.name} ({tried})"
