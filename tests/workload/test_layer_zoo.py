"""Every network that ships has the weights, biases and MACs of its definition, layer by layer."""

import json
from pathlib import Path
from typing import Any

import pytest

from mapper.workload import Conv2d, Matmul, load_network, network_names

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "networks.json").read_text())
"""Per network the totals, and per layer [name, MACs, weights, bias], repeats included: figures derived apart from
this package and checked against published ones."""


def test_all_networks_of_the_figures_ship_and_no_others() -> None:
    assert network_names() == tuple(sorted(GOLDEN))
    assert len(network_names()) == 21


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_layers_have_the_published_counts(name: str) -> None:
    layers = load_network(name).layers
    assert [
        [layer.name, *(layer.repeat * n for n in (layer.macs, layer.weights, layer.biases))] for layer in layers
    ] == GOLDEN[name]["layers"]


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_totals_are_the_published_parameters_and_macs(name: str) -> None:
    network, wanted = load_network(name), GOLDEN[name]
    assert network.name == name
    assert (network.weights, network.biases, network.macs) == (wanted["weights"], wanted["bias"], wanted["MACs"])
    assert network.params == wanted["total_params"]


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_batch_multiplies_the_macs_and_not_the_parameters(name: str) -> None:
    network = load_network(name, batch=64)
    assert (network.batch, network.macs) == (64, 64 * GOLDEN[name]["MACs"])
    assert network.params == GOLDEN[name]["total_params"]


def test_only_the_first_layer_of_an_image_network_needs_no_input_gradient() -> None:
    for name in network_names():
        network = load_network(name)
        spared = [layer.name for layer in network if not layer.input_gradient]
        assert spared == ([network.layers[0].name] if isinstance(network.layers[0], Conv2d) else [])


def test_attention_products_are_heads_that_the_batch_repeats() -> None:
    product = load_network("bert_base", batch=4)["enc0.qk"]
    assert isinstance(product, Matmul)
    assert (product.M, product.N, product.K, product.repeat) == (128, 128, 64, 48)
    assert load_network("bert_base", batch=4)["enc0.q"].einsums("fw")[0].extent["N"] == 512


def test_vgg_layers_of_equal_macs_differ_in_words() -> None:
    network = load_network("vgg16")
    early, late = network["f.conv1_2"], network["f.conv4_2"]
    assert early.macs == late.macs == 1_849_688_064
    assert (early.weights, late.weights) == (36_864, 2_359_296)
