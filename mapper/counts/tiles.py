"""Words of a tile: what a buffer must hold."""

from __future__ import annotations

import numpy as np

from mapper.counts.footprint import RankAxis, closed_form, count_rows
from mapper.counts.geometry import Geometry
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Tensor


def tile_extents(geometry: Geometry, level: int) -> dict[str, Ints]:
    """Extent of every looped dimension in the largest tile at `level`, per mapping."""
    extents = {}
    for dimension, slots in geometry.of.items():
        inside = [i for i in slots if geometry.nests.slots[i].level >= level]
        extent = geometry.factors[inside[0]] * geometry.strides[inside[0]] if inside else geometry.ones
        extents[dimension] = np.minimum(extent, geometry.nests.einsum.extent[dimension])
    return extents


def tile_words(geometry: Geometry, tensor: Tensor, level: int) -> Ints:
    """Distinct words of the largest tile of `tensor` at `level`; holes of strided tiles are not stored."""
    extents = tile_extents(geometry, level)
    words = geometry.ones
    for rank in tensor.ranks:
        axes = [RankAxis(t.coefficient, extents[t.dimension], ()) for t in rank if t.dimension in extents]
        if len(axes) == 1:
            words = words * axes[0].tile
        elif axes:
            usable, length, _, _ = closed_form(axes)
            counted, _ = count_rows(axes, [None] * len(axes), np.zeros_like(words), ~usable)
            words = words * np.where(usable, length, counted)
    return words
