"""An explanation says what the evaluation says, and names what causes it."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

from mapper.arch import load_arch
from mapper.cost import evaluate, evaluate_one
from mapper.report.explain import Explanation, explain
from mapper.report.explain_text import render
from mapper.report.letters import letters
from mapper.report.versus import compare
from mapper.report.versus import render as render_versus
from mapper.workload import EinsumLayer, load_layer
from tests.arch.specs import bent
from tests.strategies import random_case


def told(layer: str, arch: str, mapping: str, phase: str = "fw", part: int = 1) -> Explanation:
    """The explanation of a mapping of one layer."""
    found = load_layer(layer)
    return explain(found, found.parts(phase)[part - 1], evaluate(found, arch, mapping, phase=phase, part=part), layer)


@pytest.mark.parametrize("block", range(5))
def test_everything_explained_equals_the_evaluation(block: int) -> None:
    for seed in range(40 * block, 40 * (block + 1)):
        case = random_case(random.Random(seed))
        found = evaluate_one(case.nests, case.accelerator)
        layer = EinsumLayer(name="any", einsum=case.einsum)
        explained = explain(layer, layer.parts("fw")[0], found)
        page = render(explained)
        assert max(map(len, page.splitlines())) <= 110, page
        assert Fraction(math.prod(share.share for share in explained.utilization)) == Fraction(
            found.macs, found.cycles * case.accelerator.pes
        )
        items = {(item.component, item.tensor, item.action): item.count for item in found.items}
        for level, spec in zip(explained.levels, case.accelerator.levels, strict=True):
            for tile in level.tiles:
                assert math.prod(extent.words for extent in tile.extents) == tile.words
                assert tile.words == found.tiles[level.name, tile.tensor]
            lanes = [loop.factor for loop in level.loops if loop.kind != "t"]
            assert math.prod(lanes) <= spec.fanout.lanes
        for move in explained.movements:
            action = "reads" if move.refills is None else "updates"
            above = case.accelerator.levels[case.accelerator.level_names.index(move.above)]
            buffer = above.buffer(case.einsum.tensor(move.tensor)).name
            assert move.words == items[buffer, move.tensor, action]
            assert move.refills is None or move.refills == items[buffer, move.tensor, "reads"]
            assert math.prod(culprit.times for culprit in move.culprits) == move.times


def test_alexnet_conv1_reads_a_plane_of_227_by_227() -> None:
    page = render(told("alexnet_grouped:conv1", "eyeriss", "DRAM: N1 K96 C3 P55 Q55 R11 S11"))
    assert "  O[K,P,Q] += W[K,C,R,S] * I[C,h,w],  h = 4*P+R,  w = 4*Q+S\n" in page
    assert "    I  C3 h227 w227    154,587  words  2,473,392 bits\n" in page


def test_a_strided_1x1_layer_touches_no_holes() -> None:
    explained = told("resnet18:layer2.0.down.0", "procrustes", "DRAM: K128 C64 P28 Q28")
    tile = next(tile for tile in explained.levels[0].tiles if tile.tensor == "I")
    assert [(e.rank, e.words) for e in tile.extents] == [("C", 64), ("P", 28), ("Q", 28)]
    assert tile.words == 64 * 784


def test_holes_of_a_tile_are_shown_against_its_span() -> None:
    explained = told("O[P] += W[R] * I[3*P+R]; P=4 R=2", "procrustes", "DRAM: P4 R2")
    extent = next(tile for tile in explained.levels[0].tiles if tile.tensor == "I").extents[0]
    assert (extent.span, extent.words) == (11, 8)
    assert "h8(of 11)" in render(explained)


def test_the_loop_that_refetches_weights_is_named() -> None:
    mapping = "DRAM: N2 P56 C64 | GLB: K64 Q56 R3 S3 "
    layer = load_layer("resnet18:layer1.0.conv1", 2)
    part = layer.parts("fw")[0]
    page = render(explain(layer, part, evaluate(layer, "procrustes", mapping)))
    assert "    W is refetched x 112 into GLB: N2 P56 at DRAM, outside C64\n" in page


def test_weights_that_are_fetched_once_blame_no_loop() -> None:
    explained = told("resnet18:layer3.0.conv1", "tpu_like", "DRAM: K256 C128 R3 S3 | Buffers: P14 Q14")
    weights = [move for move in explained.movements if move.tensor == "W"]
    assert [(move.words, move.distinct, move.culprits) for move in weights] == [(294_912, 294_912, ())]


def test_the_axis_that_is_too_long_for_the_work_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wide.yaml"
    path.write_text(bent(("x: 14, y: 12", "x: 200, y: 200")), encoding="utf-8")
    explained = told("Z[M,N] += A[M,K] * B[K,N]; M=128 N=128 K=2", str(path), "DRAM: K2 | GLB: | X: M128 | Y: N128")
    assert [(share.what, share.share) for share in explained.utilization[:2]] == [
        ("lanes of X below GLB", Fraction(128, 200)),
        ("lanes of Y below GLB", Fraction(128, 200)),
    ]
    assert explained.utilization[0].why == "M128 on 200 lanes: the axis is longer than the work, M ends at 128"


def test_lanes_that_idle_in_the_last_round_are_counted() -> None:
    page = render(told("Z[M,N] += A[M,K] * B[K,N]; M=7 N=1 K=1", "procrustes", "DRAM: M2 | GLB: | X: M4"))
    assert "7 tiles on 4 lanes: 2 rounds, 7 of 8 slots" in page
    assert "    87.5 %  slots of M on X below GLB" in page


def test_a_wait_for_a_port_is_the_reason_for_low_utilization(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(bent(("{read: 16, write: 8}", "{read: 1, write: 1}")), encoding="utf-8")
    explained = told("Z[M,N] += A[M,K] * B[K,N]; M=8 N=8 K=8", str(path), "DRAM: K8 | GLB: | X: M8 | Y: N8")
    last = explained.utilization[-1]
    assert (last.what, last.why) == ("cycles that compute", "GLB read takes 256 cycles, compute only 8")


def test_tensors_that_share_words_are_told_from_those_that_do_not() -> None:
    explained = told("resnet18:conv1", "procrustes", "DRAM: P112 C3 R7 S7 | GLB: Q7 | X: K16 | Y: Q16 | RF: K4")
    flows = {flow.tensor: flow for flow in explained.flows}
    assert [(flows[t].x.own, flows[t].x.shared) for t in "WIO"] == [(16, 1), (1, 16), (16, 1)]
    assert [(flows[t].y.own, flows[t].y.shared) for t in "WIO"] == [(1, 16), (16, 1), (16, 1)]
    assert "multicast to 16" in render(explained)


def test_neighbours_whose_windows_overlap_are_told() -> None:
    explained = told("O[P] += W[R] * I[P+R]; P=16 R=3", "procrustes", "DRAM: | GLB: | X: P16 | RF: R3")
    inputs = next(flow for flow in explained.flows if flow.tensor == "I")
    assert (inputs.x.overlap, inputs.mean, inputs.most) == (True, 48 / 18, 3)


def test_letters_say_what_they_count_in_each_phase() -> None:
    plain, strided = load_layer("resnet18:layer1.0.conv1"), load_layer("resnet18:layer2.0.conv1")
    parts = [(plain, plain.parts(phase)[0]) for phase in ("fw", "bw", "wu")] + [(strided, strided.parts("bw")[0])]
    meanings = [{letter.name: letter.meaning for letter in letters(*pair)}["P"] for pair in parts]
    assert meanings == ["output rows", "input rows", "input rows", "input rows of this part"]


def test_letters_say_which_tensors_they_leave_alone() -> None:
    layer = load_layer("resnet18:layer1.0.conv1")
    reuses = {letter.name: letter.reuses for letter in letters(layer, layer.parts("fw")[0])}
    expected = {"K": ("I",), "C": ("O",), "P": ("W",), "Q": ("W",), "R": ("O",), "S": ("O",)}
    assert reuses == expected


def test_a_comparison_lists_only_what_differs_and_the_dearest_count_first() -> None:
    text = "Z[M,N] += A[M,K] * B[K,N]; M=8 N=8 K=8"
    one = evaluate(load_layer(text), "procrustes", "DRAM: M8 K8 | GLB: N8")
    other = evaluate(load_layer(text), "procrustes", "DRAM: K8 M8 | GLB: N8")
    found = compare(one, other, ("rank 1", "rank 2"))
    assert [(place.name, place.first, place.second) for place in found.places] == [("DRAM", "M8 K8", "K8 M8")]
    assert found.cycles == ()
    assert (found.counts[0].what, found.counts[0].first, found.counts[0].second) == ("DRAM reads of B", 512, 64)
    assert sum(d.energy_pj for d in found.counts) == pytest.approx(other.energy_pj - one.energy_pj)
    assert render_versus(found).startswith("rank 1 against rank 2: the same cycles, ")


def test_a_mapping_ties_with_itself() -> None:
    one = evaluate(load_layer("Z[M] += A[M,K] * B[K]; M=8 K=8"), "procrustes", "DRAM: M8 K8")
    assert "they tie" in render_versus(compare(one, one, ("rank 1", "rank 2")))


def test_a_whole_array_of_one_level_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "flat.yaml"
    path.write_text(
        "name: flat\nbits: {default: 16}\nlevels:\n  - name: MEM\n    capacity: unlimited\n"
        "    energy_pj_per_word: {read: 1, write: 1, source: s}\ncompute: {energy_pj: 1, source: s}\n",
        encoding="utf-8",
    )
    assert load_arch(path).pes == 1
    page = render(told("Z[M] += A[M]* B[M]; M=2", str(path), "MEM: M2"))
    assert "What moves" not in page
    assert "  utilization 100.0 %\n" in page
