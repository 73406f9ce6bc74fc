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
from tests.oracle import run
from tests.strategies import make_case, random_batch, random_case


@pytest.mark.parametrize("block", range(20))
def test_closed_form_counts_what_is_executed(block: int) -> None:
    for seed in range(50 * block, 50 * (block + 1)):
        case = random_case(random.Random(seed))
        found = differences(case)
        assert not found, f"seed {seed}\n{case}\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("formula", "mapping"),
    [
        ("O[P,Q] += W[R] * I[3*P+3*Q+3*R]; P=4 Q=6 R=3", "L0: Q6 R2 | X: R2 | L1: P4"),
        ("O[K,P] += W[K,R,T] * I[3*P+2*R+T]; K=2 P=4 R=3 T=3", "L0: K2 T2 | Y: T2 | L1: P4 R3"),
        ("O[P,Q] += W[R] * I[3*P+Q+R]; P=5 Q=6 R=4", "L0: Q6 | Y: R2 | L1: P5 | Y: R3"),
        ("Z[A] += X[A+3*B] * Y[2*B+C]; A=5 B=4 C=6", "L0: C3 A2 | X: A3 | L1: C2 | L2: B4"),
    ],
)
def test_the_busiest_instance_may_be_one_that_idles_and_reloads_its_window(formula: str, mapping: str) -> None:
    case = make_case(formula, mapping)
    counts = run(case)
    instances = [words for (level, _), words in counts.instance.items() if level == 1]
    sliding = case.einsum.operands[0 if formula.startswith("Z") else 1].name
    assert max(words[sliding, "fills"] for words in instances) > instances[0][sliding, "fills"]
    assert not differences(case)


def test_the_busiest_instance_need_not_be_the_first_to_be_refilled() -> None:
    mapping = "L0: C2 | X: B8 | Y: C2 | L1: C2 | L2: A7"
    assert not differences(make_case("Z[A] += X[A+3*B] * Y[2*B+C]; A=7 B=8 C=6", mapping))


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
