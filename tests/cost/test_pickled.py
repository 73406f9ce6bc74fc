"""Costs do not depend on which of two equal objects came first: workers receive copies of what this process holds."""

from __future__ import annotations

import pickle

import pytest

from mapper.arch import load_arch
from mapper.cost import evaluate_part
from mapper.cost.batch import moves_of
from mapper.mapping import parse_nest, parse_partitioning
from mapper.search.solve import Problem, solve
from mapper.sparsity.given import ZerosGiven
from mapper.workload import load_network


@pytest.mark.parametrize("phase", ["fw", "bw", "wu"])
def test_a_copy_of_the_einsum_costs_what_the_einsum_does(phase: str) -> None:
    layer, arch = load_network("resnet18", 16)["layer4.0.down.0"], load_arch("procrustes")
    part = layer.parts(phase)[0]
    zeros = ZerosGiven.of({"W": 0.1, "I": 0.5}).sparsity(layer, part)
    problem = Problem(part.einsum, arch, parse_partitioning("KN", part.einsum.dimensions), top=1, sparsity=zeros)
    moves_of.cache_clear()
    alone = solve(problem).ranked[0]
    moves_of.cache_clear()
    # What a worker's result leaves behind: counts for a copy, which answer for the einsum from now on.
    copy = pickle.loads(pickle.dumps(part.einsum))
    moves_of(copy, arch, zeros, alone.evaluation.nests.keeps)
    again = evaluate_part(part.einsum, arch, parse_nest(str(alone.mapping)), zeros)
    assert (again.cycles, again.energy_pj) == (alone.evaluation.cycles, alone.evaluation.energy_pj)
    assert again.items == alone.evaluation.items


def test_a_search_of_a_copy_finds_what_a_search_of_the_einsum_does() -> None:
    layer, arch = load_network("resnet18", 16)["fc"], load_arch("procrustes")
    part = layer.parts("fw")[0]
    zeros = ZerosGiven.of(0.1).sparsity(layer, part)
    problem = Problem(part.einsum, arch, parse_partitioning("CK", part.einsum.dimensions), sparsity=zeros)
    moves_of.cache_clear()
    alone = solve(problem)
    moves_of.cache_clear()
    solve(pickle.loads(pickle.dumps(problem)))
    after = solve(problem)
    assert [(str(r.mapping), r.evaluation.energy_pj) for r in after.ranked] == [
        (str(r.mapping), r.evaluation.energy_pj) for r in alone.ranked
    ]
