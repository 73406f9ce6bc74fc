"""Field case 34: masks as training tools write them, and what is said of those that cannot be taken."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from mapper.cli.main import cli
from mapper.errors import InputError, MapperWarning
from mapper.sparsity.allocate import one_density
from mapper.sparsity.balance import imbalance
from mapper.sparsity.density import parse_density
from mapper.sparsity.masks import load_masks
from mapper.sparsity.stats import layer_stats, masks_stats, work_on_array
from mapper.workload import Conv2d, Linear, Network

NETWORK = Network("net", (Conv2d(name="conv1", C=3, K=64, R=7, S=7, H=32, W=32), Linear(name="fc", C=64, K=10)))
CONV, FC = (64, 3, 7, 7), (10, 64)


def masks(**replaced: NDArray[Any]) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(34)
    return {"conv1": rng.random(CONV) < 0.5, "fc": rng.random(FC) < 0.5} | replaced


def written(path: Path, arrays: dict[str, NDArray[Any]]) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def refusal(path: Path, arrays: dict[str, NDArray[Any]], **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_masks(written(path / "m.npz", arrays), NETWORK, **options)
    return str(caught.value)


class Trap:
    """Makes a file where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("sprung"),))


def test_case_34_object_arrays_are_refused_without_unpickling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    objects = np.empty(CONV, object)
    objects[:] = Trap()
    assert "conv1: 'conv1' holds Python objects, which are never unpickled" in refusal(tmp_path, masks(conv1=objects))
    np.save("conv1.npy", objects)
    with pytest.raises(InputError, match="never unpickled"):
        load_masks("conv1.npy", NETWORK, partial=True)
    assert not Path("sprung").exists()


def test_case_34_kcrs_where_rsck_is_declared_names_both_shapes_and_the_order_that_matches(tmp_path: Path) -> None:
    assert "conv1: given (64, 3, 7, 7), but RSCK is (7, 7, 3, 64); it matches if axes are KCRS" in refusal(
        tmp_path, masks(), axes="RSCK"
    )
    turned = {name: mask.T if mask.ndim == 2 else mask.transpose(2, 3, 1, 0) for name, mask in masks().items()}
    assert "conv1: given (7, 7, 3, 64), but KCRS is (64, 3, 7, 7); it matches if axes are RSCK" in refusal(
        tmp_path, turned
    )
    path = tmp_path / "m.npz"
    assert load_masks(path, NETWORK, axes="RSCK") == load_masks(written(tmp_path / "k.npz", masks()), NETWORK)


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_case_34_bool_integer_and_float_with_exact_zeros_are_accepted(tmp_path: Path, kind: type) -> None:
    taken = load_masks(written(tmp_path / "m.npz", {n: m.astype(kind) for n, m in masks().items()}), NETWORK)
    np.testing.assert_array_equal(taken["conv1"].array[0], masks()["conv1"])


def test_case_34_floats_without_zeros_need_a_threshold(tmp_path: Path) -> None:
    weights = np.where(masks()["conv1"], 1.0, 1e-4)
    assert "none of its 9,408 floats is exactly 0" in refusal(tmp_path, masks(conv1=weights))
    taken = load_masks(tmp_path / "m.npz", NETWORK, threshold=1e-3)
    np.testing.assert_array_equal(taken["conv1"].array[0], masks()["conv1"])


def test_case_34_nan_is_refused_with_its_index(tmp_path: Path) -> None:
    weights = masks()["conv1"].astype(np.float32)
    weights[3, 2, 6, 0] = math.nan
    assert "conv1: 'conv1' is nan at (3, 2, 6, 0)" in refusal(tmp_path, masks(conv1=weights))


def test_case_34_an_empty_filter_is_a_pe_with_no_work(tmp_path: Path) -> None:
    some = masks()["fc"]
    some[[0, 7]] = False
    taken = load_masks(written(tmp_path / "m.npz", masks(fc=some)), NETWORK)
    found = layer_stats(NETWORK["fc"], taken["fc"])
    assert (found.zero_filters, float(found.filters.min())) == (2, 0.0)
    # Ten outputs on ten lanes: the lanes of the empty ones count in the mean.
    per_filter = some.sum(axis=1)
    assert dict(found.imbalance)["KN"] == pytest.approx(per_filter.max() / per_filter.mean())


def test_case_34_a_layer_of_zeros_is_no_work_and_no_nan(tmp_path: Path) -> None:
    taken = load_masks(written(tmp_path / "m.npz", masks(conv1=np.zeros(CONV, bool))), NETWORK)
    found = masks_stats(NETWORK, taken)[0]
    assert (found.nonzeros, found.effectual_macs) == (0, 0.0)
    for partitioning in ("CK", "KN", "CN"):
        work = work_on_array(NETWORK["conv1"].einsums("fw")[0], partitioning)
        of_zeros = imbalance(taken["conv1"], work, "half_tile")
        assert (of_zeros.ratio, of_zeros.mean, of_zeros.maximum) == (0, 1.0, 1.0)


def test_case_34_a_mask_of_ones_warns(tmp_path: Path) -> None:
    path = written(tmp_path / "m.npz", masks(fc=np.ones(FC, bool)))
    with pytest.warns(MapperWarning, match="fc has a mask that keeps every weight"):
        load_masks(path, NETWORK)


@pytest.mark.parametrize("density", [6.63, -0.1, "6.63", "-0.1", math.nan])
def test_case_34_a_density_beyond_0_to_1_is_refused(density: object) -> None:
    with pytest.raises(InputError, match=r"is no density"):
        parse_density(density)


def test_case_34_sparsity_is_one_less_density_and_both_must_agree() -> None:
    assert one_density(None, 0.9) == one_density(0.1, None) == one_density(0.1, 0.9) == 0.1
    with pytest.raises(InputError, match=r"density 0\.9 and sparsity 0\.9 disagree"):
        one_density(0.9, 0.9)


def test_case_34_missing_and_unknown_layers_are_listed(tmp_path: Path) -> None:
    arrays = {"conv2": masks()["conv1"]}
    assert refusal(tmp_path, arrays).endswith(
        "1 array names no layer of network 'net': 'conv2' (nearest: 'conv1'); 2 layers have no mask: conv1, fc "
        "(--partial leaves them dense)"
    )


@pytest.mark.parametrize(
    "key", ["conv1.weight_mask", "module.conv1.weight", "conv1_mask", "model/conv1", "conv1__weight"]
)
def test_case_34_keys_of_training_tools_resolve(tmp_path: Path, key: str) -> None:
    arrays = masks()
    arrays[key] = arrays.pop("conv1")
    taken = load_masks(written(tmp_path / "m.npz", arrays), NETWORK)
    np.testing.assert_array_equal(taken.for_layer("conv1").array[0], arrays[key])  # type: ignore[union-attr]


def test_case_34_what_is_wrong_with_a_mask_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    path = written(tmp_path / "m.npz", {"conv1": np.zeros((64, 3, 11, 10), bool)})
    result = CliRunner().invoke(cli, ["masks", "check", str(path), "--network", "alexnet:conv1"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: {path}: conv1: given (64, 3, 11, 10), but KCRS is (64, 3, 11, 11); no order of the axes matches "
        "(the layer's weights have K=64 C=3 R=11 S=11)\n"
    )
