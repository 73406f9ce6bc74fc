"""Where work lands on the array: the effectual points that each PE executes over a whole mapping.

A point is a step of the loop nest; it is effectual where the words of all operands whose zeros are skipped or gated are
nonzero. A PE executes the points of its lanes: dimensions that are spread fix some digits of their indices, the others
run. What of a dimension lies past its end is nobody's. So a PE's points are a sum over the digits that run of a product
of masks, and a dimension that no mask has counts by the number of its indices.

Known masks give exact counts, padding that windows meet included. Where only densities are known the sums are
expectations, of words that are nonzero independently of each other. Their sum is the effectual points of the mapping.

This is the work as the loops lay it out. Balancing hands halves of it to other PEs afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.arch.accelerator import Accelerator
from mapper.mapping.loopnest import Nests
from mapper.sparsity.density import Vector
from mapper.sparsity.known import Placed
from mapper.sparsity.pairs import LARGEST, windows
from mapper.sparsity.zeros import Moves
from mapper.workload.einsum import Tensor

Numbers = NDArray[Any]
"""Integers where counts are exact, floats where they are expectations."""

Laid = tuple[Numbers, list[int]]
"""An array and the loops its axes stand for, as places in the nest."""


def work_per_pe(nests: Nests, moves: Moves) -> Numbers:
    """(X lanes, Y lanes): effectual points that each PE executes, 0 where loops leave a lane free.

    Of the first mapping of `nests`. Several fan-outs, one inside the other, are one array: a lane of the inner one is
    a column or row inside that of the outer. Integers where exact, floats where expected.
    """
    nests = nests.take(slice(1)).without_unit_slots()
    counted = _counted(moves)
    laid = [_laid(nests, tensor, array, counted) for tensor, array in counted]
    seen = {d for tensor, _ in counted for d in tensor.dimensions}
    rest = [d for d in nests.einsum.dimensions if d not in seen]
    laid += [_split(nests, np.ones(nests.einsum.extent[d], dtype=np.int64), [d], {d}) for d in rest]
    used = _joined(nests, laid)
    share = _share(moves, [tensor.name for tensor, _ in counted])
    placed = _on_array(nests, moves, used)
    return placed if share is None else placed * share


def _counted(moves: Moves) -> list[tuple[Tensor, Numbers]]:
    """Operands whose zeros lie somewhere that is known, with what to count of each word: nonzeros, or their chance."""
    found = [(tensor, moves.sparsity.of(tensor)) for tensor in moves.acting]
    if moves.zeros.in_blocks:
        return []
    extent = moves.einsum.extent
    small = all(math.prod(extent[d] for d in tensor.dimensions) <= LARGEST for tensor, _ in found)
    exact = small and all(isinstance(density, Placed) for _, density in found)
    arrays: list[tuple[Tensor, Numbers]] = []
    for tensor, density in found:
        # A sliding operand among expectations: the model takes all its words as met equally often.
        if isinstance(density, Placed) and (exact or _plain(tensor)):
            arrays.append((tensor, density.array))
        elif isinstance(density, Vector) and _plain(tensor):
            arrays.append((tensor, _chances(density, [extent[rank[0].dimension] for rank in tensor.ranks])))
    return arrays


def _plain(tensor: Tensor) -> bool:
    return all(len(rank) == 1 and rank[0].coefficient == 1 for rank in tensor.ranks)


def _chances(density: Vector, shape: Sequence[int]) -> Numbers:
    """The density of every word."""
    along = [-1 if place == density.axis else 1 for place in range(len(shape))]
    return np.broadcast_to(np.array(density.values).reshape(along), shape)


def _share(moves: Moves, counted: Collection[str]) -> float | None:
    """Nonzeros of the acting operands that were not counted; None: there is none."""
    shares = [moves.executed[tensor.name] for tensor in moves.acting if tensor.name not in counted]
    return math.prod(top / bottom for top, bottom in shares) if shares else None


def _laid(nests: Nests, tensor: Tensor, array: Numbers, counted: Sequence[tuple[Tensor, Numbers]]) -> Laid:
    """An operand with an axis per loop; loops that neither tell PEs apart nor matter to another operand are summed."""
    others = {d for other, _ in counted if other != tensor for d in other.dimensions}
    view, dimensions = windows(nests.einsum, tensor, array)
    spread = {slot.dimension for slot in nests.slots if slot.kind != "t"}
    gone = [d for d in dimensions if d not in others | spread]
    kept = [d for d in dimensions if d not in gone]
    # A mask of many words is not widened before most of them are summed.
    left = view.sum(axis=tuple(map(dimensions.index, gone)), dtype=_wide(view)) if gone else view
    return _split(nests, left, kept, set(kept) - others)


def _wide(array: Numbers) -> type[np.int64] | type[np.float64]:
    """What sums of it are counted in."""
    return np.float64 if array.dtype == np.float64 else np.int64


def _split(nests: Nests, array: Numbers, dimensions: Sequence[str], summed: Collection[str]) -> Laid:
    """Axes of dimensions cut into their loops, with zeros past their end; `summed`: those whose temporal loops go."""
    slots: list[int] = []
    gone: list[int] = []
    extents: list[int] = []
    padding: list[tuple[int, int]] = []
    for dimension, extent in zip(dimensions, array.shape, strict=True):
        mine = [i for i, slot in enumerate(nests.slots) if slot.dimension == dimension]
        factors = [int(nests.factors[0, i]) for i in mine]
        padding.append((0, math.prod(factors) - extent))
        gone += [len(slots) + n for n, i in enumerate(mine) if dimension in summed and nests.slots[i].kind == "t"]
        slots += mine
        extents += factors
    padded = np.pad(array, padding) if any(after for _, after in padding) else array
    sums = padded.reshape(extents).sum(axis=tuple(gone), dtype=_wide(array))
    return sums, [i for n, i in enumerate(slots) if n not in set(gone)]


def _joined(nests: Nests, laid: Iterable[Laid]) -> Numbers:
    """(used X lanes, used Y lanes): the product of all, summed over the loops that are not spread."""
    lanes = [[i for i, slot in enumerate(nests.slots) if slot.kind == kind] for kind in "xy"]
    laid = list(laid)
    number = {slot: n for n, slot in enumerate(sorted({i for _, slots in laid for i in slots}))}
    operands: list[Any] = [one for array, slots in laid for one in (array, [number[i] for i in slots])]
    out = np.einsum(*operands, [number[i] for axis in lanes for i in axis])
    shape = [math.prod(int(nests.factors[0, i]) for i in axis) for axis in lanes]
    return np.asarray(out).reshape(shape)


def _on_array(nests: Nests, moves: Moves, used: Numbers) -> Numbers:
    """The lanes that loops use at their places among all lanes of the accelerator."""
    columns, rows = (lane_places(nests, moves.accelerator, kind) for kind in "xy")
    levels = moves.accelerator.levels
    shape = [math.prod(level.fanout.axis(kind).lanes for level in levels) for kind in "xy"]
    out = np.zeros(shape, dtype=used.dtype)
    out[np.ix_(columns, rows)] = used
    return out


def lane_places(nests: Nests, accelerator: Accelerator, kind: str) -> NDArray[np.int64]:
    """The column (`kind` x) or row (y) on the array of each lane that the loops of the first mapping use."""
    places = np.zeros(1, dtype=np.int64)
    for index, level in enumerate(accelerator.levels):
        mine = [i for i, slot in enumerate(nests.slots) if (slot.level, slot.kind) == (index, kind)]
        used = math.prod(int(nests.factors[0, i]) for i in mine)
        places = np.add.outer(places * level.fanout.axis(kind).lanes, np.arange(used)).ravel()
    return places
