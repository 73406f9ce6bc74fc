"""The figure of a network: where its lines lie, and that any array can be drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mapper.arch.network import TOPOLOGIES
from mapper.cost import Evaluation, evaluate_one
from mapper.report.network_figure import draw
from mapper.report.network_lines import GUTTER, Line, Plan, feeding, lines
from mapper.report.network_view import network_view
from tests.strategies import make_case

CONV1D = "O[N,K,P] += W[K,R] * I[N,P+R]; N=2 K=2 P=4 R=3"
KN = "L0: | X: K2 | Y: N2 | L1: P4 R3"
"""Weights go down a column, inputs along a row, each PE has outputs of its own."""


def evaluated(formula: str, mapping: str, lanes: tuple[int, int] | None = None) -> Evaluation:
    """A mapping by hand, of an array that may have more lanes than it uses."""
    case = make_case(formula, mapping)
    if lanes is not None:
        first, *others = case.accelerator.levels
        fanout = first.fanout
        wider = replace(fanout, x=replace(fanout.x, lanes=lanes[0]), y=replace(fanout.y, lanes=lanes[1]))
        levels = (replace(first, fanout=wider), *others)
        case = replace(case, accelerator=replace(case.accelerator, levels=levels))
    return evaluate_one(case.nests, case.accelerator)


def drawn(topology: str, tensor: str, back: bool = False) -> list[Line]:
    graph = network_view(evaluated(CONV1D, KN), topology=topology).graph
    return lines(graph, Plan(topology, 2, 2, 1.0), tensor, back)


def test_lines_of_a_mesh_lead_from_router_to_router() -> None:
    parent = Plan("mesh", 2, 2, 1.0).parent("router").middle
    assert drawn("mesh", "W") == [
        Line((0, 0), (1, 0), 3),
        Line((0, 0), (0, 1), 3),
        Line((1, 0), (1, 1), 3),
        Line(parent, (0, 0), 6),
    ]


def test_buses_run_between_pes_and_turn_off_to_them() -> None:
    plan = Plan("bus", 2, 2, 1.0)
    buses = [line for line in drawn("bus", "W") if not line.branch]
    assert buses == [Line((x - GUTTER, plan.edge), (x - GUTTER, 1), 3) for x in (0, 1)]
    branches = {(line.start, line.end) for line in drawn("bus", "W") if line.branch}
    assert branches == {((x - GUTTER, y), (x, y)) for x in (0, 1) for y in (0, 1)}
    across = [line for line in drawn("bus", "I") if not line.branch]
    assert across == [Line((plan.edge, y - GUTTER), (1, y - GUTTER), 6) for y in (0, 1)]
    assert drawn("bus", "I", back=True) == []


def test_a_tensor_hangs_on_the_parent_by_its_bus() -> None:
    graph = network_view(evaluated(CONV1D, KN), topology="bus").graph
    assert [feeding(graph, tensor) for tensor in "WIO"] == ["column bus", "row bus", "unicast bus"]


def test_a_crowded_array_has_no_branches() -> None:
    graph = network_view(evaluated(CONV1D, KN), topology="bus").graph
    assert not any(line.branch for line in lines(graph, Plan("bus", 2, 2, 1.0, crowded=True), "W", False))


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(
    ("formula", "mapping", "lanes"),
    [
        (CONV1D, KN, None),
        ("Z[M] += A[M,K] * B[K]; M=4 K=8", "L0: K2 M2 | X: K4 | Y: M2 | L1:", (6, 3)),
        ("Z[M,N] += A[M] * B[N]; M=2 N=2", "L0: | X: M2 | L1: N2", (130, 9)),
        ("Z[M] += A[M] * B[M]; M=3", "L0: | Y: M4", None),
        ("Z[M] += A[M] * B[M]; M=3", "L0: | Y: M4", (4, 130)),
    ],
)
def test_any_array_is_drawn(topology: str, formula: str, mapping: str, lanes: tuple[int, int] | None) -> None:
    """As it is; sums that come back and idle PEs; crowded and wide; one column; crowded and high."""
    pytest.importorskip("matplotlib")
    picture = draw(network_view(evaluated(formula, mapping, lanes), topology=topology), "a title", "svg")
    assert picture.startswith(b"<?xml")
