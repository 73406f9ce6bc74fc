"""What networks carry against delivery step by step, on random cases; `scripts/fuzz_network` has more."""

from __future__ import annotations

import random

import pytest

from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Sharing
from mapper.interconnect.carried import crossings, downward
from mapper.interconnect.links import LINKS, Flow, link_words
from tests.interconnect.compare_network import differences
from tests.interconnect.strategies_network import random_network_case
from tests.strategies import make_case


@pytest.mark.parametrize("block", range(15))
def test_counts_and_busiest_links_agree_with_the_oracle(block: int) -> None:
    for seed in range(20 * block, 20 * (block + 1)):
        case = random_network_case(random.Random(seed))
        found = differences(case)
        assert not found, "\n".join([f"seed {seed}", str(case), *found])


def test_words_times_lanes_may_leave_63_bit_integers() -> None:
    """2**40 words go to each of 4,096 lanes alone. Times the lanes, these 2**52 words are 2**64."""
    words, lanes = 2**40, 4096
    case = make_case(f"Z[M] += A[M,K] * B[K]; M={lanes} K={words}", f"L0: | X: M{lanes} | L1: K{words}", ("A B Z", "Z"))
    geometry = Geometry(case.nests)
    crossing = next(c for c in crossings(geometry, 0) if c.tensor.name == "A")
    sharing = Sharing.everywhere(case.level_count)
    carried = downward(geometry, crossing, sharing)
    assert carried.all.tolist() == [words * lanes]
    assert carried.far_x.tolist() == [words * lanes * (lanes - 1) / 2]
    along = link_words(Flow(geometry, crossing, sharing), LINKS["mesh"][0])[:, 0]
    assert along.tolist() == [words * (lanes - lane) for lane in range(lanes)]
