"""Synthetic masks: as many nonzeros as asked for, in the pattern asked for, the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapper.errors import InputError
from mapper.sparsity.masks import load_masks, masks_from_arrays
from mapper.sparsity.stats import layer_stats
from mapper.sparsity.synthetic import Recipe, make_masks, write_npz
from mapper.workload import Conv2d, Linear, Matmul, Network
from tests.sparsity.mask_files import SHAPES, TOY

WIDE = Network("wide", (Conv2d(name="conv", C=64, K=128, R=3, S=3, H=8, W=8), Linear(name="fc", C=256, K=64)))


@pytest.mark.parametrize("pattern", ["uniform", "erk", "global"])
def test_counts_are_met_to_the_last_word(pattern: str) -> None:
    recipe = Recipe(pattern, 0.2)
    densities = recipe.densities(TOY)
    for name, mask in make_masks(TOY, recipe):
        assert mask.shape == SHAPES[name]
        assert mask.sum() == round(densities[name] * mask.size)


def test_n_of_m_holds_in_every_group_along_c_and_layers_without_whole_groups_are_dense() -> None:
    masks = dict(make_masks(TOY, Recipe("2:4")))
    assert (masks["fc"].reshape(10, 4, 4).sum(axis=2) == 2).all()
    assert (masks["layer1.down.0"].reshape(16, 2, 4).sum(axis=2) == 2).all()
    assert masks["conv1"].all()
    assert masks["layer1.dw"].all()


def test_blocks_are_kernels_or_squares() -> None:
    masks = dict(make_masks(WIDE, Recipe("block", 0.25)))
    assert set(masks["conv"].reshape(-1, 9).sum(axis=1).tolist()) == {0, 9}
    squares = masks["fc"].reshape(16, 4, 64, 4).sum(axis=(1, 3))
    assert set(squares.ravel().tolist()) == {0, 16}
    assert masks["conv"].mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("pattern", ["dispersed", "erk"])
def test_the_dispersion_put_in_comes_out_again(pattern: str) -> None:
    masks = masks_from_arrays(dict(make_masks(WIDE, Recipe(pattern, 0.2, dispersion=0.2))), WIDE)
    conv, fc = (layer_stats(layer, masks[layer.name]) for layer in WIDE)
    assert conv.dispersion_kernel == pytest.approx(0.2, abs=0.03)
    assert fc.dispersion_filter == pytest.approx(0.2, abs=0.06)


def test_larger_clumps_show_in_larger_tiles() -> None:
    small, large = (
        masks_from_arrays(dict(make_masks(WIDE, Recipe("dispersed", 0.2, clump=clump))), WIDE)["conv"]
        for clump in (None, 576)
    )
    filters = [layer_stats(WIDE["conv"], mask).dispersion_filter or 0.0 for mask in (small, large)]
    assert filters[0] < 0.01
    assert filters[1] == pytest.approx(0.1, abs=0.03)


def test_the_same_seed_gives_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_npz(make_masks(TOY, Recipe("erk", 0.3, seed=seed)), tmp_path / f"{name}.npz")
    a, b, c = ((tmp_path / f"{name}.npz").read_bytes() for name in "abc")
    assert a == b != c


def test_what_is_written_loads_and_numpy_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    recipe = Recipe("uniform", 0.3)
    write_npz(make_masks(TOY, recipe), path)
    assert load_masks(path, TOY) == masks_from_arrays(dict(make_masks(TOY, recipe)), TOY)
    with np.load(path) as read:
        assert read["layer1.dw"].dtype == bool


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"pattern": "uniform"}, "pattern uniform of which density? (--density 0.1)"),
        ({"pattern": "unifrom", "density": 0.1}, "no pattern 'unifrom' (did you mean 'uniform'?)"),
        ({"pattern": "2:4", "density": 0.1}, "density 0.1, but 2:4 keeps 0.5 (leave the density out)"),
        ({"pattern": "4:2"}, "4:2 is no N:M pattern"),
        ({"pattern": "2:4", "dispersion": 0.1}, "pattern 2:4 has no dispersion"),
        ({"pattern": "block", "density": 0.1, "clump": 4}, "pattern block has no clump"),
        ({"pattern": "erk", "density": 0.1, "clump": 4}, "clumps of 4 words of no dispersion (--dispersion 0.1)"),
    ],
)
def test_recipes_that_contradict_themselves_are_refused(recipe: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Recipe(**recipe)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def test_a_network_without_weights_has_no_masks() -> None:
    product = Network("product", (Matmul(name="qk", M=4, N=4, K=4),))
    with pytest.raises(InputError, match="no layer of 'product' has weights"):
        list(make_masks(product, Recipe("uniform", 0.1)))
