"""What the networks of fan-outs cost at least, in the words that `mapper.search.forms` knows.

Every word that a level serves passes each network on its way, as far as lanes say (`mapper.search.ways`), and arrives
at each child that takes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from mapper.arch.accelerator import Accelerator
from mapper.cost.energy import Floats
from mapper.cost.network import networks
from mapper.interconnect.topology import topologies
from mapper.search.forms import (
    Flow,
    Form,
    Keeps,
    Key,
    Side,
    Widths,
    energy_form,
    flows,
    output_words,
    port_forms,
    priced,
)
from mapper.search.ways import Ways
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload.einsum import Einsum

Weights = defaultdict[Key, float | Floats]


def bound_forms(
    einsum: Einsum, accelerator: Accelerator, keeps: Keeps, sparsity: Sparsity = DENSE, ways: Ways | None = None
) -> tuple[Form, ...]:
    """Energy, leakage apart, then the cycles of every limited port and link: each at least.

    With `ways`, weights are arrays over classes of lanes where how far a word goes depends on them.
    """
    energy = energy_form(einsum, accelerator, keeps, sparsity)
    ports = port_forms(einsum, accelerator, keeps, sparsity)
    if ways is None or not networks(accelerator):
        return energy, *ports
    weights: Weights
    widths, weights = Widths(einsum, accelerator, keeps, sparsity), defaultdict(float, energy.weights)
    chip = priced(accelerator)
    constant = energy.constant + _energy(einsum, chip, keeps, widths, weights, ways)
    constant = constant + _returned(einsum, chip, keeps, widths, weights, ways)
    return Form(constant, weights), *ports, *_links(einsum, accelerator, keeps, widths)


def _energy(
    einsum: Einsum,
    accelerator: Accelerator,
    keeps: Keeps,
    widths: Widths,
    weights: Weights,
    ways: Ways,
) -> float | Floats:
    """Add picojoules per word to `weights`; returns those of words that are always as many."""
    constant: float | Floats = 0.0
    for flow in flows(einsum, keeps):
        bits = _bits(einsum, flow, widths)
        for index, level, network in networks(accelerator):
            if not flow.parent <= index < flow.level or not network.picojoules(1, 1):
                continue
            # Children of further levels are not counted: a word arrives at one child or more.
            alone = flow.parent == index and flow.level == index + 1
            sent = ways.picojoules(flow.tensor, index, network, alone)
            weights[flow, Side.served] = weights[flow, Side.served] + bits * sent
            each = topologies(level.fanout).get(network.topology)
            if alone and each is not None:
                arriving = bits * network.picojoules(each.hops.each, each.tiles.each)
                if flow.level == widths.levels:
                    constant += arriving * einsum.points
                else:
                    weights[flow, Side.entered] = weights[flow, Side.entered] + arriving
    return constant


def _returned(
    einsum: Einsum,
    accelerator: Accelerator,
    keeps: Keeps,
    widths: Widths,
    weights: Weights,
    ways: Ways,
) -> float | Floats:
    """The same of partial sums that come back: `served - z(parent)` (see `forms`), where z of a parent is |Z| plus
    `entered - served` of every flow above."""
    constant: float | Floats = 0.0
    above: list[Flow] = []
    for flow in (f for f in flows(einsum, keeps) if f.tensor == einsum.output and f.level < widths.levels):
        bits = widths.at_parent(flow, "reads", accelerator.partial_sum_bits)
        passed = [n for n in networks(accelerator) if flow.parent <= n[0] < flow.level and n[2].picojoules(1, 1)]
        each = sum((bits * ways.back(flow.tensor, index, network) for index, _, network in passed), start=0.0)
        if passed:
            constant = constant - output_words(einsum) * each
            for mine in (flow, *above):
                weights[mine, Side.served] = weights[mine, Side.served] + each
            for outer in above:
                weights[outer, Side.entered] = weights[outer, Side.entered] - each
        above.append(flow)
    return constant


def _bits(einsum: Einsum, flow: Flow, widths: Widths) -> float:
    """Of a word on its way, at least."""
    final = widths.accelerator.operand_bits(flow.tensor)
    if flow.tensor != einsum.output:
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
                f for f in flows(einsum, keeps) if f.parent <= index < f.level and (f.tensor == einsum.output) is upward
            ]
            yield Form(0.0, {(flow, Side.served): _bits(einsum, flow, widths) * share for flow in mine})
