"""Cycles before the first and after the last step of steady state, reported beside the latency.

Before compute can start, each level reads the first tiles of its children; after it ends, each level writes their
last tile. Levels do this one after the other, each as fast as its own port allows; unlimited ports take no time.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mapper.arch.accelerator import Accelerator, Buffer
from mapper.cost.latency import ceil_divide, port_bandwidths, sharing_of
from mapper.cost.precision import Precision
from mapper.counts.geometry import Geometry
from mapper.counts.instance import pinned
from mapper.counts.padding import sent
from mapper.counts.traffic import Sharing, kept_levels
from mapper.mapping.loopnest import Ints
from mapper.sparsity.zeros import Moves
from mapper.workload.einsum import Tensor


def fill_drain_cycles(geometry: Geometry, accelerator: Accelerator, moves: Moves) -> int:
    """Cycles to load the first tiles and to write back the last one, summed over levels, for the first mapping."""
    total = 0
    for index, level in enumerate(accelerator.levels):
        for buffer in (b for b in level.buffers if any(port_bandwidths(b))):
            total += _first_load(geometry, accelerator, index, buffer, moves)
            total += _last_store(geometry, accelerator, index, buffer, moves)
    return total


def _first_load(geometry: Geometry, accelerator: Accelerator, level: int, buffer: Buffer, moves: Moves) -> int:
    bits = geometry.ones * 0
    for tensor in geometry.nests.einsum.operands:
        if tensor.role in buffer.roles:
            words = _exchanged(geometry, tensor, level, sharing_of(accelerator))
            if words is not None:
                _, moved = moves.moved(level, tensor, "fills", words, words * accelerator.operand_bits(tensor))
                bits = bits + np.ceil(moved).astype(np.int64)
    return _cycles(bits, buffer, "read")


def _last_store(geometry: Geometry, accelerator: Accelerator, level: int, buffer: Buffer, moves: Moves) -> int:
    output = geometry.nests.einsum.output
    if output.role not in buffer.roles:
        return 0
    words = _exchanged(geometry, output, level, Sharing.everywhere(geometry.nests.level_count))
    partial = Precision(geometry, accelerator).reduced_above(level)
    bits = np.where(partial, accelerator.partial_sum_bits, accelerator.operand_bits(output))
    if words is None:
        return 0
    _, moved = moves.moved(level, output, "fills", words, words * bits)
    return _cycles(np.ceil(moved).astype(np.int64), buffer, "write")


def _exchanged(geometry: Geometry, tensor: Tensor, level: int, sharing: Sharing) -> Ints | None:
    """Words of one step between the first instance of `level` and the next level below that keeps `tensor`."""
    kept = kept_levels(geometry.nests, tensor)
    below = [k for k in kept if k > level]
    if level not in kept or not below:
        return None
    chosen = pinned(geometry, level, frozenset(), below[0], sharing)
    return sent(geometry, tensor, level, below[0], chosen, first_step=True)


def _cycles(bits: Ints, buffer: Buffer, port: str) -> int:
    """Cycles for `bits` through one port, or the shared one."""
    limits = dict(port_bandwidths(buffer))
    bandwidth: Fraction | None = limits.get(port, limits.get("shared"))
    return 0 if bandwidth is None else int(ceil_divide(bits, bandwidth)[0])
