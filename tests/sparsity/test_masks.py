"""Masks from files: names, axes, values, snapshots, and files that are not what they say."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mapper.errors import InputError, MapperWarning
from mapper.sparsity.maskaxes import WeightSizes
from mapper.sparsity.masks import Masks, load_masks, masks_from_arrays, weighted_layers
from mapper.workload import Network, load_network
from tests.sparsity.mask_files import ONE, SHAPES, TOY, Arrays, npz, some_masks

CONV = (8, 3, 3, 3)
SOME = np.random.default_rng(1).random(CONV) < 0.5


def refused(arrays: Arrays, **options: Any) -> str:
    """What is said of arrays that are no masks of `TOY`."""
    with pytest.raises(InputError) as caught:
        masks_from_arrays(arrays, TOY, **options)
    return str(caught.value)


def refused_file(path: Path, **options: Any) -> str:
    """What is said of a file that holds no masks of `ONE`."""
    with pytest.raises(InputError) as caught:
        load_masks(path, ONE, **options)
    return str(caught.value)


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "{}.weight",
        "{}.weight_mask",
        "{}.mask",
        "{}_mask",
        "module.{}.weight",
        "model.{}",
        "_orig_mod.module.{}.weight_mask",
    ],
)
@pytest.mark.parametrize("dot", [".", "/", "__"])
def test_keys_resolve_with_suffixes_prefixes_and_separators(form: str, dot: str) -> None:
    masks = masks_from_arrays({form.format(n).replace(".", dot): m for n, m in some_masks().items()}, TOY)
    assert masks == masks_from_arrays(some_masks(), TOY)


def test_the_names_of_torchvision_resolve_to_the_shipped_ones() -> None:
    arrays = some_masks()
    arrays["layer1.downsample.0.weight"] = arrays.pop("layer1.down.0")
    assert masks_from_arrays(arrays, TOY) == masks_from_arrays(some_masks(), TOY)


def test_the_mask_counts_where_weights_stand_beside_it() -> None:
    weights = {f"{name}.weight_orig": np.ones(shape, np.float32) for name, shape in SHAPES.items()}
    pruned = {f"{name}.weight_mask": mask.astype(np.float32) for name, mask in some_masks().items()}
    plain = {"conv1.weight": np.ones(CONV, np.float32)}
    assert masks_from_arrays(weights | pruned | plain, TOY) == masks_from_arrays(some_masks(), TOY)


def test_biases_normalisation_and_counters_are_passed_over() -> None:
    others: Arrays = {
        "conv1.bias": np.ones(8, np.float32),
        "bn1.running_mean": np.zeros(8),
        "bn1.num_batches_tracked": np.array(7),
    }
    assert masks_from_arrays(some_masks() | others, TOY) == masks_from_arrays(some_masks(), TOY)


def test_an_exact_name_goes_before_a_suffix() -> None:
    twins = Network("twins", tuple(replace(ONE["conv1"], name=name) for name in ("conv1", "conv1_mask")))
    masks = masks_from_arrays({"conv1": SOME, "conv1_mask": ~SOME}, twins)
    assert masks["conv1_mask"].nonzeros == int((~SOME).sum())


def test_arrays_of_no_layer_are_listed_with_the_nearest() -> None:
    arrays = some_masks()
    arrays["module.layer1.dv.weight"] = arrays.pop("layer1.dw")
    arrays["embedding"] = np.ones((4, 4), bool)
    assert refused(arrays) == (
        "2 arrays name no layer of network 'toy': 'module.layer1.dv.weight' (nearest: 'layer1.dw'), 'embedding'; "
        "1 layer has no mask: layer1.dw (--partial leaves it dense)"
    )


def test_layers_without_a_mask_are_listed_unless_the_file_is_partial() -> None:
    arrays = {"fc": some_masks()["fc"]}
    assert "3 layers have no mask: conv1, layer1.dw, layer1.down.0 (--partial" in refused(arrays)
    masks = masks_from_arrays(arrays, TOY, partial=True)
    assert (list(masks), masks.dense) == (["fc"], ("conv1", "layer1.dw", "layer1.down.0", "qk"))
    assert masks.for_layer("conv1") is None
    assert "4 layers have no mask" in refused({}, partial=True)


def test_two_arrays_for_one_layer_are_refused() -> None:
    arrays = some_masks()
    arrays["module.fc.weight"] = arrays["fc"]
    assert refused(arrays) == "layer 'fc' has 2 masks: 'fc' and 'module.fc.weight' (leave one)"


def test_a_layer_that_repeats_has_one_mask_for_all() -> None:
    masks = masks_from_arrays(some_masks(), TOY)
    assert TOY["layer1.down.0"].repeat == 3
    assert masks["layer1.down.0"].array.shape == (1, 16, 8, 1, 1)


def test_an_unknown_layer_is_refused_and_one_without_weights_is_dense() -> None:
    masks = masks_from_arrays(some_masks(), TOY)
    assert masks.for_layer("qk") is None
    with pytest.raises(InputError, match=r"no mask of a layer 'conv2' \(did you mean 'conv1'\?\)"):
        masks.for_layer("conv2")
    with pytest.raises(KeyError):
        masks["qk"]


# Axes -----------------------------------------------------------------------------------------------------------------


def test_axes_are_groups_then_k_c_r_s_of_one_group() -> None:
    arrays = some_masks()
    masks = masks_from_arrays(arrays, TOY)
    grouped = masks["layer1.dw"].array
    assert grouped.shape == (4, 2, 2, 3, 3)
    # The sixth output channel is the second of the third group.
    np.testing.assert_array_equal(grouped[2, 1], arrays["layer1.dw"][5])
    np.testing.assert_array_equal(masks["conv1"].array[0], arrays["conv1"])
    np.testing.assert_array_equal(masks["fc"].array[0, :, :, 0, 0], arrays["fc"])
    assert not any(mask.array.flags.writeable for mask in masks.values())


@pytest.mark.parametrize("axes", ["RSCK", "HWIO", "rsck", "CKSR"])
def test_declared_axes_are_turned_back(axes: str) -> None:
    letters = {"H": "R", "W": "S", "I": "C", "O": "K"}.get
    order = ["KCRS".index(letters(axis.upper(), axis.upper()) if axes == "HWIO" else axis.upper()) for axis in axes]
    turned = {name: m.transpose(order) if m.ndim == 4 else m for name, m in some_masks().items()}
    if order.index(0) > order.index(1):
        turned["fc"] = turned["fc"].T
    assert masks_from_arrays(turned, TOY, axes=axes) == masks_from_arrays(some_masks(), TOY)


def test_groups_may_be_an_axis() -> None:
    masks = masks_from_arrays(some_masks(), TOY)
    again = masks_from_arrays({name: mask.array for name, mask in masks.items()}, TOY, axes="GKCRS")
    assert again == masks


def test_axes_of_one_index_may_be_there_or_not() -> None:
    arrays = some_masks()
    arrays["layer1.down.0"] = arrays["layer1.down.0"].reshape(16, 8)
    arrays["fc"] = arrays["fc"].reshape(10, 16, 1, 1)
    assert masks_from_arrays(arrays, TOY) == masks_from_arrays(some_masks(), TOY)


def test_declared_axes_that_fit_are_taken_though_others_fit_too() -> None:
    # A 3 x 3 filter may be RS or SR: what is declared counts.
    arrays = some_masks() | {"conv1": SOME.transpose(0, 1, 3, 2)}
    masks = masks_from_arrays(arrays, TOY, axes="KCSR")
    np.testing.assert_array_equal(masks["conv1"].array[0], SOME)


def test_a_wrong_shape_names_both_shapes_and_the_order_that_matches() -> None:
    arrays = some_masks()
    turned = {name: m.transpose(2, 3, 1, 0) if m.ndim == 4 else m.T for name, m in arrays.items()}
    assert refused(turned) == (
        "conv1: given (3, 3, 3, 8), but KCRS is (8, 3, 3, 3); it matches if axes are RSCK (--axes RSCK)"
    )
    arrays["conv1"] = arrays["conv1"][:7]
    assert refused(arrays) == (
        "conv1: given (7, 3, 3, 3), but KCRS is (8, 3, 3, 3); no order of the axes matches "
        "(the layer's weights have K=8 C=3 R=3 S=3)"
    )


def test_a_mask_over_all_groups_is_no_mask_of_a_grouped_layer() -> None:
    assert "layer1.dw: given (8, 8, 3, 3), but KCRS is (8, 2, 3, 3); no order" in refused(
        some_masks() | {"layer1.dw": np.zeros((8, 8, 3, 3), bool)}
    )


@pytest.mark.parametrize("axes", ["KCRX", "KKRS", "KC", "", "KCRSN"])
def test_axes_that_are_none_are_refused(axes: str) -> None:
    assert f"axes '{axes}'" in refused(some_masks(), axes=axes)


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64])
def test_bools_integers_and_floats_with_exact_zeros_say_the_same(kind: type[np.generic]) -> None:
    signed = np.where(SOME, -1 if np.issubdtype(kind, np.signedinteger) else 1, 0).astype(kind)
    assert masks_from_arrays({"conv1": signed}, ONE) == masks_from_arrays({"conv1": SOME}, ONE)


def test_bytes_that_a_file_calls_bool_count_once() -> None:
    odd = np.where(SOME, 2, 0).astype(np.uint8).view(np.bool_)
    assert masks_from_arrays({"conv1": odd}, ONE)["conv1"].nonzeros == int(SOME.sum())


def test_a_threshold_keeps_larger_magnitudes_of_floats() -> None:
    weights = np.random.default_rng(0).normal(size=CONV).astype(np.float32)
    kept = masks_from_arrays({"conv1": weights}, ONE, threshold=0.5)["conv1"].array[0]
    np.testing.assert_array_equal(kept, np.abs(weights) > 0.5)
    assert masks_from_arrays({"conv1": SOME}, ONE, threshold=2.0)["conv1"].nonzeros == int(SOME.sum())


def test_floats_without_a_zero_need_a_threshold() -> None:
    message = refused(some_masks() | {"conv1": np.ones(CONV)})
    assert message.startswith("conv1: 'conv1': none of its 216 floats is exactly 0, which says nothing of a mask")
    assert "--threshold" in message
    with pytest.warns(MapperWarning, match="conv1 has a mask that keeps every weight"):
        masks_from_arrays(some_masks() | {"conv1": np.ones(CONV)}, TOY, threshold=0)


@pytest.mark.parametrize("threshold", [-0.1, float("nan"), float("inf"), True])
def test_a_threshold_that_is_no_magnitude_is_refused(threshold: float) -> None:
    assert refused(some_masks(), threshold=threshold) == f"threshold: threshold {threshold} (a magnitude, 0 or more)"


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("threshold", [None, 0.1])
def test_what_is_not_finite_is_refused_with_its_index(value: float, threshold: float | None) -> None:
    words = SOME.astype(np.float32)
    words[4, 2, 0, 1] = value
    message = refused(some_masks() | {"conv1": words}, threshold=threshold)
    assert message == f"conv1: 'conv1' is {value} at (4, 2, 0, 1) (masks and weights are finite)"


@pytest.mark.parametrize("kind", ["complex64", "U3", "datetime64[s]", "V4"])
def test_what_is_neither_bool_nor_number_is_refused(kind: str) -> None:
    assert "holds neither bool nor numbers" in refused(some_masks() | {"conv1": np.zeros(CONV, kind)})


def test_masks_that_keep_all_warn_and_masks_that_keep_nothing_do_not() -> None:
    with pytest.warns(MapperWarning, match=r"^conv1, fc have masks that keep every weight$"):
        masks_from_arrays(some_masks() | {n: np.ones(SHAPES[n], bool) for n in ("conv1", "fc")}, TOY)
    empty = masks_from_arrays({name: np.zeros(shape, bool) for name, shape in SHAPES.items()}, TOY)
    assert [mask.nonzeros for mask in empty.values()] == [0, 0, 0, 0]


# The mapping of masks -------------------------------------------------------------------------------------------------


def test_the_digest_is_of_the_masks_and_not_of_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "masks"
    folder.mkdir()
    for name, mask in some_masks().items():
        np.save(folder / f"{name}.npy", mask.astype(np.float32))
    one, other = load_masks(folder, TOY), load_masks(npz(tmp_path / "m.npz", some_masks()), TOY)
    assert (one.digest, hash(one), one) == (other.digest, hash(other), other)
    assert one.digest != masks_from_arrays(some_masks(seed=3), TOY).digest
    assert (one.path, one.snapshot) == (folder, None)


def test_masks_travel_to_other_processes() -> None:
    masks = masks_from_arrays(some_masks(), TOY)
    again: Masks = pickle.loads(pickle.dumps(masks))
    assert again == masks
    assert list(again) == ["conv1", "layer1.dw", "layer1.down.0", "fc"]


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_folder_may_hold_parts_of_names_as_folders(tmp_path: Path) -> None:
    for name, mask in some_masks().items():
        path = tmp_path.joinpath(*name.split("."), "weight.npy")
        path.parent.mkdir(parents=True)
        np.save(path, np.asfortranarray(mask))
    assert load_masks(tmp_path, TOY) == masks_from_arrays(some_masks(), TOY)


def test_a_single_npy_is_the_mask_of_its_name(tmp_path: Path) -> None:
    np.save(tmp_path / "conv1.npy", SOME)
    assert load_masks(tmp_path / "conv1.npy", ONE)["conv1"].nonzeros == int(SOME.sum())


@pytest.mark.parametrize("kind", ["files", "folders", "files in folders"])
@pytest.mark.parametrize(
    ("snapshot", "epoch"),
    [("epoch_10", 10), ("last", 10), (0, 2), ("1", 9), (-1, 10), ("epoch_9", 9)],
)
def test_one_of_several_snapshots_is_chosen(tmp_path: Path, kind: str, snapshot: str | int, epoch: int) -> None:
    _write_snapshots(tmp_path, kind)
    masks = load_masks(tmp_path, ONE, snapshot=snapshot)
    assert (masks.snapshot, masks["conv1"].nonzeros) == (f"epoch_{epoch}", epoch)


@pytest.mark.parametrize("kind", ["files", "folders", "files in folders"])
def test_several_snapshots_are_listed_in_natural_order_where_none_is_chosen(tmp_path: Path, kind: str) -> None:
    _write_snapshots(tmp_path, kind)
    assert "holds 3 snapshots: epoch_2, epoch_9, epoch_10 (choose one: a name, 'last', 0)" in refused_file(tmp_path)
    assert refused_file(tmp_path, snapshot="epoch_8").endswith("no snapshot 'epoch_8' (did you mean 'epoch_9'?)")
    assert "'last', 0 to 2, or one of: epoch_2" in refused_file(tmp_path, snapshot="7")


def test_a_single_snapshot_needs_no_choice(tmp_path: Path) -> None:
    npz(tmp_path / "epoch_3.npz", {"conv1": SOME})
    (tmp_path / "log.txt").write_text("training", encoding="utf-8")
    npz(tmp_path / ".epoch_4.npz", {"conv1": ~SOME})
    masks = load_masks(tmp_path, ONE)
    assert (masks.snapshot, masks["conv1"].nonzeros) == ("epoch_3", int(SOME.sum()))
    assert load_masks(tmp_path / "epoch_3.npz", ONE, snapshot="last").snapshot == "epoch_3"
    assert "no snapshot 'x'" in refused_file(tmp_path / "epoch_3.npz", snapshot="x")


def _write_snapshots(folder: Path, kind: str) -> None:
    for epoch in (9, 10, 2):
        mask = np.zeros(216, bool)
        mask[:epoch] = True
        arrays: Arrays = {"conv1": mask.reshape(CONV)}
        inside = folder / f"epoch_{epoch}"
        if kind == "files":
            npz(inside.with_suffix(".npz"), arrays)
            continue
        inside.mkdir()
        if kind == "folders":
            np.save(inside / "conv1.npy", arrays["conv1"])
        else:
            npz(inside / "masks.npz", arrays)


class Bomb:
    """Leaves a trace where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


@pytest.mark.parametrize("name", ["m.npz", "conv1.npy"])
def test_object_arrays_are_refused_without_unpickling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    objects = np.empty(CONV, object)
    objects[:] = Bomb()
    np.savez("m.npz", conv1=objects)
    np.save("conv1.npy", objects)
    message = refused_file(Path(name))
    assert message == f"{name}: conv1: 'conv1' holds Python objects, which are never unpickled (save it as bool)"
    assert not Path("exploded").exists()


def damaged_files() -> dict[str, bytes]:
    """Files of other contents than their endings say, by name."""
    stream, whole = io.BytesIO(), io.BytesIO()
    np.save(stream, SOME.astype(np.float32))
    np.savez(whole, conv1=SOME)
    npy, zipped = stream.getvalue(), whole.getvalue()
    flipped = bytearray(zipped)
    flipped[len(zipped) // 2] ^= 1
    return {
        "empty.npz": b"",
        "text.npz": b"not a zip",
        "half.npz": zipped[: len(zipped) // 2],
        "flipped.npz": bytes(flipped),
        "empty.npy": b"",
        "pickle.npy": pickle.dumps(SOME),
        "short.npy": npy[:-1],
        "header.npy": npy[:40],
        "version.npy": npy.replace(b"\x93NUMPY\x01", b"\x93NUMPY\x09"),
        "literal.npy": npy.replace(b"(8, 3, 3, 3)", b"(8, 3, 3, f)"),
        "null.npy": npy.replace(b"(8, 3, 3, 3)", b"(8, 3, 3,\x003"),
        "negative.npy": npy.replace(b"(8, 3, 3, 3)", b"(8, 3,-3, 3)"),
    }


@pytest.mark.parametrize("name", damaged_files())
def test_damaged_files_are_one_clear_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / ("conv1.npy" if name.endswith(".npy") else name)
    path.write_bytes(damaged_files()[name])
    message = refused_file(path)
    assert message.startswith(f"{path}: damaged, or not what its ending says")
    assert "\n" not in message


def test_a_header_that_promises_the_moon_allocates_nothing(tmp_path: Path) -> None:
    def member(shape: tuple[int, ...]) -> bytes:
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
        return stream.getvalue()

    for name, shape in (("conv1", (10**12, 3, 3, 3)), ("other", (10**9, 10**9))):
        with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
            archive.writestr(f"{name}.npy", member(shape))
        assert "given" in (said := refused_file(tmp_path / "bomb.npz")) or "names no layer" in said
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conv1.npy", member(CONV) + bytes(10**7))
    assert "does not hold the 1,728 bytes of its header" in refused_file(tmp_path / "bomb.npz")


def test_what_is_no_file_of_masks_is_refused(tmp_path: Path) -> None:
    npz(tmp_path / "masks.npz", {"conv1": SOME})
    assert refused_file(tmp_path / "mask.npz").endswith("no such file or folder (did you mean 'masks.npz'?)")
    (tmp_path / "masks.txt").write_text("1", encoding="utf-8")
    assert "masks are not read from '.txt' (a .npz, a folder of .npy" in refused_file(tmp_path / "masks.txt")
    (tmp_path / "folder" / "conv1.npy").mkdir(parents=True)
    assert "conv1.npy: is not a file" in refused_file(tmp_path / "folder")
    (tmp_path / "bare.npz").mkdir()
    assert "bare.npz: the folder holds no masks" in refused_file(tmp_path / "bare.npz")
    with zipfile.ZipFile(tmp_path / "none.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    assert "none.npz: holds no arrays" in refused_file(tmp_path / "none.npz")


def test_a_wrong_shape_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = npz(tmp_path / "m.npz", {"conv1": SOME.transpose(3, 2, 1, 0)})
    assert refused_file(path).startswith(f"{path}: conv1: given (3, 3, 3, 8), but KCRS is (8, 3, 3, 3); it matches")


# PyTorch --------------------------------------------------------------------------------------------------------------


class Tensor:
    """As much of a tensor of PyTorch as is read."""

    def __init__(self, words: NDArray[Any]) -> None:
        self.words, self.shape = words, words.shape

    def is_floating_point(self) -> bool:
        return self.words.dtype.kind == "f"

    def is_complex(self) -> bool:
        return False

    def detach(self) -> Tensor:
        return self

    to_dense = cpu = detach

    def numpy(self) -> NDArray[Any]:
        return self.words


def _fake_torch(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    """A package `torch` whose files all hold `loaded`, or raise it."""

    def load(path: Path, map_location: str, weights_only: bool) -> object:
        assert path.exists()
        assert (map_location, weights_only) == ("cpu", True)
        if isinstance(loaded, Exception):
            raise loaded
        return loaded

    module = ModuleType("torch")
    module.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


@pytest.mark.parametrize("around", [None, "state_dict", "masks"])
def test_a_state_of_pytorch_is_read_also_out_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, around: str | None
) -> None:
    state: dict[str, object] = {
        f"module.{name}.weight": Tensor(m.astype(np.float32)) for name, m in some_masks().items()
    }
    state |= {"module.bn.weight": Tensor(np.ones(8)), "epoch": 3}
    _fake_torch(monkeypatch, state if around is None else {"epoch": 3, around: state})
    (tmp_path / "model.pt").touch()
    assert load_masks(tmp_path / "model.pt", TOY) == masks_from_arrays(some_masks(), TOY)


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        ({"epoch": 3}, "holds no tensors (a state_dict, or a dictionary of masks)"),
        ([1], "holds no tensors"),
        (pickle.UnpicklingError("no"), "damaged, or holds Python objects, which are never unpickled (torch.save("),
        (RuntimeError("PytorchStreamReader failed"), "damaged, or not what its ending says (write it anew)"),
    ],
)
def test_what_is_no_state_of_pytorch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: object, message: str
) -> None:
    _fake_torch(monkeypatch, loaded)
    (tmp_path / "model.pth").touch()
    assert message in refused_file(tmp_path / "model.pth")


def test_without_pytorch_its_files_are_refused_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "model.pt").touch()
    assert refused_file(tmp_path / "model.pt").endswith(
        "model.pt: PyTorch states need torch (pip install 'mapper[torch]')"
    )


def test_a_pruned_model_of_pytorch_itself_is_read(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    state = {f"{name}.weight_mask": torch.from_numpy(m).bfloat16() for name, m in some_masks().items()}
    state |= {f"{name}.weight_orig": torch.ones(shape) for name, shape in SHAPES.items()}
    torch.save(state | {"fc.bias": torch.ones(10)}, tmp_path / "model.pt")
    assert load_masks(tmp_path / "model.pt", TOY) == masks_from_arrays(some_masks(), TOY)
    torch.save({"conv1": Bomb()}, tmp_path / "model.pt")
    assert "never unpickled" in refused_file(tmp_path / "model.pt")


def test_shipped_networks_take_masks_of_the_shapes_that_pytorch_stores() -> None:
    network = load_network("mobilenet_v2")
    shapes = {name: WeightSizes.of(layer).stored for name, layer in weighted_layers(network).items()}
    assert shapes["blocks.3.conv.dw"] == (144, 1, 3, 3)
    arrays: Arrays = {f"{name}.weight": np.ones(shape, bool) for name, shape in shapes.items()}
    with pytest.warns(MapperWarning, match="and 47 more have masks that keep every weight"):
        masks = masks_from_arrays(arrays, network)
    assert sum(mask.size for mask in masks.values()) == network.weights
