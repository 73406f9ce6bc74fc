"""Field cases 17 to 24: what layers and phases count, and what follows for the words they move."""

from __future__ import annotations

import itertools
import math

import pytest

from mapper.cost import Evaluation, evaluate
from mapper.search.run import search
from mapper.workload import Conv2d, Einsum, Layer, Linear, Phase, load_layer
from tests.machines import array, dram_words, level, machine, words

TWO = machine(level("DRAM"), level("BUF"))


def output_words(einsum: Einsum) -> int:
    """Words of the accumulated tensor."""
    return math.prod(einsum.extent[d] for d in einsum.output.dimensions)


def evaluate_all(layer: Layer, phase: str) -> list[Evaluation]:
    """Every part of a phase with all its loops at the outermost level."""
    found = []
    for part in layer.parts(phase):
        loops = " ".join(f"{d}{n}" for d, n in part.einsum.bounds)
        found.append(evaluate(part.einsum, TWO, f"DRAM: {loops}"))
    return found


# 17: groups -----------------------------------------------------------------------------------------------------------


def depthwise(channels: int) -> Conv2d:
    return Conv2d(C=channels, K=channels, groups=channels, R=3, S=3, P=28, Q=28)


@pytest.mark.parametrize(
    "mapping", ["DRAM: {G} P28 | BUF: Q28 R3 S3", "DRAM: {G} R3 P28 | BUF: S3 Q28", "DRAM: {G} | BUF: P28 R3 Q28 S3"]
)
def test_case_17_depthwise_layers_are_so_many_layers_of_one_channel(mapping: str) -> None:
    layer = depthwise(24)
    assert layer.weights == 216
    assert layer.macs == 169_344
    together = evaluate(layer, TWO, mapping.format(G="G24"))
    single = evaluate(depthwise(1), TWO, mapping.format(G=""))
    assert together.macs == together.points == 169_344
    assert words(together, "DRAM", "W", "reads")[0] == 24 * words(single, "DRAM", "W", "reads")[0] >= 216
    assert dram_words(together) == 24 * dram_words(single)
    assert together.cycles == 24 * single.cycles


@pytest.mark.parametrize(("phase", "output"), [("bw", 24 * 30 * 30), ("wu", 216)])
def test_case_17_the_gradients_of_depthwise_layers_are_so_many_too(phase: str, output: int) -> None:
    (together,), (single,) = evaluate_all(depthwise(24), phase), evaluate_all(depthwise(1), phase)
    assert output_words(together.einsum) == output
    assert dram_words(together) == 24 * dram_words(single)


def test_case_17_groups_of_several_channels_multiply_what_one_group_moves() -> None:
    grouped = Conv2d(C=24, K=48, groups=4, R=3, S=3, P=28, Q=28)
    one = Conv2d(C=6, K=12, R=3, S=3, P=28, Q=28)
    assert grouped.weights == 48 * 6 * 9 == 4 * one.weights
    loops = "K12 P28 | BUF: C6 Q28 R3 S3"
    assert dram_words(evaluate(grouped, TWO, f"DRAM: G4 {loops}")) == 4 * dram_words(
        evaluate(one, TWO, f"DRAM: {loops}")
    )


# 18 to 20: planes -----------------------------------------------------------------------------------------------------


def test_case_18_dilation_2_spans_18_inputs_and_keeps_the_macs() -> None:
    dilated, plain = (Conv2d(C=4, K=8, R=3, S=3, P=14, Q=14, dilation=d) for d in (2, 1))
    assert dilated.macs == plain.macs == 4 * 8 * 9 * 14 * 14
    assert (dilated.H, dilated.W) == (18, 18)
    found = evaluate(dilated, TWO, "DRAM: | BUF: K8 C4 P14 Q14 R3 S3")
    assert found.tiles["BUF", "I"] == 4 * 18 * 18
    assert found.points == plain.macs


@pytest.mark.parametrize(
    ("dilation", "stride", "taps", "span"), [(2, 1, 3, 18), (3, 1, 3, 20), (4, 1, 3, 22), (2, 2, 3, 31), (2, 1, 5, 22)]
)
def test_case_18_dilation_spreads_taps_along_one_axis(dilation: int, stride: int, taps: int, span: int) -> None:
    layer = Conv2d(C=1, K=1, R=taps, S=1, P=14, Q=1, dilation=(dilation, 1), stride=(stride, 1))
    assert (layer.H, layer.W) == (span, 1)
    assert layer.macs == 14 * taps


@pytest.mark.parametrize(
    ("H", "W", "stride", "taps", "outputs"),
    [
        (7, 5, 2, 3, (4, 3)),
        (7, 5, 1, 3, (7, 5)),
        (7, 5, 3, 3, (3, 2)),
        (8, 6, 2, 3, (4, 3)),
        (224, 224, 2, 7, (112, 112)),
        (7, 5, 2, 1, (4, 3)),
    ],
)
def test_case_19_same_padding_gives_ceil_of_size_by_stride(
    H: int, W: int, stride: int, taps: int, outputs: tuple[int, int]
) -> None:
    layer = Conv2d(C=1, K=1, R=taps, S=taps, H=H, W=W, stride=stride, padding="same")
    assert (layer.P, layer.Q) == outputs == (-(-H // stride), -(-W // stride))


@pytest.mark.parametrize(
    ("padding", "outputs"),
    [((1, 1, 0, 0), (4, 2)), ((0, 0, 1, 1), (3, 3)), ((1, 0, 0, 0), (3, 2)), ((0, 1, 0, 1), (3, 2))],
)
def test_case_19_asymmetric_padding_is_accepted(padding: tuple[int, int, int, int], outputs: tuple[int, int]) -> None:
    layer = Conv2d(C=1, K=1, R=3, S=3, H=7, W=5, stride=2, padding=padding)
    assert layer.padding == padding
    assert (layer.P, layer.Q) == outputs


def test_case_19_gradients_skip_the_products_of_asymmetric_padding() -> None:
    # Rows 1, 3, 5 meet two taps and rows 0, 2, 4, 6 one: 10 products where the four outputs have 12 with padding.
    layer = Conv2d(C=1, K=1, R=3, S=3, H=7, W=5, stride=2, padding=(1, 1, 0, 0))
    macs = {str(phase): sum(e.macs for e in layer.einsums(phase)) for phase in Phase}
    assert macs == {"fw": 12 * 6, "bw": 10 * 6, "wu": 10 * 6}


def test_case_20_strides_differ_per_axis() -> None:
    layer = Conv2d(C=1, K=1, R=3, S=3, H=9, W=9, stride=(2, 1))
    assert (layer.P, layer.Q) == (4, 7)
    assert layer.macs == 4 * 7 * 9
    found = evaluate(layer, TWO, "DRAM: | BUF: P4 Q7 R3 S3")
    assert found.tiles["BUF", "I"] == 9 * 9
    turned = Conv2d(C=1, K=1, R=3, S=3, H=9, W=9, stride=(1, 2))
    assert (turned.P, turned.Q) == (7, 4)


# 21, 22: phases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", list(Phase))
def test_case_21_all_phases_of_a_strided_1x1_layer_have_the_same_macs(phase: Phase) -> None:
    layer = Conv2d(N=128, C=256, K=512, R=1, S=1, H=56, W=56, stride=2)
    assert layer.macs == 128 * 512 * 256 * 28 * 28 == 13_153_337_344
    found = evaluate_all(layer, phase)
    assert sum(one.macs for one in found) == 13_153_337_344
    assert sum(one.points for one in found) == 13_153_337_344
    assert layer.macs * 4 == 128 * 512 * 256 * 56 * 56  # what one stride-1 convolution would do for bw


@pytest.mark.parametrize(
    ("taps", "stride", "padding"), list(itertools.product((1, 2, 3, 5), (1, 2, 3), (0, 1))), ids=str
)
def test_case_21_phases_have_equal_macs_for_every_stride(taps: int, stride: int, padding: int) -> None:
    layer = Conv2d(N=2, C=3, K=4, R=taps, S=taps, H=30, W=30, stride=stride, padding=padding * ((taps - 1) // 2))
    assert {sum(e.macs for e in layer.einsums(phase)) for phase in Phase} == {layer.macs}
    naive = 2 * 3 * 4 * taps**2 * 30 * 30
    assert sum(e.points for e in layer.einsums("bw")) <= naive


def test_case_22_the_accumulated_tensor_changes_with_the_phase() -> None:
    layer = Conv2d(N=16, C=3, K=64, R=3, S=3, P=28, Q=28)
    (forward,), (update,) = evaluate_all(layer, "fw"), evaluate_all(layer, "wu")
    assert output_words(forward.einsum) == forward.tiles["DRAM", "O"] == 802_816
    assert output_words(update.einsum) == update.tiles["DRAM", "dW"] == 1_728
    (backward,) = evaluate_all(layer, "bw")
    assert backward.tiles["DRAM", "dI"] == 16 * 3 * 30 * 30


def test_case_22_the_weight_gradient_of_a_linear_layer_has_the_size_of_its_weights() -> None:
    layer = Linear(N=16, C=512, K=10)
    (update,) = evaluate_all(layer, "wu")
    assert update.tiles["DRAM", "dW"] == 5_120
    assert [one.tiles["DRAM", "O"] for one in evaluate_all(layer, "fw")] == [16 * 10]
    assert [one.tiles["DRAM", "dI"] for one in evaluate_all(layer, "bw")] == [16 * 512]


@pytest.mark.parametrize("phase", list(Phase))
def test_case_22_each_word_of_the_accumulated_tensor_is_written_once_where_it_is_not_split(phase: Phase) -> None:
    layer = Conv2d(N=2, C=3, K=4, R=3, S=3, H=9, W=9, stride=2, padding=1)
    for part in layer.parts(phase):
        einsum = part.einsum
        outer = " ".join(f"{d}{n}" for d, n in einsum.bounds if d not in einsum.reductions)
        inner = " ".join(f"{d}{n}" for d, n in einsum.bounds if d in einsum.reductions)
        found = evaluate(einsum, TWO, f"DRAM: {outer} | BUF: {inner}")
        assert words(found, "DRAM", einsum.output.name, "updates reads") == (output_words(einsum), 0)


# 23, 24: reuse --------------------------------------------------------------------------------------------------------

VGG = {
    "f.conv1_2": "DRAM: K4 C4 P224 | GLB: Q224 | X: C16 | Y: K16 | RF: R3 S3",
    "f.conv4_2": "DRAM: K32 C32 P28 | GLB: Q28 | X: C16 | Y: K16 | RF: R3 S3",
}


def test_case_23_layers_of_equal_macs_differ_in_what_they_move() -> None:
    early, late = (evaluate(load_layer(f"vgg16:{name}"), "procrustes", mapping) for name, mapping in VGG.items())
    assert early.macs == late.macs == 1_849_688_064
    assert early.cycles == late.cycles == 1_849_688_064 // 256
    assert early.utilization == late.utilization == 1.0
    assert early.fits
    assert late.fits
    assert dram_words(early) != dram_words(late)
    assert words(late, "DRAM", "W", "reads") > words(early, "DRAM", "W", "reads")


def test_case_23_what_each_must_move_at_least_differs_too() -> None:
    # Every loop in one buffer without limit: each distinct word moves once.
    def least(name: str) -> int:
        layer = load_layer(f"vgg16:{name}")
        loops = " ".join(f"{d}{n}" for d, n in layer.parts("fw")[0].einsum.bounds)
        return dram_words(evaluate(layer, TWO, f"DRAM: | BUF: {loops}"))

    assert least("f.conv1_2") == 64 * 64 * 9 + 64 * 224 * 224 + 64 * 224 * 224
    assert least("f.conv4_2") == 512 * 512 * 9 + 512 * 28 * 28 + 512 * 28 * 28


def cycles_per_mac(batch: int, bandwidth: float) -> float:
    """Of the fastest mapping of a linear layer on an array fed from DRAM."""
    layer = Linear(C=64, K=32, N=batch)
    found = search(layer, array(8, 8, 64, shared=bandwidth), partitioning="CK", metric="cycles", top=1)
    return found[0].evaluation.cycles / layer.macs


@pytest.mark.parametrize("bandwidth", [1.0, 4.0, 16.0])
def test_case_24_a_batch_of_one_is_never_as_fast_per_mac(bandwidth: float) -> None:
    single = cycles_per_mac(1, bandwidth)
    assert single > cycles_per_mac(256, bandwidth)
    assert single >= 1 / bandwidth  # each weight is read for one multiplication


def test_case_24_each_weight_is_read_once_for_all_of_a_batch() -> None:
    on = array(16, 16, shared=16.0)
    single = evaluate(Linear(C=512, K=256), on, "DRAM: K16 C32 | GLB: | X: C16 | Y: K16")
    many = evaluate(Linear(C=512, K=256, N=256), on, "DRAM: K16 C32 | GLB: N256 | X: C16 | Y: K16")
    assert words(single, "DRAM", "W", "reads") == words(many, "DRAM", "W", "reads") == (512 * 256,)
    assert single.bound_by == "DRAM shared"
    assert many.macs == 256 * single.macs
    assert single.cycles / single.macs > many.cycles / many.macs
