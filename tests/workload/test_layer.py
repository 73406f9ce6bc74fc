"""Layers: sizes, padding, counts, and what is refused."""

import doctest
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mapper.errors import InputError
from mapper.workload import Conv2d, Einsum, EinsumLayer, Linear, Matmul, Phase
from mapper.workload import layer as layer_module


def conv(**fields: Any) -> Conv2d:
    """A 4-channel 3x3 convolution of 8x8, but for `fields`."""
    return Conv2d(**{"C": 4, "K": 4, "R": 3, "S": 3, "H": 8, "W": 8, **fields})


def test_depthwise_counts_one_filter_per_channel() -> None:
    layer = conv(C=24, K=24, H=28, W=28, padding=1, groups=24)
    assert (layer.P, layer.Q, layer.weights, layer.macs) == (28, 28, 216, 169_344)
    (einsum,) = layer.einsums("fw")
    assert einsum.extent == {"N": 1, "G": 24, "K": 1, "C": 1, "P": 28, "Q": 28, "R": 3, "S": 3}


def test_dilation_widens_the_span_not_the_macs() -> None:
    plain, dilated = (Conv2d(C=1, K=1, R=3, S=1, P=14, Q=1, dilation=(d, 1)) for d in (1, 2))
    assert (plain.H, dilated.H) == (16, 18)
    assert plain.macs == dilated.macs == 42
    assert str(dilated.einsums("fw")[0].operands[1]) == "I[N,G,C,P+2*R,Q+S]"


def test_same_padding_with_stride_rounds_the_output_up() -> None:
    layer = conv(H=7, W=5, stride=2, padding="same")
    assert (layer.P, layer.Q) == (4, 3)
    assert layer.padding == (1, 1, 1, 1)


def test_asymmetric_padding_is_accepted_as_top_bottom_left_right() -> None:
    layer = conv(R=2, padding=[1, 1, 0, 0])
    assert layer.padding == (1, 1, 0, 0)
    assert (layer.P, layer.Q) == (9, 6)


def test_strides_may_differ_per_axis() -> None:
    layer = conv(H=9, W=9, stride=(2, 1))
    assert (layer.P, layer.Q) == (4, 7)
    assert str(layer.einsums("fw")[0].operands[1]) == "I[N,G,C,2*P+R,Q+S]"


@given(
    outputs=st.integers(1, 9), taps=st.integers(1, 5), stride=st.integers(1, 4), dilation=st.integers(1, 3),
    padding=st.sampled_from([0, 1, (0, 1), (1, 0, 0, 1), "same"]),
)  # fmt: skip
def test_an_input_size_not_given_is_the_least_that_makes_the_output(
    outputs: int, taps: int, stride: int, dilation: int, padding: Any
) -> None:
    fields: dict[str, Any] = {"C": 1, "K": 1, "R": taps, "S": taps, "stride": stride, "dilation": dilation}
    assume(padding == "same" or stride * (outputs - 1) + dilation * (taps - 1) > 1)
    layer = Conv2d(**fields, P=outputs, Q=outputs, padding=padding)
    padded = layer.H + layer.vertical.begin + layer.vertical.end
    assert padded == stride * (outputs - 1) + dilation * (taps - 1) + 1
    again = Conv2d(**fields, H=layer.H, W=layer.W, padding=padding)
    assert {again.P, again.Q} == {outputs}


def test_equal_layers_are_equal_however_they_are_written() -> None:
    assert conv(padding=1) == conv(padding=(1, 1), stride=(1, 1), P=8, Q=8)
    assert hash(conv(padding=1)) == hash(conv(padding=[1, 1, 1, 1]))


def test_batch_multiplies_rows_and_leaves_the_weights() -> None:
    for layer in (conv(bias=True), Linear(C=8, K=5, N=3)):
        batched = layer.with_batch(4)
        assert (batched.macs, batched.weights, batched.biases) == (4 * layer.macs, layer.weights, layer.biases)
        assert batched.einsums("fw")[0].extent["N"] == 4 * layer.einsums("fw")[0].extent["N"]


def test_batch_of_attention_multiplies_its_repeats() -> None:
    layer = Matmul(M=128, N=128, K=64, repeat=12, batched=True).with_batch(8)
    assert (layer.repeat, layer.N) == (96, 128)
    shared = Matmul(M=128, N=128, K=64, repeat=12).with_batch(8)
    assert (shared.repeat, shared.N) == (12, 1024)


def test_counts_of_one_instance_leave_repeats_out() -> None:
    assert conv(repeat=3).macs == conv().macs


def test_a_matmul_has_no_weights_and_two_gradients() -> None:
    layer = Matmul(M=5, N=7, K=3)
    assert (layer.weights, layer.biases, layer.macs) == (0, 0, 105)
    names = {phase: [t.name for t in layer.einsums(phase)[0].tensors] for phase in Phase}
    assert names == {"fw": ["A", "B", "O"], "bw": ["A", "dO", "dB"], "wu": ["B", "dO", "dA"]}
    assert [t.data for t in layer.einsums("fw")[0].tensors] == ["I", "I", "O"]
    assert layer.einsums("wu")[0].output.data == "I"
    assert layer.einsums("fw")[0].extent == {"N": 7, "G": 1, "K": 5, "C": 3, "P": 1, "Q": 1, "R": 1, "S": 1}


def test_a_first_layer_has_no_backward_phase_unless_asked() -> None:
    layer = conv(input_gradient=False)
    assert layer.phases() == (Phase.fw, Phase.wu)
    assert layer.phases(input_gradients=True) == (Phase.fw, Phase.bw, Phase.wu)
    assert conv().phases() == (Phase.fw, Phase.bw, Phase.wu)


def test_an_einsum_stands_for_a_layer_with_one_phase() -> None:
    layer = EinsumLayer.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=5 K=6")
    assert (layer.macs, layer.weights, layer.phases(True)) == (120, 0, (Phase.fw,))
    assert layer.parts("forward")[0].label == "1/1"
    with pytest.raises(InputError, match=r"no phase bw \(fw\)"):
        layer.einsums("bw")
    with pytest.raises(InputError, match="state the batch in its bounds"):
        layer.with_batch(2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"K": 0}, "Conv2d: output channels K is 0 (an integer, 1 or more)"),
        ({"C": -4}, "Conv2d: input channels C is -4 (an integer, 1 or more)"),
        ({"R": 2.5}, "Conv2d: filter height R is 2.5 (an integer, 1 or more)"),
        ({"N": True}, "Conv2d: batch N is True (an integer, 1 or more)"),
        ({"H": 0}, "Conv2d: input height H is 0 (an integer, 1 or more)"),
        ({"repeat": 0}, "Conv2d: repeat is 0 (an integer, 1 or more)"),
        ({"groups": 3}, "Conv2d: groups 3 do not divide C=4 and K=4 (nearest: 2)"),
        (
            {"C": 10**9, "K": 10**9, "groups": 7},
            "Conv2d: groups 7 do not divide C=1000000000 and K=1000000000 (nearest: 8)",
        ),
        (
            {"C": 10**30, "K": 10**30, "groups": 7},
            f"Conv2d: input channels C is {10**30:,} (at most 1,099,511,627,776)",
        ),
        (
            {"H": 2**26, "padding": 1},
            "Conv2d: the padded input height 1+67108864+1 is 67,108,866 (at most 67,108,864)",
        ),
        (
            {"H": 999, "W": 999, "R": 999, "S": 9, "stride": (999, 9)},
            "Conv2d: stride [999, 9] splits a gradient into 8,991 parts (at most 4,096)",
        ),
        ({"stride": 0}, "Conv2d: stride is 0 (an integer, 1 or more)"),
        ({"stride": (1, 2, 3)}, "Conv2d: stride (1, 2, 3) has 3 values (one number, or [height, width])"),
        ({"dilation": (1, 0)}, "Conv2d: dilation is 0 (an integer, 1 or more)"),
        ({"padding": -1}, "Conv2d: padding is -1 (an integer, 0 or more)"),
        (
            {"padding": (1, 2, 3)},
            "Conv2d: padding (1, 2, 3) has 3 values (one number, [height, width] or [top, bottom, left, right])",
        ),
        (
            {"padding": "sane"},
            "Conv2d: padding 'sane' (same, valid, one number, [height, width] or [top, bottom, left, right])",
        ),
        (
            {"P": 8},
            "Conv2d: output height P=8 contradicts H=8: 3 taps, stride 1, dilation 1, padding 0+0 make it 6 (P: 6)",
        ),
        (
            {"W": 3, "S": 5, "dilation": 2, "padding": 1},
            "Conv2d: filter width S=5, dilation 2, spans 9, more than the padded input width 1+3+1 = 5 (S at most 3)",
        ),
        ({"name": "stem", "groups": 8}, "stem: groups 8 do not divide C=4 and K=4 (nearest: 4)"),
    ],
)
def test_impossible_fields_are_refused_in_the_words_of_the_field(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        conv(**fields)
    assert str(caught.value) == message


def test_a_convolution_needs_a_size_on_each_axis() -> None:
    with pytest.raises(InputError, match=r"neither input width nor output width \(give W or Q\)"):
        Conv2d(C=1, K=1, R=1, S=1, H=4)
    with pytest.raises(InputError, match=r"leaves an input height of -1 \(padding at most 2 in sum\)"):
        Conv2d(C=1, K=1, R=3, S=3, P=1, Q=1, padding=2)


def test_linear_and_matmul_refuse_empty_sizes() -> None:
    with pytest.raises(InputError, match="input channels C is 0"):
        Linear(C=0, K=10)
    with pytest.raises(InputError, match="rows M is 0"):
        Matmul(M=0, N=1, K=1)
    with pytest.raises(InputError, match="batch is 0"):
        Linear(C=1, K=1).with_batch(0)


def test_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(layer_module).failed == 0


def test_a_loop_too_long_to_count_exactly_is_refused() -> None:
    with pytest.raises(InputError, match="at most 1,099,511,627,776"):
        EinsumLayer.parse("Z[M] += A[M] * B[M]; M=99999999999999999999")
    with pytest.raises(InputError, match="bad bound 'M=9999"):
        EinsumLayer.parse(f"Z[M] += A[M] * B[M]; M={'9' * 5000}")


def test_a_rank_too_long_to_count_on_bits_is_refused() -> None:
    with pytest.raises(InputError, match=r"rank 9000000\*P\+R of tensor I spans 90,000,000 \(at most 67,108,864\)"):
        EinsumLayer.parse("O[P] += W[R] * I[9000000*P+R]; P=10 R=9000000")


@pytest.mark.parametrize("bound", [0, 1.5, True, "3", None])
def test_a_bound_is_a_whole_number(bound: Any) -> None:
    with pytest.raises(InputError, match=r"dimension M has bound .*; bounds are whole, 1 or more"):
        Einsum.parse("Z[M] += A[M]", M=bound)
