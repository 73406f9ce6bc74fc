"""Work per PE of one mapping, as the loops lay it out and after PEs have exchanged halves of their work tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mapper.cost import Evaluation
from mapper.interconnect.exchange import Exchange, exchange_of
from mapper.sparsity.balance import cut_place
from mapper.sparsity.placement import Numbers, lane_places, work_per_pe
from mapper.sparsity.zeros import Moves

MOST_HALVES = 2**23
"""Halves of all working sets that are followed: some hundred megabytes."""


@dataclass(frozen=True)
class Loads:
    """Arrays of (X lanes, Y lanes): effectual points of each PE, `before` balancing and `after`.

    `expected`: of densities, not counted in masks. `balances`: the hardware moves halves of work tiles. `after` is None
    where it does not, where it is not known which halves (masks of one operand tell, densities do not), and where there
    are too many to follow.
    """

    before: Numbers
    after: Numbers | None
    expected: bool
    balances: bool


def loads_of(evaluation: Evaluation) -> Loads:
    """Who does the work of an evaluated mapping. After balancing, each pair of halves is worked on by a PE that owns
    one of them, as in `mapper.interconnect.exchange`."""
    moves = Moves(evaluation.einsum, evaluation.accelerator, evaluation.sparsity, evaluation.nests.keeps)
    before = work_per_pe(evaluation.nests, moves)
    waits = evaluation.imbalance
    balances = waits is not None and waits.work is not None and cut_place(waits.work, waits.balance) is not None
    alone = len(moves.acting) == 1 and before.dtype == np.int64
    few = waits is not None and waits.sets * waits.halves <= MOST_HALVES
    exchange = exchange_of(evaluation) if balances and alone and few else None
    after = None if exchange is None else _after(evaluation, exchange)
    return Loads(before, after, before.dtype != np.int64, balances)


def _after(evaluation: Evaluation, exchange: Exchange) -> Numbers:
    """Nonzeros of the halves that each PE gets, times the visits of every working set."""
    halves = np.zeros(exchange.work.pes, dtype=np.int64)
    np.add.at(halves, exchange.workers, exchange.halves)
    visits = np.ones(len(exchange.copies), dtype=np.int64)
    for name, lanes in exchange.copies.of.items():
        visits = visits * exchange.spread[name].words.sum(axis=0)[lanes]
    nests = evaluation.nests.without_unit_slots()
    columns, rows = (lane_places(nests, evaluation.accelerator, kind) for kind in "xy")
    shape = [math.prod(level.fanout.axis(kind).lanes for level in evaluation.accelerator.levels) for kind in "xy"]
    out = np.zeros(shape, dtype=np.int64)
    x, y = (np.add.outer(tiles, copies) for tiles, copies in _at(exchange))
    np.add.at(out, (columns[x], rows[y]), np.multiply.outer(halves, visits))
    return out


def _at(exchange: Exchange) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    """Columns, then rows, of tiles and of copies."""
    return (exchange.tiles.x, exchange.copies.x), (exchange.tiles.y, exchange.copies.y)
