"""The oracle of the interconnect against flows made by hand, and against the oracle of words on random cases."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.interconnect.oracle_network import Flow, Key, Loads, run
from tests.interconnect.strategies_network import MAX_POINTS, random_network_case
from tests.oracle import run as run_words
from tests.strategies import Case, make_case

CONV1D = "O[N,K,P] += W[K,R] * I[N,P+R]; N=2 K=2 P=4 R=3"
KN = "L0: | X: K2 | Y: N2 | L1: P4 R3"
"""Weights go down a column, inputs along a row, each PE has outputs of its own."""

SPREAD = "O[P] += W[R] * I[P+R]; P=3 R=3"
DIAGONAL = "L0: | X: P3 | Y: R3"


def flows(formula: str, mapping: str, keeps: tuple[str, ...] = (), multicast: str = "xy") -> dict[Key, Flow]:
    """Flows of a case made by hand, whose fan-outs have multicast on these axes."""
    case = make_case(formula, mapping, keeps)
    return run(replace(case, multicast=(("x" in multicast, "y" in multicast),) * case.level_count))


def pairs(flow: Flow) -> tuple[int, int, int, int]:
    """Words, and their pairs with rows, columns and children."""
    return flow.all, flow.rows, flow.cols, flow.each


def far(flow: Flow) -> tuple[int, int]:
    return flow.far_x, flow.far_y


def links(flow: Flow, topology: str) -> dict[tuple[str | int, ...], int]:
    """Loads of a level of one instance."""
    return {link: words for ((), link), words in flow.loads(topology).items()}


# One step -------------------------------------------------------------------------------------------------------------


def test_weights_inputs_and_outputs_take_a_column_a_row_and_a_pe() -> None:
    found = flows(CONV1D, KN)
    assert found.keys() == {(0, "W", "down"), (0, "I", "down"), (0, "O", "up"), (0, "O", "refill")}
    weights, inputs, outputs = (found[0, *key] for key in (("W", "down"), ("I", "down"), ("O", "up")))
    assert [pairs(flow) for flow in (weights, inputs, outputs)] == [(6, 12, 6, 12), (12, 12, 24, 24), (16, 16, 16, 16)]
    assert [far(flow) for flow in (weights, inputs, outputs)] == [(3, 6), (12, 12), (8, 8)]
    assert [flow.degree for flow in (weights, inputs, outputs)] == [2, 2, 1]
    assert all(flow.product and flow.straight for flow in found.values())
    assert pairs(found[0, "O", "refill"]) == (0, 0, 0, 0)


def test_every_link_of_every_topology_carries_its_weights() -> None:
    weights = flows(CONV1D, KN)[0, "W", "down"]
    assert links(weights, "bus") == {("column", 0): 3, ("column", 1): 3}
    assert links(weights, "mesh") == {("row0", 0): 6, ("row0", 1): 3, ("col", 0, 1): 3, ("col", 1, 1): 3}
    children = [(x, y) for x in range(2) for y in range(2)]
    assert links(weights, "tree") == {("row", 0): 6, ("row", 1): 6} | {("pe", x, y): 3 for x, y in children}
    assert links(weights, "crossbar") == {("in",): 6} | {("out", x, y): 3 for x, y in children}


def test_inputs_take_row_buses_and_outputs_the_unicast_bus() -> None:
    found = flows(CONV1D, KN)
    assert links(found[0, "I", "down"], "bus") == {("row", 0): 6, ("row", 1): 6}
    assert links(found[0, "O", "up"], "bus") == {("unicast",): 16}


def test_windows_share_inputs_along_diagonals() -> None:
    found = flows(SPREAD, DIAGONAL)
    inputs = found[0, "I", "down"]
    assert sorted(len(group) for _, group in inputs.sent.elements()) == [1, 1, 2, 2, 3]
    assert pairs(inputs) == (5, 9, 9, 9)
    assert far(inputs) == (0 + 1 + 2 + 2 + 2, 3 * (0 + 1 + 2))
    assert (inputs.degree, inputs.product, inputs.straight, inputs.bus) == (3, False, False, "row")
    assert links(inputs, "bus") == {("row", 0): 3, ("row", 1): 3, ("row", 2): 3}
    along: dict[tuple[str | int, ...], int] = {("row0", 0): 5, ("row0", 1): 4, ("row0", 2): 3}
    assert links(inputs, "mesh") == along | {("col", x, y): 3 - y for x in range(3) for y in (1, 2)}
    assert (found[0, "W", "down"].bus, pairs(found[0, "W", "down"])) == ("row", (3, 3, 9, 9))
    assert (found[0, "O", "up"].bus, pairs(found[0, "O", "up"])) == ("column", (3, 9, 3, 9))


def test_a_rank_of_one_looped_dimension_on_both_axes_lies_on_no_diagonal() -> None:
    inputs = flows("O[P] += W[R] * I[P+R]; P=4 R=1", "L0: | X: P2 | Y: P2")[0, "I", "down"]
    assert (inputs.bus, pairs(inputs)) == ("unicast", (4, 4, 4, 4))


def test_loops_that_share_an_axis_are_digits_of_a_lane() -> None:
    """Column 2k + m: a word of Z goes to columns m and 2 + m, a word of B to 2k and 2k + 1."""
    found = flows("Z[M] += A[M,K] * B[K]; M=2 K=2", "L0: | X: K2 M2")
    groups = {key[1]: {frozenset(x for x, _ in group) for _, group in flow.sent} for key, flow in found.items()}
    assert groups["B"] == {frozenset((0, 1)), frozenset((2, 3))}
    output = found[0, "Z", "up"]
    assert {frozenset(x for x, _ in group) for _, group in output.sent} == {frozenset((0, 2)), frozenset((1, 3))}
    assert (far(output), output.product) == ((2 + 3, 0), True)


def test_the_furthest_digits_of_a_window_need_not_be_of_one_lane() -> None:
    """Column 2p + r: the middle word of three goes to columns 1 and 2, whose largest digits make 3."""
    inputs = flows("O[P] += W[R] * I[P+R]; P=2 R=2", "L0: | X: P2 R2")[0, "I", "down"]
    assert (pairs(inputs), far(inputs), inputs.product) == ((3, 3, 4, 4), (0 + 3 + 3, 0), False)
    assert links(inputs, "mesh") == {("row0", 0): 3, ("row0", 1): 2, ("row0", 2): 2, ("row0", 3): 1}


def test_idle_children_lack_nothing() -> None:
    found = flows("Z[M] += A[M] * B[M]; M=3", "L0: | Y: M4")
    assert links(found[0, "A", "down"], "crossbar") == {
        ("in",): 3,
        ("out", 0, 0): 1,
        ("out", 0, 1): 1,
        ("out", 0, 2): 1,
    }


# Steps ----------------------------------------------------------------------------------------------------------------


def test_a_level_without_a_fanout_has_no_flows() -> None:
    assert not flows("O[P] += W[R] * I[P+R]; P=12 R=3", "L0: P4 | L1: P3 R3")


def test_words_that_stay_in_a_tile_are_not_sent_again() -> None:
    """Windows of three outputs and three taps move by three: three of five inputs are new, after the first step."""
    found = flows("O[K,P] += W[K,R] * I[P+R]; K=2 P=12 R=3", "L0: P4 | X: K2 | L1: P3 R3")
    assert pairs(found[0, "I", "down"]) == (5 + 3 * 3, 14, 28, 28)
    assert pairs(found[0, "W", "down"]) == (6, 6, 6, 6)


def test_compute_units_hold_nothing() -> None:
    found = flows("O[K,P] += W[K] * I[P]; K=2 P=4", "L0: P4 | X: K2")
    assert pairs(found[0, "W", "down"]) == (8, 8, 8, 8)
    assert pairs(found[0, "I", "down"]) == (4, 4, 8, 8)


def test_sums_meet_on_their_way_up() -> None:
    output = flows("Z[] += A[K] * B[K]; K=8", "L0: K2 | X: K2 | Y: K2")[0, "Z", "up"]
    assert (pairs(output), far(output), output.degree) == ((2, 4, 4, 8), (2, 4), 4)
    assert (output.product, output.straight, output.bus) == (True, False, "row")
    assert links(output, "mesh") == {("row0", 0): 2, ("row0", 1): 2, ("col", 0, 1): 2, ("col", 1, 1): 2}


def test_a_sum_that_comes_back_goes_to_the_first_reducing_child_alone() -> None:
    found = flows("Z[M] += A[M,K] * B[K]; M=2 K=4", "L0: K2 M2 | X: K2 | L1:")
    assert pairs(found[0, "Z", "up"]) == (4, 4, 8, 8)
    assert pairs(found[0, "Z", "refill"]) == (2, 2, 2, 2)
    assert links(found[0, "Z", "refill"], "crossbar") == {("in",): 2, ("out", 0, 0): 2}


# Several fan-outs, and axes that cannot multicast ---------------------------------------------------------------------


def test_a_word_is_sent_once_per_column_without_multicast_on_x() -> None:
    found = flows(CONV1D, KN, multicast="y")
    assert pairs(found[0, "W", "down"]) == (6, 12, 6, 12)
    inputs = found[0, "I", "down"]
    assert (pairs(inputs), far(inputs), inputs.degree) == ((24, 24, 24, 24), (12, 12), 1)
    assert links(inputs, "mesh")["row0", 0] == 24
    assert links(inputs, "bus") == {("row", 0): 12, ("row", 1): 12}


def test_a_word_is_sent_once_per_row_without_multicast_on_y() -> None:
    found = flows(CONV1D, KN, multicast="x")
    assert (pairs(found[0, "W", "down"]), far(found[0, "W", "down"])) == ((12, 12, 12, 12), (6, 6))
    assert pairs(found[0, "I", "down"]) == (12, 12, 24, 24)


def test_sums_meet_whatever_the_axes_can_multicast() -> None:
    formula, mapping = "Z[] += A[K] * B[K]; K=8", "L0: K2 | X: K2 | Y: K2"
    assert flows(formula, mapping, multicast="")[0, "Z", "up"].sent == flows(formula, mapping)[0, "Z", "up"].sent


def test_words_cross_the_fanouts_of_levels_that_they_bypass() -> None:
    """B passes L1: once through the outer network for both columns, then once per column down its rows."""
    formula, mapping = "Z[M] += A[M,K] * B[K]; M=4 K=3", "L0: | X: M2 | L1: | Y: M2 | L2: K3"
    found = flows(formula, mapping, ("Z A B", "Z A", "Z A B"))
    assert pairs(found[0, "B", "down"]) == (3, 3, 6, 6)
    assert pairs(found[1, "B", "down"]) == (6, 12, 6, 12)
    assert found[1, "B", "down"].loads("mesh") == {
        ((x, 0), link): 3 for x in range(2) for link in (("row0", 0), ("col", 0, 1))
    }


def test_a_fanout_without_multicast_makes_the_one_above_send_once_per_lane() -> None:
    formula, mapping = "Z[M] += A[M,K] * B[K]; M=4 K=3", "L0: | X: M2 | L1: | Y: M2 | L2: K3"
    found = flows(formula, mapping, ("Z A B", "Z A", "Z A B"), multicast="x")
    assert pairs(found[0, "B", "down"]) == (6, 6, 12, 12)
    assert pairs(found[1, "B", "down"]) == (12, 12, 12, 12)
    kept = flows(formula, mapping, multicast="x")
    assert pairs(kept[0, "B", "down"]) == (3, 3, 6, 6)


# Random cases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(10))
def test_flows_agree_with_the_words_that_levels_read_and_write(block: int) -> None:
    for seed in range(20 * block, 20 * (block + 1)):
        case = random_network_case(random.Random(seed))
        assert case.einsum.points <= MAX_POINTS
        found, counts = run(case), run_words(case)
        assert found, str(case)
        for (level, name, direction), flow in found.items():
            where = f"seed {seed}, level {level}, {name} {direction}\n{case}"
            chain = [k for k, kept in enumerate(case.nests.keeps) if name in kept]
            child = min((k for k in chain if k > level), default=case.level_count)
            _agrees_at_its_ends(case, counts.counts, (level, name, direction), flow, child, where)
            _adds_up(flow, where)


def _agrees_at_its_ends(case: Case, words: dict[Key, int], key: Key, flow: Flow, child: int, where: str) -> None:
    """Words sent below the parent are its reads or updates; words that reach the child are its fills or drains."""
    level, name, direction = key
    stored = not any(case.einsum.tensor(name).stored)
    if direction == "refill":
        assert flow.all == flow.each == (words[child, name, "fills"] if child < case.level_count else 0), where
        return
    sent, arrived = ("updates", "drains") if direction == "up" else ("reads", "fills")
    if name in case.nests.keeps[level] and (stored or level > 0):
        assert flow.all == words[level, name, sent], where
    if child == level + 1:
        assert flow.each == (words[child, name, arrived] if child < case.level_count else case.einsum.points), where


def _adds_up(flow: Flow, where: str) -> None:
    """Links together carry the hops that the counts say."""
    hops: dict[str, Loads] = {topology: flow.loads(topology) for topology in ("bus", "mesh", "tree", "crossbar")}
    total = Counter({topology: loads.total() for topology, loads in hops.items()})
    assert total["bus"] == {"row": flow.rows, "column": flow.cols, "unicast": flow.all}[flow.bus], where
    assert total["tree"] == flow.rows + flow.each, where
    assert total["crossbar"] == flow.all + flow.each, where
    digits = flow.all + flow.far_x + flow.far_y
    assert total["mesh"] == digits or (total["mesh"] < digits and not flow.product), where
