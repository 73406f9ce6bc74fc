"""Energy and port cycles as sums of words: what a bound on words says about cost.

A *flow* is one tensor on its way from a level that keeps it to the next that does, or to compute. Of each flow two
counts matter: words *served* (a word that several children take at once is read once) and words *entered* (each
child's counted). Every cost is linear in them: for operands reads are served and fills entered; for the accumulated
tensor updates are served, drains entered, and refills follow from both (`mapper.counts.traffic`).

Where the width of a word depends on the loops (final or partial sums), the smaller one is taken: a form is exact or
too low, never too high. Zeros scale the bits of a word (`mapper.sparsity.zeros.Moves`), which keeps costs linear.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache

from mapper.arch.accelerator import Accelerator, Energies, Fanout, Level
from mapper.cost.batch import moves_of
from mapper.cost.energy import Floats, leakages_pj_per_cycle
from mapper.cost.latency import port_bandwidths
from mapper.counts.traffic import Action
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload.einsum import Einsum, Tensor

Keeps = tuple[frozenset[str], ...]


class Side(IntEnum):
    """Which count of a flow: words read once for all that take them, or by each."""

    served = 0
    entered = 1


@dataclass(frozen=True)
class Flow:
    """A tensor between `parent` and `level`, both of which keep it; past the last level is compute."""

    name: str
    parent: int
    level: int
    tensor: Tensor = field(compare=False)


Key = tuple[Flow, Side]


@dataclass(frozen=True)
class Form:
    """`constant + sum of weight * words`; what depends on lanes is an array over their classes."""

    constant: float | Floats
    weights: Mapping[Key, float | Floats]

    def of(self, flow: Flow) -> tuple[float | Floats, float | Floats]:
        """Weights of the words served and entered."""
        return self.weights.get((flow, Side.served), 0.0), self.weights.get((flow, Side.entered), 0.0)

    def under(self, lanes: int) -> Form:
        """The form under one class of lanes."""
        weights = {key: w if isinstance(w, float) else float(w[lanes]) for key, w in self.weights.items()}
        constant = self.constant if isinstance(self.constant, float) else float(self.constant[lanes])
        return Form(constant, weights)


def flows(einsum: Einsum, keeps: Keeps) -> tuple[Flow, ...]:
    """Every flow under the kept tensors, tensors in order, outermost first."""
    out = []
    for tensor in einsum.tensors:
        kept = [level for level, names in enumerate(keeps) if level == 0 or tensor.name in names]
        out += [Flow(tensor.name, a, b, tensor) for a, b in itertools.pairwise([*kept, len(keeps)])]
    return tuple(out)


def _only_padding(einsum: Einsum, flow: Flow) -> bool:
    """Whether level 0 serves nothing of an operand: a rank that never moves stands on padding."""
    if flow.parent or flow.tensor == einsum.output:
        return False
    for place, rank in enumerate(flow.tensor.ranks):
        window = flow.tensor.window(place)
        if window and all(einsum.extent[t.dimension] == 1 for t in rank) and not window[0] <= 0 < window[1]:
            return True
    return False


def output_words(einsum: Einsum) -> int:
    """|Z|: distinct words of the accumulated tensor."""
    words = 1
    for dimension in einsum.output.dimensions:
        words *= einsum.extent[dimension]
    return words


@lru_cache(maxsize=64)
def priced(accelerator: Accelerator) -> Accelerator:
    """The accelerator with the energy of its units for zeros spread over everything on the chip."""
    if accelerator.zeros is None or not accelerator.zeros.overhead_energy:
        return accelerator
    factor = 1.0 + accelerator.zeros.overhead_energy
    levels: list[Level] = []
    for level in accelerator.levels:
        buffers = level.buffers
        if levels:
            buffers = tuple(
                replace(b, energies=_times(b.energies, factor), leakage_mw=b.leakage_mw * factor) for b in buffers
            )
        levels.append(replace(level, buffers=buffers, fanout=_network_times(level.fanout, factor)))
    unit = accelerator.compute
    compute = replace(unit, energy_pj=unit.energy_pj * factor, leakage_mw=unit.leakage_mw * factor)
    return replace(accelerator, levels=tuple(levels), compute=compute)


def _times(energies: Energies, factor: float) -> Energies:
    return replace(energies, read=energies.read * factor, write=energies.write * factor, drain=energies.drain * factor)


def _network_times(fanout: Fanout, factor: float) -> Fanout:
    network = fanout.network
    if network is None:
        return fanout
    switch, wire = network.switch_pj_per_bit * factor, network.wire_pj_per_bit_mm * factor
    return replace(fanout, network=replace(network, switch_pj_per_bit=switch, wire_pj_per_bit_mm=wire))


class Widths:
    """Bits per dense word of every movement: what zeros leave of it, and metadata."""

    def __init__(self, einsum: Einsum, accelerator: Accelerator, keeps: Keeps, sparsity: Sparsity = DENSE) -> None:
        self.accelerator, self.levels = accelerator, len(accelerator.levels)
        self.moves = moves_of(einsum, accelerator, sparsity, keeps)

    def at_parent(self, flow: Flow, action: Action, bits: float) -> float:
        """Of a word of `bits` read from the flow's parent, or updated there."""
        return self._width(flow.parent, flow.tensor, action, flow.level == self.levels, bits)

    def at_level(self, flow: Flow, action: Action, bits: float) -> float:
        """Of a word of `bits` filled into the flow's level, or drained from it."""
        return self._width(flow.level, flow.tensor, action, False, bits)

    def _width(self, level: int, tensor: Tensor, action: Action, for_compute: bool, bits: float) -> float:
        scale = self.moves.scale(level, tensor, action, for_compute)
        return bits if scale is None else scale.width(bits)


def energy_form(einsum: Einsum, accelerator: Accelerator, keeps: Keeps, sparsity: Sparsity = DENSE) -> Form:
    """Picojoules, leakage apart."""
    widths, accelerator = Widths(einsum, accelerator, keeps, sparsity), priced(accelerator)
    weights: dict[Key, float] = defaultdict(float)
    constant = widths.moves.effectual_points * accelerator.compute.energy_pj
    levels = accelerator.levels
    for flow in flows(einsum, keeps):
        if flow.tensor != einsum.output:
            bits = accelerator.operand_bits(flow.tensor)
            served = 0 if _only_padding(einsum, flow) else widths.at_parent(flow, "reads", bits)
            weights[flow, Side.served] += served * levels[flow.parent].buffer(flow.tensor).energies.read
            if flow.level < len(levels):
                filled = widths.at_level(flow, "fills", bits)
                weights[flow, Side.entered] += filled * levels[flow.level].buffer(flow.tensor).energies.write
    constant += _output_energy(einsum, accelerator, keeps, weights, widths)
    return Form(constant, dict(weights))


def _output_energy(
    einsum: Einsum, accelerator: Accelerator, keeps: Keeps, weights: dict[Key, float], widths: Widths
) -> float:
    """Add the weights of the accumulated tensor; returns its constant.

    A flow's refills are `served - z(parent)`, where z(parent) is |Z| plus `entered - served` of every flow above.
    """
    tensor, levels, distinct = einsum.output, accelerator.levels, output_words(einsum)
    final, partial = accelerator.operand_bits(tensor), accelerator.partial_sum_bits
    constant = 0.0
    above: list[Flow] = []
    for flow in (f for f in flows(einsum, keeps) if f.tensor == tensor):
        parent = levels[flow.parent].buffer(tensor).energies
        update = widths.at_parent(flow, "updates", partial)
        narrower = update - widths.at_parent(flow, "updates", final)
        narrower = max(narrower, 0) if flow.parent else narrower
        refill = widths.at_parent(flow, "reads", partial) * parent.read
        if flow.level < len(levels):
            child = levels[flow.level].buffer(tensor).energies
            refill += widths.at_level(flow, "fills", partial) * child.write
            weights[flow, Side.entered] += widths.at_level(flow, "drains", min(final, partial)) * child.drain
        weights[flow, Side.served] += update * parent.write + refill
        constant -= distinct * (narrower * parent.write + refill)
        for outer in above:
            weights[outer, Side.entered] -= refill
            weights[outer, Side.served] += refill
        above.append(flow)
    return constant


def leakage_pj_per_cycle(accelerator: Accelerator) -> float:
    """Leakage of everything, used or not."""
    return sum(leakages_pj_per_cycle(accelerator).values())


def port_forms(einsum: Einsum, accelerator: Accelerator, keeps: Keeps, sparsity: Sparsity = DENSE) -> tuple[Form, ...]:
    """Cycles of every limited port, at least: the mean over instances, and refills only where they are certain."""
    out = []
    widths = Widths(einsum, accelerator, keeps, sparsity)
    for index, level in enumerate(accelerator.levels):
        for buffer in level.buffers:
            for port, bandwidth in port_bandwidths(buffer):
                constant, weights = 0.0, dict[Key, float]()
                share = 1.0 / (float(bandwidth) * accelerator.instances[index])
                for key, bits in _port_bits(einsum, keeps, index, port, widths):
                    if key[0].tensor.role in buffer.roles and bits > 0:
                        weights[key] = weights.get(key, 0.0) + bits * share
                if index == 0 and einsum.output.role in buffer.roles:
                    constant = _first_visits(einsum, keeps, port, widths) * share
                if weights:
                    out.append(Form(constant, weights))
    return tuple(out)


def _port_bits(einsum: Einsum, keeps: Keeps, level: int, port: str, widths: Widths) -> Iterator[tuple[Key, float]]:
    """Bits per word that a port of `level` carries for each count."""
    reads, writes = port in ("read", "shared"), port in ("write", "shared")
    accelerator = widths.accelerator
    for flow in flows(einsum, keeps):
        final, partial = accelerator.operand_bits(flow.tensor), accelerator.partial_sum_bits
        accumulated = flow.tensor == einsum.output
        if flow.parent == level:
            if not accumulated:
                yield (
                    (flow, Side.served),
                    widths.at_parent(flow, "reads", final) * reads * (not _only_padding(einsum, flow)),
                )
            elif level == 0:
                yield (flow, Side.served), sum(_updated_and_read(flow, partial, reads, writes, widths))
            else:
                yield (flow, Side.served), widths.at_parent(flow, "updates", min(final, partial)) * writes
        if flow.level == level and not accumulated:
            yield (flow, Side.entered), widths.at_level(flow, "fills", final) * writes


def _updated_and_read(flow: Flow, bits: int, reads: bool, writes: bool, widths: Widths) -> tuple[float, float]:
    return widths.at_parent(flow, "updates", bits) * writes, widths.at_parent(flow, "reads", bits) * reads


def _first_visits(einsum: Einsum, keeps: Keeps, port: str, widths: Widths) -> float:
    """Bits at level 0 that `served` counts too many: first visits read nothing, last updates are final."""
    accelerator = widths.accelerator
    final, partial = accelerator.operand_bits(einsum.output), accelerator.partial_sum_bits
    reads, writes = port in ("read", "shared"), port in ("write", "shared")
    flow = next(f for f in flows(einsum, keeps) if f.tensor == einsum.output)
    wide, narrow = (_updated_and_read(flow, bits, reads, writes, widths) for bits in (partial, final))
    return -output_words(einsum) * (wide[1] + wide[0] - narrow[0])
