"""The exchange of half tiles, against halves exchanged by hand."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from mapper.arch.zeros import Zeros
from mapper.cost import evaluate
from mapper.errors import InputError
from mapper.interconnect.exchange import (
    PE,
    Half,
    Pair,
    exchange_graph,
    exchange_of,
    workers_of,
)
from mapper.interconnect.reach import exchange_table
from mapper.sparsity.known import Actual, Vector
from mapper.sparsity.sets import counted, paired
from mapper.workload import load_network
from tests.compare_zeros import evaluated
from tests.interconnect.oracle_exchange import (
    BALANCES,
    CK,
    KN,
    WIDE_CK,
    Walk,
    exchanged,
    exchanging_case,
    procrustes,
    small,
)
from tests.strategies_zeros import make_zero_case


@pytest.mark.parametrize("seed", range(60))
def test_random_cases_are_paired_as_by_hand(seed: int) -> None:
    case, evaluation, exchange = exchanging_case(seed)
    walk = Walk(evaluation, exchange, case.masks[exchange.tensor.name])
    assert len(walk.sets) == exchange.sets
    for working_set in walk.sets:
        assert {(p.pe, frozenset(p.halves)) for p in exchange.pairs(working_set)} == walk.pairs(working_set), case


def test_random_cases_are_of_all_kinds() -> None:
    """Both ways to balance, sliding tensors, idle lanes, several fan-outs: else the test above shows little."""
    cases = [exchanging_case(seed) for seed in range(60)]
    assert {exchange.balance for _, _, exchange in cases} == set(BALANCES)
    assert {axes for _, _, exchange in cases if (axes := exchange.axes)} >= {("x",), ("y",), ("x", "y")}
    assert any(len(rank) > 1 for case, _, _ in cases for t in case.einsum.operands[1:] for rank in t.ranks)
    assert any((exchange.words.sum(axis=2) == 0).any() for _, _, exchange in cases)
    assert any(len(exchange.active_copies) < len(exchange.copies) for _, _, exchange in cases)
    spread = [{s.level for s in case.nests.slots if s.kind != "t"} for case, _, _ in cases]
    assert max(map(len, spread)) > 1


# The pairing is that of the model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_pairs_are_as_heavy_as_the_model_of_waiting_says(seed: int) -> None:
    _, evaluation, exchange = exchanging_case(seed)
    found = evaluation.imbalance
    assert found is not None
    assert isinstance(found.density, Actual)
    place = [cut.dimension for cut in exchange.work.cuts].index(exchange.dimension)
    sets = counted(found.density, exchange.work, place)
    for working_set in range(exchange.sets):
        pairs = exchange.pairs(working_set)
        copies = len(exchange.active_copies)
        assert max((pair.nonzeros for pair in pairs), default=0) == sets.lasts[working_set]
        assert sum(pair.nonzeros for pair in pairs) == sets.totals[working_set] * copies
        assert len(pairs) == sets.pes[working_set] * copies
        assert all(pair.pe in (pair.halves[0].owner, pair.halves[1].owner) for pair in pairs)


def test_partners_are_mutual_and_idle_halves_stay_alone() -> None:
    for seed in range(60):
        _, evaluation, exchange = exchanging_case(seed)
        assert evaluation.imbalance is not None
        place = [cut.dimension for cut in exchange.work.cuts].index(exchange.dimension)
        halves, partners = paired(evaluation.imbalance.density, exchange.work, place)  # type: ignore[arg-type]
        flat = partners.reshape(exchange.sets, -1)
        places = np.arange(flat.shape[1])
        assert (np.take_along_axis(flat, flat, axis=1) == places).all()
        idle = np.repeat(exchange.words.sum(axis=2) == 0, 2, axis=1)
        assert ((flat == places) == idle).all()
        assert (halves.reshape(exchange.sets, -1)[idle] == 0).all()


def test_the_heaviest_half_goes_with_the_lightest() -> None:
    """Halves 4 4 | 1 1 | 2 0: the second 4 goes with 0, the first with the first 1, 2 with the other 1.

    Round the ring one way 4 + 1 + 0 nonzeros travel, the other way 4 + 1 + 2.
    """
    mask = np.array([[i < n for i in range(4)] for n in (4, 4, 1, 1, 2, 0)])
    case = make_zero_case(
        "Z[K,N] += W[K,C] * I[C,N]; K=6 C=4 N=2", "L0: | X: K3 | L1: K2 C4 N2", {"W": mask}, Zeros(skip=frozenset("W"))
    )
    exchange = exchange_of(evaluated(replace(case, balance="half_tile")))
    assert exchange is not None
    assert [(pair.pe, pair.nonzeros) for pair in exchange.pairs(0)] == [((0, 0), 4), ((1, 0), 5), ((2, 0), 3)]
    assert exchange.pairs(0)[0] == Pair((0, 0), (Half((0, 0), 1, 4, 4), Half((2, 0), 1, 4, 0)))
    graph = exchange_graph(exchange)
    assert sorted(graph.edges(data=True)) == [
        ((0, 0), (1, 0), {"halves": 1, "nonzeros": 4}),
        ((1, 0), (2, 0), {"halves": 1, "nonzeros": 1}),
        ((2, 0), (0, 0), {"halves": 1, "nonzeros": 0}),
    ]
    assert (exchange.moved_halves, exchange.moved_nonzeros, exchange.axes) == (3, 5, ("x",))


@pytest.mark.parametrize("seed", range(8))
def test_no_choice_of_workers_moves_fewer_halves_and_no_way_round_fewer_nonzeros(seed: int) -> None:
    rng = np.random.default_rng(seed)
    halves = rng.integers(0, 6, (1, 4, 2))
    partners = np.empty(8, dtype=np.int64)
    order = rng.permutation(8)
    partners[order] = order[::-1]
    chosen = workers_of(halves, partners.reshape(1, 4, 2))[0].ravel()
    best = min(
        (sum(w != i // 2 for i, w in enumerate(workers)), moved(halves, workers))
        for takers in itertools.permutations(range(4))
        if (workers := handed_out(partners.tolist(), takers))
    )
    assert sorted(chosen) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(chosen[i] == chosen[partners[i]] for i in range(8))
    assert (int((chosen != np.arange(8) // 2).sum()), moved(halves, chosen.tolist())) == best


def handed_out(partners: list[int], takers: tuple[int, ...]) -> list[int]:
    """Workers of all halves if the n-th pair goes to the n-th of `takers`."""
    workers = [0] * len(partners)
    pairs = [(i, j) for i, j in enumerate(partners) if i < j]
    for (one, two), taker in zip(pairs, takers, strict=True):
        workers[one] = workers[two] = taker
    return workers


def moved(halves: np.ndarray, workers: list[int]) -> int:
    return sum(int(n) for i, n in enumerate(halves.ravel().tolist()) if workers[i] != i // 2)


# Partitionings of a convolution --------------------------------------------------------------------------------------


def test_nothing_is_exchanged_where_nothing_is_cut() -> None:
    layer = load_network("resnet18", batch=64)["layer2.0.conv2"]
    for mapping, balance in ((CK, "half_tile"), (CK, "ideal"), (KN, "none")):
        evaluation = evaluate(layer, procrustes(), mapping, density={"W": 0.1}, balance=balance)
        assert exchange_of(evaluation) is None
        assert exchange_table(evaluation) == []
    assert exchange_of(evaluate(layer, procrustes(), KN)) is None, "dense"


# The graph ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mapping", [KN, CK])
def test_the_graph_adds_up(mapping: str) -> None:
    _, exchange = exchanged(mapping, "global" if mapping == CK else "half_tile")
    whole = exchange_graph(exchange)
    assert sorted(whole) == [(x, y) for x in range(16) for y in range(16)]
    assert sum(d["halves"] for *_, d in whole.edges(data=True)) == exchange.moved_halves
    assert sum(d["nonzeros"] for *_, d in whole.edges(data=True)) == exchange.moved_nonzeros
    for pe, node in whole.nodes(data=True):
        gained = sum(d["nonzeros"] for *_, d in whole.in_edges(pe, data=True))
        lost = sum(d["nonzeros"] for *_, d in whole.out_edges(pe, data=True))
        assert node["nonzeros_after"] == node["nonzeros_before"] + gained - lost
        assert not whole.has_edge(pe, pe)
    along = {(x != a, y != b) for (x, y), (a, b) in whole.edges}
    assert along == ({(True, False)} if mapping == KN else {(True, False), (False, True), (True, True)})


def test_the_graphs_of_all_sets_make_the_whole() -> None:
    _, exchange = exchanged(WIDE_CK, "global")
    whole, edges = exchange_graph(exchange), defaultdict[tuple[PE, PE], int](int)
    for working_set in range(exchange.sets):
        graph = exchange_graph(exchange, working_set)
        assert all(graph.out_degree(pe) <= 1 and graph.in_degree(pe) <= 1 for pe in graph)
        received = {(half.owner, pair.pe) for pair in exchange.pairs(working_set) for half in pair.received}
        assert set(graph.edges) == received
        for giver, taker, data in graph.edges(data=True):
            edges[giver, taker] += data["halves"]
    assert edges == {(giver, taker): data["halves"] for giver, taker, data in whole.edges(data=True)}


def test_a_working_set_that_is_not_there_is_refused() -> None:
    _, exchange = exchanged(WIDE_CK, "global")
    for wrong in (-1, exchange.sets):
        with pytest.raises(InputError, match=rf"no working set {wrong}"):
            exchange_graph(exchange, wrong)
        with pytest.raises(InputError, match="0 to 7"):
            exchange.pairs(wrong)


# Odd corners ----------------------------------------------------------------------------------------------------------


def test_pes_that_idle_neither_give_nor_take() -> None:
    """Six filters, two on each of two columns at a time: one column has the last two alone."""
    mask = np.ones((6, 4), dtype=bool)
    mask[0] = False
    formula, mapping = "O[K,N] += W[K,C] * I[C,N]; K=6 C=4 N=2", "DRAM: K2 | GLB: | X: K2 | Y: N2 | RF: K2 C4"
    exchange = exchange_of(small(formula, mapping, mask, "half_tile", 2, 2))
    assert exchange is not None
    assert exchange.words.tolist() == [[[4, 4], [4, 4]], [[4, 4], [0, 0]]]
    assert [pair.pe for pair in exchange.pairs(1)] == [(0, 0), (0, 1)]
    assert not any(pair.received for pair in exchange.pairs(1))
    assert sorted(exchange_graph(exchange, 1)) == [(0, 0), (0, 1)]
    assert len(exchange_graph(exchange, 0)) == 4


def test_the_drawn_mask_is_that_of_the_imbalance_where_it_draws_one() -> None:
    filters = Vector(0, tuple(np.linspace(0.1, 0.9, 16).tolist()))
    evaluation = small(
        "O[K,N] += W[K,C] * I[C,N]; K=16 C=8 N=2", "DRAM: K2 | GLB: | X: K4 | RF: K2 C8 N2", filters, "half_tile", 4, 1
    )
    exchange = exchange_of(evaluation)
    assert exchange is not None
    assert exchange.drawn
    assert evaluation.imbalance is not None
    heaviest = [max(pair.nonzeros for pair in exchange.pairs(one)) for one in range(exchange.sets)]
    assert sum(heaviest) / (exchange.sets * 16) == evaluation.imbalance.ratio
