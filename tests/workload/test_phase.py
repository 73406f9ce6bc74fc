"""Phases: roles, parts, and the gradients that executing the parts yields."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapper.errors import InputError
from mapper.workload import Conv2d, Linear, Part, Phase, load_network

Values = dict[str, NDArray[np.int64]]


@st.composite
def convolutions(draw: st.DrawFn) -> Conv2d:
    """Small convolutions of every kind whose filter fits."""

    def pair(most: int) -> tuple[int, int]:
        return draw(st.integers(1, most)), draw(st.integers(1, most))

    groups, (R, S), (u, v), (d, e) = draw(st.integers(1, 2)), pair(3), pair(3), pair(3)
    pads: Any = tuple(draw(st.integers(0, 2)) for _ in range(4))
    H = max(draw(st.integers(1, 6)), d * (R - 1) + 1 - pads[0] - pads[1])
    W = max(draw(st.integers(1, 5)), e * (S - 1) + 1 - pads[2] - pads[3])
    return Conv2d(
        C=groups, K=groups * 2, R=R, S=S, H=H, W=W, stride=(u, v), dilation=(d, e), groups=groups, padding=pads
    )


def operands(layer: Conv2d) -> Values:
    """W[G,K,C,R,S], I[N,G,C,H,W] and dO[N,G,K,P,Q] with small random integers."""
    G, K, C = layer.groups, layer.K // layer.groups, layer.C // layer.groups
    random = np.random.default_rng(layer.H * 7 + layer.W)
    shapes = {
        "W": (G, K, C, layer.R, layer.S),
        "I": (layer.N, G, C, layer.H, layer.W),
        "dO": (layer.N, G, K, layer.P, layer.Q),
    }
    return {name: random.integers(-9, 10, shape) for name, shape in shapes.items()}


def by_definition(layer: Conv2d, values: Values) -> Values:
    """O, dI and dW straight from o = sum w*i with zero padding."""
    results = {"O": np.zeros_like(values["dO"]), "dI": np.zeros_like(values["I"]), "dW": np.zeros_like(values["W"])}
    v, h = layer.vertical, layer.horizontal
    for p, q, r, s in product(range(layer.P), range(layer.Q), range(layer.R), range(layer.S)):
        y, x = v.stride * p + v.dilation * r - v.begin, h.stride * q + h.dilation * s - h.begin
        if 0 <= y < layer.H and 0 <= x < layer.W:
            taps, i, do = values["W"][..., r, s], values["I"][..., y, x], values["dO"][..., p, q]
            results["O"][..., p, q] += np.einsum("gkc,ngc->ngk", taps, i)
            results["dI"][..., y, x] += np.einsum("gkc,ngk->ngc", taps, do)
            results["dW"][..., r, s] += np.einsum("ngc,ngk->gkc", i, do)
    return results


PLANES = {"W": "filter", "I": "plane", "O": "plane", "dI": "plane", "dW": "filter"}
FORMULAS = {Phase.fw: "gkc,ngc->ngk", Phase.bw: "gkc,ngk->ngc", Phase.wu: "ngc,ngk->gkc"}


def execute(part: Part, values: Values, result: NDArray[np.int64]) -> set[tuple[int, int]]:
    """Run one part point by point into `result`; the positions of the sliding tensor that it met."""
    v, h = part.axes
    bounds = part.einsum.extent
    plain, sliding = part.einsum.operands
    met = set()
    for i, j, t, w in product(*(range(bounds[d]) for d in "PQRS")):
        y, x = v.origin + v.step * i + v.reach * t, h.origin + h.step * j + h.reach * w
        met.add((y, x))
        if 0 <= y < v.size and 0 <= x < h.size:
            at = {"plane": (v.plane[i], h.plane[j]), "filter": (v.taps[t], h.taps[w])}
            a = values[plain.name][(..., *at[PLANES[plain.name]])]
            b = values[sliding.name][..., y, x]
            result[(..., *at[PLANES[part.einsum.output.name]])] += np.einsum(FORMULAS[part.phase], a, b)
    return met


@settings(max_examples=60, deadline=None)
@given(convolutions())
def test_executing_the_parts_gives_the_true_output_and_gradients(layer: Conv2d) -> None:
    values = operands(layer)
    wanted = by_definition(layer, values)
    for phase, name in ((Phase.fw, "O"), (Phase.bw, "dI"), (Phase.wu, "dW")):
        result = np.zeros_like(wanted[name])
        for part in layer.parts(phase):
            execute(part, values, result)
        assert np.array_equal(result, wanted[name])


@settings(max_examples=60, deadline=None)
@given(convolutions(), st.sampled_from(Phase))
def test_padding_words_are_the_positions_met_that_do_not_exist(layer: Conv2d, phase: Phase) -> None:
    values = operands(layer)
    for part in layer.parts(phase):
        met = execute(part, values, np.zeros_like({"fw": values["dO"], "bw": values["I"], "wu": values["W"]}[phase]))
        sliding = part.einsum.operands[1]
        images = values[sliding.name][..., 0, 0].size
        height, width = values[sliding.name].shape[-2:]
        outside = sum(not (0 <= y < height and 0 <= x < width) for y, x in met)
        assert sliding.padding_words == images * outside
        assert part.einsum.operands[0].padding_words == part.einsum.output.padding_words == 0


@given(convolutions(), st.sampled_from([Phase.bw, Phase.wu]))
def test_points_of_a_part_are_at_least_its_macs(layer: Conv2d, phase: Phase) -> None:
    for einsum in layer.einsums(phase):
        assert einsum.points >= einsum.macs > 0


@given(convolutions())
def test_dimensions_and_parts_are_the_same_in_both_gradients(layer: Conv2d) -> None:
    bw, wu = layer.einsums("bw"), layer.einsums("wu")
    assert [e.bounds for e in bw] == [e.bounds for e in wu]
    assert [e.macs for e in bw] == [e.macs for e in wu]
    assert all(e.dimensions == ("N", "G", "K", "C", "P", "Q", "R", "S") for e in (*bw, *layer.einsums("fw")))


def test_tensors_stand_in_the_roles_of_the_cost_model() -> None:
    layer = Conv2d(C=4, K=6, R=3, S=3, H=9, W=9, stride=2, padding=1)
    texts = {phase: str(layer.einsums(phase)[0]) for phase in Phase}
    assert texts == {
        "fw": "O[N,G,K,P,Q] += W[G,K,C,R,S] * I[N,G,C,2*P+R,2*Q+S]",
        "bw": "dI[N,G,C,P,Q] += W[G,K,C,R,S] * dO[N,G,K,P+R,Q+S]",
        "wu": "dW[G,K,C,R,S] += I[N,G,C,P,Q] * dO[N,G,K,P+R,Q+S]",
    }
    roles = {phase: [(t.role, t.data) for t in layer.einsums(phase)[0].tensors] for phase in Phase}
    assert roles == {
        "fw": [("W", "W"), ("I", "I"), ("O", "O")],
        "bw": [("W", "W"), ("I", "O"), ("O", "I")],
        "wu": [("W", "I"), ("I", "O"), ("O", "W")],
    }


def test_a_strided_3x3_splits_into_four_parts_by_taps() -> None:
    parts = Conv2d(C=4, K=6, R=3, S=3, H=56, W=56, stride=2, padding=1).parts("bw")
    assert [(p.einsum.extent["R"], p.einsum.extent["S"]) for p in parts] == [(2, 2), (2, 1), (1, 2), (1, 1)]
    assert [p.label for p in parts] == ["1/4", "2/4", "3/4", "4/4"]
    assert [p.einsum.name for p in parts] == ["bw 1/4", "bw 2/4", "bw 3/4", "bw 4/4"]


def test_stride_1_needs_one_part_a_phase() -> None:
    layer = Conv2d(C=4, K=6, R=3, S=3, H=8, W=8, padding=1)
    assert [p.label for phase in Phase for p in layer.parts(phase)] == ["1/1"] * 3


def test_dilation_and_stride_with_a_common_divisor_share_residues() -> None:
    parts = Conv2d(C=1, K=1, R=3, S=1, H=16, W=1, stride=(4, 1), dilation=(6, 1)).parts("wu")
    assert [list(p.axes[0].taps) for p in parts] == [[2, 0], [1]]
    assert str(parts[0].einsum.operands[1]) == "dO[N,G,K,P+3*R,Q+S]"


def test_strided_pointwise_layer_has_equal_macs_in_all_phases() -> None:
    layer = Conv2d(N=128, C=256, K=512, R=1, S=1, H=56, W=56, stride=2)
    assert {phase: sum(e.macs for e in layer.einsums(phase)) for phase in Phase} == dict.fromkeys(Phase, 13_153_337_344)
    assert sum(e.points for e in layer.einsums("bw")) == 13_153_337_344


@pytest.mark.parametrize("name", ["resnet50", "mobilenet_v2", "alexnet", "vgg_s_28", "transformer_base"])
def test_shipped_layers_have_equal_macs_in_all_phases(name: str) -> None:
    for layer in load_network(name, batch=2):
        assert {sum(e.macs for e in layer.einsums(phase)) for phase in Phase} == {layer.macs}


def test_accumulated_tensors_have_their_size_in_each_phase() -> None:
    layer = Conv2d(N=16, C=3, K=64, R=3, S=3, P=28, Q=28)
    assert layer.output_words == words(layer, "fw") == 802_816
    assert words(layer, "wu") == 1_728
    assert words(Linear(N=16, C=512, K=10), "wu") == 5_120


def words(layer: Conv2d | Linear, phase: str) -> int:
    """Words of the accumulated tensor of the phase's one part."""
    (einsum,) = layer.einsums(phase)
    return int(np.prod([einsum.extent[rank[0].dimension] for rank in einsum.output.ranks]))


@pytest.mark.parametrize(
    ("text", "phase"),
    [("fw", Phase.fw), ("Forward", Phase.fw), ("dgrad", Phase.bw), ("backward-data", Phase.bw), ("bwd", Phase.bw),
     ("wgrad", Phase.wu), ("weight_update", Phase.wu), ("Weight Update", Phase.wu)],
)  # fmt: skip
def test_phases_answer_to_their_usual_names(text: str, phase: Phase) -> None:
    assert Phase.parse(text) is phase


def test_an_unknown_phase_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no phase 'fordward' \(did you mean 'forward'\?\)"):
        Phase.parse("fordward")
