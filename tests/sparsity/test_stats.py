"""Statistics of masks, against counts by hand and by loops."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest

from mapper.mapping.partitioning import STANDARD
from mapper.sparsity.density import Actual
from mapper.sparsity.masks import load_masks, masks_from_arrays
from mapper.sparsity.stats import LANES, TILE_WORDS, layer_stats, masks_stats, rows, work_on_array
from mapper.sparsity.synthetic import Recipe, make_masks, write_npz
from mapper.workload import Conv2d, Linear, Network, load_network
from tests.sparsity.mask_files import TOY, some_masks

SHIPPED = [layer for name in ("resnet18", "mobilenet_v2", "bert_base") for layer in load_network(name) if layer.weights]


def test_densities_of_filters_are_those_of_output_channels() -> None:
    arrays = some_masks()
    masks = masks_from_arrays(arrays, TOY)
    for one in masks_stats(TOY, masks):
        stored = arrays[one.name]
        np.testing.assert_allclose(one.filters, stored.reshape(len(stored), -1).mean(axis=1))
        assert (one.nonzeros, one.size, one.density) == (stored.sum(), stored.size, stored.mean())


def test_empty_filters_are_counted_and_are_no_nan() -> None:
    arrays = some_masks(0.6)
    arrays["conv1"][[1, 4]] = False
    found = {one.name: one for one in masks_stats(TOY, masks_from_arrays(arrays, TOY))}
    assert [one.zero_filters for one in found.values()] == [2, 0, 0, 0]
    assert all(math.isfinite(value) for one in found.values() for _, value in one.imbalance)


@pytest.mark.parametrize("partitioning", STANDARD)
def test_layers_are_cut_into_tiles_that_fit_and_cover_them(partitioning: str) -> None:
    may = {"CK": set("CKG"), "KN": set("KG"), "CN": set("CG"), "PQ": set[str]()}[partitioning]
    for layer in SHIPPED:
        work = work_on_array(layer.einsums("fw")[0], partitioning)
        assert work.tile_words <= TILE_WORDS
        assert work.pes <= LANES**2
        assert all(cut.rounds * cut.lanes * cut.tile >= cut.extent for cut in work.cuts)
        spread = [cut for cut in work.cuts if cut.lanes > 1]
        assert {cut.dimension for cut in spread} <= may
        assert all(cut.tile % 2 == 0 or cut.extent <= cut.lanes for cut in spread)


def test_the_cut_of_a_layer_by_hand() -> None:
    layer = Conv2d(name="conv", C=64, K=128, R=3, S=3, H=8, W=8)
    work = work_on_array(layer.einsums("fw")[0], "KN")
    # 128 output channels over 16 lanes leave 8 to each: 2 of them at once, and 8 of 64 input channels: 144 words.
    assert work.tile == (1, 2, 8, 3, 3)
    assert [(cut.rounds, cut.lanes) for cut in work.cuts] == [(1, 1), (4, 16), (8, 1), (1, 1), (1, 1)]
    work = work_on_array(Linear(name="fc", C=512, K=1000).einsums("fw")[0], "CK")
    # 1000 outputs over 16 lanes leave 63 to each, or 64 to keep pairs together; 512 inputs leave 32 to each, and beside
    # those fit 8 outputs: eight rounds of 128, in the last of which three lanes have none.
    assert work.tile == (1, 8, 32, 1, 1)
    assert (work.cuts[1].rounds, (work.cuts[1].words() == 0).sum()) == (8, 3)


def test_imbalance_is_the_busiest_pe_over_the_mean_pe() -> None:
    # 16 lanes of one output channel and 16 input channels each: one working set.
    layer = Linear(name="fc", C=16, K=16)
    mask = np.random.default_rng(0).random((1, 16, 16, 1, 1)) < 0.3
    found = dict(layer_stats(layer, Actual(mask)).imbalance)
    per_channel = mask.sum(axis=(0, 2, 3, 4))
    assert found["KN"] == pytest.approx(per_channel.max() / per_channel.mean())
    per_input = mask.sum(axis=(0, 1, 3, 4))
    assert found["CN"] == pytest.approx(per_input.max() / per_input.mean())
    # No PE has weights of its own, or one word: nothing to wait for.
    assert (found["PQ"], found["CK"]) == (1.0, 1.0)


def test_balancing_never_makes_imbalance_worse() -> None:
    layer = Conv2d(name="conv", C=64, K=64, R=3, S=3, H=8, W=8)
    mask = Actual(np.random.default_rng(0).random((1, 64, 64, 3, 3)) < 0.1)
    none, half, ideal = (
        dict(layer_stats(layer, mask, balance).imbalance) for balance in ("none", "half_tile", "ideal")
    )
    assert none["KN"] > half["KN"] > ideal["KN"] == 1.0
    assert none["CK"] == half["CK"]


def test_dispersion_is_nothing_where_it_cannot_be_told() -> None:
    point = layer_stats(Linear(name="fc", C=16, K=10), Actual(np.ones((1, 10, 16, 1, 1), bool)))
    assert (point.dispersion_kernel, point.dispersion_filter) == (None, 0.0)
    single = layer_stats(Linear(name="fc", C=16, K=1), Actual(np.ones((1, 1, 16, 1, 1), bool)))
    assert single.dispersion_filter is None


def test_the_total_counts_repeats_and_weighs_imbalance_by_multiplications() -> None:
    found = masks_stats(TOY, masks_from_arrays(some_masks(), TOY))
    *layers, total = rows(found)
    assert [row["layer"] for row in layers] == ["conv1", "layer1.dw", "layer1.down.0", "fc"]
    assert (total["layer"], total["repeat"]) == ("total", 6)
    assert total["weights"] == TOY.weights
    assert total["nonzeros"] == sum(one.nonzeros * one.repeat for one in found)
    work = [one.effectual_macs * one.repeat for one in found]
    mean = sum(w * dict(one.imbalance)["KN"] for w, one in zip(work, found, strict=True)) / sum(work)
    assert total["imbalance_KN"] == pytest.approx(mean)
    assert all(list(row) == list(total) for row in layers)


def test_masks_of_nothing_but_zeros_have_figures() -> None:
    arrays = {name: np.zeros_like(mask) for name, mask in some_masks().items()}
    *layers, total = rows(masks_stats(TOY, masks_from_arrays(arrays, TOY)))
    assert [row["density"] for row in (*layers, total)] == [0.0] * 5
    assert {row[f"imbalance_{name}"] for row in (*layers, total) for name in STANDARD} == {1.0}


def test_a_million_weights_take_a_second_or_two(tmp_path: Path) -> None:
    network = Network("million", (Conv2d(name="conv", C=320, K=360, R=3, S=3, H=8, W=8),))
    path = tmp_path / "m.npz"
    write_npz(make_masks(network, Recipe("uniform", 0.1)), path)
    start = time.process_time()
    assert len(masks_stats(network, load_masks(path, network))) == 1
    assert time.process_time() - start < 3
