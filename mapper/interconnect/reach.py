"""Where words go because halves of work tiles are exchanged: the rows and columns of the array that they reach.

A PE that works on a half of another PE's tile needs the words of the other operand that belong to that half, and makes
partial sums of that PE. So for every tensor we look at the words that the work on a half touches while the loops above
the work tile stand still, and at the PEs that touch a word: in how many rows and columns of the array they lie, before
balancing and after it. Each working set counts once, with all loops that do not index the sparse operand in their
first round. Words are counted as dense, as by multicast: what a half without nonzeros touches is delivered too.

Words are not walked one by one. Positions along a rank that the same halves touch are one *atom*, and a product of
atoms is a *group* of words that go the same way; where ranks are plain, all words of a half are one group.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mapper.interconnect.exchange import PE, Exchange, exchange_of
from mapper.mapping.loopnest import Ints
from mapper.sparsity.sets import first_half
from mapper.workload.einsum import Rank, Tensor

if TYPE_CHECKING:
    from mapper.cost.single import Evaluation

AT_ONCE = 2**22
"""Entries of the largest array that is made at a time."""


@dataclass(frozen=True)
class Reach:
    """Mean and largest number of rows, columns or words."""

    mean: float
    most: int


@dataclass(frozen=True)
class Extra:
    """What balancing asks of the network, for one tensor.

    `rows` and `columns`: how many a word reaches, or, of partial sums, comes from; means are over words, each counted
    in every working set that touches it. `deliveries`: (word, PE) pairs of one visit of every working set, in words.
    `held`: words of the tensor that a PE needs for what it works on. `one_dimensional`: every word reaches PEs of one
    row or of one column.
    """

    tensor: str
    partial_sums: bool
    rows_before: Reach
    rows_after: Reach
    columns_before: Reach
    columns_after: Reach
    deliveries_before: int
    deliveries_after: int
    held_before: Reach
    held_after: Reach
    one_dimensional_before: bool
    one_dimensional_after: bool

    @property
    def extra_deliveries(self) -> int:
        """Words that must be delivered on top, or fewer where it is negative."""
        return self.deliveries_after - self.deliveries_before

    @property
    def extra_held(self) -> int:
        """Words that a PE must have room for on top."""
        return self.held_after.most - self.held_before.most


def extra_of(exchange: Exchange, tensor: Tensor) -> Extra:
    """Where the words of a tensor of the einsum go before balancing and after it."""
    before, after = Tally(), Tally()
    stay = np.arange(exchange.work.pes)[:, None].repeat(2, axis=1)[None]
    for sets in _alike(exchange):
        needs = _needs(exchange, tensor, int(sets[0]))
        before.add(exchange, needs, stay, times=len(sets))
        width = max(len(needs.tile), len(needs.words) * max(exchange.rows, exchange.columns), 1)
        for some in np.array_split(sets, -(-len(sets) * width // AT_ONCE)):
            if len(some):
                after.add(exchange, needs, exchange.workers[some])
    return Extra(
        tensor=tensor.name,
        partial_sums=tensor == exchange.einsum.output,
        rows_before=before.reach("rows"),
        rows_after=after.reach("rows"),
        columns_before=before.reach("columns"),
        columns_after=after.reach("columns"),
        deliveries_before=before.deliveries,
        deliveries_after=after.deliveries,
        held_before=before.held,
        held_after=after.held,
        one_dimensional_before=before.one_dimensional,
        one_dimensional_after=after.one_dimensional,
    )


def extras(exchange: Exchange) -> tuple[Extra, ...]:
    """Of every tensor of the einsum, operands first."""
    return tuple(extra_of(exchange, tensor) for tensor in exchange.einsum.tensors)


@dataclass(frozen=True)
class Destination:
    """So many `words` of a tensor and the PEs that touch them: those before balancing, and those after it."""

    words: int
    before: frozenset[PE]
    after: frozenset[PE]


def destinations(exchange: Exchange, tensor: Tensor, working_set: int) -> tuple[Destination, ...]:
    """Where all words of a tensor go in a working set; words that go the same way stand together.

    Raises `InputError` where there is no such working set.
    """
    needs = _needs(exchange, tensor, exchange.check(working_set))
    before, after = ([set[PE]() for _ in needs.words] for _ in range(2))
    taker = exchange.workers[working_set][needs.tile, needs.part]
    for owner, worker, copy, group in zip(needs.tile, taker, needs.copy, needs.group, strict=True):
        before[group].add(exchange.pe(owner, copy))
        after[group].add(exchange.pe(worker, copy))
    return tuple(
        Destination(words, frozenset(owners), frozenset(workers))
        for words, owners, workers in zip(needs.words.tolist(), before, after, strict=True)
    )


def exchange_table(evaluation: Evaluation) -> list[dict[str, str | int | float | bool]]:
    """A row per tensor: what balancing asks of the network; no rows where nothing is exchanged (`exchange_of`)."""
    exchange = exchange_of(evaluation)
    return [] if exchange is None else [_row(extra) for extra in extras(exchange)]


def _row(extra: Extra) -> dict[str, str | int | float | bool]:
    row: dict[str, str | int | float | bool] = {"tensor": extra.tensor, "partial_sums": extra.partial_sums}
    for name, value in vars(extra).items():
        if isinstance(value, Reach):
            row |= {f"{name}_mean": value.mean, f"{name}_max": value.most}
        else:
            row[name] = value
    return row | {"extra_deliveries": extra.extra_deliveries, "extra_held": extra.extra_held}


def _alike(exchange: Exchange) -> Iterator[Ints]:
    """Working sets whose PEs have tiles of the same extents."""
    cuts = exchange.work.cuts
    extents = (exchange.spread[cut.dimension].words for cut in cuts)
    kinds = [np.unique(words, axis=0, return_inverse=True)[1].ravel() for words in extents]
    rounds = np.unravel_index(np.arange(exchange.sets), [cut.rounds for cut in cuts])
    found = [kind[place] for kind, place in zip(kinds, rounds, strict=True)]
    which = np.unique(found, axis=1, return_inverse=True)[1].ravel()
    for kind in range(int(which.max()) + 1):
        yield np.flatnonzero(which == kind)


@dataclass(frozen=True)
class Needs:
    """Which groups of words the work on a half touches: line i says that (`tile`, `part`, `copy`) touches `group`.

    `words[group]`: words of a group.
    """

    tile: Ints
    part: Ints
    copy: Ints
    group: Ints
    words: Ints


def _needs(exchange: Exchange, tensor: Tensor, working_set: int) -> Needs:
    """Of all halves of PEs that are not idle, in a working set and those like it."""
    copies, rounds = exchange.active_copies, exchange.rounds_of(working_set)
    tile, part = (ends.repeat(len(copies)) for ends in np.nonzero(exchange.words[working_set]))
    copy = np.tile(copies, len(tile) // max(len(copies), 1))
    group, words = np.zeros(len(tile), dtype=np.int64), np.ones(1, dtype=np.int64)
    for rank in tensor.ranks:
        parts = [_parts(exchange, term.dimension, rounds) for term in rank]
        task = np.zeros(len(tile), dtype=np.int64)
        for term, ranges in zip(rank, parts, strict=True):
            name = term.dimension
            lane = exchange.tiles.of[name][tile] if name in exchange.tiles.of else exchange.copies.of[name][copy]
            task = task * len(ranges) + (2 * lane + part if name == exchange.dimension else lane)
        first, atoms, sizes = _atoms(rank, parts)
        counts = first[task + 1] - first[task]
        line = np.arange(len(task)).repeat(counts)
        atom = atoms[first[task[line]] + np.arange(len(line)) - (np.cumsum(counts) - counts)[line]]
        tile, part, copy = tile[line], part[line], copy[line]
        used, group = np.unique(group[line] * len(sizes) + atom, return_inverse=True)
        words = words[used // len(sizes)] * sizes[used % len(sizes)]
    return Needs(tile, part, copy, group, words)


def _parts(exchange: Exchange, dimension: str, rounds: Mapping[str, int]) -> list[tuple[int, int]]:
    """(start, extent) along a dimension of every lane, or of both halves of every lane where the dimension is cut."""
    spread, turn = exchange.spread[dimension], rounds.get(dimension, 0)
    if dimension != exchange.dimension:
        return list(zip(spread.starts.tolist(), spread.words[turn].tolist(), strict=True))
    starts = np.add.outer(spread.starts, [0, first_half(spread.tile)])
    return list(zip(starts.ravel().tolist(), spread.halved()[turn].ravel().tolist(), strict=True))


def _atoms(rank: Rank, parts: list[list[tuple[int, int]]]) -> tuple[Ints, Ints, Ints]:
    """Positions of a rank that the same tasks touch: (first, atoms, sizes).

    `parts`: ranges of each dimension of the rank; a task is a combination of them, the first dimension outermost. It
    touches `atoms[first[task]:first[task + 1]]`; an atom has `sizes[atom]` positions.
    """
    touching = defaultdict[int, list[int]](list)
    for task, ranges in enumerate(itertools.product(*parts)):
        steps = [
            range(term.coefficient * start, term.coefficient * (start + n), term.coefficient)
            for term, (start, n) in zip(rank, ranges, strict=True)
        ]
        for position in {sum(at) for at in itertools.product(*steps)}:
            touching[position].append(task)
    sizes = Counter(map(tuple, touching.values()))
    tasks = np.array([task for atom in sizes for task in atom], dtype=np.int64)
    atoms = np.arange(len(sizes)).repeat([len(atom) for atom in sizes])
    counts = np.bincount(tasks, minlength=math.prod(map(len, parts)))
    first = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return first, atoms[np.argsort(tasks, kind="stable")], np.array(list(sizes.values()), dtype=np.int64)


class Tally:
    """Sums over working sets of where words go."""

    def __init__(self) -> None:
        self.words = self.deliveries = self.pes = self.most_held = 0
        self.sums = {"rows": 0, "columns": 0}
        self.most = {"rows": 0, "columns": 0}
        self.one_dimensional = True

    def add(self, exchange: Exchange, needs: Needs, workers: Ints, times: int = 1) -> None:
        """Working sets (or one that stands for `times` of them) whose halves go to `workers`: (sets, tiles, 2)."""
        taker = workers[:, needs.tile, needs.part]
        number, size = len(needs.words), len(workers) * len(needs.words)
        group = needs.group + number * np.arange(len(workers))[:, None]
        narrow = np.full(size, False)
        for name, tiles, copies, lines in (
            ("rows", exchange.tiles.y, exchange.copies.y, exchange.rows),
            ("columns", exchange.tiles.x, exchange.copies.x, exchange.columns),
        ):
            marks = np.zeros(lines * size, dtype=bool)
            marks[(tiles[taker] + copies[needs.copy]) * size + group] = True
            reached = marks.reshape(lines, size).sum(axis=0)
            narrow |= reached <= 1
            self.sums[name] += int((reached.reshape(-1, number) * needs.words).sum()) * times
            self.most[name] = max(self.most[name], int(reached.max(initial=0)))
        self.one_dimensional &= bool(narrow.all())
        self.words += int(needs.words.sum()) * len(workers) * times
        self._hold(exchange, needs, taker, times)

    def _hold(self, exchange: Exchange, needs: Needs, taker: Ints, times: int) -> None:
        """Words per PE: both halves of a pair may touch the same."""
        copies, number = len(exchange.copies), len(needs.words)
        pe = taker * copies + needs.copy + len(exchange.tiles) * copies * np.arange(len(taker))[:, None]
        lines = np.sort((pe * number + needs.group).ravel())
        lines = lines[np.append(True, lines[1:] != lines[:-1])]
        pe, group = np.divmod(lines, number)
        held = np.add.reduceat(needs.words[group], np.flatnonzero(np.append(True, pe[1:] != pe[:-1])))
        self.deliveries += int(held.sum()) * times
        self.most_held = max(self.most_held, int(held.max(initial=0)))
        self.pes += len(np.unique(needs.tile * copies + needs.copy)) * len(taker) * times

    def reach(self, name: str) -> Reach:
        """Rows or columns per word."""
        return Reach(self.sums[name] / max(self.words, 1), self.most[name])

    @property
    def held(self) -> Reach:
        """Words per PE that has a tile."""
        return Reach(self.deliveries / max(self.pes, 1), self.most_held)
