"""Compute cycles at least, where PEs skip zeros and wait for each other (`mapper.cost.waiting`).

Perfect balance is a bound that lanes alone decide: no fewer cycles than effectual points per lane. How much longer the
busiest PEs take depends on the work tiles:

* Where words are independent and tiles are not balanced, the largest share of nonzeros among `n` tiles falls with their
  size (a tile's share is a mean over its parts; the largest of means is below the mean of the largest), and the largest
  number rises with `n`, but slower than `n`. So no set lasts shorter, per word, than one of all lanes with tiles as
  large as there is room for.
* Where the array stands right above the innermost level, a row of that level decides them, and the bound is raised to
  what the model itself says; that takes a while, so only rows within the budget are raised.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mapper.cost.batch import moves_of
from mapper.cost.energy import Floats
from mapper.cost.waiting import plain_operand
from mapper.counts.geometry import Bools
from mapper.mapping.loopnest import Ints
from mapper.search.forms import Keeps
from mapper.search.groups import GroupTable
from mapper.search.lanes import Lanes
from mapper.search.space import Mapspace
from mapper.sparsity.balance import imbalance
from mapper.sparsity.room import BY_WORDS
from mapper.sparsity.work import Cut, Digit, Work

BELOW = 1 - 1e-12
"""Bounds stay below what the model rounds up."""
ROUNDED = 1 - 1e-9
"""Sums of chances are right to that."""


class Waits:
    """Under one choice of kept tensors."""

    def __init__(self, space: Mapspace, keeps: Keeps) -> None:
        self.space, self.level = space, len(space.accelerator.levels) - 1
        self.moves = moves_of(space.einsum, space.accelerator, space.sparsity, keeps)
        self.in_blocks = self.moves.zeros.in_blocks
        tensor = next(iter(self.moves.skipped), None) if self.in_blocks else plain_operand(self.moves)
        served = tensor is not None and (self.in_blocks or self.moves.private(self.moves.innermost(tensor)))
        self.tensor = tensor if served else None
        self.pairs = self.moves.pairs if len(self.moves.skipped) > 1 else None

    @property
    def _evenly(self) -> float:
        """Share of the work that zeros of other operands leave, evenly spread."""
        others = (t for t in self.moves.skipped if t != self.tensor)
        return math.prod(self.moves.executed[t.name][0] / self.moves.executed[t.name][1] for t in others)

    @property
    def _least(self) -> float:
        """Share of the points that cost cycles, at least."""
        assert self.tensor is not None
        top, bottom = self.moves.executed[self.tensor.name]
        share = top / bottom * self._evenly
        return share if self.pairs is None else min(share, self.pairs / self.space.einsum.points)

    def by_lanes(self, lanes: Lanes, classes: np.ndarray) -> Floats:
        """Least cycles of each class of lanes."""
        out = np.ones(len(classes))
        for i, (dimension, spread) in enumerate(lanes.spreads.items()):
            chosen = lanes.choices[classes, i]
            if self.tensor is not None and self._splits(dimension):
                out = out * self.space.einsum.extent[dimension] / spread.values.prod(axis=1)[chosen]
            else:
                out = out * spread.cycles[chosen]
        return out if self.tensor is None else out * self._least * BELOW * self._lead(lanes, classes)

    def _lead(self, lanes: Lanes, classes: NDArray[np.intp]) -> Floats:
        """How much longer than the mean PE the busiest takes at least, for each class of lanes."""
        assert self.tensor is not None
        pes, spread = np.ones(len(classes), dtype=np.int64), np.zeros(len(classes), dtype=np.int64)
        for i, (dimension, found) in enumerate(lanes.spreads.items()):
            if dimension in self.tensor.dimensions:
                mine = found.values.prod(axis=1)[lanes.choices[classes, i]]
                pes, spread = pes * mine, spread + (mine > 1)
        values, which = np.unique(np.where(self._uncut(spread), pes, 1), return_inverse=True)
        return np.array([self._lead_of(n) for n in values.tolist()])[which]

    def _uncut(self, spread: Ints) -> Bools:
        """Whether nothing evens out tiles whose tensor is spread by so many dimensions."""
        balance = self.moves.balance
        return np.asarray((spread > 1) & (balance in ("half_tile", "half_tile_uneven")) | (balance == "none"))

    def _lead_of(self, pes: int, words: int | None = None) -> float:
        """Of so many PEs, with work tiles of `words`; unless given, with the largest that there is room for."""
        assert self.tensor is not None
        density = self.moves.sparsity.of(self.tensor)
        if self.in_blocks or self.pairs is not None or not isinstance(density, BY_WORDS) or not density.mean:
            return 1.0
        words = min(self._most_words // pes, self._room) if words is None else words
        return max(1.0, density.expected_max((words,), pes) / (density.mean * words) * ROUNDED) if words else 1.0

    @property
    def _most_words(self) -> int:
        assert self.tensor is not None
        return math.prod(self.space.einsum.extent[d] for d in self.tensor.dimensions)

    @property
    def _room(self) -> int:
        """Words of the largest work tile that its buffer holds."""
        assert self.tensor is not None
        accelerator, level = self.space.accelerator, self.moves.innermost(self.tensor)
        buffer = accelerator.levels[level].buffer(self.tensor)
        if buffer.capacity_bits is None or self.moves.compressed(level, self.tensor):
            return self._most_words
        return buffer.capacity_bits // (accelerator.operand_bits(self.tensor) * (1 + buffer.double_buffered))

    def _splits(self, dimension: str) -> bool:
        """Whether rounding up the rounds of a dimension adds no work: lanes that idle have no nonzeros.

        Where blocks are skipped, dense steps are, all alike.
        """
        assert self.tensor is not None
        return not self.in_blocks and (dimension in self.tensor.dimensions or self.pairs is not None)

    def rows(self, tables: tuple[GroupTable, ...], rows: np.ndarray) -> Floats:
        """Least ratio of sparse to dense cycles of innermost `rows` under fixed lanes."""
        if self.tensor is None:
            return np.ones(len(rows))
        out = self._least * BELOW
        for table in tables:
            for d in table.members:
                if self._splits(d):
                    places = self.space.places(d)
                    temporal = [i for i, (_, kind) in enumerate(places) if kind == "t"]
                    spread = [i for i, (_, kind) in enumerate(places) if kind != "t"]
                    steps = table.rows[d][:, temporal].prod(axis=1) * table.rows[d][:, spread].prod(axis=1)
                    out *= self.space.einsum.extent[d] / float(steps.max())
        return out * self._leads(tables, rows)

    def _leads(self, tables: tuple[GroupTable, ...], rows: np.ndarray) -> Floats:
        """How much longer than the mean PE the busiest takes at least, for each row."""
        assert self.tensor is not None
        lanes = {d: self._lanes(table, d) for table in tables for d in table.members if d in self.tensor.dimensions}
        pes, spread = math.prod(lanes.values()), sum(n > 1 for n in lanes.values())
        uncut = self._uncut(np.array(spread))
        shapes = self._shapes(tables, rows)
        if shapes is None:
            return np.full(len(rows), self._lead_of(pes) if uncut else 1.0)
        words = shapes.prod(axis=1)
        if not uncut and spread == 1:
            # An extent that cannot be halved keeps its tile whole.
            place = next(i for i, rank in enumerate(self.tensor.ranks) if lanes.get(rank[0].dimension, 1) > 1)
            odd = shapes[:, place] == 1 if self.moves.balance == "half_tile_uneven" else shapes[:, place] % 2 == 1
            uncut = odd & (self.moves.balance != "ideal")
        values, which = np.unique(np.where(uncut, words, 0), return_inverse=True)
        return np.array([self._lead_of(pes, n) if n else 1.0 for n in values.tolist()])[which]

    def raised(self, tables: tuple[GroupTable, ...], rows: np.ndarray) -> Floats | None:
        """The ratio that the model says of innermost `rows`; None where they do not decide it."""
        shapes = self._shapes(tables, rows)
        if shapes is None or self.tensor is None:
            return None
        values, which = np.unique(shapes, axis=0, return_inverse=True)
        lanes = {d: self._lanes(table, d) for table in tables for d in table.members}
        ratios = [self._ratio(tuple(shape), lanes) for shape in values.tolist()]
        return np.array(ratios)[which.ravel()]

    def _shapes(self, tables: tuple[GroupTable, ...], rows: np.ndarray) -> np.ndarray | None:
        """Extents of the work tile of each row, a column per dimension of its tensor."""
        tensor, levels = self.tensor, self.space.accelerator.levels
        if tensor is None or self.pairs is not None or self.in_blocks or self.moves.innermost(tensor) != self.level:
            return None
        if any(level.fanout.lanes > 1 for level in levels[: self.level - 1]):
            return None
        columns = []
        for rank in tensor.ranks:
            found = [(n, table) for n, table in enumerate(tables) if rank[0].dimension in table.members]
            if any(len(tensor.dimensions & set(table.members)) > 1 for _, table in found):
                return None
            tiles = [table.states[self.level].tile[tensor.name][rows[:, n]] for n, table in found]
            columns.append(tiles[0] if tiles else np.ones(len(rows)))
        return np.stack(columns, axis=1).astype(np.int64) if columns else None

    def _lanes(self, table: GroupTable, dimension: str) -> int:
        spread = [i for i, (_, kind) in enumerate(self.space.places(dimension)) if kind != "t"]
        return int(table.rows[dimension][0, spread].prod())

    def _ratio(self, shape: tuple[int, ...], lanes: dict[str, int]) -> float:
        assert self.tensor is not None
        if math.prod(shape) == 1:
            # Zeros save no cycles.
            return BELOW
        cuts = []
        for rank, tile in zip(self.tensor.ranks, shape, strict=True):
            dimension = rank[0].dimension
            extent, spread = self.space.einsum.extent[dimension], lanes.get(dimension, 1)
            digits: list[Digit] = [(False, -(-extent // (tile * spread))), (True, spread)]
            cuts.append(Cut(dimension, extent, tuple(d for d in digits if d[1] > 1), tile))
        density = self.moves.sparsity.of(self.tensor)
        assert density is not None
        ratio: Fraction | float = imbalance(density, Work(tuple(cuts)), self.moves.balance).ratio
        return float(ratio) * self._evenly * BELOW
