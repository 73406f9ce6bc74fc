"""With zeros the search is as exact as without: enumeration, bounds, and both ends of the scale, dense and empty."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import mapper
from mapper.arch import Accelerator, Axis, load_arch
from mapper.arch.zeros import Format, Zeros
from mapper.cost.batch import evaluate_nests, fits_nests, moves_of
from mapper.cost.energy import Floats
from mapper.cost.latency import port_bandwidths
from mapper.cost.single import Evaluation
from mapper.counts.geometry import groups
from mapper.mapping import parse_partitioning
from mapper.mapping.loopnest import Nests
from mapper.search.forms import leakage_pj_per_cycle, port_forms, priced
from mapper.search.keep import Keep
from mapper.search.leaves import nests_of
from mapper.search.optimal import Search
from mapper.search.quick import Quick
from mapper.search.rows import mapping_row
from mapper.search.solve import ASKED, PARETO, Problem, solve
from mapper.search.waits import Waits
from mapper.sparsity.density import Actual, Density, Dispersed, Exactly, Uniform
from mapper.sparsity.room import least_room, tile_room
from mapper.sparsity.zeros import Sparsity
from mapper.workload import Conv2d, Einsum, Layer, Phase
from mapper.workload.einsum import Tensor
from tests.machines import level, machine
from tests.search import exhaustive
from tests.search.problems import describe, random_density, random_sparse_problem
from tests.search.test_bounds import EXACT, Subproblem, Watched, batches, nest_text, only, random_mappings, space_of

SEEDS, FRONTS, BOUNDED = range(54), range(54, 60), range(24)
LARGEST, MOST_ARRAYS = 800, 60


def problem_of(seed: object, largest: int = LARGEST, most_arrays: int = MOST_ARRAYS) -> Problem:
    return random_sparse_problem(random.Random(f"zeros {seed}"), largest, most_arrays)


# The answer -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ranking_is_that_of_an_enumeration(seed: int) -> None:
    problem = problem_of(seed)
    assert exhaustive.differences(problem) == [], describe(problem)


@pytest.mark.parametrize("seed", FRONTS)
def test_the_front_is_that_of_an_enumeration(seed: int) -> None:
    problem = replace(problem_of(seed), metric=PARETO)
    assert exhaustive.differences(problem) == [], describe(problem)


@pytest.mark.parametrize("compaction", [False, True])
def test_blocks_are_skipped_by_units_that_share_their_memory_too(compaction: bool) -> None:
    einsum = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 K=6 N=2")
    shared = machine(level("DRAM", pj=10.0), level("GLB", 20, x=4, may_keep="W"))
    arch = replace(shared, zeros=Zeros(skip=frozenset("W"), skip_block=2, compaction=compaction))
    spread = parse_partitioning("any", einsum.dimensions)
    problem = Problem(einsum, arch, spread, "edp", 10, sparsity=Sparsity((("A", Uniform(0.2)),)))
    assert exhaustive.differences(problem) == []


@pytest.mark.parametrize("metric", ["edp", "energy"])
def test_a_search_among_fewer_mappings_than_asked_for_ends_where_nothing_costs_anything(metric: str) -> None:
    einsum = Einsum.parse("Z[M] += A[M,K] * B[K]; M=2 K=3")
    arch = machine(level("DRAM", pj=0.0), level("GLB", pj=0.0), mac_pj=0.0)
    problem = Problem(einsum, arch, parse_partitioning("any", "MK"), metric, 1000)
    assert exhaustive.differences(problem) == []


# Bounds ---------------------------------------------------------------------------------------------------------------


class Sparse(Subproblem):
    """Kept tensors and a class of lanes under zeros, with all rows raised to the cycles of the model."""

    @cached_property
    def bounds(self) -> Watched:
        search = self.search
        found = Watched(
            search.space, self.keeps, self.tables, search._forms(search.keeps.index(self.keeps)), search._passes
        )
        if not found.empty:
            found.raise_cycles(Keep("edp", 0.0))
        return found


@pytest.mark.parametrize("seed", BOUNDED)
def test_no_mapping_costs_less_than_what_was_known_of_it(seed: int) -> None:
    """And every mapping that fits is spoken of."""
    problem = problem_of(f"bounds {seed}", 500, 40)
    search = Search(replace(space_of(problem), sparsity=problem.sparsity))
    every = exhaustive.ranking(replace(problem, metric="energy", top=1 << 30))
    covered = set()
    for subproblem, quick in subproblems(search):
        known = subproblem.spoken_of()
        for leaves in batches(list(known)):
            nests = nests_of(search.space, subproblem.keeps, leaves)
            costs = costs_of(nests, problem)
            low = np.stack([known[leaf] for leaf in leaves], axis=1)
            assert (low <= costs * EXACT + 1e-9).all(), describe(problem)
            fitting = np.flatnonzero(np.isfinite(costs[0]))
            assert quick is not None or not fitting.size
            assert quick is None or (quick[:, None] <= costs * EXACT + 1e-9).all(), describe(problem)
            covered |= {nest_text(nests, i, problem.accelerator) for i in fitting.tolist()}
    assert {entry.text for entry in every} <= covered, describe(problem)


@pytest.mark.parametrize("balance", ["none", "half_tile"])
@pytest.mark.parametrize("density", [Uniform(0.3), Exactly(0.2, 192), Dispersed(0.4, 0.2)])
def test_no_set_of_independent_tiles_is_done_before_what_its_lanes_tell(balance: str, density: Density) -> None:
    einsum = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=12 K=16 N=32")
    arch = machine(level("DRAM"), level("GLB", x=3, y=2), level("RF", 40))
    arch = replace(arch, zeros=Zeros(skip=frozenset("W"), balance=balance))
    rng = np.random.default_rng(0)
    for spread in ("MK", "MM"):
        problem = Problem(einsum, arch, parse_partitioning(spread, "MKN"), sparsity=Sparsity((("A", density),)))
        search = Search(replace(space_of(problem), sparsity=problem.sparsity))
        for subproblem, quick in subproblems(search):
            nests, _ = random_mappings(subproblem, rng)
            assert quick is not None
            assert quick[-1] <= costs_of(nests, problem)[-1].min()


def subproblems(search: Search) -> Iterator[tuple[Sparse, Floats | None]]:
    """Every choice of kept tensors and class of lanes, and a quick bound on its mappings; None where nothing fits."""
    lanes = search.lanes
    first, _ = lanes.classes
    for keeps in search.keeps:
        quick = Quick(search.space, search.factors, lanes, lanes.choices[first], keeps)
        cycles = Waits(search.space, keeps).by_lanes(lanes, first)
        low = np.stack([*map(quick.form, search._forms(search.keeps.index(keeps))), cycles]) if quick.fits else None
        for number in range(len(first)):
            yield Sparse(search, keeps, number), None if low is None else low[:, number]


def costs_of(nests: Nests, problem: Problem) -> Floats:
    """Energy, leakage apart, cycles of every port with a form, compute cycles (figures, mappings); infinite where it
    does not fit."""
    accelerator, sparsity = problem.accelerator, problem.sparsity
    ports = [
        f"{buffer.name} {port}"
        for one in accelerator.levels
        for buffer in one.buffers
        for port, _ in port_bandwidths(buffer)
        if port_forms(nests.einsum, only(accelerator, buffer.name, port), nests.keeps, sparsity)
    ]
    out = np.full((2 + len(ports), len(nests)), np.inf)
    fitting = np.flatnonzero(fits_nests(nests, accelerator, sparsity))
    if fitting.size:
        for rows, geometry in groups(nests.take(fitting).without_unit_slots()):
            found = evaluate_nests(geometry.nests, accelerator, sparsity)
            leaked = leakage_pj_per_cycle(priced(accelerator)) * found.costs.cycles
            cycles = [found.bounds[name] for name in (*ports, "compute")]
            out[:, fitting[rows]] = [found.costs.energy_pj - leaked, *cycles]
    return out


FORMATS = (Format("bitmask"), Format("csb", block=3), Format("coordinate"), Format("n_m", n=2, m=4))


@pytest.mark.parametrize("stored", FORMATS)
@pytest.mark.parametrize("quantile", [0.3, 0.9, 1.0])
def test_a_tile_takes_at_least_the_room_that_its_words_tell(stored: Format, quantile: float) -> None:
    """And no fewer words tell more: tiles that do not fit are left out before all of their dimensions are known."""
    compared = 0
    for seed in range(12):
        einsum, rng = problem_of(f"room {seed}").einsum, random.Random(seed)
        tensor = rng.choice(einsum.tensors)
        zeros = Zeros(formats=((("GLB", tensor.role), stored),), capacity_quantile=quantile)
        arch = replace(machine(level("DRAM"), level("GLB", 8)), zeros=zeros)
        for density in (random_density(rng, einsum, tensor), Uniform(0.4)):
            names = frozenset(t.name for t in einsum.tensors)
            moves = moves_of(einsum, arch, Sparsity(((tensor.name, density),)), (names, names))
            if moves.compressed(1, tensor):
                tiles = list(divisors_of(einsum, tensor))
                rooms = [tile_room(moves, tensor, 1, tile) for tile in tiles]
                words = np.array([distinct_words(tensor, tile) for tile in tiles], dtype=float)
                least = least_room(moves, tensor, 1, words, 0)
                assert least is not None
                assert (least <= np.array(rooms) * EXACT).all()
                assert (np.diff(least[np.argsort(words, kind="stable")]) >= -1e-9).all()
                compared += len(tiles)
    assert compared > 50


def divisors_of(einsum: Einsum, tensor: Tensor) -> Iterator[tuple[int, ...]]:
    """Tiles that divide the tensor evenly."""
    each = ([n for n in range(1, e + 1) if e % n == 0] for e in extents_of(einsum, tensor))
    return itertools.product(*each)


def extents_of(einsum: Einsum, tensor: Tensor) -> list[int]:
    return [einsum.extent[term.dimension] for rank in tensor.ranks for term in rank]


def distinct_words(tensor: Tensor, tile: tuple[int, ...]) -> int:
    sizes = iter(tile)
    ranks = [[range(0, t.coefficient * next(sizes), t.coefficient) for t in rank] for rank in tensor.ranks]
    return math.prod(len({sum(steps) for steps in itertools.product(*rank)}) for rank in ranks)


@pytest.mark.parametrize("formula", ["O[K,P] += W[K,R] * I[P+R]; K=1 P=6 R=3", "O[P] += W[R] * I[3*P+2*R]; P=4 R=2"])
def test_the_fullest_tile_of_a_sliding_mask_has_room(formula: str) -> None:
    einsum = Einsum.parse(formula)
    tensor = einsum.operands[1]
    (rank,) = tensor.ranks
    mask = (
        np.random.default_rng(1).random(1 + sum(t.coefficient * (einsum.extent[t.dimension] - 1) for t in rank)) < 0.5
    )
    zeros = Zeros(formats=((("GLB", "I"), Format("bitmask")),), capacity_quantile=0.5)
    arch = replace(machine(level("DRAM"), level("GLB", 8)), zeros=zeros)
    moves = moves_of(einsum, arch, Sparsity(((tensor.name, Actual(mask)),)), (frozenset("OKPWIR"),) * 2)
    for tile in itertools.product(*(range(1, e + 1) for e in extents_of(einsum, tensor))):
        held = tiles_of(einsum, tensor, tile)
        fullest = max(int(mask[sorted(positions)].sum()) for positions in held)
        assert tile_room(moves, tensor, 1, tile) == 16 * fullest + max(map(len, held))


def tiles_of(einsum: Einsum, tensor: Tensor, tile: tuple[int, ...]) -> list[set[int]]:
    """Positions of every tile of a tensor of one rank."""
    (rank,) = tensor.ranks
    pieces = [
        [
            range(start, min(start + size, einsum.extent[term.dimension]))
            for start in range(0, einsum.extent[term.dimension], size)
        ]
        for term, size in zip(rank, tile, strict=True)
    ]
    return [
        {sum(t.coefficient * i for t, i in zip(rank, place, strict=True)) for place in itertools.product(*chosen)}
        for chosen in itertools.product(*pieces)
    ]


# The ends of the scale ------------------------------------------------------------------------------------------------


LAYER = Conv2d(name="conv", N=2, K=8, C=4, P=2, Q=1, R=1, S=1)


def weights(layer: Layer, nonzero: bool) -> Actual:
    (part,) = layer.parts(Phase.fw)
    tensor = part.einsum.operands[0]
    return Actual(np.full([part.einsum.extent[term.dimension] for rank in tensor.ranks for term in rank], nonzero))


@pytest.fixture(scope="module")
def procrustes() -> Accelerator:
    return load_arch("procrustes")


@pytest.mark.parametrize("metric", ASKED)
def test_a_density_of_one_costs_what_no_density_costs_to_the_last_digit(metric: str, procrustes: Accelerator) -> None:
    layer = LAYER
    (part,) = layer.parts(Phase.fw)
    problem = Problem(part.einsum, procrustes, parse_partitioning("KN", part.einsum.dimensions), metric, 4)
    dense = found_by(problem)
    assert len(dense) > 1
    ones = weights(layer, True)
    assert found_by(replace(problem, sparsity=Sparsity((("W", ones),)))) == dense
    for density in (Uniform(1.0), ones):
        result = mapper.search(layer, procrustes, partitioning="KN", metric=metric, top=4, density=density)
        assert [figures(ranked.evaluation) for ranked in result] == dense


def found_by(problem: Problem) -> list[tuple[object, ...]]:
    return [figures(ranked.evaluation) for ranked in solve(problem).ranked]


def figures(found: Evaluation) -> tuple[object, ...]:
    """All that a mapping is said to cost, and what it is."""
    return (str(found.mapping), found.cycles, found.energy_pj, found.effectual_macs, found.bounds, found.items)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("metric", ["edp", "cycles"])
def test_a_tensor_of_zeros_takes_no_work_and_no_figure_is_undefined(
    phase: Phase, metric: str, procrustes: Accelerator
) -> None:
    layer = LAYER
    empty: list[Density | dict[str, Density]] = [{"W": Uniform(0.0), "I": Uniform(0.0)}]
    empty += [{"W": weights(layer, False), "I": Uniform(0.0)}] if phase is not Phase.wu else []
    for density in empty:
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            result = mapper.search(
                layer, procrustes, phase=phase, partitioning="KN", metric=metric, top=2, density=density
            )
            rows = [mapping_row(part, ranked) for part in result.parts for ranked in part]
        for ranked in itertools.chain(*result.parts):
            found = ranked.evaluation
            assert found.effectual_macs == found.effectual_points == 0
            assert found.utilization == 0
            assert 0 < found.energy_pj < math.inf
            assert ranked.certificate.optimal
            numbers = [getattr(found, f.name) for f in fields(found)] + [
                n for item in found.items for n in vars(item).values()
            ]
            assert all(math.isfinite(n) for n in [*numbers, found.edp_pj_cycles] if isinstance(n, int | float))
        assert all(math.isfinite(n) for row in rows for n in row.values() if isinstance(n, int | float))


# Nothing that was looked at before decides ----------------------------------------------------------------------------


def sampled_problem(balance: str) -> Problem:
    """Halves are paired and sampled, or masks drawn; what is found once is remembered."""
    einsum = Einsum.parse("O[K,P] += W[K,C,R] * I[C,P+R]; K=8 C=4 P=2 R=2")
    arch = machine(level("DRAM", pj=20.0), level("GLB", 64, x=Axis(4), y=Axis(2), pj=6.0), level("RF", 24))
    zeros = Zeros(frozenset("W"), balance=balance, formats=((("DRAM", "W"), Format("bitmask")),))
    sparsity = Sparsity((("W", Uniform(0.3)),))
    return Problem(
        einsum, replace(arch, zeros=zeros), parse_partitioning("KP", einsum.dimensions), "edp", 10, sparsity=sparsity
    )


def answers(*balances: str) -> list[str]:
    """Rankings, one after the other."""
    return [repr(found_by(sampled_problem(balance))) for balance in balances]


def test_the_order_of_searches_changes_no_digit_of_them() -> None:
    order = ("half_tile", "global", "half_tile_uneven", "none")
    first = answers(*order)
    assert answers(*reversed(order)) == first[::-1]
    code = f"from tests.search.test_zeros import answers; print(*answers(*{order[::-1]}), sep='\\n')"
    root = Path(__file__).parents[2]
    fresh = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert fresh.stdout.splitlines() == first[::-1]
