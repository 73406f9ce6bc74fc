"""The search is exact: its answers are those of the enumeration, and what it says of unfinished ones is true."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mapper.arch import Axis, load_arch
from mapper.errors import InfeasibleError, InputError
from mapper.mapping import parse_partitioning
from mapper.search import optimal
from mapper.search.constraint_text import parse_constraints
from mapper.search.pool import METRICS
from mapper.search.solve import ASKED, PARETO, Problem, Solution, solve
from mapper.workload import Einsum, load_network
from tests.machines import level, machine
from tests.search import brute, exhaustive
from tests.search.problems import describe, random_problem

SEEDS, FRONTS, UNFINISHED = range(120), range(120, 140), range(140, 152)
LARGEST, MOST_ARRAYS = 8_000, 150

Clock = Callable[[int], None]


def problem_of(seed: int) -> Problem:
    return random_problem(random.Random(seed), LARGEST, MOST_ARRAYS)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ranking_is_that_of_an_enumeration(seed: int) -> None:
    problem = problem_of(seed)
    assert exhaustive.differences(problem) == [], describe(problem)


@pytest.mark.parametrize("seed", FRONTS)
def test_the_front_is_that_of_an_enumeration(seed: int) -> None:
    problem = replace(problem_of(seed), metric=PARETO)
    assert exhaustive.differences(problem) == [], describe(problem)


DEAR_LANES = Axis(4, multicast=False), Axis(2, multicast=False)
SMALL = machine(
    level("DRAM", pj=20.0, shared=4.0, x=DEAR_LANES[0]),
    level("GLB", 8, y=DEAR_LANES[1], pj=6.0, may_keep="W"),
    level("RF", 4),
)
"""The more lanes work, the more words they take: energy and cycles disagree."""
SMALL_EINSUM = Einsum.parse("O[K,P] += W[K,R] * I[P+R]; K=4 P=4 R=3")


def small(metric: str = "edp", top: int = 10) -> Problem:
    return Problem(SMALL_EINSUM, SMALL, parse_partitioning("PP", SMALL_EINSUM.dimensions), metric, top)


@pytest.mark.parametrize("metric", ASKED)
def test_a_proven_answer_says_so_with_every_mapping(metric: str) -> None:
    solution = solve(small(metric))
    certificate = solution.certificate
    assert (certificate.optimal, certificate.gap, certificate.interrupted) == (True, 0.0, False)
    assert len(solution.ranked) <= certificate.evaluated
    assert 0 <= certificate.infeasible <= certificate.evaluated
    assert [ranked.rank for ranked in solution.ranked] == list(range(1, len(solution.ranked) + 1))
    assert {ranked.certificate for ranked in solution.ranked} == {certificate}


@pytest.mark.parametrize("seed", range(12))
def test_the_size_is_the_number_of_mappings(seed: int) -> None:
    problem = replace(random_problem(random.Random(f"size {seed}"), 1_000, 40), metric="cycles")
    nests = brute.loop_nests(problem.einsum, problem.accelerator, problem.partitioning)
    obeying = sum(brute.obeys(nest, problem.einsum, problem.constraints) for nest in nests)
    try:
        assert solve(problem).certificate.mapspace_size == obeying, describe(problem)
    except InfeasibleError:
        assert obeying == 0


@pytest.mark.parametrize("metric", METRICS)
def test_a_shorter_ranking_is_the_beginning_of_a_longer_one(metric: str) -> None:
    longest = texts(solve(small(metric, 20)))
    assert len(longest) == 20
    for top in (1, 2, 7, 19):
        assert texts(solve(small(metric, top))) == longest[:top]


def texts(solution: Solution) -> list[str]:
    return [str(ranked.mapping) for ranked in solution.ranked]


def test_no_mapping_of_a_front_is_beaten_in_both_figures() -> None:
    front = [(ranked.evaluation.energy_pj, ranked.evaluation.cycles) for ranked in solve(small(PARETO)).ranked]
    assert len(front) == 4
    assert [energy * cycles for energy, cycles in front] == sorted(energy * cycles for energy, cycles in front)
    by_energy = sorted(front)
    assert [cycles for _, cycles in by_energy] == sorted({cycles for _, cycles in front}, reverse=True)
    best = {metric: solve(small(metric, 1)).ranked[0].evaluation for metric in METRICS}
    assert by_energy[0] == (best["energy"].energy_pj, best["energy"].cycles)
    assert by_energy[-1] == (best["cycles"].energy_pj, best["cycles"].cycles)
    assert front[0] == (best["edp"].energy_pj, best["edp"].cycles)


@pytest.mark.parametrize("metric", ["energy", PARETO])
def test_a_utilization_that_is_asked_for_is_reached_to_the_last_digit(metric: str) -> None:
    reached = {ranked.evaluation.utilization for ranked in solve(small(PARETO)).ranked}
    assert len(reached) == 4
    for least in (*reached, *(math.nextafter(share, 1.0) for share in reached)):
        problem = replace(small(metric), constraints=parse_constraints(f"min_utilization: {least!r}"))
        assert exhaustive.differences(problem) == []


def test_an_unknown_metric_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown metric 'paretto'") as caught:
        solve(small("paretto"))
    assert "pareto" in str(caught.value.hint)


# Deadlines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ASKED)
def test_a_deadline_in_the_past_finds_nothing_and_proves_nothing(metric: str) -> None:
    solution = solve(small(metric), deadline=time.monotonic() - 1.0)
    assert solution.ranked == ()
    assert (solution.certificate.optimal, solution.certificate.gap) == (False, 1.0)
    assert not solution.certificate.interrupted


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets how many looks at the clock a search has until its deadline, 0.5."""

    def start(looks: int) -> None:
        left = iter([0.0] * looks)
        monkeypatch.setattr(optimal, "time", SimpleNamespace(monotonic=lambda: next(left, 1.0)))

    return start


@pytest.mark.parametrize("seed", UNFINISHED)
def test_what_is_found_until_a_deadline_is_within_its_gap(seed: int, clock: Clock) -> None:
    problem = problem_of(seed)
    problem = replace(problem, metric="edp") if problem.metric == PARETO else problem
    expected = exhaustive.answer(problem)
    for looks in looks_until_proven():
        clock(looks)
        try:
            solution = solve(problem, deadline=0.5)
        except InfeasibleError:
            assert not expected
            return
        certificate = solution.certificate
        if certificate.optimal:
            assert [*exhaustive.compare(expected, solution, problem.metric)] == []
            return
        found = [exhaustive.entry_of(ranked.evaluation, problem.metric) for ranked in solution.ranked]
        assert found == sorted(found)
        assert 0.0 <= certificate.gap <= 1.0
        assert certificate.gap == 1.0 or found
        for mine, best in zip(found, expected, strict=False):
            assert mine >= best
        if found:
            assert found[0].value * (1 - certificate.gap) <= expected[0].value * (1 + 1e-9), describe(problem)


def looks_until_proven() -> list[int]:
    return [*range(0, 12, 2), *(math.ceil(12 * 1.5**n) for n in range(40))]


def test_a_front_until_a_deadline_holds_only_what_belongs_to_it(clock: Clock) -> None:
    whole = texts(solve(small(PARETO)))
    lengths = set()
    for looks in looks_until_proven():
        clock(looks)
        solution = solve(small(PARETO), deadline=0.5)
        assert set(texts(solution)) <= set(whole)
        lengths.add(len(solution.ranked))
        if solution.certificate.optimal:
            break
        assert 0.0 < solution.certificate.gap <= 1.0
    assert texts(solution) == whole
    assert len(lengths) > 2


def test_ctrl_c_ends_a_search_like_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = set()
    for looks in (0, 1, 3, 10, 30):
        left = iter([0.0] * looks)

        def pressed(left: object = left) -> float:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise KeyboardInterrupt
            return 0.0

        monkeypatch.setattr(optimal, "time", SimpleNamespace(monotonic=pressed))
        solution = solve(small(), deadline=0.5)
        assert solution.certificate.interrupted is not solution.certificate.optimal
        lengths.add(len(solution.ranked))
    assert {0, 10} <= lengths


def test_reuse_above_the_outermost_level_is_counted_once() -> None:
    """A mapping that a wrong count of what the outermost loops leave put once hid from the search."""
    arch = replace(load_arch("procrustes_eyeriss_ratios"), zeros=None)
    problem = next(
        Problem(part.einsum, arch, parse_partitioning("any", "NKCPQRS"), "edp", 1)
        for item in load_network("mobilenet_v2_cifar100")
        if item.label.endswith("blocks.3.conv.project")
        for part in item.parts("bw")
    )
    assert solve(problem).ranked[0].evaluation.edp_pj_cycles == pytest.approx(164972504233.80902, rel=1e-14)
