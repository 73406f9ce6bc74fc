"""The closed form against the oracle on random cases: every count, bit and cycle is the same integer.

`scripts/fuzz_oracle` runs the same comparison for as long as one likes.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.cost.batch import evaluate_nests, rank_costs
from mapper.counts.traffic import Sharing, count
from tests.compare import differences
from tests.strategies import random_batch, random_case


@pytest.mark.parametrize("block", range(20))
def test_closed_form_counts_what_is_executed(block: int) -> None:
    for seed in range(50 * block, 50 * (block + 1)):
        case = random_case(random.Random(seed))
        found = differences(case)
        assert not found, f"seed {seed}\n{case}\n" + "\n".join(found)


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_closed_form_counts_what_is_executed_for_any_seed(seed: int) -> None:
    case = random_case(random.Random(seed))
    found = differences(case)
    assert not found, f"{case}\n" + "\n".join(found)


@pytest.mark.parametrize("seed", range(60))
def test_a_batch_costs_what_its_mappings_cost_alone(seed: int) -> None:
    rng = random.Random(seed)
    case = random_case(rng)
    batch, sharing = random_batch(rng, case, 5), Sharing(case.multicast)
    traffic, ranked = count(batch, sharing), rank_costs(batch, case.accelerator)
    for row in range(len(batch)):
        alone = batch.take(slice(row, row + 1))
        words = count(alone, sharing).words
        assert {key: values[row] for key, values in traffic.words.items()} == {k: v[0] for k, v in words.items()}
        costs = evaluate_nests(alone, case.accelerator).costs
        assert ranked.cycles[row] == costs.cycles[0]
        assert ranked.energy_pj[row] == costs.energy_pj[0]
