"""Compute cycles with zeros: PEs skip them, and wait for the busiest of their working set.

Only zeros of skipped operands save cycles. The work tile is what one PE holds of the plain operand; the array loads new
work tiles together, so each working set lasts as long as its busiest PE. Compute takes its dense cycles times the mean
over working sets of (nonzeros of the busiest PE / words of a work tile) (`mapper.sparsity.imbalance`).

Where a second operand is skipped too, the work of a PE is its effectual points between two loads; they are counted for
two known masks, and taken as the share of the second operand's nonzeros, evenly spread, where only densities are known:
a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from mapper.counts.distinct import distinct
from mapper.counts.geometry import Geometry
from mapper.mapping.loopnest import Ints, Nests
from mapper.sparsity.balance import Imbalance, imbalance
from mapper.sparsity.known import Placed
from mapper.sparsity.pairs import busiest_pairs
from mapper.sparsity.work import Work, work_of
from mapper.sparsity.zeros import Moves
from mapper.workload.einsum import Tensor

EVEN = 1e-12
"""Relative error of a float ratio that does not cost another cycle."""


@dataclass(frozen=True)
class Waits:
    """Compute cycles per mapping, and what they came from where zeros are skipped.

    `kinds[which[i]]` is the work of mapping i with its imbalance; `loads[i]` how often the array loads work tiles.
    """

    cycles: Ints
    which: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    kinds: tuple[tuple[Work, Imbalance] | None, ...] = ()
    loads: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def of(self, row: int) -> tuple[Work, Imbalance] | None:
        """Work and imbalance of a mapping; None where zeros save it no cycles."""
        return self.kinds[int(self.which[row])] if self.kinds else None


def plain_operand(moves: Moves) -> Tensor | None:
    """The operand whose tiles are the work tiles, where its zeros are skipped."""
    return next((t for t in moves.skipped if t.role == "W" and all(len(rank) == 1 for rank in t.ranks)), None)


def compute_cycles(geometry: Geometry) -> Ints:
    """Product of the temporal loops, rounds of spread dimensions included: one step of all PEs per cycle."""
    temporal = [i for i, slot in enumerate(geometry.nests.slots) if slot.kind == "t"]
    return np.asarray(geometry.factors[temporal].prod(axis=0), dtype=np.int64)


def waiting(geometry: Geometry, moves: Moves) -> Waits:
    """Compute cycles of every mapping."""
    dense, tensor = compute_cycles(geometry), plain_operand(moves)
    if moves.zeros.in_blocks:
        return Waits(_in_blocks(dense, moves))
    if tensor is None:
        return Waits(dense)
    nests, level = geometry.nests, moves.innermost(tensor)
    others = [t for t in moves.skipped if t != tensor]
    exact = _known(moves, [tensor, *others]) if others else {}
    columns = [i for i, slot in enumerate(nests.slots) if exact or slot.dimension in tensor.dimensions]
    first, which = _distinct_rows(nests, columns)
    kinds = tuple(_kind(nests, int(row), tensor, moves) for row in first)
    if exact:
        mine = np.array([_busiest(nests, int(row), exact, tensor, level, kinds[i]) for i, row in enumerate(first)])
        cycles = np.where(mine[which] < 0, dense, mine[which])
    else:
        evenly = math.prod((Fraction(moves.sparsity.of(t).mean) for t in others), start=Fraction(1))  # type: ignore[union-attr]
        ratios = [Fraction(1) if kind is None else kind[1].ratio * evenly for kind in kinds]
        cycles = np.array([_times(n, ratios[k]) for n, k in zip(dense.tolist(), which.tolist(), strict=True)])
    return Waits(cycles.astype(np.int64), which.astype(np.int64), kinds, array_loads(nests, tensor, level))


def _in_blocks(dense: Ints, moves: Moves) -> Ints:
    """Cycles where blocks are skipped: units take the next block that is not empty, and none waits."""
    top, bottom = (math.prod(moves.executed[t.name][i] for t in moves.skipped) for i in (0, 1))
    return np.array([_times(n, Fraction(top) / Fraction(bottom)) for n in dense.tolist()], dtype=np.int64)


def _distinct_rows(nests: Nests, columns: list[int]) -> tuple[Ints, Ints]:
    if not columns:
        return np.zeros(1, dtype=np.int64), np.zeros(len(nests), dtype=np.int64)
    first, which = distinct([nests.factors[:, i] for i in columns])
    return first.astype(np.int64), which.astype(np.int64)


def _known(moves: Moves, tensors: list[Tensor]) -> dict[str, Placed]:
    """The masks of all of them, where pairs of nonzeros can be counted; else none."""
    masks = {t.name: moves.sparsity.of(t) for t in tensors}
    if moves.pairs is None:
        return {}
    return {name: mask for name, mask in masks.items() if isinstance(mask, Placed)}


def _kind(nests: Nests, row: int, tensor: Tensor, moves: Moves) -> tuple[Work, Imbalance] | None:
    lanes = [level.fanout.lanes for level in moves.accelerator.levels]
    work = work_of(nests, tensor, lanes, row)
    density = moves.sparsity.of(tensor)
    if work is None or density is None or math.prod(work.tile) == 1:
        return None
    return work, imbalance(density, work, moves.balance)


def _busiest(
    nests: Nests, row: int, masks: dict[str, Placed], tensor: Tensor, level: int, kind: tuple[Work, Imbalance] | None
) -> int:
    """Cycles by pairs of nonzeros; -1: zeros save none."""
    return -1 if kind is None else busiest_pairs(nests, row, masks, tensor, level)


def _times(cycles: int, ratio: Fraction | float) -> int:
    if isinstance(ratio, Fraction):
        return math.ceil(cycles * ratio)
    return math.ceil(cycles * ratio * (1 - EVEN))


def array_loads(nests: Nests, tensor: Tensor, level: int) -> Ints:
    """How often any PE gets another tile of `tensor` at `level`: steps of the loops down to the last that moves it."""
    out = np.ones(len(nests), dtype=np.int64)
    steps = np.ones(len(nests), dtype=np.int64)
    for slot, factors in zip(nests.slots, nests.factors.T, strict=True):
        if slot.kind == "t" and slot.level < level:
            steps = steps * factors
            if slot.dimension in tensor.dimensions:
                out = np.where(factors > 1, steps, out)
    return out
