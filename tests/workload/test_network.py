"""Networks and layers by name and from files: what is found, and what is refused with file and line."""

import doctest
from pathlib import Path

import pytest

from mapper.errors import InputError
from mapper.workload import Conv2d, EinsumLayer, Linear, Network, load_layer, load_network
from mapper.workload import network as network_module
from mapper.workload.network import load_workload, workload_file

GOOD = """\
name: toy
description: "two layers"
input: {C: 3, H: 8, W: 8}
other_params: 7
layers:
  - {name: conv1, conv: {C: 3, K: 4, R: 3, S: 3, H: 8, W: 8, stride: [2, 1], padding: [1, 0, 1, 1]}, repeat: 2}
  - {name: NO, linear: {C: 64, K: 10, bias: true}}
"""


def write(folder: Path, text: str, name: str = "net.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_becomes_its_network(tmp_path: Path) -> None:
    network = load_network(write(tmp_path, GOOD), batch=2)
    assert network.layer_names == ("conv1", "NO")
    assert (network.input, network.batch, network.description) == ((("C", 3), ("H", 8), ("W", 8)), 2, "two layers")
    conv = network["conv1"]
    assert conv == Conv2d(
        name="conv1", C=3, K=4, R=3, S=3, H=8, W=8, N=2, stride=(2, 1), padding=(1, 0, 1, 1), repeat=2
    )
    assert network.weights == 2 * 108 + 640
    assert network.params == network.weights + 10 + 7
    assert network.macs == 2 * conv.macs + 1280


def test_a_text_path_is_a_file_too(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert load_network(str(path)) == load_network(path)
    assert load_layer(f"{path}:NO") == Linear(name="NO", C=64, K=10, bias=True)


def test_a_layer_is_found_by_network_and_name() -> None:
    layer = load_layer("resnet18:layer2.0.conv1", batch=3)
    assert isinstance(layer, Conv2d)
    assert (layer.C, layer.K, layer.stride, layer.N) == (64, 128, (2, 2), 3)


def test_a_file_with_one_layer_is_a_layer(tmp_path: Path) -> None:
    wanted = Linear(name="fc", C=5, K=6)
    assert load_layer(str(write(tmp_path, "name: fc\nlinear: {C: 5, K: 6}\n"))) == wanted
    assert load_layer(str(write(tmp_path, "name: n\nlayers: [{name: fc, linear: {C: 5, K: 6}}]\n"))) == wanted


def test_an_einsum_in_quotes_is_a_layer() -> None:
    layer = load_layer("Z[M,N] += A[M,K] * B[K,N]; M=2 N=3 K=4")
    assert isinstance(layer, EinsumLayer)
    assert layer.einsums("fw")[0].points == 24


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resnet81:fc", "no network 'resnet81' ships, and there is no such file (did you mean 'resnet18'?)"),
        ("resnet18:layer2.0.con1", "network 'resnet18' has no layer 'layer2.0.con1' (did you mean 'layer2.0.conv1'?)"),
        ("resnet18", "'resnet18' is a network; which layer? (resnet18:conv1)"),
        ("vgg61", "no network 'vgg61' ships, and there is no such file (did you mean 'vgg16'?)"),
    ],
)
def test_a_name_that_is_not_there_brings_the_nearest(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_layer(text)
    assert str(caught.value) == message


def test_a_file_of_several_layers_asks_which(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(InputError) as caught:
        load_layer(str(path))
    assert str(caught.value) == f"{path}: 'toy' has 2 layers; which one? ({path}:conv1)"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_network(tmp_path / "none.yaml")


def test_a_batch_below_one_is_refused() -> None:
    with pytest.raises(InputError, match=r"resnet18: batch is 0 \(an integer, 1 or more\)"):
        load_network("resnet18", batch=0)


def test_a_network_needs_layers_with_names_of_their_own() -> None:
    with pytest.raises(InputError, match="network 'n' has no layers"):
        Network("n", ())
    with pytest.raises(InputError, match="network 'n' has 2 layers named 'a'"):
        Network("n", (Linear(name="a", C=1, K=1), Linear(name="a", C=2, K=2)))
    with pytest.raises(InputError, match="network 'n' has 1 layer named ''"):
        Network("n", (Linear(C=1, K=1),))


CONV = "C: 4, K: 4, R: 3, S: 3"
BAD_LAYERS = [
    ("{name: a, conv: {%s, H: 8, W: 8, strid: 2}}", "layers.a.conv.strid: unknown key (did you mean 'stride'?)"),
    ("{name: a, linear: {C: 0, K: 1}}", "layers.a.linear.C: expected 1 or more, found 0"),
    ("{name: a, linear: {C: -3, K: 1}}", "layers.a.linear.C: expected 1 or more, found -3"),
    ("{name: a, linear: {C: 2.5, K: 1}}", "layers.a.linear.C: expected a whole number, found 2.5"),
    ("{name: a, linear: {C: 2}}", "layers.a.linear.K: is missing (output features)"),
    ("{name: 1, linear: {C: 2, K: 1}}", 'layers.1.name: expected text, found 1 (as text, write "1")'),
    ("{name: a, conv: {%s, H: 8, W: 8, groups: 3}}", "a: groups 3 do not divide C=4 and K=4 (nearest: 2)"),
    (
        "{name: a, conv: {%s, H: 8, W: 8, P: 8}}",
        "a: output height P=8 contradicts H=8: 3 taps, stride 1, dilation 1, padding 0+0 make it 6 (P: 6)",
    ),
    (
        "{name: a, conv: {%s, H: 8, W: 1}}",
        "a: filter width S=3, dilation 1, spans 3, more than the padded input width 0+1+0 = 1 (S at most 1)",
    ),
    ("{name: a, conv: {%s, H: 8}}", "a: neither input width nor output width (give W or Q)"),
    ("{name: a, conv: {%s, H: 8, W: 8, stride: {h: 2}}}", "a: stride is {'h': 2} (an integer, 1 or more)"),
    (
        "{name: a, conv: {%s, H: 8, W: 8, padding: half}}",
        "a: padding 'half' (same, valid, one number, [height, width] or [top, bottom, left, right])",
    ),
    ("{name: a, conv: {%s, H: 8, W: 8}, repeat: 0}", "layers.a.repeat: expected 1 or more, found 0"),
    ("{name: a}", "a: one kind of layer is wanted, found none (conv, linear or matmul)"),
    (
        "{name: a, linear: {C: 1, K: 1}, matmul: {M: 1, N: 1, K: 1}}",
        "a: one kind of layer is wanted, found linear and matmul (conv, linear or matmul)",
    ),
    ("{name: a, lineal: {C: 1, K: 1}}", "layers.a.lineal: unknown key (did you mean 'linear'?)"),
    ("{name: a, linear: {C: 1, K: 1}, batched: true}", "a: 'batched' of a linear layer (only matmul has it)"),
]


@pytest.mark.parametrize(("layer", "message"), BAD_LAYERS)
def test_a_bad_layer_is_one_error_with_file_and_line(tmp_path: Path, layer: str, message: str) -> None:
    path = write(tmp_path, f"name: n\nlayers:\n  - {layer.replace('%s', CONV)}\n")
    with pytest.raises(InputError) as caught:
        load_network(path)
    assert str(caught.value) == f"{path}:3: {message}"


def test_an_error_points_at_the_line_of_the_field(tmp_path: Path) -> None:
    fields = "".join(f"      {field}\n" for field in (*CONV.split(", "), "H: 8", "W: 8", "groups: 3", "bias: true"))
    path = write(tmp_path, f"name: n\nlayers:\n  - name: a\n    conv:\n{fields}")
    with pytest.raises(InputError, match=r"net\.yaml:11: a: groups 3 do not divide"):
        load_network(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: n\nlayers: []\n", ":2: layers: expected 1 or more entries, found an empty list"),
        ("name: n\n", ":1: layers: is missing"),
        ("name: n\nlayer: []\n", ":2: layer: unknown key (did you mean 'layers'?)"),
        (
            "name: n\ninput: {C: 3, H: 9}\nlayers:\n  - {name: a, linear: {C: 5, K: 1}}\n",
            ":2: the input C=3 x H=9 has 27 words, its first layer 'a' reads 5",
        ),
    ],
)
def test_a_bad_network_is_one_error_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_network(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_second_layer_of_the_same_name_names_both_lines(tmp_path: Path) -> None:
    one = "  - {name: a, linear: {C: 1, K: 1}}\n"
    path = write(tmp_path, f"name: n\nlayers:\n{one}{one}")
    with pytest.raises(InputError) as caught:
        load_network(path)
    assert str(caught.value) == f"{path}:4: a second layer named 'a'; the first is at {path}:3"


def test_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(network_module).failed == 0


def test_a_workload_is_a_network_or_one_layer_of_it(tmp_path: Path) -> None:
    entry = tmp_path / "entry.yaml"
    entry.write_text("name: alone\nlinear: {C: 2, K: 3}\n")
    whole, one = load_workload("resnet18", 2), load_workload("resnet18:fc", 2)
    assert whole == load_network("resnet18", 2)
    assert (one.name, one.layers, one.batch) == (whole.name, (whole["fc"],), 2)
    assert load_workload(str(entry), 2).layers == (Linear(name="alone", C=2, K=3, N=2),)
    assert load_workload("Z[M] += A[M]; M=2").name == "einsum"


def test_the_file_of_a_workload_is_that_of_its_network() -> None:
    assert workload_file("resnet18:fc") == workload_file("resnet18")
    assert workload_file("Z[M] += A[M]; M=2") is None
