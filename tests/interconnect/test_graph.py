"""The graph of a network: by hand, and against what the cost model charges, on random cases."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from mapper.arch.network import TOPOLOGIES, Network
from mapper.arch.zeros import Format, Zeros
from mapper.cost import Evaluation, evaluate_one
from mapper.errors import InputError
from mapper.interconnect.graph import PARENT, Node, named
from mapper.report.network_view import NetworkView, interconnect_graph, network_view
from mapper.sparsity.density import Uniform
from mapper.sparsity.zeros import Sparsity
from tests.interconnect.strategies_network import random_network_case
from tests.strategies import Case, make_case

CONV1D = "O[N,K,P] += W[K,R] * I[N,P+R]; N=2 K=2 P=4 R=3"
KN = "L0: | X: K2 | Y: N2 | L1: P4 R3"
"""Weights go down a column, inputs along a row, each PE has outputs of its own. W has 8 bits, I and O 16."""


def wired(case: Case, topology: str, rate: Fraction | None = None) -> Evaluation:
    """The case with a network below its first level."""
    network = Network(topology, 0.5, 0.25, 0.5, "by hand", link_bits_per_cycle=rate)
    first, *others = case.accelerator.levels
    levels = (replace(first, fanout=replace(first.fanout, network=network)), *others)
    return evaluate_one(case.nests, replace(case.accelerator, levels=levels))


def words(graph: nx.DiGraph, tensor: str) -> dict[tuple[Node, Node], int]:
    """Words of a tensor on every edge that is charged."""
    edges = graph.edges(data=True)
    return {(a, b): e[f"words_{tensor}"] for a, b, e in edges if e["hops"] and f"words_{tensor}" in e}


# By hand --------------------------------------------------------------------------------------------------------------


def test_a_mesh_hands_words_on_from_router_to_router() -> None:
    graph = interconnect_graph(wired(make_case(CONV1D, KN), "mesh"))
    along, other = ("router", 0, 0), ("router", 1, 0)
    assert words(graph, "W") == {
        (PARENT, along): 6,
        (along, other): 3,
        (along, ("router", 0, 1)): 3,
        (other, ("router", 1, 1)): 3,
    }
    assert words(graph, "O") == {
        (along, PARENT): 16,
        (other, along): 8,
        (("router", 0, 1), along): 4,
        (("router", 1, 1), other): 4,
    }
    assert graph.edges[along, ("pe", 0, 0)] == {
        "words": 9,
        "bits": 3 * 8 + 6 * 16,
        "hops": 0,
        "words_W": 3,
        "bits_W": 24,
        "kind_W": "multicast",
        "words_I": 6,
        "bits_I": 96,
        "kind_I": "multicast",
    }
    assert graph.edges[("pe", 1, 1), ("router", 1, 1)]["kind_O"] == "unicast"
    assert {"level": "L0", "topology": "mesh", "columns": 2, "rows": 2, "instances": 1}.items() <= graph.graph.items()


def test_a_bus_is_one_link_for_both_directions() -> None:
    graph = interconnect_graph(wired(make_case("Z[M] += A[M,K] * B[K]; M=2 K=4", "L0: K2 M2 | X: K2 | L1:"), "bus"))
    bus = ("row bus", 0)
    assert graph.edges[bus, PARENT]["kind_Z"] == "reduction"
    assert graph.edges[PARENT, bus]["kind_Z"] == "refill"
    assert graph.nodes[bus] == {"role": "bus", "y": 0, "words": 4 + 2, "bits": 4 * 32 + 2 * 32}
    assert words(graph, "A") == {(PARENT, ("unicast bus",)): 8}


def test_a_tree_a_crossbar_and_a_benes_network_charge_every_child() -> None:
    case = make_case(CONV1D, KN)
    tree = interconnect_graph(wired(case, "tree"))
    assert words(tree, "W")[PARENT, ("row", 1)] == 6
    assert words(tree, "W")[("row", 1), ("pe", 0, 1)] == 3
    crossbar = interconnect_graph(wired(case, "crossbar"))
    assert words(crossbar, "W") == {(PARENT, ("switch",)): 6} | {
        (("switch",), ("pe", x, y)): 3 for x in range(2) for y in range(2)
    }
    benes = interconnect_graph(wired(case, "benes"))
    assert {benes.edges[edge]["hops"] for edge in words(benes, "W")} == {3}
    assert benes.edges[PARENT, ("switch",)]["hops"] == 0


def test_idle_pes_are_told() -> None:
    graph = interconnect_graph(wired(make_case("Z[M] += A[M] * B[M]; M=3", "L0: | Y: M4"), "tree"))
    assert [graph.nodes["pe", 0, y]["used"] for y in range(4)] == [True, True, True, False]
    assert not graph.in_edges(("pe", 0, 3))


def test_links_are_busy_for_their_bits() -> None:
    view = network_view(wired(make_case(CONV1D, KN), "mesh", Fraction(7)))
    assert view.graph.edges[PARENT, ("router", 0, 0)]["cycles"] == -(-(6 * 8 + 12 * 16) // 7)
    assert "cycles" not in view.graph.edges[("router", 0, 0), ("pe", 0, 0)]
    assert [travel.link_cycles for travel in view.travels] == [-(-48 // 7), -(-192 // 7), -(-256 // 7), 0]
    assert (view.busiest_bits, view.busiest_cycles) == (256, 37)


def test_zeros_leave_their_bits_behind() -> None:
    """Nothing of the hardware acts on zeros: all words travel; then weights are stored without them."""
    case = make_case(CONV1D, KN)
    evaluation = wired(case, "mesh")
    sparsity = Sparsity((("W", Uniform(0.5)),))
    dense = evaluate_one(case.nests, evaluation.accelerator, sparsity)
    assert words(interconnect_graph(dense), "W")[PARENT, ("router", 0, 0)] == 6
    zeros = Zeros(formats=((("L0", "W"), Format("bitmask")),))
    sparse = evaluate_one(case.nests, replace(evaluation.accelerator, zeros=zeros), sparsity)
    edge = interconnect_graph(sparse).edges[PARENT, ("router", 0, 0)]
    assert (edge["words_W"], edge["bits_W"]) == (3, 3 * 8 + 6)


def test_names_are_text_for_files() -> None:
    graph = named(interconnect_graph(wired(make_case(CONV1D, KN), "bus")))
    assert {"parent", "pe 1 0", "row bus 1", "column bus 0", "unicast bus"} <= set(graph)


# What is asked for ----------------------------------------------------------------------------------------------------


def test_a_topology_may_be_asked_for_where_the_spec_has_none() -> None:
    case = make_case(CONV1D, KN)
    evaluation = evaluate_one(case.nests, case.accelerator)
    with pytest.raises(InputError, match=r"gives the fan-out below L0 no network .*topology: mesh.*bus, mesh, tree"):
        interconnect_graph(evaluation)
    view = network_view(evaluation, topology="mesh")
    assert (view.priced, view.given) == (False, False)
    assert {travel.energy_pj for travel in view.travels} == {None}
    given = network_view(wired(case, "mesh"))
    assert (given.priced, given.given) == (True, True)
    assert nx.utils.graphs_equal(given.graph, view.graph)
    other = network_view(wired(case, "mesh"), topology="tree")
    assert (other.priced, other.given, other.network.wire_pj_per_bit_mm) == (True, False, 0.25)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        interconnect_graph("grid")  # type: ignore[arg-type]
    assert str(caught.value) == "'grid' is not a mapping (evaluate(...), or search(...)[0])"


@pytest.mark.parametrize(
    ("level", "topology", "message"),
    [
        ("L1", "mesh", "no fan-out below 'L1' .*L0"),
        ("l0", "mash", "no topology 'mash' .*did you mean 'mesh'"),
        ("x", None, "no fan-out below 'x'"),
    ],
)
def test_what_there_is_not_is_refused(level: str, topology: str | None, message: str) -> None:
    case = make_case(CONV1D, KN)
    with pytest.raises(InputError, match=message):
        network_view(evaluate_one(case.nests, case.accelerator), level, topology)


def test_an_accelerator_of_one_lane_has_nothing_to_draw() -> None:
    case = make_case("Z[M] += A[M] * B[M]; M=3", "L0: M3")
    with pytest.raises(InputError, match="no fan-out of more than one lane"):
        network_view(evaluate_one(case.nests, case.accelerator), topology="bus")


def test_the_innermost_network_is_shown() -> None:
    case = make_case("Z[M] += A[M,K] * B[K]; M=4 K=3", "L0: | X: M2 | L1: | Y: M2 | L2: K3")
    assert network_view(wired(case, "mesh")).name == "L0"
    assert network_view(evaluate_one(case.nests, case.accelerator), topology="mesh").name == "L1"
    inner = network_view(wired(case, "mesh"), "l1", "mesh")
    assert (inner.name, inner.instances, inner.used, inner.shape) == ("L1", 2, (1, 2), (1, 2))


# Random cases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(6))
def test_the_graph_adds_up_to_what_is_charged(block: int) -> None:
    checked = 0
    for seed in range(20 * block, 20 * (block + 1)):
        case = random_network_case(random.Random(seed))
        evaluation = evaluate_one(case.nests, case.accelerator)
        for level in case.accelerator.levels:
            if level.fanout.lanes > 1:
                for topology in TOPOLOGIES:
                    view = network_view(evaluation, level.name, topology)
                    _adds_up(view, f"seed {seed}, {topology} below {level.name}\n{case}")
                    checked += view.instances == 1
    assert checked > 50


def _adds_up(view: NetworkView, where: str) -> None:
    """Of the only instance: edges have all bit-hops, and the busiest link is an edge, or a bus of both directions."""
    graph = view.graph
    hops = sum(edge["bits"] * edge["hops"] for *_, edge in graph.edges(data=True))
    taken: Counter[str] = Counter()
    for _, end, edge in graph.edges(data=True):
        taken.update({t.tensor: edge.get(f"words_{t.tensor}", 0) for t in view.travels if end[0] == "pe"})
    if view.instances == 1:
        assert hops == sum(travel.bit_hops for travel in view.travels), where
        for travel in view.travels:
            if travel.action == "sent":
                assert taken[travel.tensor] == travel.pairs, where
        links = [edge["bits"] for *_, edge in graph.edges(data=True) if edge["hops"]]
        buses = [node["bits"] for _, node in graph.nodes(data=True) if node["role"] == "bus"]
        assert view.busiest_bits == max(links + buses), where
    in_use = np.count_nonzero([node.get("used", False) for _, node in graph.nodes(data=True)])
    assert 0 < in_use <= view.used[0] * view.used[1], where
