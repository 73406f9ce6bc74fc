"""The network below one level as a graph: which words go over which link, for people to look at and for scripts.

Nodes are the parent, what the network is made of (buses, routers, nodes of a tree, a switch) and the children ("pe").
An edge leads the way that words go, so sums that come up have edges against those of the operands. `hops` of an edge
says what a word is charged for it: 1 for a link, all stages for a Benes network, and 0 where the edge only shows what a
child takes from its bus or router. The sum of bits times hops over all edges is the network's bit-hops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mapper.interconnect.links import CHILD, LINKS, Flow, Links, link_words
from mapper.interconnect.topology import stages
from mapper.mapping.loopnest import Ints

if TYPE_CHECKING:
    import networkx as nx

Node = tuple[str | int, ...]
Edge = tuple[Node, Node]
Attributes = dict[str, Any]

PARENT: Node = ("parent",)


@dataclass(frozen=True)
class Hub:
    """What children hang on: one for each column (`x`) and row (`y`) that it is told apart by; `role`: what it is."""

    name: str
    role: str
    x: bool = False
    y: bool = False

    def node(self, x: int, y: int) -> Node:
        """The hub of the child in a column and row."""
        return (self.name, *[x] * self.x, *[y] * self.y)

    def attributes(self, x: int, y: int) -> Attributes:
        return {"role": self.role} | ({"x": x} if self.x else {}) | ({"y": y} if self.y else {})


HUBS = {
    "row bus": Hub("row bus", "bus", y=True),
    "column bus": Hub("column bus", "bus", x=True),
    "unicast bus": Hub("unicast bus", "bus"),
    "mesh": Hub("router", "router", x=True, y=True),
    "tree": Hub("row", "switch", y=True),
    "crossbar": Hub("switch", "switch"),
    "benes": Hub("switch", "switch"),
}
"""By what carries the words (`mapper.interconnect.topology.topologies`)."""
_PE = Hub("pe", "pe", x=True, y=True)
_ALL = Links("parent")


@dataclass(frozen=True)
class Load:
    """A tensor in one direction: `kind` is unicast, multicast, reduction or refill; `up`: towards the parent.

    `carrier` is one of `mapper.interconnect.topology.topologies`. `share`: words that travel per dense word; `bits`: of
    a dense word.
    """

    tensor: str
    kind: str
    up: bool
    carrier: str
    flow: Flow
    share: float
    bits: float


def network_graph(
    loads: Iterable[Load], topology: str, columns: int, rows: int, bits_per_cycle: Fraction | None
) -> nx.DiGraph:
    """The graph of an array of `columns` x `rows` children and what loads it; links without words are left out.

    Nodes are tuples: ("parent",), ("pe", x, y), ("router", x, y), ("row bus", y) .. with `role` (parent, bus, router,
    switch, pe), `x` and `y` where they have them; a PE with `used`, whether it ever has work. Edges have `words`,
    `bits`, `hops`, `cycles` where links are limited, and for each tensor T on them `words_T`, `bits_T` and `kind_T`. A
    bus is one link for both directions: its node has `words`, `bits` and `cycles` of both.
    """
    import networkx as nx

    edges: dict[Edge, Attributes] = {}
    used = np.zeros((columns, rows), dtype=bool)
    for load in loads:
        at_children = link_words(load.flow, CHILD)
        used[: at_children.shape[0], : at_children.shape[1]] |= at_children > 0
        for (start, end), hops, words in _edges(load, at_children, columns * rows):
            _add(edges, (end, start) if load.up else (start, end), hops, load, words)
    graph = nx.DiGraph()
    graph.add_nodes_from(_nodes(topology, columns, rows).items())
    for x, y in np.ndindex(columns, rows):
        graph.nodes["pe", x, y]["used"] = bool(used[x, y])
    graph.add_edges_from((start, end, attributes) for (start, end), attributes in edges.items())
    _sum_buses(graph)
    if bits_per_cycle is not None:
        _time(graph, bits_per_cycle)
    return graph


def named(graph: nx.DiGraph) -> nx.DiGraph:
    """The same graph with nodes that are text, such as "pe 3 0", for files."""
    import networkx as nx

    return nx.relabel_nodes(graph, {node: " ".join(map(str, node)) for node in graph})


# Nodes ----------------------------------------------------------------------------------------------------------------


def _nodes(topology: str, columns: int, rows: int) -> dict[Node, Attributes]:
    """The parent, everything that the network is made of, and the children."""
    carriers = ("row bus", "column bus", "unicast bus") if topology == "bus" else (topology,)
    places = [(x, y) for y in range(rows) for x in range(columns)]
    hubs = (*(HUBS[carrier] for carrier in carriers), _PE)
    return {PARENT: {"role": "parent"}} | {hub.node(*at): hub.attributes(*at) for hub in hubs for at in places}


def _sum_buses(graph: nx.DiGraph) -> None:
    for node, attributes in graph.nodes(data=True):
        if attributes["role"] == "bus":
            ends = [graph.get_edge_data(*edge, {}) for edge in ((PARENT, node), (node, PARENT))]
            attributes |= {name: sum(end.get(name, 0) for end in ends) for name in ("words", "bits")}


# Edges ----------------------------------------------------------------------------------------------------------------


def _edges(load: Load, at_children: Ints, children: int) -> Iterator[tuple[Edge, int, int]]:
    """Every link that carries words, the way down: its ends, its hops, and dense words."""
    hub, kinds = HUBS[load.carrier], LINKS[load.carrier]
    hops = stages(children) if load.carrier == "benes" else 1
    for links in kinds:
        if links is not CHILD:
            for x, y, words in _loaded(link_words(load.flow, links)):
                if links.name != "column" or y > 0:
                    yield (_entry(links, hub, x, y), hub.node(x, y)), hops, words
    if kinds == (CHILD,):
        yield from (((PARENT, hub.node(x, y)), 0, words) for x, y, words in _loaded(link_words(load.flow, _ALL)))
    charged = hops if CHILD in kinds else 0
    for x, y, words in _loaded(at_children):
        yield (hub.node(x, y), _PE.node(x, y)), charged, words


def _entry(links: Links, hub: Hub, x: int, y: int) -> Node:
    """Where the link into a hub comes from: in a mesh the router before it, else the parent."""
    if links.name == "column":
        return hub.node(x, y - 1)
    return hub.node(x - 1, y) if links.name == "first row" and x > 0 else PARENT


def _loaded(words: Ints) -> Iterator[tuple[int, int, int]]:
    xs, ys = np.nonzero(words)
    return zip(xs.tolist(), ys.tolist(), words[xs, ys].tolist(), strict=True)


def _add(edges: dict[Edge, Attributes], edge: Edge, hops: int, load: Load, dense: int) -> None:
    words, bits = _whole(dense * load.share), _whole(dense * load.bits)
    attributes = edges.setdefault(edge, {"words": 0, "bits": 0, "hops": hops})
    attributes["words"] += words
    attributes["bits"] += bits
    name = load.tensor
    attributes |= {f"words_{name}": words, f"bits_{name}": bits, f"kind_{name}": load.kind}


def _whole(value: float) -> int | float:
    """A whole number as an integer; expectations have fractions."""
    return int(value) if value == int(value) else float(value)


def _time(graph: nx.DiGraph, bits_per_cycle: Fraction) -> None:
    """Cycles that links, and buses of both directions, are busy."""
    links = [attributes for *_, attributes in graph.edges(data=True) if attributes["hops"]]
    buses = [attributes for _, attributes in graph.nodes(data=True) if attributes["role"] == "bus"]
    for attributes in (*links, *buses):
        attributes["cycles"] = math.ceil(math.ceil(attributes["bits"]) / bits_per_cycle)
