"""Search one layer: every part of a phase under one partitioning, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mapper.arch import Accelerator
from mapper.cost.given import accelerator_of, check_layer
from mapper.errors import InfeasibleError, InputError, expect
from mapper.mapping.partitioning import Partitioning, parse_partitioning
from mapper.search.constraint_checks import check
from mapper.search.constraint_text import constraints_from
from mapper.search.constraints import UNCONSTRAINED, Constraints
from mapper.search.pool import METRICS
from mapper.search.result import Ranking, SearchResult
from mapper.search.solve import TOP, Problem, Solution, infeasible, solve
from mapper.sparsity.given import Densities, ZerosGiven
from mapper.sparsity.masks import Masks
from mapper.workload import Einsum, EinsumLayer, Layer, Part, Phase


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
    constraints: Constraints | str | Path | Sequence[str | Path] = UNCONSTRAINED,
    density: Densities = None,
    masks: Masks | None = None,
    balance: str | None = None,
) -> SearchResult:
    """The best mappings of one phase of a layer (or of an einsum), one `Ranking` per part.

    `arch` is an accelerator or what `load_arch` takes; `partitioning` is a name such as "KN" or "any"; `metric` is
    edp, energy, cycles or pareto (all mappings that none beats in both energy and cycles). `constraints` are text such
    as "GLB: C<=8 | X: K=16", the path of a YAML file, a list of those, or what `mapper.parse_constraints` returns.
    `density` is that of the weights, or of tensors by name, {"W": 0.1, "I": 0.5, "dO": 1.0}: a number, a text such as
    "2:4", a `mapper.Density`; `masks` are those of `mapper.load_masks`. Zeros save what the accelerator's `zeros` say;
    `balance` takes the place of its own. Raises `InfeasibleError` where no mapping fits, `InputError` for arguments.
    """
    accelerator = accelerator_of(arch)
    check_layer(layer)
    expect(top, int, "a number of mappings", "5")
    if top < 1:
        raise InputError(f"top is {top}; a ranking has 1 mapping or more", where="top", hint="1")
    layer = EinsumLayer(name=layer.name, einsum=layer) if isinstance(layer, Einsum) else layer
    given = ZerosGiven.of(density, masks, balance)
    parts, asked = layer.parts(phase), constraints_from(constraints)
    check(asked, accelerator, (part.einsum for part in parts))
    rankings = []
    for part in parts:
        spread = _partitioning(partitioning, part.einsum)
        problem = Problem(part.einsum, accelerator, spread, metric, top, asked, given.sparsity(layer, part))
        try:
            solution = solve(problem)
            if not solution.ranked:
                raise infeasible(problem)
        except InfeasibleError as error:
            reason = f"{layer.label} {part.phase} {part.label} {spread}: {error}"
            raise InfeasibleError(reason, error.reasons, error.diagnosis) from None
        rankings.append(ranking(problem, solution, layer, part))
    return SearchResult(tuple(rankings))


def _partitioning(given: Partitioning | str, einsum: Einsum) -> Partitioning:
    return given if isinstance(given, Partitioning) else parse_partitioning(given, einsum.dimensions)
