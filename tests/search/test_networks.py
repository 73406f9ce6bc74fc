"""The search with networks that cost energy and cycles: rankings are those of an enumeration, bounds are below."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from mapper.arch.accelerator import Accelerator
from mapper.arch.network import TOPOLOGIES, Network
from mapper.search.solve import Problem
from tests.search import exhaustive
from tests.search.problems import describe, random_problem, random_sparse_problem


def random_network(rng: random.Random) -> Network | None:
    """Of any topology; free, dear, fast or slow."""
    if rng.random() < 0.2:
        return None
    wire, switch = (rng.choice((0.0, 0.01, 0.3)) for _ in range(2))
    bandwidth = rng.choice((None, None, Fraction(1), Fraction(16), Fraction(64, 3)))
    return Network(rng.choice(TOPOLOGIES), rng.choice((0.5, 2.0)), wire, switch, "random", bandwidth)


def with_networks(rng: random.Random, accelerator: Accelerator) -> Accelerator:
    levels = (replace(v, fanout=replace(v.fanout, network=random_network(rng))) for v in accelerator.levels)
    return replace(accelerator, levels=tuple(levels))


def problem_of(seed: int, sparse: bool = False) -> Problem:
    rng = random.Random(f"networks {seed}")
    made = random_sparse_problem(rng) if sparse else random_problem(rng)
    return replace(made, accelerator=with_networks(rng, made.accelerator))


@pytest.mark.parametrize("seed", range(9))
def test_the_ranking_is_that_of_an_enumeration(seed: int) -> None:
    problem = problem_of(seed)
    assert exhaustive.differences(problem) == [], describe(problem)


@pytest.mark.parametrize("seed", range(4))
def test_the_ranking_is_that_of_an_enumeration_with_zeros(seed: int) -> None:
    problem = problem_of(seed, sparse=True)
    assert exhaustive.differences(problem) == [], describe(problem)
