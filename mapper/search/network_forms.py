"""What the networks of fan-outs cost at least, in the words that `mapper.search.forms` knows.

Every word that a level serves passes each network on its way once or more, and arrives at each child that takes it;
how far it goes, and over how many rows and columns, is left out, as are partial sums that come back.
"""

from __future__ import annotations

from collections.abc import Iterator

from mapper.arch.accelerator import Accelerator, Level
from mapper.arch.network import Network
from mapper.cost.network import networks
from mapper.interconnect.topology import Topology, topologies
from mapper.search.forms import Flow, Form, Keeps, Key, Side, Widths, energy_form, flows, port_forms, priced
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload.einsum import Einsum


def bound_forms(einsum: Einsum, accelerator: Accelerator, keeps: Keeps, sparsity: Sparsity = DENSE) -> tuple[Form, ...]:
    """Energy, leakage apart, then the cycles of every limited port and link: each at least."""
    energy = energy_form(einsum, accelerator, keeps, sparsity)
    ports = port_forms(einsum, accelerator, keeps, sparsity)
    if not networks(accelerator):
        return energy, *ports
    widths, weights = Widths(einsum, accelerator, keeps, sparsity), dict(energy.weights)
    constant = energy.constant + _energy(einsum, priced(accelerator), keeps, widths, weights)
    return Form(constant, weights), *ports, *_links(einsum, accelerator, keeps, widths)


def _energy(einsum: Einsum, accelerator: Accelerator, keeps: Keeps, widths: Widths, weights: dict[Key, float]) -> float:
    """Add picojoules per word to `weights`; returns those of words that are always as many."""
    constant = 0.0
    for flow in flows(einsum, keeps):
        bits = _bits(einsum, flow, widths)
        for index, level, network in networks(accelerator):
            if not flow.parent <= index < flow.level:
                continue
            sent, arriving = min(_prices(network, topology) for topology in _ways(level, network))
            weights[flow, Side.served] = weights.get((flow, Side.served), 0.0) + bits * sent
            if flow.parent < index or flow.level > index + 1:
                # A word arrives at one child or more; of further levels `entered` counts the children.
                weights[flow, Side.served] += bits * arriving
            elif flow.level == len(keeps):
                constant += bits * arriving * einsum.points
            else:
                weights[flow, Side.entered] = weights.get((flow, Side.entered), 0.0) + bits * arriving
    return constant


def _ways(level: Level, network: Network) -> list[Topology]:
    """How a word may go: a bus is one of three."""
    every = topologies(level.fanout)
    names = [name for name in every if name.endswith("bus")] if network.topology == "bus" else [network.topology]
    return [every[name] for name in names]


def _prices(network: Network, topology: Topology) -> tuple[float, float]:
    """Picojoules per bit at least: of a word sent, and of each child that it arrives at."""
    sent = network.picojoules(*(w.all + w.rows + w.columns for w in (topology.hops, topology.tiles)))
    return sent, network.picojoules(topology.hops.each, topology.tiles.each)


def _bits(einsum: Einsum, flow: Flow, widths: Widths) -> float:
    """Of a word on its way, at least."""
    final = widths.accelerator.operand_bits(flow.tensor)
    if flow.tensor is not einsum.output:
        return widths.at_parent(flow, "reads", final)
    return widths.at_parent(flow, "updates", min(final, widths.accelerator.partial_sum_bits))


def _links(einsum: Einsum, accelerator: Accelerator, keeps: Keeps, widths: Widths) -> Iterator[Form]:
    """Cycles of the parent's links, of networks that have them: the mean instance carries no more than the busiest."""
    for index, level, network in networks(accelerator):
        if network.link_bits_per_cycle is None or network.topology not in ("mesh", "crossbar", "tree"):
            continue
        rows = level.fanout.y.lanes if network.topology == "tree" else 1
        share = 1.0 / (float(network.link_bits_per_cycle) * accelerator.instances[index] * rows)
        for upward in (False, True):
            mine = [
                f for f in flows(einsum, keeps) if f.parent <= index < f.level and (f.tensor is einsum.output) is upward
            ]
            yield Form(0.0, {(flow, Side.served): _bits(einsum, flow, widths) * share for flow in mine})
