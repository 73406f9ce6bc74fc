"""Field cases 4 and 9 on the network of a fan-out, and what follows for its counts, its energy and its busiest link."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.arch import Accelerator
from mapper.arch.network import SUFFIX, TOPOLOGIES, Network
from mapper.cost import Evaluation, evaluate, evaluate_one
from mapper.cost.passages import Passage, Way
from mapper.workload import Conv2d, Einsum
from tests.cases.test_counts import SPREAD, WIDE, random_wide
from tests.machines import WORD, array, level, machine

MESH = Network("mesh", 0.5, 0.08, 0.03, "test")


def wired(accelerator: Accelerator, network: Network = MESH) -> Accelerator:
    """With a network in every fan-out of several lanes."""
    levels = tuple(
        replace(one, fanout=replace(one.fanout, network=network)) if one.fanout.lanes > 1 else one
        for one in accelerator.levels
    )
    return replace(accelerator, levels=levels)


def passage(found: Evaluation, tensor: str) -> Passage:
    """Through the only fan-out."""
    (one,) = (one for one in found.passages if one.tensor == tensor)
    return one


def sent(found: Evaluation, tensor: str) -> Way:
    """Down, of an operand."""
    (way,) = passage(found, tensor).ways
    return way


def most(found: Evaluation, tensor: str) -> int:
    """PEs that the word of an operand goes to which goes to most."""
    return next(edge.multicast_max for edge in found.edges if (edge.level, edge.tensor) == ("GLB", tensor))


# 4: reductions in the network -----------------------------------------------------------------------------------------


def reductions(found: Evaluation) -> int:
    """Sums added in PEs and, where those of several become one word, in the networks."""
    ways = [way for one in found.passages for way in one.ways if way.action == "collected"]
    return found.temporal_reductions + sum(way.deliveries - int(way.words) for way in ways)


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_case_04_pes_and_network_add_48640_times_for_every_mapping(seed: int) -> None:
    found = evaluate_one(random_wide(random.Random(seed)), wired(SPREAD))
    assert "K16" in str(found.mapping)
    assert reductions(found) == 49_152 - 512 == 48_640, str(found.mapping)


@pytest.mark.parametrize(
    ("mapping", "added"),
    [
        ("DRAM: P16 | GLB[W,I,O]: C2 | X: K16 | Y: C16 | RF[W,I,O]: K2 R3", 16 * 32 * 15),
        ("DRAM: R3 C32 | GLB[]: P4 | X: K16 | Y: P4 | RF[O]: K2", 0),
        ("DRAM: P16 K2 R3 | GLB[O]: | X: K16 | Y: C16 | RF[]: C2", 16 * 2 * 3 * 2 * 16 * 15),
    ],
)
def test_case_04_the_network_adds_what_pes_of_a_column_share(mapping: str, added: int) -> None:
    """Of 512 sums each PE of 16 has a part; or, where no PE keeps any, each of 192 steps makes 16 words of 16 parts."""
    found = evaluate(WIDE, wired(SPREAD), mapping)
    assert reductions(found) == 48_640
    assert sum(w.deliveries - int(w.words) for w in passage(found, "O").ways if w.action == "collected") == added


def test_case_04_two_networks_add_one_inside_the_other() -> None:
    nested = wired(machine(level("DRAM"), level("GLB", x=4), level("BUF", y=4), level("RF")))
    found = evaluate(WIDE, nested, "DRAM: P16 K32 | GLB: C2 | X: C4 | BUF: | Y: C4 | RF: R3")
    inner, outer = (
        next(w for w in one.ways if w.action == "collected")
        for name in ("BUF", "GLB")
        for one in found.passages
        if (one.level, one.tensor) == (name, "O")
    )
    assert (inner.deliveries, inner.words) == (512 * 16, 512 * 4)
    assert (outer.deliveries, outer.words) == (512 * 4, 512)
    assert reductions(found) == 48_640


# 9: windows of neighbours ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["X: P3 | Y: R3", "X: R3 | Y: P3"])
def test_case_09_five_distinct_inputs_enter_a_3_by_3_array(axes: str) -> None:
    conv = Einsum.parse("O[P] += W[R] * I[P+R]; P=3 R=3")
    found = evaluate(conv, wired(machine(level("GLB", x=3, y=3), level("RF"))), f"GLB: | {axes}")
    assert found.cycles == 1
    inputs = sent(found, "I")
    assert (inputs.words, inputs.deliveries) == (5, 9)
    assert inputs.bits == 5 * WORD
    assert most(found, "I") == 3
    assert (passage(found, "I").pattern.kind, passage(found, "I").pattern.one_dimensional) == ("diagonal", False)


@pytest.mark.parametrize("axes", ["X: P{P} | Y: R{R}", "X: R{R} | Y: P{P}", "X: P{P} R{R}", "Y: R{R} P{P}"])
@pytest.mark.parametrize(
    ("P", "R", "stride", "dilation"),
    [(3, 3, 1, 1), (7, 3, 1, 1), (5, 5, 1, 1), (4, 3, 2, 1), (6, 3, 1, 2), (4, 2, 3, 1), (5, 4, 2, 3), (2, 7, 1, 1)],
)
def test_case_09_windows_spread_by_outputs_and_taps_share_words(
    axes: str, P: int, R: int, stride: int, dilation: int
) -> None:
    conv = Einsum.parse(f"O[P] += W[R] * I[{stride}*P+{dilation}*R]; P={P} R={R}")
    found = evaluate(conv, wired(machine(level("GLB", x=35, y=35), level("RF"))), f"GLB: | {axes.format(P=P, R=R)}")
    wanted = Counter(stride * p + dilation * r for p in range(P) for r in range(R))
    inputs = sent(found, "I")
    assert (inputs.words, inputs.deliveries) == (len(wanted), P * R)
    assert most(found, "I") == max(wanted.values())
    if max(wanted.values()) > 1:
        assert passage(found, "I").pattern.kind == ("diagonal" if "|" in axes else "overlap")


@pytest.mark.parametrize(("tile", "taps"), [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_case_09_tiles_of_several_outputs_and_taps_share_words(tile: int, taps: int) -> None:
    """Lane p has outputs tile * p on, lane r taps taps * r on: a word goes once to all lanes that want it."""
    conv = Einsum.parse(f"O[P] += W[R] * I[P+R]; P={4 * tile} R={3 * taps}")
    mapping = f"GLB: | X: P4 | Y: R3 | RF: P{tile} R{taps}"
    found = evaluate(conv, wired(machine(level("GLB", x=4, y=3), level("RF"))), mapping)
    lanes = product(range(4), range(3))
    windows = [{tile * p + taps * r + i + j for i in range(tile) for j in range(taps)} for p, r in lanes]
    wanted = Counter(word for window in windows for word in window)
    inputs = sent(found, "I")
    assert (inputs.words, inputs.deliveries) == (len(wanted), sum(wanted.values()))
    assert most(found, "I") == max(wanted.values())


# Energy ---------------------------------------------------------------------------------------------------------------

CONV = Einsum.parse("O[K,C,P] += W[K,C,R] * I[C,P+R]; K=8 C=4 R=3 P=8")
CONV_MAPPING = "DRAM: P2 C2 | GLB: K2 | X: K4 | Y: C2 | RF: P4 R3"


def network_pj(network: Network) -> float:
    return sum(one.energy_pj for one in evaluate(CONV, wired(array(4, 2), network), CONV_MAPPING).passages)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_energy_doubles_with_every_hop_and_with_every_tile_of_wire(topology: str) -> None:
    """To the last digit: doubling changes no digit of a floating-point number."""
    wire = replace(MESH, topology=topology, switch_pj_per_bit=0.0)
    switch = replace(MESH, topology=topology, wire_pj_per_bit_mm=0.0)
    assert network_pj(replace(wire, tile_mm=2 * wire.tile_mm)) == 2 * network_pj(wire) > 0
    assert network_pj(replace(wire, wire_pj_per_bit_mm=2 * wire.wire_pj_per_bit_mm)) == 2 * network_pj(wire)
    assert network_pj(replace(switch, switch_pj_per_bit=2 * switch.switch_pj_per_bit)) == 2 * network_pj(switch) > 0
    both = replace(MESH, topology=topology)
    assert network_pj(both) == pytest.approx(network_pj(wire) + network_pj(switch), rel=1e-12)
    assert network_pj(replace(both, tile_mm=2 * both.tile_mm, switch_pj_per_bit=0.06)) == 2 * network_pj(both)


def test_a_network_without_energy_costs_nothing_and_without_a_network_nothing_is_sent() -> None:
    free = replace(MESH, wire_pj_per_bit_mm=0.0, switch_pj_per_bit=0.0)
    assert network_pj(free) == 0.0
    found, bare = (evaluate(CONV, one, CONV_MAPPING) for one in (wired(array(4, 2), free), array(4, 2)))
    assert found.energy_pj == bare.energy_pj
    assert sent(found, "W").words > 0
    assert all(not one.ways for one in bare.passages)


def test_the_energy_of_a_mapping_has_that_of_its_networks_on_top() -> None:
    free, wires = (evaluate(CONV, one, CONV_MAPPING) for one in (array(4, 2), wired(array(4, 2))))
    spent = sum(one.energy_pj for one in wires.passages)
    assert spent == pytest.approx(wires.energy_by("component")[f"GLB{SUFFIX}"])
    assert wires.energy_pj == pytest.approx(free.energy_pj + spent)
    assert wires.cycles == free.cycles


# The busiest link -----------------------------------------------------------------------------------------------------

OUTER = Einsum.parse("O[K,N] += W[K] * I[N]; K=3 N=2")
"""On 3 columns by 2 rows: W goes to columns, I to rows, O comes from every PE alone."""


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        ("bus", 6),  # sums, one after the other on the bus to single PEs
        ("mesh", 6),  # sums through the parent's link; down go 3 + 2
        ("tree", 4),  # 3 weights and an input into the node of a row; 3 sums out of it
        ("crossbar", 6),
        ("benes", 2),  # a weight and an input into each PE
    ],
)
@pytest.mark.parametrize("bits", [Fraction(16), Fraction(4), Fraction(3), Fraction(1, 2)])
def test_a_narrow_link_throttles(topology: str, words: int, bits: Fraction) -> None:
    narrow = replace(MESH, topology=topology, link_bits_per_cycle=bits)
    found = evaluate(OUTER, wired(array(3, 2), narrow), "DRAM: | GLB: | X: K3 | Y: N2")
    assert found.bounds[f"GLB{SUFFIX}"] == found.cycles == -(-words * WORD // bits)
    assert found.bound_by == "GLB_network"


def test_a_wide_link_does_not_throttle() -> None:
    wide = replace(MESH, link_bits_per_cycle=Fraction(1024))
    found = evaluate(OUTER, wired(array(3, 2), wide), "DRAM: | GLB: | X: K3 | Y: N2")
    assert (found.cycles, found.bounds["GLB_network"]) == (1, 1)
    assert found.bound_by == "compute"


def test_the_order_of_loops_decides_what_a_link_carries() -> None:
    """On 2 columns (K) the inputs, where K steps outside P, are sent 4 times; else once, and weights for each P."""
    conv = Einsum.parse("O[K,P] += W[K] * I[P]; K=8 P=8")
    narrow = wired(array(2, 1), replace(MESH, topology="tree", link_bits_per_cycle=Fraction(1)))
    outside, inside = (evaluate(conv, narrow, f"DRAM: {order} | GLB: | X: K2") for order in ("K4 P8", "P8 K4"))
    assert [(sent(found, "I").words, sent(found, "W").words) for found in (outside, inside)] == [(32, 8), (8, 64)]
    # Down the row go 40 or 72 words, up come 64 sums: the larger of the two.
    assert [found.cycles for found in (outside, inside)] == [64 * WORD, 72 * WORD]


# Phases and partitionings ---------------------------------------------------------------------------------------------

PHASES = {
    ("fw", "CK"): ("W unicast", "I multicast column", "O reduction row"),
    ("fw", "KN"): ("W multicast column", "I multicast row", "O unicast"),
    ("fw", "CN"): ("W multicast column", "I unicast", "O reduction row"),
    ("fw", "PQ"): ("W broadcast", "I overlap", "O unicast"),
    ("bw", "CK"): ("W unicast", "dO multicast row", "dI reduction column"),
    ("bw", "KN"): ("W multicast column", "dO unicast", "dI reduction row"),
    ("bw", "CN"): ("W multicast column", "dO multicast row", "dI unicast"),
    ("bw", "PQ"): ("W broadcast", "dO overlap", "dI unicast"),
    ("wu", "CK"): ("I multicast column", "dO multicast row", "dW unicast"),
    ("wu", "KN"): ("I multicast row", "dO unicast", "dW reduction column"),
    ("wu", "CN"): ("I unicast", "dO multicast row", "dW reduction column"),
    ("wu", "PQ"): ("I unicast", "dO overlap", "dW reduction"),
}
"""Derived from which of the two spread dimensions index a tensor: of W, K and C; of I, N and C; of O, N and K."""

SIZES = {"N": 2, "K": 2, "C": 2, "P": 2, "Q": 2, "R": 3, "S": 3}


def spread_over(phase: str, partitioning: str) -> Evaluation:
    """A convolution on 2 x 2 PEs, everything else inside them."""
    layer = Conv2d(N=2, K=2, C=2, H=2, W=2, R=3, S=3, padding=1)
    inside = " ".join(f"{name}{size}" for name, size in SIZES.items() if name not in partitioning)
    mapping = f"DRAM: | GLB: | X: {partitioning[0]}2 | Y: {partitioning[1]}2 | RF: {inside}"
    return evaluate(layer, wired(array(2, 2)), mapping, phase=phase)


@pytest.mark.parametrize(("phase", "partitioning"), list(PHASES))
def test_phases_and_partitionings_have_their_patterns(phase: str, partitioning: str) -> None:
    found = spread_over(phase, partitioning)
    assert tuple(f"{one.tensor} {one.pattern.kind}" for one in found.passages) == PHASES[phase, partitioning]
    straight = all(one.pattern.one_dimensional for one in found.passages)
    assert straight is (partitioning != "PQ")


@pytest.mark.parametrize(("phase", "partitioning"), list(PHASES))
def test_patterns_are_what_counts_say(phase: str, partitioning: str) -> None:
    """PEs per word: 1 unicast, 2 along a row or a column, 4 everywhere, between where windows overlap."""
    ends = {"unicast": 1, "row": 2, "column": 2, "broadcast": 4, "reduction": 4}
    for one in spread_over(phase, partitioning).passages:
        way = one.ways[0]
        if one.pattern.kind == "overlap":
            # 2 x 2 windows of 3 x 3 over 4 x 4 inputs, of every sample and channel.
            assert (way.words, way.deliveries) == (4 * 16, 4 * 36)
        else:
            assert way.deliveries == ends[one.pattern.kind.split()[-1]] * way.words


def test_planes_go_to_both_columns_and_rows_where_windows_overlap_along_both() -> None:
    """Of 16 inputs the 4 in the middle are in all of 2 x 2 windows of 3 x 3, 8 at the sides in 2, 4 corners in 1."""
    conv = Einsum.parse("O[P,Q] += W[R,S] * I[P+R,Q+S]; P=2 Q=2 R=3 S=3")
    found = evaluate(conv, wired(array(2, 2)), "DRAM: | GLB: | X: P2 | Y: Q2 | RF: R3 S3")
    inputs = sent(found, "I")
    assert (inputs.words, inputs.deliveries) == (16, 4 * 4 + 8 * 2 + 4 * 1) == (16, 4 * 9)
    assert most(found, "I") == 4
    assert not passage(found, "I").pattern.one_dimensional


def test_taps_in_an_outer_loop_leave_an_overlap_along_one_axis() -> None:
    conv = Einsum.parse("O[P,Q] += W[R,S] * I[P+R,Q+S]; P=2 Q=2 R=3 S=3")
    found = evaluate(conv, wired(array(2, 2)), "DRAM: R3 | GLB: | X: P2 | Y: Q2 | RF: S3")
    assert passage(found, "I").pattern.one_dimensional
    assert not passage(found, "W").pattern.one_dimensional


@pytest.mark.parametrize("phase", ["fw", "bw", "wu"])
def test_k_n_is_one_dimensional_for_depthwise_layers_too_and_unicasts_inputs(phase: str) -> None:
    layer = Conv2d(N=2, K=4, C=4, H=2, W=2, R=3, S=3, padding=1, groups=4)
    mapping = "DRAM: G2 | GLB: | X: G2 | Y: N2 | RF: P2 Q2 R3 S3"
    found = evaluate(layer, wired(array(2, 2)), mapping, phase=phase)
    kinds = {one.tensor.removeprefix("d"): one.pattern.kind for one in found.passages}
    assert kinds == {"W": "reduction column" if phase == "wu" else "multicast column", "I": "unicast", "O": "unicast"}
    assert all(one.pattern.one_dimensional for one in found.passages)
