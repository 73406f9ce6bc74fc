"""Energy by component, tensor and action, in picojoules; area by component.

Each action of a buffer costs its picojoules per bit times the bits moved; each point costs one MAC; leakage runs for
all instances, used or not, during all cycles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapper.arch.accelerator import Accelerator, Energies, Fanout
from mapper.arch.network import SUFFIX, Network
from mapper.cost.network import Networks, networks
from mapper.cost.precision import Precision
from mapper.counts.traffic import ACTIONS, Action, Traffic
from mapper.errors import InputError
from mapper.interconnect.topology import inventory
from mapper.mapping.loopnest import Ints
from mapper.sparsity.zeros import Moves, whole

Floats = NDArray[np.float64]

OVERHEAD = "zeros"
"""The component that stands for all units that handle zeros."""


@dataclass(frozen=True)
class Charge:
    """What one (component, tensor, action) costs, per mapping: words (or events), bits and picojoules.

    Words and bits are integers, or expectations where zeros are known as densities only.
    """

    count: Ints
    bits: Ints
    energy_pj: Floats


ChargeKey = tuple[str, str, str]


def action_energy(energies: Energies, action: Action) -> float:
    """Picojoules per bit of an action: fills and updates are writes."""
    table = {"reads": energies.read, "fills": energies.write, "updates": energies.write, "drains": energies.drain}
    return table[action]


def charges(
    traffic: Traffic, precision: Precision, distinct: int, cycles: Ints, moves: Moves, paths: Networks
) -> dict[ChargeKey, Charge]:
    """Every charge of every mapping, components outermost first, in a fixed order; `distinct` is |Z| in words."""
    geometry, accelerator = precision.geometry, precision.accelerator
    einsum = geometry.nests.einsum
    out: dict[ChargeKey, Charge] = {}
    for index, level in enumerate(accelerator.levels):
        for tensor in einsum.tensors:
            for action in ACTIONS:
                words = traffic.words.get((index, tensor.name, action))
                if words is not None:
                    buffer = level.buffer(tensor)
                    bits = precision.moved_bits(tensor, index, action, words, distinct)
                    words, bits = moves.moved(index, tensor, action, words, bits)
                    energy = _picojoules(bits, action_energy(buffer.energies, action))
                    out[buffer.name, tensor.name, action] = Charge(words, bits, energy)
    for stream in paths.streams(free=False):
        key = stream.level + SUFFIX, stream.crossing.tensor.name, stream.action
        out[key] = Charge(whole(stream.words), whole(stream.bits), stream.energy_pj)
    points = np.full(geometry.rows, moves.effectual_points)
    none = np.zeros(geometry.rows, dtype=np.int64)
    out[accelerator.compute.name, "", "points"] = Charge(
        points, none, _picojoules(points, accelerator.compute.energy_pj)
    )
    for name, each in leakages_pj_per_cycle(accelerator).items():
        out[name, "", "leakage"] = Charge(cycles, none, _picojoules(cycles, each))
    if moves.zeros.overhead_energy:
        outside = {buffer.name for buffer in accelerator.levels[0].buffers}
        inside = total(charge.energy_pj for (component, _, _), charge in out.items() if component not in outside)
        out[OVERHEAD, "", "overhead"] = Charge(none, none, inside * moves.zeros.overhead_energy)
    return out


def total(energies: Iterable[Floats]) -> Floats:
    """Sum of energies, to the last digit whatever their order: mappings that swap two tensors alike cost the same.

    Carries what each addition rounds away (Knuth's two-sum); the sum of any number of rows is that of each.
    """
    out, lost = np.zeros(1), np.zeros(1)
    for energy in energies:
        summed = out + energy
        added = summed - out
        lost = lost + ((out - (summed - added)) + (energy - added))
        out = summed
    return np.asarray(out + lost)


def _picojoules(amount: Ints, each: float) -> Floats:
    return np.asarray(amount * each, dtype=np.float64)


def leakages_pj_per_cycle(accelerator: Accelerator) -> dict[str, float]:
    """Leakage of all instances of each component that leaks; a milliwatt is a picojoule per nanosecond."""
    milliwatts = {
        buffer.name: buffer.leakage_mw * instances
        for level, instances in zip(accelerator.levels, accelerator.instances, strict=False)
        for buffer in level.buffers
    }
    milliwatts[accelerator.compute.name] = accelerator.compute.leakage_mw * accelerator.pes
    leaking = {name: power for name, power in milliwatts.items() if power > 0}
    if not leaking:
        return {}
    if accelerator.clock_ghz is None:
        raise InputError(f"{accelerator.name}: {', '.join(leaking)} leaks, which needs a clock", hint="clock_ghz")
    return {name: power / accelerator.clock_ghz for name, power in leaking.items()}


def area_um2(accelerator: Accelerator) -> dict[str, float | None]:
    """Area of all instances of each component in square micrometres; None where the spec does not know it."""
    areas: dict[str, float | None] = {}
    for level, instances in zip(accelerator.levels, accelerator.instances, strict=False):
        for buffer in level.buffers:
            areas[buffer.name] = None if buffer.area_um2 is None else buffer.area_um2 * instances
    for index, level, network in networks(accelerator):
        area = _network_area(network, level.fanout)
        areas[level.name + SUFFIX] = None if area is None else area * accelerator.instances[index]
    unit = accelerator.compute.area_um2
    areas[accelerator.compute.name] = None if unit is None else unit * accelerator.pes
    return areas


def chip_area_um2(accelerator: Accelerator) -> float | None:
    """Area of everything below the outermost level, units for zeros included; None where some of it is not known."""
    outside = {buffer.name for buffer in accelerator.levels[0].buffers}
    areas = [area for name, area in area_um2(accelerator).items() if name not in outside]
    if any(area is None for area in areas):
        return None
    added = accelerator.zeros.overhead_area if accelerator.zeros else 0.0
    return (1 + added) * math.fsum(area for area in areas if area is not None)


def _network_area(network: Network, fanout: Fanout) -> float | None:
    """Of one network: its wires, as wide as a link, and its switches."""
    if network.wire_um2_per_bit_mm is None or network.switch_um2 is None or network.link_bits is None:
        return None
    tiles, switches = inventory(network.topology, fanout)
    wires = tiles * network.tile_mm * network.link_bits * network.wire_um2_per_bit_mm
    return wires + switches * network.switch_um2
