"""The exchange of half tiles, and where words go because of it, against a walk over every point."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from mapper.arch import Accelerator, load_arch
from mapper.arch.zeros import Zeros
from mapper.cost import Evaluation, evaluate
from mapper.cost.given import evaluate_part
from mapper.errors import InputError
from mapper.interconnect.exchange import (
    PE,
    Exchange,
    Extra,
    Half,
    Pair,
    Reach,
    exchange_graph,
    exchange_of,
    exchange_table,
    extra_of,
    extras,
    workers_of,
)
from mapper.mapping import parse_nest
from mapper.sparsity.known import Actual, Vector
from mapper.sparsity.model import Bools, Density
from mapper.sparsity.sets import counted, paired
from mapper.sparsity.zeros import Sparsity
from mapper.workload import Einsum, load_network
from tests.compare_zeros import evaluated
from tests.machines import array
from tests.strategies_zeros import ZeroCase, make_zero_case, random_zero_case

BALANCES = ("half_tile", "half_tile_uneven", "global")

# One point after the other -------------------------------------------------------------------------------------------

Word = tuple[int, ...]
Task = tuple[int, Word, int]
"""Working set, tile (lane by lane of the sparse operand's dimensions), part."""


@dataclass(frozen=True)
class Point:
    """One multiplication: whose half it belongs to, the lanes of all other dimensions, and the word of each tensor."""

    task: Task
    copy: Word
    words: dict[str, Word]


class Walk:
    """Visits every point that is executed in one visit of every working set, and exchanges halves by hand."""

    def __init__(self, evaluation: Evaluation, exchange: Exchange, mask: Bools) -> None:
        self.nests, self.einsum, self.tensor = evaluation.nests, evaluation.einsum, exchange.tensor
        self.cut, self.mask = exchange.dimension, mask
        self.factors = self.nests.factors[0].tolist()
        names = self.nests.keeps
        self.level = max(i for i, kept in enumerate(names) if i == 0 or self.tensor.name in kept)
        self.own = [
            next((t.dimension for t in rank if self.einsum.extent[t.dimension] > 1), rank[0].dimension)
            for rank in self.tensor.ranks
        ]
        self.middle = (min(self._inside(self.cut), self.einsum.extent[self.cut]) + 1) // 2
        self.points = list(self._points())
        self.sets = sorted({point.task[0] for point in self.points})
        self.worker = {task: end for one in self.sets for task, end in self._exchanged(one).items()}

    def _inside(self, dimension: str) -> int:
        slots = zip(self.nests.slots, self.factors, strict=True)
        return int(np.prod([n for s, n in slots if s.dimension == dimension and s.level >= self.level]))

    def _points(self) -> Iterator[Point]:
        for digits in itertools.product(*map(range, self.factors)):
            at, start = dict.fromkeys(self.einsum.extent, 0), dict.fromkeys(self.einsum.extent, 0)
            lanes, rounds = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
            for slot, digit, factor in zip(self.nests.slots, digits, self.factors, strict=True):
                outside = slot.level < self.level
                at[slot.dimension] = at[slot.dimension] * factor + digit
                start[slot.dimension] = start[slot.dimension] * factor + digit * outside
                if outside:
                    (rounds if slot.kind == "t" else lanes)[slot.dimension].append(digit)
            others = [d for d in self.einsum.extent if d not in self.own]
            if any(at[d] >= n for d, n in self.einsum.extent.items()) or any(any(rounds[d]) for d in others):
                continue
            part = int(at[self.cut] - start[self.cut] >= self.middle)
            words = {
                t.name: tuple(sum(term.coefficient * at[term.dimension] for term in rank) for rank in t.ranks)
                for t in self.einsum.tensors
            }
            tile, copy = ((*itertools.chain(*(lanes[d] for d in ds)),) for ds in (self.own, others))
            yield Point((self._number(rounds), tile, part), copy, words)

    def _number(self, rounds: dict[str, list[int]]) -> int:
        """Working sets count the rounds of the first dimension outermost."""
        number = 0
        for dimension in self.own:
            mine = [
                factor
                for slot, factor in zip(self.nests.slots, self.factors, strict=True)
                if slot.dimension == dimension and slot.kind == "t" and slot.level < self.level
            ]
            for factor, digit in zip(mine, rounds[dimension], strict=True):
                number = number * factor + digit
        return number

    def pe(self, tile: Word, copy: Word) -> PE:
        """Column and row, each a number whose digits are the lanes of its loops."""
        others = [d for d in self.einsum.extent if d not in self.own]
        left = {False: iter(copy), True: iter(tile)}
        digit = {}
        for dimension in [*self.own, *others]:
            for place, slot in enumerate(self.nests.slots):
                if slot.dimension == dimension and slot.kind != "t" and slot.level < self.level:
                    digit[place] = next(left[dimension in self.own])
        found = {"x": 0, "y": 0}
        for place in sorted(digit):
            kind = self.nests.slots[place].kind
            found[kind] = found[kind] * self.factors[place] + digit[place]
        return found["x"], found["y"]

    def nonzeros(self, task: Task) -> int:
        words = {point.words[self.tensor.name] for point in self.points if point.task == task}
        return sum(bool(self.mask[word]) for word in words)

    def _exchanged(self, working_set: int) -> dict[Task, Word]:
        """The tile whose PE works on each half: ring by ring, from one half to its partner to that PE's other half."""
        tiles = sorted({point.task[1] for point in self.points if point.task[0] == working_set})
        halves = [(working_set, tile, part) for tile in tiles for part in (0, 1)]
        weight = {half: self.nonzeros(half) for half in halves}
        ordered = sorted(halves, key=lambda half: weight[half])
        partner = dict(zip(ordered, reversed(ordered), strict=True))
        worker: dict[Task, Word] = {}
        for tile in tiles:
            first = (working_set, tile, 0)
            if first in worker:
                continue
            ring = [first]
            while (following := other(partner[ring[-1]])) != first:
                ring.append(following)
            back = [other(half) for half in ring]
            if partner[first] == other(first):
                worker |= {first: tile, other(first): tile}
                continue
            kept, given = (ring, back) if sum(map(weight.get, ring)) >= sum(map(weight.get, back)) else (back, ring)  # type: ignore[arg-type]
            worker |= {half: half[1] for half in kept} | {half: partner[half][1] for half in given}
        return worker

    def extra(self, name: str) -> Extra:
        """Who touches which word, before and after."""
        figures: dict[str, object] = {"tensor": name, "partial_sums": name == self.einsum.output.name}
        working = len({(point.task[0], point.task[1], point.copy) for point in self.points})
        for when in ("before", "after"):
            reached, held = defaultdict[object, set[PE]](set), defaultdict[object, set[Word]](set)
            for point in self.points:
                tile = point.task[1] if when == "before" else self.worker[point.task]
                pe, word = self.pe(tile, point.copy), point.words[name]
                reached[point.task[0], word].add(pe)
                held[point.task[0], pe].add(word)
            lines = {
                axis: [len({pe[place] for pe in pes}) for pes in reached.values()]
                for place, axis in enumerate(("columns", "rows"))
            }
            figures |= {f"{axis}_{when}": Reach(sum(n) / len(n), max(n)) for axis, n in lines.items()}
            figures[f"deliveries_{when}"] = sum(map(len, reached.values()))
            words = [len(words) for words in held.values()]
            figures[f"held_{when}"] = Reach(sum(words) / working, max(words))
            figures[f"one_dimensional_{when}"] = all(min(pair) == 1 for pair in zip(*lines.values(), strict=True))
        return Extra(**figures)  # type: ignore[arg-type]

    def pairs(self, working_set: int) -> set[tuple[PE, frozenset[Half]]]:
        """What every PE works on."""
        held = defaultdict[PE, set[Half]](set)
        for point in self.points:
            if point.task[0] == working_set:
                _, tile, part = point.task
                words = {p.words[self.tensor.name] for p in self.points if p.task == point.task}
                half = Half(self.pe(tile, point.copy), part, len(words), self.nonzeros(point.task))
                held[self.pe(self.worker[point.task], point.copy)].add(half)
        return {(pe, frozenset(halves)) for pe, halves in held.items()}


def other(half: Task) -> Task:
    """The other half of the same tile."""
    return half[0], half[1], 1 - half[2]


@cache
def exchanging_case(seed: int) -> tuple[ZeroCase, Evaluation, Exchange]:
    """The first random case from `seed` on where halves are exchanged."""
    rng = random.Random(seed)
    while True:
        case = random_zero_case(rng)
        first = case.einsum.operands[0]
        case = replace(case, zeros=replace(case.zeros, skip=frozenset("W")), balance=rng.choice(BALANCES))
        if first.name in case.masks and case.einsum.points < 300:
            found = evaluated(case)
            exchange = exchange_of(found)
            if exchange is not None:
                return case, found, exchange


@pytest.mark.parametrize("seed", range(60))
def test_random_cases_are_what_a_walk_over_all_points_finds(seed: int) -> None:
    case, evaluation, exchange = exchanging_case(seed)
    walk = Walk(evaluation, exchange, case.masks[exchange.tensor.name])
    assert len(walk.sets) == exchange.sets
    for working_set in walk.sets:
        assert {(p.pe, frozenset(p.halves)) for p in exchange.pairs(working_set)} == walk.pairs(working_set), case
    for extra in extras(exchange):
        assert extra == walk.extra(extra.tensor), case


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
    lost = [extra for *_, exchange in cases for extra in extras(exchange)]
    assert any(e.one_dimensional_before and not e.one_dimensional_after for e in lost)


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

KN = "DRAM: K2 N4 P4 Q7 C128 | GLB: | X: K16 | Y: N16 | RF: K4 P7 Q4 R3 S3"
CK = "DRAM: N64 P4 Q7 K2 C2 | GLB: | X: C16 | Y: K16 | RF: C4 K4 P7 Q4 R3 S3"
WIDE_CK = "DRAM: N64 P4 Q7 K4 C2 | GLB: | X: C16 | Y: K16 | RF: C4 K2 P7 Q4 R3 S3"
"""Tiles of more input than output channels: halves of input channels."""


@cache
def procrustes() -> Accelerator:
    return load_arch("procrustes")


@cache
def found(mapping: str, balance: str = "half_tile") -> tuple[Evaluation, dict[str, Extra], Exchange]:
    layer = load_network("resnet18", batch=64)["layer2.0.conv2"]
    evaluation = evaluate(layer, procrustes(), mapping, density={"W": 0.1}, balance=balance)
    exchange = exchange_of(evaluation)
    assert exchange is not None
    return evaluation, {extra.tensor: extra for extra in extras(exchange)}, exchange


def same_ways(extra: Extra) -> bool:
    """Whether every figure is the same before and after."""
    return (
        extra.rows_before == extra.rows_after
        and extra.columns_before == extra.columns_after
        and extra.deliveries_before == extra.deliveries_after
        and extra.held_before == extra.held_after
        and extra.one_dimensional_before == extra.one_dimensional_after
    )


def test_half_tile_under_kn_exchanges_along_k_and_keeps_every_flow() -> None:
    evaluation, extra, exchange = found(KN)
    assert (exchange.dimension, exchange.axes, exchange.drawn) == ("K", ("x",), True)
    assert exchange.moved_halves > 0
    assert all(same_ways(one) and one.one_dimensional_after for one in extra.values())
    assert (extra["W"].columns_after, extra["W"].rows_after) == (Reach(1.0, 1), Reach(16.0, 16))
    assert (extra["I"].columns_after, extra["I"].rows_after) == (Reach(16.0, 16), Reach(1.0, 1))
    assert (extra["O"].columns_after, extra["O"].rows_after) == (Reach(1.0, 1), Reach(1.0, 1))
    for name, one in extra.items():
        assert one.held_before.most == evaluation.tiles["RF", name]
        assert (one.extra_deliveries, one.extra_held) == (0, 0)


def test_half_tile_under_nk_exchanges_along_the_rows() -> None:
    _, extra, exchange = found(KN.replace("X: K16 | Y: N16", "X: N16 | Y: K16"))
    assert exchange.axes == ("y",)
    assert all(same_ways(one) for one in extra.values())


def test_global_balancing_under_ck_sends_inputs_to_more_columns_and_sums_from_more_rows() -> None:
    evaluation, extra, exchange = found(CK, "global")
    assert (exchange.dimension, exchange.axes) == ("K", ("x", "y"))
    assert same_ways(extra["W"])
    inputs, sums = extra["I"], extra["O"]
    assert (inputs.columns_before, inputs.rows_before) == (Reach(1.0, 1), Reach(16.0, 16))
    assert (sums.columns_before, sums.rows_before) == (Reach(16.0, 16), Reach(1.0, 1))
    assert inputs.columns_after.mean > 8
    assert sums.rows_after.mean > 4
    for one in (inputs, sums):
        assert one.one_dimensional_before
        assert not one.one_dimensional_after
        assert one.held_before.most == evaluation.tiles["RF", one.tensor]
    # A PE with halves of different input channels needs all inputs of both.
    assert inputs.extra_held == evaluation.tiles["RF", "I"]
    assert 1.8 < inputs.deliveries_after / inputs.deliveries_before < 2
    # Sums are halves of those of two PEs, now and then of the same output channels.
    assert sums.deliveries_after <= sums.deliveries_before


def test_halves_of_input_channels_double_the_sums_in_place_of_the_inputs() -> None:
    evaluation, extra, exchange = found(WIDE_CK, "global")
    assert exchange.dimension == "C"
    assert extra["I"].columns_after.mean > 4
    assert extra["I"].extra_held == 0
    assert extra["O"].rows_after.mean > 4
    assert extra["O"].extra_held == evaluation.tiles["RF", "O"]
    assert not extra["I"].one_dimensional_after
    assert not extra["O"].one_dimensional_after


def test_nothing_is_exchanged_where_nothing_is_cut() -> None:
    layer = load_network("resnet18", batch=64)["layer2.0.conv2"]
    for mapping, balance in ((CK, "half_tile"), (CK, "ideal"), (KN, "none")):
        evaluation = evaluate(layer, procrustes(), mapping, density={"W": 0.1}, balance=balance)
        assert exchange_of(evaluation) is None
        assert exchange_table(evaluation) == []
    assert exchange_of(evaluate(layer, procrustes(), KN)) is None, "dense"


def test_the_table_has_a_row_per_tensor_with_every_figure() -> None:
    evaluation, extra, _ = found(CK, "global")
    rows = exchange_table(evaluation)
    assert [row["tensor"] for row in rows] == ["W", "I", "O"]
    assert [row["partial_sums"] for row in rows] == [False, False, True]
    inputs = rows[1]
    assert inputs["columns_after_mean"] == extra["I"].columns_after.mean
    assert inputs["columns_after_max"] == extra["I"].columns_after.most
    assert inputs["extra_deliveries"] == extra["I"].extra_deliveries
    assert inputs["extra_held"] == extra["I"].extra_held
    assert inputs["one_dimensional_after"] is False
    assert len({tuple(row) for row in rows}) == 1


# The graph ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mapping", [KN, CK])
def test_the_graph_adds_up(mapping: str) -> None:
    _, _, exchange = found(mapping, "global" if mapping == CK else "half_tile")
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
    _, _, exchange = found(WIDE_CK, "global")
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
    _, _, exchange = found(WIDE_CK, "global")
    for wrong in (-1, exchange.sets):
        with pytest.raises(InputError, match=rf"no working set {wrong}"):
            exchange_graph(exchange, wrong)
        with pytest.raises(InputError, match="0 to 7"):
            exchange.pairs(wrong)


# Odd corners ----------------------------------------------------------------------------------------------------------


def small(formula: str, mapping: str, mask: Bools | Density, balance: str, x: int, y: int) -> Evaluation:
    accelerator = replace(array(x, y), zeros=Zeros(skip=frozenset("W"), balance=balance))
    sparsity = Sparsity((("W", mask if isinstance(mask, Density) else Actual(mask)),), balance)
    return evaluate_part(Einsum.parse(formula), accelerator, parse_nest(mapping), sparsity)


def test_two_front_halves_of_odd_tiles_are_more_words_than_a_tile() -> None:
    """Tiles of three filters are cut in two and one. Halves 8 1 | 0 4: 8 goes with 0, 4 with 1; 1 and 0 travel."""
    mask = np.array([[i < n for i in range(4)] for n in (4, 4, 1, 0, 0, 4)])
    formula, mapping = "O[K,N] += W[K,C] * I[C,N]; K=6 C=4 N=2", "DRAM: | GLB: | X: K2 | RF: K3 C4 N2"
    assert exchange_of(small(formula, mapping, mask, "half_tile", 2, 1)) is None
    exchange = exchange_of(small(formula, mapping, mask, "half_tile_uneven", 2, 1))
    assert exchange is not None
    assert exchange.words.tolist() == [[[8, 4], [8, 4]]]
    assert exchange.pairs(0) == (
        Pair((0, 0), (Half((0, 0), 0, 8, 8), Half((1, 0), 0, 8, 0))),
        Pair((1, 0), (Half((0, 0), 1, 4, 1), Half((1, 0), 1, 4, 4))),
    )
    weights, inputs, sums = extras(exchange)
    assert (weights.held_before, weights.held_after, weights.extra_held) == (Reach(12.0, 12), Reach(12.0, 16), 4)
    assert (inputs.held_before, inputs.held_after) == (Reach(8.0, 8), Reach(8.0, 8))
    assert (sums.held_before, sums.held_after, sums.extra_held) == (Reach(6.0, 6), Reach(6.0, 8), 2)
    assert (sums.deliveries_before, sums.deliveries_after) == (12, 12)


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


def test_masks_too_large_to_look_at_at_once_are_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    _, extra, exchange = found(WIDE_CK, "global")
    monkeypatch.setattr("mapper.interconnect.exchange.AT_ONCE", 1)
    assert extra_of(exchange, exchange.einsum.tensor("I")) == extra["I"]
