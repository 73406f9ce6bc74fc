"""The oracle with zeros: executes one loop nest over known masks, step by step.

Geometry is that of `tests/oracle.py`: a `Nest` says which instance holds which tile when, and the dense execution says
what moves if nothing is zero. On top of it, naively:

* A tensor *has zeros* if its mask has one; it is *minded* if the hardware skips or gates its role, *skipped* if it
  skips it. A point is effectual if the words of all minded tensors are nonzero.
* A level is *private* if the accelerator has no fan-out of several lanes at or below it.
* Operands, read for compute: nonzero words only where the operand is skipped or stored in a format; in a private level
  only at points where the words of the other minded operands are nonzero. The accumulated tensor in a private level:
  updated at effectual points, and of its reads the share of the points that are effectual.
* Operands, between levels: nonzero words only at the end where they have a format. A format also moves metadata.
* Compute: a *period* lasts while no PE loads another tile of A, the first operand; it takes as long as its slowest PE.

Words and bits that are shares come as exact fractions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mapper.arch.accelerator import Accelerator
from mapper.arch.zeros import Format, Zeros
from mapper.mapping.loopnest import Nests
from mapper.workload.einsum import Einsum, Tensor
from tests.oracle import Coordinates, Instance, Loop, Nest, OracleCounts, Step, Tile, Word, execute

Amount = int | Fraction
Masks = dict[str, NDArray[np.bool_]]
Key = tuple[int, str, str]
"""(level, tensor, action)."""


class Runnable(Protocol):
    """What this oracle reads of a case; `masks` by tensor, one axis per rank, over all positions that it spans."""

    @property
    def einsum(self) -> Einsum: ...
    @property
    def nests(self) -> Nests: ...
    @property
    def multicast(self) -> tuple[tuple[bool, bool], ...]: ...
    @property
    def accelerator(self) -> Accelerator: ...
    @property
    def zeros(self) -> Zeros: ...
    @property
    def masks(self) -> Masks: ...
    @property
    def balance(self) -> str: ...


@dataclass
class ZeroCounts:
    """What the execution counted, in all instances together.

    `words[key]` and `bits[key]`: what operands move, and what the innermost level of the accumulated tensor reads and
    updates (without bits); other keys are as in `dense`. `nonzeros[key]`: nonzero words among the dense words that move
    between levels or that a shared level reads, one by one; `shares[key]`: dense words times the density of the mask.
    `compute`: cycles before they are rounded up.
    """

    dense: OracleCounts
    effectual: int
    compute: Fraction
    words: dict[Key, Amount] = field(default_factory=dict)
    bits: dict[Key, Amount] = field(default_factory=dict)
    nonzeros: dict[Key, int] = field(default_factory=dict)
    shares: dict[Key, Fraction] = field(default_factory=dict)

    @property
    def cycles(self) -> int:
        """Compute cycles."""
        return math.ceil(self.compute)


def run(case: Runnable) -> ZeroCounts:
    """Execute the (first and only) loop nest of `case`."""
    hardware = Hardware.of(case)
    dense = execute(case.einsum, hardware.nest.loops, hardware.nest.keeps, hardware.nest.multicast)
    counts = ZeroCounts(dense, hardware.effectual, compute(hardware, case.balance))
    for tensor in case.einsum.operands:
        chain = hardware.nest.chain(tensor)
        for parent, child in itertools.pairwise(chain):
            _move(hardware, tensor, parent, child, counts)
        _read(hardware, tensor, chain[-1], counts)
    _accumulate(hardware, counts)
    return counts


# What the hardware knows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """One executed point: when, on which compute unit, and the word of each tensor."""

    step: Step
    unit: Instance
    words: dict[str, Word]


@dataclass(frozen=True)
class Hardware:
    """A nest, what is nonzero, and what the accelerator does about it."""

    nest: Nest
    accelerator: Accelerator
    zeros: Zeros
    nonzero_words: dict[str, frozenset[Word]]
    sizes: dict[str, int]

    @classmethod
    def of(cls, case: Runnable) -> Hardware:
        """From the description of a case."""
        loops = [
            Loop(slot.level, slot.kind, slot.dimension, int(factor))
            for slot, factor in zip(case.nests.slots, case.nests.factors[0], strict=True)
        ]
        nest = Nest(case.einsum, loops, case.nests.keeps, case.multicast)
        words = {
            name: frozenset(word for word in np.ndindex(*mask.shape) if mask[word]) for name, mask in case.masks.items()
        }
        return cls(nest, case.accelerator, case.zeros, words, {name: mask.size for name, mask in case.masks.items()})

    def nonzero(self, name: str, word: Word) -> bool:
        return name not in self.nonzero_words or word in self.nonzero_words[name]

    def has_zeros(self, tensor: Tensor) -> bool:
        return tensor.name in self.nonzero_words and len(self.nonzero_words[tensor.name]) < self.sizes[tensor.name]

    @property
    def skipped(self) -> list[Tensor]:
        """Operands whose zeros save cycles, where anything does."""
        return [t for t in self.nest.einsum.operands if t.role in self.zeros.skip and self.has_zeros(t)]

    @property
    def minded(self) -> list[Tensor]:
        """Operands whose zeros are skipped or gated."""
        roles = self.zeros.skip | self.zeros.gate
        return [t for t in self.nest.einsum.operands if t.role in roles and self.has_zeros(t)]

    def private(self, level: int) -> bool:
        """Whether one compute unit has an instance of `level` for itself."""
        return all(inner.fanout.lanes == 1 for inner in self.accelerator.levels[level:])

    def format(self, tensor: Tensor, level: int) -> Format | None:
        """How a tensor that has zeros is stored; None: word by word, as all that have none."""
        if not self.has_zeros(tensor):
            return None
        return self.zeros.format(self.accelerator.level_names[level], tensor.role)

    @cached_property
    def points(self) -> list[Point]:
        """Every executed point, in order of execution."""
        nest = self.nest
        found = []
        for step in nest.steps(nest.compute):
            for unit, at in _now(nest, nest.compute, step):
                if nest.active(at):
                    words = {t.name: next(iter(nest.tile(t, nest.compute, at))) for t in nest.einsum.operands}
                    found.append(Point(step, unit, words))
        return found

    @cached_property
    def effectual(self) -> int:
        return sum(self.nonzero_in(self.minded, point) for point in self.points)

    def nonzero_in(self, tensors: list[Tensor], point: Point) -> bool:
        """Whether the words of all those tensors are nonzero at a point."""
        return all(self.nonzero(tensor.name, point.words[tensor.name]) for tensor in tensors)


def _now(nest: Nest, level: int, step: Step) -> Iterator[tuple[Instance, Coordinates]]:
    now = nest.standing(level, step)
    return ((i, tuple(a + b for a, b in zip(now, lanes, strict=True))) for i, lanes in nest.instances(level))


def _stored(tensor: Tensor, word: Word, level: int) -> bool:
    """Whether `level` stores the word: level 0 has no padding."""
    windows = [tensor.window(rank) for rank in range(len(word))]
    return level > 0 or all(w is None or w[0] <= at < w[1] for w, at in zip(windows, word, strict=True))


# Words and bits -------------------------------------------------------------------------------------------------------


def _move(hardware: Hardware, tensor: Tensor, parent: int, child: int, counts: ZeroCounts) -> None:
    """Loads of `child` from `parent`: at each step of `child` the words that no instance of a group had are read."""
    fills = reads = 0
    nest, old = hardware.nest, defaultdict[Instance, Tile](frozenset)
    for step in nest.steps(child):
        wanted = defaultdict[tuple[Instance, Instance], set[Word]](set)
        for instance, at in _now(nest, child, step):
            tile = nest.tile(tensor, child, at)
            entered = [word for word in tile - old[instance] if hardware.nonzero(tensor.name, word)]
            old[instance] = tile
            if nest.active(at):
                fills += len(entered)
                wanted[nest.group(parent, instance)].update(entered)
        reads += sum(_stored(tensor, word, parent) for words in wanted.values() for word in words)
    for key, nonzeros in (((child, tensor.name, "fills"), fills), ((parent, tensor.name, "reads"), reads)):
        _store(hardware, tensor, key, nonzeros, hardware.format(tensor, key[0]) is not None, counts)


def _store(hardware: Hardware, tensor: Tensor, key: Key, nonzeros: int, sparse: bool, counts: ZeroCounts) -> None:
    """What a level sees of words on their way: only the nonzeros, where it is `sparse`."""
    counts.nonzeros[key], words = nonzeros, counts.dense.counts[key]
    counts.shares[key] = words * _density(hardware, tensor)
    if not sparse:
        counts.words[key] = words
    else:
        # Words of a sliding rank move unequally often; there the model is only asked for the mean.
        counts.words[key] = nonzeros if plain(tensor) else counts.shares[key]
    counts.bits[key] = _bits(hardware, tensor, key, counts)


def plain(tensor: Tensor) -> bool:
    """Whether all words of a tensor move equally often: no rank slides or has holes, none has padding."""
    single = all(len(rank) == 1 and rank[0].coefficient == 1 for rank in tensor.ranks)
    return single and not any(window is not None for window in tensor.stored)


def _density(hardware: Hardware, tensor: Tensor) -> Fraction:
    if tensor.name not in hardware.nonzero_words:
        return Fraction(1)
    return Fraction(len(hardware.nonzero_words[tensor.name]), hardware.sizes[tensor.name])


def _read(hardware: Hardware, tensor: Tensor, level: int, counts: ZeroCounts) -> None:
    """Reads of the innermost level for compute."""
    sparse = tensor in hardware.skipped or hardware.format(tensor, level) is not None
    key = (level, tensor.name, "reads")
    if not hardware.private(level):
        # Units of a group that want the same word at the same step get it with one read.
        wanted = {
            (point.step, hardware.nest.group(level, point.unit), point.words[tensor.name])
            for point in hardware.points
            if hardware.nonzero_in([tensor], point)
        }
        nonzeros = sum(_stored(tensor, word, level) for _, _, word in wanted)
        _store(hardware, tensor, key, nonzeros, sparse, counts)
        return
    looked_at = [other for other in hardware.minded if other is not tensor] + [tensor] * sparse
    counts.words[key] = sum(
        _stored(tensor, point.words[tensor.name], level) and hardware.nonzero_in(looked_at, point)
        for point in hardware.points
    )
    counts.bits[key] = _bits(hardware, tensor, key, counts)


def _bits(hardware: Hardware, tensor: Tensor, key: Key, counts: ZeroCounts) -> Amount:
    """Bits of the words, and of the metadata of all that would move if nothing were zero."""
    stored = hardware.format(tensor, key[0])
    per_position, per_nonzero = metadata(stored, spans(hardware.nest.einsum, tensor)) if stored else (0, 0)
    width = dict(hardware.accelerator.bits)[tensor.data]
    return counts.words[key] * (width + per_nonzero) + counts.dense.counts[key] * per_position


FLEXIBLE_BLOCK = 64
"""Positions of a block of csb that nobody gives, where a filter kernel has one: 1x1 filters, linear layers."""


def metadata(stored: Format, extents: tuple[int, ...]) -> tuple[Amount, int]:
    """Bits per position, nonzero or not, and bits per nonzero."""
    if stored.kind == "bitmask":
        return 1, 0
    if stored.kind == "csb":
        kernel = math.prod(extents[-2:])
        return 1 + Fraction(stored.pointer_bits, stored.block or (kernel if kernel > 1 else FLEXIBLE_BLOCK)), 0
    per_nonzero = {
        "rle": stored.run_bits,
        "coordinate": sum(math.ceil(math.log2(extent)) for extent in extents),
        "n_m": math.ceil(math.log2(stored.m or 1)),
    }
    return 0, per_nonzero[stored.kind]


def spans(einsum: Einsum, tensor: Tensor) -> tuple[int, ...]:
    """Positions along each rank, from the first touched to the last."""
    return tuple(1 + sum(t.coefficient * (einsum.extent[t.dimension] - 1) for t in rank) for rank in tensor.ranks)


def _accumulate(hardware: Hardware, counts: ZeroCounts) -> None:
    """Only a unit that has its sums for itself leaves out those that nothing is added to."""
    output = hardware.nest.einsum.output
    level = hardware.nest.chain(output)[-1]
    if hardware.private(level):
        reads = counts.dense.counts[level, output.name, "reads"]
        counts.words[level, output.name, "updates"] = hardware.effectual
        counts.words[level, output.name, "reads"] = Fraction(reads * hardware.effectual, len(hardware.points))


# Cycles ---------------------------------------------------------------------------------------------------------------


@dataclass
class Period:
    """Steps between two loads of the array: how many, the tile of A of each active PE, and its effectual points."""

    steps: int = 0
    tiles: dict[Instance, Tile] = field(default_factory=dict)
    work: Counter[Instance] = field(default_factory=Counter)


def compute(hardware: Hardware, balance: str) -> Fraction:
    """Cycles of compute, not rounded."""
    nest, first = hardware.nest, hardware.nest.einsum.operands[0]
    level = nest.chain(first)[-1]
    steps = sum(1 for _ in nest.steps(nest.compute))
    full = max(len(tile) for step in nest.steps(level) for tile in _tiles(nest, first, level, step).values())
    if first not in hardware.skipped or not hardware.private(level) or full == 1:
        return Fraction(steps)
    found = periods(hardware, first, level)
    if len(hardware.skipped) > 1:
        return Fraction(sum(max(period.work.values(), default=0) for period in found))
    cut = cut_rank(hardware, first, level, balance)
    return sum((p.steps * slowest(hardware, first, p, balance, cut) / full for p in found), Fraction(0))


def periods(hardware: Hardware, first: Tensor, level: int) -> list[Period]:
    """The execution, cut wherever a PE loads another tile of `first` into its `level`."""
    nest, skipped = hardware.nest, hardware.skipped
    by_step = defaultdict[Step, list[Point]](list)
    for point in hardware.points:
        by_step[point.step].append(point)
    found: list[Period] = []
    held: dict[Instance, Tile] = {}
    for step in nest.steps(nest.compute):
        tiles = _tiles(nest, first, level, step)
        if not found or tiles != held:
            found.append(Period())
            held = tiles
        found[-1].steps += 1
        for point in by_step[step]:
            instance = point.unit[: 2 * level]
            found[-1].tiles[instance] = tiles[instance]
            found[-1].work[instance] += hardware.nonzero_in(skipped, point)
    return found


def _tiles(nest: Nest, tensor: Tensor, level: int, step: Step) -> dict[Instance, Tile]:
    return {instance: nest.tile(tensor, level, at) for instance, at in _now(nest, level, step)}


def slowest(hardware: Hardware, first: Tensor, period: Period, balance: str, cut: int | None) -> Fraction:
    """Nonzeros of the PE (balanced: of the pair of halves) with most; PEs with the same tile are one."""
    nonzero = hardware.nonzero_words[first.name]
    tiles = set(period.tiles.values())
    counts = [len(tile & nonzero) for tile in tiles]
    if balance == "ideal":
        return Fraction(sum(counts), len(counts))
    if cut is None:
        return Fraction(max(counts))
    halves = sorted(len(half & nonzero) for tile in tiles for half in halved(tile, cut))
    return Fraction(max(light + heavy for light, heavy in zip(halves, reversed(halves), strict=True)))


def halved(tile: Tile, rank: int) -> tuple[Tile, Tile]:
    """Both halves along a rank; of an odd extent the first is longer by one."""
    positions = sorted({word[rank] for word in tile})
    lower = set(positions[: (len(positions) + 1) // 2])
    return frozenset(w for w in tile if w[rank] in lower), frozenset(w for w in tile if w[rank] not in lower)


def cut_rank(hardware: Hardware, first: Tensor, level: int, balance: str) -> int | None:
    """The rank of `first` that balancing cuts; None: it does not balance."""
    nest = hardware.nest
    tile = max((t for step in nest.steps(level) for t in _tiles(nest, first, level, step).values()), key=len)
    extents = [len({word[rank] for word in tile}) for rank in range(len(first.ranks))]
    lanes = {loop.dimension for loop in nest.loops if loop.kind != "t" and loop.factor > 1}
    spread = [rank for rank, (term,) in enumerate(first.ranks) if term.dimension in lanes]
    even = [rank for rank, extent in enumerate(extents) if extent % 2 == 0]
    if balance == "global" and len(spread) > 1:
        return max(even, key=lambda rank: (extents[rank], -rank), default=None)
    if balance in ("half_tile", "global") and len(spread) == 1:
        return spread[0] if spread[0] in even else None
    return spread[0] if balance == "half_tile_uneven" and len(spread) == 1 else None
