"""From states and passes to mappings: factors, loop orders, and arrays of them that share a loop structure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapper.mapping.loopnest import Nests, Slot
from mapper.search.factors import Factors
from mapper.search.forms import Keeps
from mapper.search.groups import GroupTable
from mapper.search.lanes import Lanes
from mapper.search.orders import Order, Reuse, orders_of
from mapper.search.passes import Pass
from mapper.search.space import Mapspace, Place

Column = tuple[Place, str]


@dataclass(frozen=True)
class Leaf:
    """One mapping: `orders` of the temporal loops per level, and the factors above 1 by (place, dimension)."""

    orders: tuple[Order, ...]
    factors: frozenset[tuple[Column, int]]


class Leaves:
    """Mappings of one class of lanes."""

    def __init__(
        self,
        space: Mapspace,
        factors: Factors,
        lanes: Lanes,
        members: NDArray[np.int32],
        tables: tuple[GroupTable, ...],
        reuses: tuple[Reuse, ...],
    ) -> None:
        self.space, self.factors, self.reuses = space, factors, reuses
        self.levels = len(space.accelerator.levels)
        self.tables = tables
        self.members = [dict(zip(space.looped, row.tolist(), strict=True)) for row in members]
        self.lanes = lanes
        self._paths = [self._paths_of(table) for table in tables]
        self._twins: dict[tuple[str, int], dict[tuple[int, ...], int]] = {}

    def _paths_of(self, table: GroupTable) -> dict[tuple[int, ...], list[int]]:
        """Rows of a table by their states, innermost level first."""
        found: dict[tuple[int, ...], list[int]] = {}
        states = np.stack([table.state_of[level] for level in range(self.levels - 1, 0, -1)], axis=1)
        for row, path in enumerate(map(tuple, states.tolist())):
            found.setdefault(path, []).append(row)
        return found

    def of(self, states: Sequence[Sequence[int]], passes: Sequence[Pass]) -> Iterator[Leaf]:
        """Every mapping with these states (per group, innermost level first) and passes (per level, outermost first).

        The order of the innermost level's loops changes nothing; dimensions stand there in the order of their names.
        """
        rows = [paths.get(tuple(path), []) for paths, path in zip(self._paths, states, strict=True)]
        for chosen in itertools.product(*rows):
            chains = {
                d: int(table.index[d][row])
                for table, row in zip(self.tables, chosen, strict=True)
                for d in table.members
            }
            temporal = {d: self._temporal(d, self.factors.chains[d][chain]) for d, chain in chains.items()}
            orders = [self._orders(temporal, level, made) for level, made in enumerate(passes)]
            orders.append([self._settled(temporal, self.levels - 1)])
            for member in self.members:
                factors = frozenset(self._placed(temporal, member))
                for order in itertools.product(*orders):
                    yield Leaf(order, factors)

    def flat(self) -> Iterator[Leaf]:
        """Every mapping of an accelerator of one level, or of dimensions of one step."""
        for member in self.members:
            chosen = [self.lanes.spreads[d].chains[number].tolist() for d, number in member.items()]
            for chains in itertools.product(*chosen):
                temporal = {
                    d: self._temporal(d, self.factors.chains[d][c]) for d, c in zip(member, chains, strict=True)
                }
                orders = [self._settled(temporal, level) for level in range(self.levels)]
                yield Leaf(tuple(orders), frozenset(self._placed(temporal, member)))

    def _settled(self, temporal: dict[str, tuple[int, ...]], level: int) -> Order:
        """The order that stands for all where the order of a level's loops changes nothing."""
        looping = {d for d, factors in temporal.items() if factors[level] > 1}
        first = tuple(d for d in self.space.prefix(level) if d in looping)
        return (*first, *sorted(looping - set(first)))

    def _temporal(self, dimension: str, chain: NDArray[np.int64]) -> tuple[int, ...]:
        places = self.space.places(dimension)
        return tuple(int(f) for f, (_, kind) in zip(chain, places, strict=True) if kind == "t")

    def _orders(self, temporal: dict[str, tuple[int, ...]], level: int, made: Pass) -> list[Order]:
        looping = frozenset(d for d, factors in temporal.items() if factors[level] > 1)
        return [order for order in orders_of(self.reuses, looping, self.space.prefix(level)) if made.covers(order)]

    def _placed(self, temporal: dict[str, tuple[int, ...]], member: dict[str, int]) -> Iterator[tuple[Column, int]]:
        for d, factors in temporal.items():
            for level, factor in enumerate(factors):
                if factor > 1:
                    yield ((level, "t"), d), factor
            spread = self.lanes.spreads[d]
            for place, lanes in zip(spread.places, spread.values[member[d]].tolist(), strict=True):
                if lanes > 1:
                    yield (place, d), lanes


def nests_of(space: Mapspace, keeps: Keeps, leaves: Sequence[Leaf]) -> Nests:
    """Mappings side by side: each level has slots enough for the order of every one of them."""
    slots: list[Slot] = []
    columns = []
    index = [{column[0:2]: factor for column, factor in leaf.factors} for leaf in leaves]
    for level in range(len(space.accelerator.levels)):
        orders = [leaf.orders[level] for leaf in leaves]
        sequence = _supersequence(orders)
        factors = np.ones((len(leaves), len(sequence)), dtype=np.int64)
        for row, order in enumerate(orders):
            at = 0
            for dimension in order:
                at = sequence.index(dimension, at)
                factors[row, at] = index[row][(level, "t"), dimension]
                at += 1
        slots += [Slot(level, "t", d) for d in sequence]
        columns.append(factors)
        for kind in "xy":
            spread = [d for d in space.looped if (level, kind) in space.places(d)]
            slots += [Slot(level, kind, d) for d in spread]
            columns.append(
                np.array(
                    [[found.get(((level, kind), d), 1) for d in spread] for found in index], dtype=np.int64
                ).reshape(len(leaves), len(spread))
            )
    return Nests(space.einsum, tuple(slots), np.concatenate(columns, axis=1), keeps)


def _supersequence(orders: Iterable[Order]) -> list[str]:
    """A sequence that contains every order, short where the orders are alike."""
    out: list[str] = []
    for order in dict.fromkeys(orders):
        at = 0
        for dimension in order:
            try:
                at = out.index(dimension, at) + 1
            except ValueError:
                out.insert(at, dimension)
                at += 1
    return out
