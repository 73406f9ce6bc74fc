"""Words over every link: by hand, and against delivery step by step; `scripts/fuzz_network` has more."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest

from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Sharing
from mapper.interconnect.carried import crossings, upward
from mapper.interconnect.degree import largest_group
from mapper.interconnect.links import CHILD, LINKS, At, Flow, Links, link_words
from tests.interconnect.compare_links import differences
from tests.interconnect.strategies_network import random_network_case
from tests.strategies import make_case

CONV1D = "O[N,K,P] += W[K,R] * I[N,P+R]; N=2 K=2 P=4 R=3"
KN = "L0: | X: K2 | Y: N2 | L1: P4 R3"
"""Weights go down a column, inputs along a row, each PE has outputs of its own."""


@pytest.mark.parametrize("block", range(16))
def test_links_agree_with_the_oracle(block: int) -> None:
    for seed in range(20 * block, 20 * (block + 1)):
        case = random_network_case(random.Random(seed))
        found = differences(case)
        assert not found, "\n".join([f"seed {seed}", str(case), *found])


def flow_of(formula: str, mapping: str, tensor: str, multicast: bool = True, back: bool = False) -> Flow:
    """A tensor below the first level."""
    case = make_case(formula, mapping)
    geometry = Geometry(case.nests.without_unit_slots())
    crossing = next(c for c in crossings(geometry, 0) if c.tensor.name == tensor)
    return Flow(geometry, crossing, Sharing(((multicast, multicast),) * case.level_count), back)


def test_weights_go_along_the_first_row_of_a_mesh_and_down_its_columns() -> None:
    along, down = LINKS["mesh"]
    weights = flow_of(CONV1D, KN, "W")
    assert link_words(weights, along).tolist() == [[6], [3]]
    assert link_words(weights, down).tolist() == [[3, 3], [3, 3]]
    inputs = flow_of(CONV1D, KN, "I")
    assert link_words(inputs, along).tolist() == [[12], [12]]
    assert link_words(inputs, down).tolist() == [[12, 6], [12, 6]]


def test_without_multicast_a_word_passes_once_for_each_lane() -> None:
    inputs = flow_of(CONV1D, KN, "I", multicast=False)
    assert link_words(inputs, LINKS["mesh"][0]).tolist() == [[24], [12]]
    assert link_words(inputs, LINKS["row bus"][0]).tolist() == [[12, 12]]
    assert link_words(inputs, CHILD).tolist() == [[6, 6], [6, 6]]


def test_digits_of_several_loops_make_a_column() -> None:
    """Column 2k + m: words of A go to one column each, those of B to both columns of a k."""
    formula, mapping = "Z[M] += A[M,K] * B[K]; M=2 K=2", "L0: | X: K2 M2"
    assert link_words(flow_of(formula, mapping, "A"), LINKS["mesh"][0])[:, 0].tolist() == [4, 3, 2, 1]
    assert link_words(flow_of(formula, mapping, "B"), LINKS["mesh"][0])[:, 0].tolist() == [2, 2, 1, 1]
    assert link_words(flow_of(formula, mapping, "B"), CHILD)[:, 0].tolist() == [1, 1, 1, 1]


def test_idle_lanes_have_no_words() -> None:
    assert link_words(flow_of("Z[M] += A[M] * B[M]; M=3", "L0: | Y: M4", "A"), CHILD).tolist() == [[1, 1, 1, 0]]


def test_a_sum_that_comes_back_goes_to_the_first_lane() -> None:
    back = flow_of("Z[M] += A[M,K] * B[K]; M=2 K=4", "L0: K2 M2 | X: K2 | L1:", "Z", back=True)
    assert link_words(back, CHILD).tolist() == [[2], [0]]
    assert link_words(replace(back, back=False), CHILD).tolist() == [[4], [4]]


def test_windows_share_inputs_along_diagonals() -> None:
    inputs = flow_of("O[P] += W[R] * I[P+R]; P=3 R=3", "L0: | X: P3 | Y: R3", "I")
    along, down = LINKS["mesh"]
    assert link_words(inputs, along)[:, 0].tolist() == [5, 4, 3]
    assert link_words(inputs, down)[:, 1:].tolist() == [[2, 1]] * 3
    assert largest_group(inputs.geometry, inputs.crossing, inputs.shared) == 3


def test_links_of_a_window_on_one_axis_together_carry_what_is_charged() -> None:
    """Where the children of a word are not all combinations of digits, single links may differ, their sum does not."""
    inputs = flow_of("O[P] += W[R] * I[P+R]; P=2 R=2", "L0: | X: P2 R2", "I")
    assert link_words(inputs, Links("first row", x=At.BEYOND)).sum() == 3 + 6


def test_a_large_array_takes_a_moment() -> None:
    """Uneven and sliding lanes on both axes: each of 128 x 128 PEs is counted for itself."""
    mapping = "L0: N2 C3 | X: P128 | Y: Q128 | L1: K8 R7 S7"
    formula = "O[N,K,P,Q] += W[K,C,R,S] * I[N,C,2*P+R,2*Q+S]; N=2 K=8 C=3 P=112 Q=112 R=7 S=7"
    start = time.perf_counter()
    for tensor in "WIO":
        flow = flow_of(formula, mapping, tensor)
        words = [link_words(flow, links) for links in (*LINKS["mesh"], CHILD)]
        assert [array.shape for array in words] == [(128, 1), (128, 128), (128, 128)]
        assert not words[-1][112:].any()
        assert not words[-1][:, 112:].any()
    assert int(words[-1].sum()) == int(upward(flow.geometry, flow.crossing).each[0])
    assert time.perf_counter() - start < 5
