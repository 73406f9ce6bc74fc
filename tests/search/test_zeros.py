"""With zeros the search is exact too: its answers are those of an enumeration, which costs every mapping."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from mapper.search.solve import PARETO
from tests.search import exhaustive
from tests.search.problems import describe, random_sparse_problem

SEEDS, FRONTS = range(40), range(40, 46)
LARGEST, MOST_ARRAYS = 2_000, 100


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ranking_is_that_of_an_enumeration(seed: int) -> None:
    problem = random_sparse_problem(random.Random(seed), LARGEST, MOST_ARRAYS)
    assert exhaustive.differences(problem) == [], describe(problem)


@pytest.mark.parametrize("seed", FRONTS)
def test_the_front_is_that_of_an_enumeration(seed: int) -> None:
    problem = replace(random_sparse_problem(random.Random(seed), LARGEST, MOST_ARRAYS), metric=PARETO)
    assert exhaustive.differences(problem) == [], describe(problem)
