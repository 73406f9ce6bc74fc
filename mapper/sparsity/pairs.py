"""Pairs of nonzeros of two known masks: points whose words of both operands are nonzero, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mapper.mapping.loopnest import Nests
from mapper.sparsity.known import Placed
from mapper.sparsity.model import Bools, Density
from mapper.workload.einsum import Einsum, Tensor

LARGEST = 2**27
"""Words of one operand, each counted as often as windows overlap it, that are looked at."""


def effectual_pairs(einsum: Einsum, masks: Mapping[str, Density | None]) -> int | None:
    """Points of `einsum` where every mask is nonzero; None where a mask is not known, or there are too many words."""
    known = {name: mask for name, mask in masks.items() if isinstance(mask, Placed)}
    sizes = [math.prod(einsum.extent[d] for d in einsum.tensor(name).dimensions) for name in known]
    if len(known) < len(masks) or max(sizes, default=0) > LARGEST:
        return None
    letters = {d: i for i, d in enumerate(einsum.dimensions)}
    operands: list[object] = []
    shared = {d for d in einsum.dimensions if sum(d in einsum.tensor(name).dimensions for name in known) > 1}
    alone = math.prod(
        einsum.extent[d] for d in einsum.dimensions if not any(d in einsum.tensor(n).dimensions for n in known)
    )
    for name, mask in known.items():
        view, dimensions = windows(einsum, einsum.tensor(name), mask.array)
        other = tuple(i for i, d in enumerate(dimensions) if d not in shared)
        operands += [view.sum(axis=other, dtype=np.float64), [letters[d] for d in dimensions if d in shared]]
    return round(float(np.einsum(*operands, []))) * alone  # type: ignore[call-overload]


def windows(einsum: Einsum, tensor: Tensor, mask: Bools) -> tuple[NDArray[np.bool_], list[str]]:
    """A view of a mask with an axis per dimension (those of a sliding rank overlap), and the dimensions in order."""
    shape, strides, dimensions = [], [], []
    for rank, stride in zip(tensor.ranks, mask.strides, strict=True):
        for term in rank:
            shape.append(einsum.extent[term.dimension])
            strides.append(stride * term.coefficient)
            dimensions.append(term.dimension)
    return np.lib.stride_tricks.as_strided(mask, shape, strides, writeable=False), dimensions


def points(einsum: Einsum, masks: Mapping[str, Placed]) -> NDArray[np.bool_]:
    """Every point of an einsum, an axis per dimension in its order: whether all masks are nonzero there."""
    out = np.ones([einsum.extent[d] for d in einsum.dimensions], dtype=bool)
    for name, mask in masks.items():
        view, dimensions = windows(einsum, einsum.tensor(name), mask.array)
        order = np.argsort([einsum.dimensions.index(d) for d in dimensions])
        view = view.transpose(order)
        index = tuple(slice(None) if d in dimensions else None for d in einsum.dimensions)
        out &= view[index]
    return out


def busiest_pairs(nests: Nests, row: int, masks: Mapping[str, Placed], tensor: Tensor, level: int) -> int:
    """Cycles of a mapping whose PEs execute pairs of nonzeros only, and wait for each other at loads of `tensor`.

    The array loads new tiles of `tensor` into `level`, which is private to a PE, whenever a loop above it moves them.
    """
    einsum = nests.einsum
    factors = [int(f) for f in nests.factors[row]]
    moving = [
        i
        for i, slot in enumerate(nests.slots)
        if slot.kind == "t" and slot.level < level and slot.dimension in tensor.dimensions and factors[i] > 1
    ]
    last = max(moving, default=-1)
    array = points(einsum, masks)
    kinds: list[str] = []
    for dimension in reversed(einsum.dimensions):
        mine = [i for i, slot in enumerate(nests.slots) if slot.dimension == dimension]
        axis = einsum.dimensions.index(dimension)
        padded = math.prod(factors[i] for i in mine)
        pads = [(0, padded - array.shape[axis] if a == axis else 0) for a in range(array.ndim)]
        array = np.pad(array, pads)
        array = array.reshape(*array.shape[:axis], *(factors[i] for i in mine), *array.shape[axis + 1 :])
        kinds = [_kind_of(nests, i, level, last) for i in mine] + kinds
    inner = tuple(i for i, kind in enumerate(kinds) if kind == "inner")
    array = array.sum(axis=inner, dtype=np.int64)
    kinds = [kind for kind in kinds if kind != "inner"]
    lanes = tuple(i for i, kind in enumerate(kinds) if kind == "lane")
    return int(array.max(axis=lanes, initial=0).sum()) if lanes else int(array.sum())


def _kind_of(nests: Nests, index: int, level: int, last: int) -> str:
    """Whether a loop tells PEs apart, periods between loads, or what a PE does in one."""
    slot = nests.slots[index]
    if slot.kind != "t":
        return "lane"
    return "period" if slot.level < level and index <= last else "inner"
