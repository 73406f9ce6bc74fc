"""Cycles: compute, and every port of every buffer of the busiest instance; the largest of these is the latency.

Steady state with double buffering: loads, compute and write-back overlap. `fill_drain_cycles`, what the first loads
and the last write-back add to that, is reported beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from mapper.arch.accelerator import Accelerator, Buffer
from mapper.cost.network import Networks
from mapper.cost.precision import Precision
from mapper.counts.instance import Words, instance_words, paths
from mapper.counts.traffic import Action, Sharing
from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.zeros import Moves

PORTS: dict[str, tuple[Action, ...]] = {
    "read": ("reads", "drains"),
    "write": ("fills", "updates"),
    "shared": ("reads", "drains", "fills", "updates"),
}
"""Which actions each port carries."""

LARGEST = 2**62
"""Sums of bits stay below it, so that 63-bit integers hold them."""


def sharing_of(accelerator: Accelerator) -> Sharing:
    """Which axes of the accelerator's fan-outs multicast."""
    return Sharing(tuple((level.fanout.x.multicast, level.fanout.y.multicast) for level in accelerator.levels))


def port_bandwidths(buffer: Buffer) -> Iterator[tuple[str, Fraction]]:
    """Limited ports of a buffer and their bits per cycle."""
    for port, bandwidth in (
        ("read", buffer.read_bandwidth),
        ("write", buffer.write_bandwidth),
        ("shared", buffer.shared_bandwidth),
    ):
        if bandwidth is not None:
            yield port, bandwidth


def cycles_by_bound(networks: Networks, compute: Ints) -> dict[str, Ints]:
    """Cycles each resource needs: "compute" first, then `BUFFER port` and `LEVEL_network`, outermost level first.

    A port of a sparse tensor carries the mean of its instances: dense words of the busiest one times bits per word.
    """
    bounds = {"compute": compute}
    precision, moves, sharing = networks.precision, networks.moves, networks.sharing
    geometry, accelerator = precision.geometry, precision.accelerator
    for index, level in enumerate(accelerator.levels):
        limited = [b for b in level.buffers if any(port_bandwidths(b))]
        if limited:
            instances = [instance_words(geometry, index, p, sharing) for p in paths(geometry, index)]
            for buffer in limited:
                for port, bandwidth in port_bandwidths(buffer):
                    bits = [_port_bits(words, buffer, port, index, precision, moves) for words in instances]
                    bounds[f"{buffer.name} {port}"] = ceil_divide(np.max(bits, axis=0), bandwidth)
    for component, carried, bandwidth in networks.busiest():
        bounds[component] = ceil_divide(carried, bandwidth)
    return bounds


def _port_bits(words: Words, buffer: Buffer, port: str, level: int, precision: Precision, moves: Moves) -> Ints:
    """Bits through one port of one instance."""
    geometry = precision.geometry
    total = geometry.ones * 0
    for tensor in geometry.nests.einsum.tensors:
        if tensor.role not in buffer.roles:
            continue
        for action in PORTS[port]:
            moved = words.get((tensor.name, action))
            if moved is not None and (action != "drains" or buffer.drain_on_read_port):
                bits = precision.moved_bits(tensor, level, action, moved, words.get(("|Z|", "updates"), 0))
                total = total + moves.moved(level, tensor, action, moved, bits)[1]
    # A part of a bit takes a bit.
    return np.ceil(total).astype(np.int64) if total.dtype.kind == "f" else total


def ceil_divide(bits: Ints, bandwidth: Fraction) -> Ints:
    """Cycles to move `bits` at `bandwidth` bits per cycle, rounded up, exactly."""
    most = int(bits.max(initial=0))
    if most >= LARGEST * bandwidth:
        raise InputError(
            f"the cycles of {most} bits at {float(bandwidth):.4g} bits per cycle do not fit 63-bit integers"
        )
    if most * bandwidth.denominator >= LARGEST:
        # The product on the way does not fit: a third of a word per cycle has a long decimal.
        top, bottom = bandwidth.numerator, bandwidth.denominator
        return np.array([-(-moved * bottom // top) for moved in bits.tolist()], dtype=np.int64)
    if most == 0 or bandwidth.numerator >= LARGEST:
        # One cycle for whatever moves; the bandwidth itself may be a fraction that NumPy has no integers for.
        return np.minimum(bits, 1)
    return -(-bits * bandwidth.denominator // bandwidth.numerator)
