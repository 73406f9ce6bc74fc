"""Zeros that are skipped only in whole blocks of consecutive words, as a tile-based sparse GEMM does.

A block is worked off unless all its words are zero. Compaction packs the nonzeros of every row (the last dimension of
more than one step) to its front first, so that a row of z nonzeros takes ceil(z / block) blocks.
"""

from __future__ import annotations

import math

import numpy as np

from mapper.sparsity.density import Exactly, Uniform
from mapper.sparsity.known import Actual, Placed, block_sums
from mapper.sparsity.model import Density, Shape


def kept_share(density: Density, shape: Shape, block: int, compaction: bool = False) -> tuple[float, float]:
    """(words that are worked off, words of the tensor), the latter 1 where an expectation is all there is."""
    if block == 1 or all(extent == 1 for extent in shape):
        known = isinstance(density, Placed)
        return (float(density.nonzeros), float(density.size)) if known else (density.mean, 1.0)  # type: ignore[attr-defined]
    if not isinstance(density, Uniform | Exactly | Placed):
        # Clumps and patterns are counted on a draw.
        density = Actual(density.mask(shape, np.random.default_rng(0)))
    row = next((extent for extent in reversed(shape) if extent > 1), 1)
    length = row if compaction else math.prod(shape)
    if isinstance(density, Placed):
        lines = density.array.reshape(-1, length)
        sums = block_sums(lines, (1, length) if compaction else (1, block))
        blocks = -(-sums // block) if compaction else (sums > 0).astype(np.int64)
        return float(min(int(blocks.sum()) * block, density.size)), float(density.size)
    if not compaction:
        return 1.0 - density.empty((min(block, length),)), 1.0
    found = density.distribution((row,))
    counts = found.first + np.arange(len(found.chances))
    worked = float((-(-counts // block) * block) @ found.chances) / row
    return min(1.0, worked), 1.0
