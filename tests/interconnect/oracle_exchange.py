"""Halves exchanged by hand, and a walk over every point that says where words go because of it; cases to walk over."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from mapper.arch import Accelerator, load_arch
from mapper.arch.zeros import Zeros
from mapper.cost import Evaluation, evaluate
from mapper.cost.given import evaluate_part
from mapper.interconnect.exchange import PE, Exchange, Half, exchange_of
from mapper.interconnect.reach import Extra, Reach
from mapper.mapping import parse_nest
from mapper.sparsity.known import Actual
from mapper.sparsity.model import Bools, Density
from mapper.sparsity.zeros import Sparsity
from mapper.workload import Einsum, load_network
from tests.compare_zeros import evaluated
from tests.machines import array
from tests.strategies_zeros import ZeroCase, random_zero_case

BALANCES = ("half_tile", "half_tile_uneven", "global")

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

    def destinations(self, name: str, working_set: int) -> Counter[tuple[frozenset[PE], frozenset[PE]]]:
        """How many words of a tensor are touched by the same PEs before and after."""
        before, after = defaultdict[Word, set[PE]](set), defaultdict[Word, set[PE]](set)
        for point in self.points:
            if point.task[0] == working_set:
                before[point.words[name]].add(self.pe(point.task[1], point.copy))
                after[point.words[name]].add(self.pe(self.worker[point.task], point.copy))
        return Counter((frozenset(before[word]), frozenset(after[word])) for word in before)

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


# Cases ---------------------------------------------------------------------------------------------------------------


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


def small(formula: str, mapping: str, mask: Bools | Density, balance: str, x: int, y: int) -> Evaluation:
    accelerator = replace(array(x, y), zeros=Zeros(skip=frozenset("W"), balance=balance))
    sparsity = Sparsity((("W", mask if isinstance(mask, Density) else Actual(mask)),), balance)
    return evaluate_part(Einsum.parse(formula), accelerator, parse_nest(mapping), sparsity)


KN = "DRAM: K2 N4 P4 Q7 C128 | GLB: | X: K16 | Y: N16 | RF: K4 P7 Q4 R3 S3"
CK = "DRAM: N64 P4 Q7 K2 C2 | GLB: | X: C16 | Y: K16 | RF: C4 K4 P7 Q4 R3 S3"
WIDE_CK = "DRAM: N64 P4 Q7 K4 C2 | GLB: | X: C16 | Y: K16 | RF: C4 K2 P7 Q4 R3 S3"
"""Tiles of more input than output channels: halves of input channels."""


@cache
def procrustes() -> Accelerator:
    return load_arch("procrustes")


@cache
def exchanged(mapping: str, balance: str = "half_tile") -> tuple[Evaluation, Exchange]:
    """A layer of ResNet-18 with a tenth of its weights on `procrustes`."""
    layer = load_network("resnet18", batch=64)["layer2.0.conv2"]
    evaluation = evaluate(layer, procrustes(), mapping, density={"W": 0.1}, balance=balance)
    exchange = exchange_of(evaluation)
    assert exchange is not None
    return evaluation, exchange
