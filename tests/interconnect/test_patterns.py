"""Patterns against delivery step by step: what they promise of every word holds."""

from __future__ import annotations

import random

import pytest

from mapper.counts.geometry import groups
from mapper.interconnect.patterns import pattern_of
from tests.interconnect.oracle_network import run
from tests.interconnect.strategies_network import random_network_case


@pytest.mark.parametrize("block", range(6))
def test_words_go_where_the_pattern_says(block: int) -> None:
    """One row or column, and one child alone, if the pattern says so; nearly always it says so where it is true."""
    straight = missed = 0
    for seed in range(50 * block, 50 * (block + 1)):
        case = random_network_case(random.Random(f"pattern {seed}"))
        ((_, geometry),) = groups(case.nests.without_unit_slots())
        for (level, tensor, direction), flow in run(case).items():
            if direction == "refill" or not flow.sent or not all(case.multicast[level]):
                continue
            pattern = pattern_of(geometry, level, case.einsum.tensor(tensor))
            assert flow.straight or not pattern.one_dimensional, (seed, level, tensor)
            assert flow.degree == 1 or pattern.kind != "unicast", (seed, level, tensor)
            straight += flow.straight
            missed += flow.straight and not pattern.one_dimensional
    assert missed <= 0.02 * straight
