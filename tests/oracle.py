"""The oracle: executes one loop nest step by step and counts words in Python sets.

It is slow, and right by inspection. It shares nothing with the package but the description of the nest; where a
closed form differs from what is executed here, the closed form is wrong.

Words used below, all as in the description of the cost model:

* A *loop* belongs to a level: temporal ("t"), or a spatial loop on the X or Y axis of the fan-out below it. A dimension
  reads its coordinate from its loops, outermost first, as digits of a mixed-radix number; a coordinate at or beyond the
  bound is not executed, and a child with nothing to execute is *idle*.
* An *instance* of a level is named by its lanes: `(x0, y0, x1, y1, ...)`, one pair per fan-out above it. The compute
  units are one more level, below the last.
* A *step* of a level is one combination of the temporal loops above it.
* The *tile* of a tensor in an instance at a step: the words touched while everything above stands still. It depends
  only on the dimensions of the tensor: an instance that is idle in one of them holds nothing, one that is idle in other
  dimensions has the tile it would have if active, but what enters while it is idle is not counted.
* Each tensor has a *chain* of levels that keep it; the others are transparent.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from mapper.mapping.loopnest import Nests
from mapper.workload.einsum import Einsum, Tensor

ACTIONS = ("fills", "reads", "updates", "drains")

Instance = tuple[int, ...]
Word = tuple[int, ...]
Tile = frozenset[Word]
Step = tuple[int, ...]
Coordinates = tuple[int, ...]
"""Lowest coordinate of each dimension, in the order of the einsum, below some loops that stand still."""


class Runnable(Protocol):
    """What the oracle reads of a case. `multicast` has an X and a Y flag per level, for the fan-out below it."""

    @property
    def einsum(self) -> Einsum: ...
    @property
    def nests(self) -> Nests: ...
    @property
    def multicast(self) -> tuple[tuple[bool, bool], ...]: ...


class Loop(NamedTuple):
    """One loop of the nest; loops are listed outermost first, inside a level in the order t, x, y."""

    level: int
    kind: str
    dimension: str
    factor: int


@dataclass
class OracleCounts:
    """What the execution counted. Levels count from 0 = outermost; the compute units are level `len(keeps)`.

    `counts[level, tensor, action]`: words over the run and all instances, every level, tensor and action present.
    `instance[level, lanes][tensor, action]`: the same, instance by instance; zeros are absent.
    `edge[level, tensor]`: the edge *above* `level` (a level that keeps the tensor, or compute): `reductions` (spatial;
    0 for operands) and `max_multicast`, the most children that one read feeds, or that one update unites.
    `final_updates[level, lanes]`: those updates of the accumulated tensor after which the word is complete.
    `tile_words[level, tensor]`: words of the largest tile, where the tensor is kept.
    `result`: what the outermost level holds at the end, `expected` what it must hold.
    """

    counts: dict[tuple[int, str, str], int] = field(default_factory=dict)
    instance: dict[tuple[int, Instance], dict[tuple[str, str], int]] = field(default_factory=dict)
    edge: dict[tuple[int, str], dict[str, int]] = field(default_factory=dict)
    final_updates: dict[tuple[int, Instance], int] = field(default_factory=dict)
    tile_words: dict[tuple[int, str], int] = field(default_factory=dict)
    result: dict[Word, int] = field(default_factory=dict)
    expected: dict[Word, int] = field(default_factory=dict)
    cycles: int = 0
    points: int = 0
    lanes: int = 1
    active_lanes: int = 0
    temporal_reductions: int = 0

    def __getitem__(self, key: tuple[int, str, str]) -> int:
        return self.counts[key]

    @property
    def spatial_reductions(self) -> int:
        return sum(edge["reductions"] for edge in self.edge.values())

    def add(self, level: int, instance: Instance, tensor: str, action: str, words: int = 1) -> None:
        """Count `words` at one instance, and in the totals."""
        self.counts[level, tensor, action] += words
        mine = self.instance[level, instance]
        mine[tensor, action] = mine.get((tensor, action), 0) + words

    def saw(self, level: int, tensor: str, children: int) -> None:
        """One read fed, or one update united, so many children."""
        edge = self.edge[level, tensor]
        edge["max_multicast"] = max(edge["max_multicast"], children)


def run(case: Runnable) -> OracleCounts:
    """Execute the (first and only) loop nest of `case`."""
    loops = [
        Loop(slot.level, slot.kind, slot.dimension, int(factor))
        for slot, factor in zip(case.nests.slots, case.nests.factors[0], strict=True)
    ]
    return execute(case.einsum, loops, case.nests.keeps, case.multicast)


def execute(
    einsum: Einsum,
    loops: list[Loop],
    keeps: tuple[frozenset[str], ...],
    multicast: tuple[tuple[bool, bool], ...] | None = None,
) -> OracleCounts:
    """Execute `einsum` as `loops`, where level `l` keeps the tensors `keeps[l]`. No flags: multicast everywhere."""
    nest = Nest(einsum, loops, keeps, multicast or ((True, True),) * len(keeps))
    counts = _blank(nest)
    for tensor in einsum.operands:
        chain = nest.chain(tensor)
        for parent, child in itertools.pairwise(chain):
            move_operand(nest, tensor, parent, child, counts)
        _read_operand(nest, tensor, chain[-1], counts)
    Accumulation(nest, counts).run()
    for tensor in einsum.tensors:
        counts.tile_words.update(
            {(level, tensor.name): _largest_tile(nest, tensor, level) for level in nest.chain(tensor)}
        )
    return counts


# The nest: coordinates, instances, tiles ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nest:
    """Where everything stands: pure geometry, no counting."""

    einsum: Einsum
    loops: list[Loop]
    keeps: tuple[frozenset[str], ...]
    multicast: tuple[tuple[bool, bool], ...]
    _tiles: dict[tuple[str, int, Coordinates], Tile] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        order = {"t": 0, "x": 1, "y": 2}
        places = [(loop.level, order[loop.kind]) for loop in self.loops]
        if places != sorted(places):
            raise ValueError("loops must be listed by level, in the order t, x, y")
        for dimension, bound in self.einsum.bounds:
            if math.prod(loop.factor for loop in self.loops if loop.dimension == dimension) < bound:
                raise ValueError(f"the loops of {dimension} do not cover its bound {bound}")

    @property
    def compute(self) -> int:
        """The compute units, as a level."""
        return len(self.keeps)

    def chain(self, tensor: Tensor) -> list[int]:
        """Levels that keep `tensor`, outermost first."""
        return [level for level, kept in enumerate(self.keeps) if level == 0 or tensor.name in kept]

    @cached_property
    def weights(self) -> list[int]:
        """What one turn of each loop adds to the coordinate of its dimension: the factors inside it, multiplied."""
        return [
            math.prod(inner.factor for inner in self.loops[i + 1 :] if inner.dimension == loop.dimension)
            for i, loop in enumerate(self.loops)
        ]

    def coordinates(self, turns: dict[int, int]) -> Coordinates:
        """Coordinates where loop `i` stands at `turns[i]`, and all others at 0."""
        at = dict.fromkeys(self.einsum.dimensions, 0)
        for i, turn in turns.items():
            at[self.loops[i].dimension] += turn * self.weights[i]
        return tuple(at.values())

    def steps(self, level: int) -> Iterator[Step]:
        """Every combination of the temporal loops above `level`, in order of execution."""
        return itertools.product(*(range(self.loops[i].factor) for i in self._clock(level)))

    def _clock(self, level: int) -> list[int]:
        return [i for i, loop in enumerate(self.loops) if loop.kind == "t" and loop.level < level]

    def temporal_above(self, level: int) -> int:
        """How many temporal loops stand above `level`."""
        return len(self._clock(level))

    def standing(self, level: int, step: Step) -> Coordinates:
        """Coordinates of the temporal loops above `level` at a step of `level`, or of any level inside it."""
        return self.coordinates(dict(zip(self._clock(level), step, strict=False)))

    @cached_property
    def _instances(self) -> dict[int, list[tuple[Instance, Coordinates]]]:
        return {level: self._make_instances(level) for level in range(self.compute + 1)}

    def _make_instances(self, level: int) -> list[tuple[Instance, Coordinates]]:
        above = [i for i, loop in enumerate(self.loops) if loop.kind != "t" and loop.level < level]
        found = []
        for lanes in itertools.product(*(range(self.loops[i].factor) for i in above)):
            turns = dict(zip(above, lanes, strict=True))
            found.append((self._lanes(level, turns), self.coordinates(turns)))
        return sorted(found, key=lambda item: _lowest_y_then_x(item[0]))

    def _lanes(self, level: int, turns: dict[int, int]) -> Instance:
        """`(x0, y0, x1, y1, ...)`: where several loops share an axis, the first is the most significant digit."""
        lanes = [0] * (2 * level)
        for i, turn in turns.items():
            loop = self.loops[i]
            axis = 2 * loop.level + "xy".index(loop.kind)
            lanes[axis] = lanes[axis] * loop.factor + turn
        return tuple(lanes)

    def instances(self, level: int) -> list[tuple[Instance, Coordinates]]:
        """Every instance of `level`, lowest Y then lowest X first (outer fan-outs first), with its coordinates."""
        return self._instances[level]

    def active(self, at: Coordinates) -> bool:
        """Whether anything is executed in an instance whose lowest coordinates are `at`."""
        return all(low < bound for low, (_, bound) in zip(at, self.einsum.bounds, strict=True))

    @cached_property
    def _sizes(self) -> dict[tuple[int, str], int]:
        return {
            (level, d): math.prod(loop.factor for loop in self.loops if loop.dimension == d and loop.level >= level)
            for level in range(self.compute + 1)
            for d in self.einsum.dimensions
        }

    def tile(self, tensor: Tensor, level: int, at: Coordinates) -> Tile:
        """Words of `tensor` touched by the loops of `level` and below, in an instance that stands `at`."""
        indexed = [(d, low) for d, low in zip(self.einsum.dimensions, at, strict=True) if d in tensor.dimensions]
        key = (tensor.name, level, tuple(low for _, low in indexed))
        if key not in self._tiles:
            real = [
                [(d, c) for c in range(low, low + self._sizes[level, d]) if c < self.einsum.extent[d]]
                for d, low in indexed
            ]
            self._tiles[key] = frozenset(_word(tensor, dict(point)) for point in itertools.product(*real))
        return self._tiles[key]

    def group(self, parent: int, child: Instance) -> tuple[Instance, Instance]:
        """Children of one group get a word with one read: same parent, same lanes on every axis without multicast."""
        flags = [flag for pair in self.multicast for flag in pair]
        alone = tuple(lane for axis, lane in enumerate(child) if axis >= 2 * parent and not flags[axis])
        return child[: 2 * parent], alone


def _word(tensor: Tensor, point: dict[str, int]) -> Word:
    return tuple(sum(term.coefficient * point[term.dimension] for term in rank) for rank in tensor.ranks)


def _lowest_y_then_x(instance: Instance) -> Instance:
    """`(y0, x0, y1, x1, ...)`: the order in which reducing children are asked to take a refill."""
    return tuple(lane for axis in range(0, len(instance), 2) for lane in (instance[axis + 1], instance[axis]))


def _add(one: Coordinates, other: Coordinates) -> Coordinates:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _blank(nest: Nest) -> OracleCounts:
    """Every key of the totals, at zero."""
    counts = OracleCounts()
    for tensor in nest.einsum.tensors:
        for level in range(nest.compute):
            counts.counts.update({(level, tensor.name, action): 0 for action in ACTIONS})
        for level in [*nest.chain(tensor)[1:], nest.compute]:
            counts.edge[level, tensor.name] = {"reductions": 0, "max_multicast": 0}
    for level in range(nest.compute):
        counts.instance.update({(level, instance): {} for instance, _ in nest.instances(level)})
    return counts


def _largest_tile(nest: Nest, tensor: Tensor, level: int) -> int:
    everywhere = itertools.product(nest.steps(level), nest.instances(level))
    tiles = (nest.tile(tensor, level, _add(nest.standing(level, step), lanes)) for step, (_, lanes) in everywhere)
    return max(map(len, tiles))


# Operands -------------------------------------------------------------------------------------------------------------


def move_operand(nest: Nest, tensor: Tensor, parent: int, child: int, counts: OracleCounts) -> None:
    """Every step of `child`: the new tile replaces the old; words in both stay, the others are read from `parent`."""
    old: dict[Instance, Tile] = {}
    for step in nest.steps(child):
        now = nest.standing(child, step)
        wanted: defaultdict[tuple[Instance, Instance], Counter[Word]] = defaultdict(Counter)
        for instance, lanes in nest.instances(child):
            at = _add(now, lanes)
            new = nest.tile(tensor, child, at)
            entered = new - old.get(instance, frozenset())
            old[instance] = new
            if nest.active(at):
                counts.add(child, instance, tensor.name, "fills", len(entered))
                wanted[nest.group(parent, instance)].update(entered)
        _serve(tensor, parent, child, wanted, counts)


def _read_operand(nest: Nest, tensor: Tensor, parent: int, counts: OracleCounts) -> None:
    """Every step of the compute units: each active one reads its word from the innermost level that keeps it."""
    for step in nest.steps(nest.compute):
        now = nest.standing(nest.compute, step)
        wanted: defaultdict[tuple[Instance, Instance], Counter[Word]] = defaultdict(Counter)
        for instance, lanes in nest.instances(nest.compute):
            at = _add(now, lanes)
            if nest.active(at):
                wanted[nest.group(parent, instance)].update(nest.tile(tensor, nest.compute, at))
        _serve(tensor, parent, nest.compute, wanted, counts)


def _stored(tensor: Tensor, word: Word) -> bool:
    """Whether level 0 stores the word; padding it does not."""
    windows = [tensor.window(rank) for rank in range(len(word))]
    return all(w is None or w[0] <= position < w[1] for w, position in zip(windows, word, strict=True))


def _serve(
    tensor: Tensor,
    parent: int,
    child: int,
    wanted: dict[tuple[Instance, Instance], Counter[Word]],
    counts: OracleCounts,
) -> None:
    """A word that several children of a group want in this step is read once."""
    for (server, _), words in wanted.items():
        counts.add(parent, server, tensor.name, "reads", sum(_stored(tensor, word) or parent > 0 for word in words))
        for children in words.values():
            counts.saw(child, tensor.name, children)


# The accumulated tensor -----------------------------------------------------------------------------------------------


class Accumulation:
    """Executes the accumulated tensor with real values: each point adds a random number to its word.

    `held[level, instance][word]` is the sum that the instance holds, or None: the word is in the tile but no sum is
    there (it starts from zero, or its sum has been lent to a child). When an outer loop advances, words leave inner
    tiles first; then words enter outer tiles first.
    """

    def __init__(self, nest: Nest, counts: OracleCounts) -> None:
        self.nest, self.counts, self.tensor = nest, counts, nest.einsum.output
        self.chain = nest.chain(self.tensor)
        self.point_value: dict[Coordinates, int] = {}
        self.expected: dict[Word, int] = defaultdict(int)
        rng = random.Random(1)
        for point in itertools.product(*(range(bound) for _, bound in nest.einsum.bounds)):
            self.point_value[point] = rng.getrandbits(60) + 1
            self.expected[self._word_of(point)] += self.point_value[point]
        self.tiles: dict[tuple[int, Instance], Tile] = {}
        self.held: dict[tuple[int, Instance], dict[Word, int | None]] = {
            (level, instance): {} for level in self.chain for instance, _ in nest.instances(level)
        }
        self.held[0, ()] = dict.fromkeys(self.expected)

    def run(self) -> None:
        """Every step of the compute units; at the end all tiles drain."""
        edges = list(itertools.pairwise(self.chain))
        for step in self.nest.steps(self.nest.compute):
            moved = [(parent, child) for parent, child in edges if self._moves(child, step)]
            for parent, child in reversed(moved):
                self._leave(parent, child, step)
            for parent, child in moved:
                self._enter(parent, child, step)
            self._compute(step)
            self.counts.cycles += 1
        for parent, child in reversed(edges):
            self._leave(parent, child, None)
        self.counts.lanes = len(self.nest.instances(self.nest.compute))
        self.counts.result = {word: value or 0 for word, value in self.held[0, ()].items()}
        self.counts.expected = dict(self.expected)

    def _word_of(self, point: Coordinates) -> Word:
        return _word(self.tensor, dict(zip(self.nest.einsum.dimensions, point, strict=True)))

    def _moves(self, level: int, step: Step) -> bool:
        """Whether a step of `level` begins: every temporal loop of the level and below stands at its start."""
        return not any(step[self.nest.temporal_above(level) :])

    def _now(self, level: int, step: Step) -> Iterator[tuple[Instance, Coordinates]]:
        now = self.nest.standing(level, step)
        return ((instance, _add(now, lanes)) for instance, lanes in self.nest.instances(level))

    def _leave(self, parent: int, child: int, step: Step | None) -> None:
        """Words that are not in the next tile (no step: all words) are sent up; what meets on the way is added."""
        sums: defaultdict[tuple[Instance, Word], list[int]] = defaultdict(list)
        tiles = {} if step is None else {i: self.nest.tile(self.tensor, child, at) for i, at in self._now(child, step)}
        for instance, _ in self.nest.instances(child):
            mine = self.held[child, instance]
            for word in [word for word in mine if word not in tiles.get(instance, ())]:
                value = mine.pop(word)
                assert value is not None, "a word entered a tile and left it without an update"
                self.counts.add(child, instance, self.tensor.name, "drains")
                sums[instance[: 2 * parent], word].append(value)
        for (above, word), values in sums.items():
            assert self.held[parent, above][word] is None, "a sum left while another child kept its share"
            self._update(parent, above, word, sum(values))
            self._reduce(child, len(values))

    def _enter(self, parent: int, child: int, step: Step) -> None:
        """New words enter active children: the first takes what the parent has, the others start from zero."""
        for instance, at in self._now(child, step):
            new = self.nest.tile(self.tensor, child, at)
            entered = new - self.tiles.get((child, instance), frozenset())
            self.tiles[child, instance] = new
            if not self.nest.active(at):
                continue
            above = instance[: 2 * parent]
            for word in entered:
                value = self.held[parent, above][word]
                if value is not None:
                    self.counts.add(parent, above, self.tensor.name, "reads")
                    self.counts.add(child, instance, self.tensor.name, "fills")
                self.held[parent, above][word] = None
                self.held[child, instance][word] = value

    def _compute(self, step: Step) -> None:
        """Active compute units add their points; those under one instance that meet in a word unite first."""
        level = self.chain[-1]
        sums: defaultdict[tuple[Instance, Word], list[int]] = defaultdict(list)
        for unit, point in self._now(self.nest.compute, step):
            if self.nest.active(point):
                sums[unit[: 2 * level], self._word_of(point)].append(self.point_value[point])
        for (instance, word), values in sums.items():
            before = self.held[level, instance][word]
            if before is not None:
                self.counts.add(level, instance, self.tensor.name, "reads")
                self.counts.temporal_reductions += 1
            self._update(level, instance, word, (before or 0) + sum(values))
            self._reduce(self.nest.compute, len(values))
        active = sum(len(values) for values in sums.values())
        self.counts.points += active
        self.counts.active_lanes = max(self.counts.active_lanes, active)

    def _update(self, level: int, instance: Instance, word: Word, value: int) -> None:
        self.held[level, instance][word] = value
        self.counts.add(level, instance, self.tensor.name, "updates")
        if value == self.expected[word]:
            finals = self.counts.final_updates
            finals[level, instance] = finals.get((level, instance), 0) + 1

    def _reduce(self, child: int, values: int) -> None:
        """So many values met on the edge above `child`."""
        self.counts.edge[child, self.tensor.name]["reductions"] += values - 1
        self.counts.saw(child, self.tensor.name, values)
