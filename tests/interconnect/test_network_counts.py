"""What networks carry against delivery step by step, on random cases; `scripts/fuzz_network` has more."""

from __future__ import annotations

import random

import pytest

from tests.interconnect.compare_network import differences
from tests.interconnect.strategies_network import random_network_case


@pytest.mark.parametrize("block", range(15))
def test_counts_and_busiest_links_agree_with_the_oracle(block: int) -> None:
    for seed in range(20 * block, 20 * (block + 1)):
        case = random_network_case(random.Random(seed))
        found = differences(case)
        assert not found, "\n".join([f"seed {seed}", str(case), *found])
