"""The oracle of the interconnect: delivers every word to every child step by step, and loads links one by one.

Geometry is that of `tests/oracle.py`: a `Nest` says which instance holds which tile when. On top of it, naively:

* A tensor travels between neighbouring levels of its chain, the compute units last, and crosses every fan-out between
  them. A *child* is a lane (column x, row y) of the fan-out below an instance of level `l`.
* Operands go down. In a step a child lacks a word if a tile below it has the word now, did not have it before and is
  not idle. The compute units hold nothing: they lack their words in every step.
* A word is sent once for its *group*, all children of the instance that lack it. Where an axis of this fan-out, or of
  one between it and the tile, has no multicast, it is sent once per lane there, for the part of the group there.
* Accumulated words come up from those to whom they go: the words that enter tiles in a step, with multicast everywhere,
  are the words that leave them later, added on the way. A *refill* goes down alone, to the instance that takes it.

`Flow.sent` is all that is executed. What a word costs on its way follows from its group alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import tests.oracle
from mapper.arch.accelerator import Accelerator
from mapper.workload.einsum import Tensor
from tests.oracle import Accumulation, Instance, Loop, Nest, OracleCounts, Step, Tile, Word

Child = tuple[int, int]
"""(x, y): column and row."""
Group = frozenset[Child]
Key = tuple[int, str, str]
"""(level, tensor, "down" | "up" | "refill")."""
Link = tuple[str | int, ...]
Loads = Counter[tuple[Instance, Link]]
"""Words per link of each instance of the level."""


class Runnable(tests.oracle.Runnable, Protocol):
    """What this oracle reads of a case: of the accelerator only the lanes of its fan-outs."""

    @property
    def accelerator(self) -> Accelerator: ...


def run(case: Runnable) -> dict[Key, Flow]:
    """Every flow through the fan-outs of more than one lane, of the (first and only) loop nest of `case`.

    Operands have "down", the accumulated tensor "up" and "refill", be it with no words.
    """
    loops = [
        Loop(slot.level, slot.kind, slot.dimension, int(factor))
        for slot, factor in zip(case.nests.slots, case.nests.factors[0], strict=True)
    ]
    nest = Nest(case.einsum, loops, case.nests.keeps, case.multicast)
    arrays = {
        index: Array.of(nest, index) for index, level in enumerate(case.accelerator.levels) if level.fanout.lanes > 1
    }
    flows: dict[Key, Flow] = {}

    def blank(tensor: Tensor, direction: str) -> dict[int, Flow]:
        new = {level: Flow(array, bus(nest, tensor, level)) for level, array in arrays.items()}
        flows.update({(level, tensor.name, direction): flow for level, flow in new.items()})
        return new

    for tensor in case.einsum.tensors:
        through = blank(tensor, "up" if tensor is case.einsum.output else "down")
        for parent, child in itertools.pairwise([*nest.chain(tensor), nest.compute]):
            deliver(nest, tensor, child, {level: flow for level, flow in through.items() if parent <= level < child})
    refill(nest, blank(case.einsum.output, "refill"))
    return flows


# Delivery -------------------------------------------------------------------------------------------------------------


def arrivals(nest: Nest, tensor: Tensor, child: int) -> Iterator[list[tuple[Instance, Tile]]]:
    """Per step of `child`: the words that enter each active instance."""
    old: dict[Instance, Tile] = {}
    for step in nest.steps(child):
        now = nest.standing(child, step)
        entered = []
        for instance, lanes in nest.instances(child):
            at = tuple(a + b for a, b in zip(now, lanes, strict=True))
            new = nest.tile(tensor, child, at)
            if nest.active(at):
                entered.append((instance, new - old.get(instance, frozenset())))
            if child < nest.compute:
                old[instance] = new
        yield entered


def deliver(nest: Nest, tensor: Tensor, child: int, crossed: dict[int, Flow]) -> None:
    """Send what enters `child` through the fan-outs of these levels; added words part for no axis."""
    added = tensor is nest.einsum.output
    for entered in arrivals(nest, tensor, child):
        for level, flow in crossed.items():
            groups: defaultdict[tuple[Instance, Instance, Word], set[Child]] = defaultdict(set)
            for instance, words in entered:
                above, alone = nest.group(level, instance)
                for word in words:
                    groups[above, () if added else alone, word].add(_child(level, instance))
            for (above, _, _), children in groups.items():
                flow.sent[above, frozenset(children)] += 1


def refill(nest: Nest, flows: dict[int, Flow]) -> None:
    """Send the sums that come back, one by one; `flows` by level."""
    if not flows or len(nest.chain(nest.einsum.output)) == 1:
        return
    execution = Refills(nest, OracleCounts(Counter(), defaultdict(dict), defaultdict(Counter)))
    execution.run()
    for (parent, child, instance), words in execution.taken.items():
        for level in flows.keys() & set(range(parent, child)):
            flows[level].sent[instance[: 2 * level], frozenset({_child(level, instance)})] += words


class Refills(Accumulation):
    """The execution of the accumulated tensor; it notes who takes sums: `taken[parent, child, instance]` words."""

    def __init__(self, nest: Nest, counts: OracleCounts) -> None:
        super().__init__(nest, counts)
        self.taken: Counter[tuple[int, int, Instance]] = Counter()

    def _enter(self, parent: int, child: int, step: Step) -> None:
        before = {instance: set(self.held[child, instance]) for instance, _ in self.nest.instances(child)}
        super()._enter(parent, child, step)
        for instance, words in before.items():
            held = self.held[child, instance]
            if took := sum(held[word] is not None for word in held.keys() - words):
                self.taken[parent, child, instance] += took


def _child(level: int, instance: Instance) -> Child:
    """The child of an instance of `level` in which `instance`, of any level inside, lies."""
    return instance[2 * level], instance[2 * level + 1]


# Flows ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """Lanes in use below an instance: factors of the spatial loops of each axis, outermost first."""

    x: tuple[int, ...]
    y: tuple[int, ...]

    @classmethod
    def of(cls, nest: Nest, level: int) -> Array:
        """Of the fan-out below `level`."""
        x, y = (tuple(loop.factor for loop in nest.loops if (loop.level, loop.kind) == (level, k)) for k in "xy")
        return cls(x, y)

    def is_product(self, group: Group) -> bool:
        """Whether the group is all combinations of the digits that occur in it."""
        digits = [(*_digits(x, self.x), *_digits(y, self.y)) for x, y in group]
        return len(group) == math.prod(len(set(place)) for place in zip(*digits, strict=True))


def _digits(lane: int, factors: tuple[int, ...]) -> tuple[int, ...]:
    """Where each loop of an axis stands in a lane: the first factor is of the most significant digit."""
    digits = []
    for factor in reversed(factors):
        lane, digit = divmod(lane, factor)
        digits.append(digit)
    return tuple(reversed(digits))


def _furthest(lanes: Iterable[int], factors: tuple[int, ...]) -> int:
    """The lane that has the largest of each digit of these lanes."""
    furthest = 0
    for factor, place in zip(factors, zip(*(_digits(lane, factors) for lane in lanes), strict=True), strict=True):
        furthest = furthest * factor + max(place)
    return furthest


@dataclass
class Flow:
    """Words of one tensor through one fan-out in one direction, summed over steps and instances.

    `sent[instance, group]`: how many words were sent below an instance of the level, each to all children of the group.
    `bus`: which buses take the flow ("row", "column" or "unicast"), were the fan-out made of buses.
    """

    array: Array
    bus: str
    sent: Counter[tuple[Instance, Group]] = field(default_factory=Counter)

    def _sum(self, size: Callable[[Group], int]) -> int:
        return sum(words * size(group) for (_, group), words in self.sent.items())

    @property
    def all(self) -> int:
        """Words sent."""
        return self.sent.total()

    @property
    def rows(self) -> int:
        """Pairs of a word and a row of its group."""
        return self._sum(lambda group: len(_rows(group)))

    @property
    def cols(self) -> int:
        """Pairs of a word and a column of its group."""
        return self._sum(lambda group: len(_columns(group)))

    @property
    def each(self) -> int:
        """Pairs of a word and a child."""
        return self._sum(len)

    @property
    def far_x(self) -> int:
        """Sum over words of the furthest column of the group, digit by digit."""
        return self._sum(lambda group: _furthest(_columns(group), self.array.x))

    @property
    def far_y(self) -> int:
        """Sum over words and columns of their groups of the furthest row in that column, digit by digit."""
        return self._sum(lambda group: sum(_furthest(rows, self.array.y) for rows in _columns(group).values()))

    @property
    def degree(self) -> int:
        """Children of the largest group."""
        return max((len(group) for _, group in self.sent), default=0)

    @property
    def product(self) -> bool:
        """Whether every group is a product of digits: where it is, the furthest lane digit by digit is in the group."""
        return all(self.array.is_product(group) for _, group in self.sent)

    @property
    def straight(self) -> bool:
        """Whether every group lies in one row or in one column."""
        return all(min(len(_rows(group)), len(_columns(group))) == 1 for _, group in self.sent)

    def loads(self, topology: str) -> Loads:
        """Words over each link of a "bus", "mesh", "tree" or "crossbar"; links that carry none are absent."""
        links = LINKS[self.bus if topology == "bus" else topology]
        loads: Loads = Counter()
        for (instance, group), words in self.sent.items():
            for link in links(group):
                loads[instance, link] += words
        return loads


# Links ----------------------------------------------------------------------------------------------------------------


def bus(nest: Nest, tensor: Tensor, level: int) -> str:
    """Buses that take the tensor: rows' if children along X share words or windows lie diagonally, else columns'."""
    spread: dict[str, set[str]] = {"x": set(), "y": set()}
    for loop in nest.loops:
        if loop.level == level and loop.kind != "t" and loop.factor > 1:
            spread[loop.kind].add(loop.dimension)
    looped = [{t.dimension for t in rank if nest.einsum.extent[t.dimension] > 1} for rank in tensor.ranks]
    diagonal = any(len(rank) > 1 and rank & spread["x"] and rank & spread["y"] for rank in looped)
    if diagonal or spread["x"] - tensor.dimensions:
        return "row"
    return "column" if spread["y"] - tensor.dimensions else "unicast"


def _columns(group: Group) -> dict[int, list[int]]:
    """Rows of the children in each column."""
    columns: defaultdict[int, list[int]] = defaultdict(list)
    for x, y in group:
        columns[x].append(y)
    return columns


def _rows(group: Group) -> Collection[int]:
    return {y for _, y in group}


def _mesh(group: Group) -> Iterator[Link]:
    """Along row 0 from the parent (the link into column 0) to the furthest column, then down the group's columns."""
    columns = _columns(group)
    yield from (("row0", x) for x in range(max(columns) + 1))
    yield from (("col", x, y) for x, rows in columns.items() for y in range(1, max(rows) + 1))


LINKS: dict[str, Callable[[Group], Iterable[Link]]] = {
    "row": lambda group: [("row", y) for y in _rows(group)],
    "column": lambda group: [("column", x) for x in _columns(group)],
    "unicast": lambda _: [("unicast",)],
    "mesh": _mesh,
    "tree": lambda group: [*(("row", y) for y in _rows(group)), *(("pe", x, y) for x, y in group)],
    "crossbar": lambda group: [("in",), *(("out", x, y) for x, y in group)],
}
"""Links that one word uses on its way to a group, once each; going up, the sum uses the same."""
