"""Problems on which other mappers were measured: proven here, and at least as good as what they found.

Their figures are in `docs/verification.md`; `scripts/bench_search.py` measures time and memory.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from mapper.arch import Accelerator, load_arch
from mapper.mapping import parse_partitioning
from mapper.search.constraint_text import parse_constraints
from mapper.search.solve import Problem, Solution, solve
from mapper.workload import Einsum

CONVOLUTION = Einsum.parse("O[N,K,P,Q] += W[K,C,R,S] * I[N,C,P+R,Q+S]; N=1 K=64 C=64 P=56 Q=56 R=3 S=3")
MATMUL = "Z[M,N] += A[M,K] * B[K,N]"

TIMELOOP_EDP = 8.327e14
"""Best of 45 s on the convolution, every tensor kept everywhere, pJ x cycles."""
ACCELFORGE_PJ = 4.133229e9
"""The best of the orders in which it can list its pads, and of annealing, on 1024 x 1024 x 1024."""


def best(einsum: Einsum, arch: Accelerator | str, metric: str, constraints: str = "", top: int = 1) -> Solution:
    asked = parse_constraints(*constraints.split(";")) if constraints else parse_constraints()
    accelerator = load_arch(arch) if isinstance(arch, str) else arch
    return solve(Problem(einsum, accelerator, parse_partitioning("any", einsum.dimensions), metric, top, asked))


def test_a_convolution_on_three_levels_is_proven_better_than_timeloop_found_it() -> None:
    found = best(CONVOLUTION, "timeloop_p1", "edp")
    assert found.certificate.optimal
    assert found.ranked[0].evaluation.edp_pj_cycles <= TIMELOOP_EDP


def test_a_matmul_with_a_pad_per_tensor_is_proven_whatever_the_order_of_the_pads() -> None:
    matmul, shipped = Einsum.parse(MATMUL, M=1024, N=1024, K=1024), load_arch("accelforge_eyeriss")
    pe = shipped.levels[-1]
    values = []
    for buffers in itertools.permutations(pe.buffers):
        found = best(matmul, replace(shipped, levels=(*shipped.levels[:-1], replace(pe, buffers=buffers))), "energy")
        assert found.certificate.optimal
        values.append((found.ranked[0].evaluation.energy_pj, str(found.ranked[0].mapping)))
    assert len(set(values)) == 1
    assert values[0][0] <= ACCELFORGE_PJ


def test_perfect_factors_on_8_by_8_pes_are_no_worse_than_annealing() -> None:
    matmul = Einsum.parse(MATMUL, M=1024, N=1024, K=1024)
    found = best(matmul, "accelforge_eyeriss", "energy", "GLB X: N=8; GLB Y: K=8")
    assert found.certificate.optimal
    assert found.ranked[0].evaluation.energy_pj <= ACCELFORGE_PJ


@pytest.mark.parametrize(("bound", "metric", "timeloop"), [(4, "energy", 10_544), (8, "edp", 72_960 * 160)])
def test_spaces_that_timeloop_enumerates_have_no_worse_optimum_here(bound: int, metric: str, timeloop: float) -> None:
    found = best(Einsum.parse(MATMUL, M=bound, N=bound, K=bound), "timeloop_p5", metric)
    assert found.certificate.optimal
    evaluation = found.ranked[0].evaluation
    assert (evaluation.energy_pj if metric == "energy" else evaluation.edp_pj_cycles) <= timeloop


def test_a_dimension_of_6144_and_one_more_level_are_proven() -> None:
    procrustes = load_arch("procrustes")
    dram, glb, rf = procrustes.levels
    second = replace(glb, name="L2", fanout=type(glb.fanout)(), buffers=(replace(glb.buffers[0], name="L2"),))
    bigger = replace(second, buffers=(replace(second.buffers[0], capacity_bits=2**23),))
    deeper = replace(procrustes, levels=(dram, bigger, glb, rf))
    found = best(Einsum.parse(MATMUL, M=512, N=768, K=6144), deeper, "edp", top=5)
    assert found.certificate.optimal
    assert len(found.ranked) == 5


@pytest.mark.parametrize("bounds", [{"M": 7, "N": 11, "K": 13}, {"M": 1021, "N": 1000, "K": 13}])
def test_primes_and_1000_outputs_on_16_lanes_idle_lanes_where_that_pays(bounds: dict[str, int]) -> None:
    problem = Problem(
        Einsum.parse(MATMUL, bounds), load_arch("procrustes"), parse_partitioning("MN", ("M", "N", "K")), "cycles", 1
    )
    found = solve(problem)
    assert found.certificate.optimal
    rounds = -(-bounds["M"] // 16) * -(-bounds["N"] // 16)
    assert found.ranked[0].evaluation.cycles == rounds * bounds["K"]
