"""The network below one level of a mapping: the flows through it as a table, and the links they load as a graph."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from mapper.arch import Accelerator, Level
from mapper.arch.network import TOPOLOGIES, Network
from mapper.cost import Evaluation
from mapper.cost.batch import networks_of
from mapper.cost.network import COLLECTED, RETURNED, Networks, Stream
from mapper.cost.passages import used_lanes
from mapper.cost.precision import Precision
from mapper.cost.single import number
from mapper.counts.geometry import Geometry
from mapper.errors import InputError, did_you_mean, expect
from mapper.interconnect.carried import Crossing
from mapper.interconnect.degree import largest_group
from mapper.interconnect.graph import Load, network_graph
from mapper.interconnect.links import LINKS, Flow, link_words
from mapper.interconnect.patterns import Lane, Pattern, pattern_of
from mapper.interconnect.topology import carriers, topologies
from mapper.mapping import format_loop
from mapper.search.result import Ranked

if TYPE_CHECKING:
    import networkx as nx

NO_NETWORK = "add `network: {topology: mesh, ...}` to its fanout, or choose a topology here: " + ", ".join(TOPOLOGIES)


@dataclass(frozen=True)
class Travel:
    """One tensor in one direction (`action`: sent, collected, returned) through the network, all instances together.

    `words` put into the network and `pairs`, those times the children they go to or come from; `degree_mean` and
    `degree_max` children of a word. `bits` put in, `bit_hops` (bits times switches passed) and `energy_pj`, None where
    the spec gives no energies. `link`: the kind of links that carries most of it, with the `link_bits` of the busiest
    one of the first instance and the `link_cycles` they take, None where links are not limited.
    """

    tensor: str
    action: str
    pattern: Pattern
    words: int | float
    pairs: int | float
    degree_mean: float
    degree_max: int
    bits: int | float
    bit_hops: int | float
    energy_pj: float | None
    link: str
    link_bits: int | float
    link_cycles: int | None

    def row(self) -> dict[str, str | int | float | None]:
        """Plain values, for tables."""
        plain = {name: value for name, value in vars(self).items() if name not in ("tensor", "action", "pattern")}
        axes = {axis: lane_text(lane) for axis, lane in (("x", self.pattern.x), ("y", self.pattern.y))}
        return {"tensor": self.tensor, "direction": self.action, "pattern": self.kind, **axes, **plain}

    @property
    def kind(self) -> str:
        """The pattern; a partial sum that comes back goes to one child."""
        return "refill" if self.action == RETURNED else self.pattern.kind


@dataclass(frozen=True)
class NetworkView:
    """The network below a level: what the spec gives, or the topology that was asked for (`priced`: with energies)."""

    evaluation: Evaluation
    level: int
    network: Network
    priced: bool
    paths: Networks

    @property
    def name(self) -> str:
        """Of the level."""
        return self._level.name

    @property
    def given(self) -> bool:
        """Whether the network is the one of the spec."""
        return self.network == self._level.fanout.network

    @property
    def _level(self) -> Level:
        return self.evaluation.accelerator.levels[self.level]

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of children."""
        return self._level.fanout.x.lanes, self._level.fanout.y.lanes

    @property
    def children(self) -> tuple[str, str]:
        """What one child and several are called: PEs where each has one compute unit."""
        inner = self.evaluation.accelerator.levels[self.level + 1 :]
        return ("PE", "PEs") if all(level.fanout.lanes == 1 for level in inner) else ("child", "children")

    @property
    def used(self) -> tuple[int, int]:
        """Columns and rows that loops are spread over."""
        return used_lanes(self._geometry, self.level)

    @property
    def instances(self) -> int:
        """Networks of this kind that have work: the lanes in use above the level."""
        slots = zip(self._geometry.nests.slots, self._geometry.factors[:, 0].tolist(), strict=True)
        return math.prod(factor for slot, factor in slots if slot.kind != "t" and slot.level < self.level)

    @property
    def _geometry(self) -> Geometry:
        return self.paths.geometry

    @cached_property
    def travels(self) -> tuple[Travel, ...]:
        """Every tensor in every direction, operands first."""
        return tuple(self._travel(stream) for stream in self.paths.streams())

    def _travel(self, stream: Stream) -> Travel:
        sent, each = int(stream.carried.all[0]), int(stream.carried.each[0])
        share, bits = self._word(stream.crossing, stream.action)
        carrier, flow = self._carrier(stream.crossing), self._flow(stream)
        most = number(bits * max(int(link_words(flow, links).max()) for links in LINKS[carrier]))
        rate = self.network.link_bits_per_cycle
        return Travel(
            tensor=stream.crossing.tensor.name,
            action=stream.action,
            pattern=pattern_of(self._geometry, self.level, stream.crossing.tensor),
            words=number(float(stream.words[0])),
            pairs=number(each * share),
            degree_mean=each / sent if sent else 0.0,
            degree_max=self._degree(stream),
            bits=number(float(stream.bits[0])),
            bit_hops=number(float(stream.bit_hops[0])),
            energy_pj=float(stream.energy_pj[0]) if self.priced else None,
            link=topologies(self._level.fanout)[carrier].link.name,
            link_bits=most,
            link_cycles=None if rate is None else math.ceil(math.ceil(most) / rate),
        )

    @cached_property
    def busiest_bits(self) -> int:
        """Bits through the busiest link of the busiest instance, all tensors together."""
        limited = replace(self.network, link_bits_per_cycle=Fraction(1))
        accelerator = _only(self.evaluation.accelerator, self.level, limited)
        paths = replace(self.paths, precision=Precision(self._geometry, accelerator))
        return max(int(bits[0]) for _, bits, _ in paths.busiest())

    @property
    def busiest_cycles(self) -> int | None:
        """Cycles that the busiest link is busy; None where links are not limited."""
        rate = self.network.link_bits_per_cycle
        return None if rate is None else math.ceil(self.busiest_bits / rate)

    @cached_property
    def graph(self) -> nx.DiGraph:
        """Of the first instance: see `mapper.interconnect.graph.network_graph`; graph attributes say what it is of."""
        loads = map(self._load, self.paths.streams())
        found = network_graph(loads, self.network.topology, *self.shape, self.network.link_bits_per_cycle)
        evaluation = self.evaluation
        found.graph |= {
            "level": self.name,
            "topology": self.network.topology,
            "columns": self.shape[0],
            "rows": self.shape[1],
            "instances": self.instances,
            "accelerator": evaluation.accelerator.name,
            "einsum": evaluation.einsum.text,
            "mapping": str(evaluation.mapping),
        }
        return found

    def _load(self, stream: Stream) -> Load:
        share, bits = self._word(stream.crossing, stream.action)
        return Load(
            tensor=stream.crossing.tensor.name,
            kind=self._kind(stream),
            up=stream.action == COLLECTED,
            carrier=self._carrier(stream.crossing),
            flow=self._flow(stream),
            share=share,
            bits=bits,
        )

    def _kind(self, stream: Stream) -> str:
        if stream.action == RETURNED:
            return "refill"
        shared = "reduction" if stream.action == COLLECTED else "multicast"
        return shared if self._degree(stream) > 1 else "unicast"

    def _degree(self, stream: Stream) -> int:
        flow = self._flow(stream)
        return 1 if flow.back else largest_group(self._geometry, flow.crossing, flow.shared)

    def _flow(self, stream: Stream) -> Flow:
        back = stream.action == RETURNED
        return Flow(self._geometry, stream.crossing, self.paths.sharing, back=back, first=True)

    def _carrier(self, crossing: Crossing) -> str:
        named = carriers(self._geometry, crossing, self.network.topology)
        return next(name for name, rows in named.items() if rows[0])

    def _word(self, crossing: Crossing, action: str) -> tuple[float, float]:
        share, bits = self.paths.moved(crossing, action, self.paths.geometry.ones)
        return float(share[0]), float(bits[0])


def network_view(evaluation: Evaluation, level: str | None = None, topology: str | None = None) -> NetworkView:
    """The network below a level, as the spec has it or of `topology`.

    The level is by default the innermost with a network; where none has one, the innermost with several children.
    Another topology than the spec's keeps its energies and links. Raises `InputError` where there is no such level or
    topology, or where the spec gives the fan-out no network and no topology is asked for.
    """
    accelerator = evaluation.accelerator
    index = _level_index(accelerator, level)
    given = accelerator.levels[index].fanout.network
    if topology is not None and topology not in TOPOLOGIES:
        raise InputError(f"no topology '{topology}'", "--topology", did_you_mean(topology, TOPOLOGIES))
    if given is None and topology is None:
        what = f"{accelerator.name} gives the fan-out below {accelerator.levels[index].name} no network"
        raise InputError(what, "--topology", NO_NETWORK)
    network = given or Network(str(topology), 0.0, 0.0, 0.0, "none")
    network = replace(network, topology=topology or network.topology)
    nests = evaluation.nests.without_unit_slots()
    paths = networks_of(nests, _only(accelerator, index, network), evaluation.sparsity)
    return NetworkView(evaluation, index, network, given is not None, paths)


def interconnect_graph(
    mapping: Evaluation | Ranked, level: str | None = None, topology: str | None = None
) -> nx.DiGraph:
    """A networkx graph of how the words of a mapping travel below a level: see `network_view` and `NetworkView.graph`.

    Raises `InputError` as `network_view` does, and where `mapping` is none.
    """
    expect(mapping, (Evaluation, Ranked), "a mapping", "evaluate(...), or search(...)[0]")
    evaluation = mapping.evaluation if isinstance(mapping, Ranked) else mapping
    return network_view(evaluation, level, topology).graph


def lane_text(lane: Lane) -> str:
    """Loops of an axis and what their lanes do with a tensor: `K16 split`, `N16 shared`, `P14 overlap`, or a dash."""
    if not lane.loops:
        return "-"
    split = "overlap" if lane.overlap else "split"
    does = "mixed" if lane.shared > 1 and lane.own > 1 else "shared" if lane.shared > 1 else split
    return f"{' '.join(format_loop(*loop) for loop in lane.loops)} {does}"


def _level_index(accelerator: Accelerator, name: str | None) -> int:
    spread = [index for index, level in enumerate(accelerator.levels) if level.fanout.lanes > 1]
    names = [accelerator.levels[index].name for index in spread]
    if not spread:
        raise InputError(f"{accelerator.name} has no fan-out of more than one lane", "--level", "nothing to draw")
    if name is None:
        return next((i for i in reversed(spread) if accelerator.levels[i].fanout.network is not None), spread[-1])
    found = next((index for index in spread if accelerator.levels[index].name.lower() == name.lower()), None)
    if found is None:
        raise InputError(f"{accelerator.name} has no fan-out below '{name}'", "--level", did_you_mean(name, names))
    return found


def _only(accelerator: Accelerator, index: int, network: Network) -> Accelerator:
    """The accelerator with one network alone."""

    def levels() -> Iterator[Level]:
        for place, level in enumerate(accelerator.levels):
            yield replace(level, fanout=replace(level.fanout, network=network if place == index else None))

    return replace(accelerator, levels=tuple(levels()))
