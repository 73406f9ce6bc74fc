"""Actual masks of a network: which weights of which layers are kept, read from files that training writes.

A key of the file names a layer by the layer's name, alone or followed by `.weight`, `.weight_mask`, `.mask` or
`_mask`, behind any of the prefixes that wrappers of PyTorch add; `/` and `__` stand for dots. Where a layer has a mask
and weights (`weight_orig` of `torch.nn.utils.prune`), the mask counts. Arrays of fewer than two axes that name no layer
are biases, normalisation or counters and are passed over; any other that names none is an error.

What is kept: true, an integer that is not 0, a float that is not exactly 0 or whose magnitude passes the threshold.
Floats of which none is 0 say nothing of a mask and are refused without a threshold.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError, MapperWarning, did_you_mean
from mapper.sparsity.density import Actual
from mapper.sparsity.maskaxes import AXES, WeightSizes, matched_axes, parse_axes, to_canonical
from mapper.sparsity.maskfile import Array, Contents, open_masks
from mapper.sparsity.model import Bools
from mapper.workload.layer import ThreePhaseLayer
from mapper.workload.network import Network

PREFIXES = ("module.", "model.", "_orig_mod.")
"""What DataParallel, checkpoints and torch.compile put before a layer's name; any number of them, in any order."""

MASK, WEIGHTS, IGNORED = 0, 1, 2
"""What an array of a layer is; the least counts."""

SUFFIXES = {
    "": WEIGHTS,
    ".weight": WEIGHTS,
    ".weight_orig": IGNORED,
    ".weight_mask": MASK,
    ".mask": MASK,
    "_mask": MASK,
}
"""What follows a layer's name."""

OTHER_PARTS = {"downsample": "down"}
"""Parts of torchvision's names that the shipped networks call otherwise."""

_SHOWN = 6
"""Names that a message lists before it counts the rest."""


@dataclass(frozen=True, eq=False)
class Masks(Mapping[str, Actual]):
    """Layer name -> mask, axes G, K, C, R, S (K and C of one group), in the network's order.

    `dense` are the network's other layers: those that have no weights, and those that a partial file leaves out.
    `digest` is of the masks themselves: the same for the same masks in whatever file.
    """

    path: Path | None
    snapshot: str | None
    layers: tuple[tuple[str, Actual], ...]
    dense: tuple[str, ...] = ()

    def for_layer(self, name: str) -> Actual | None:
        """The mask of a layer, of each of its repeats; None for one of `dense`. Raises `InputError`."""
        if name in self._by_name:
            return self._by_name[name]
        if name in self.dense:
            return None
        hint = did_you_mean(name, (*self._by_name, *self.dense))
        raise InputError(f"no mask of a layer '{name}'", None if self.path is None else str(self.path), hint)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, shapes and masks."""
        whole = hashlib.sha256()
        for name, mask in sorted(self.layers, key=lambda pair: pair[0]):
            whole.update(f"{name}{mask.array.shape}".encode() + mask.digest)
        return whole.hexdigest()

    @cached_property
    def _by_name(self) -> dict[str, Actual]:
        return dict(self.layers)

    def __getitem__(self, name: str) -> Actual:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self.layers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Masks) and (self.digest, self.dense) == (other.digest, other.dense)

    def __hash__(self) -> int:
        return hash((self.digest, self.dense))


def load_masks(
    path: str | Path,
    network: Network,
    *,
    axes: str = AXES,
    threshold: float | None = None,
    snapshot: str | int | None = None,
    partial: bool = False,
) -> Masks:
    """The masks of `network` in a `.npz`, a folder of `.npy`, a PyTorch state, or one snapshot of a folder of those.

    `axes` is the order of the file's axes: K (of all groups), C (of one group), R, S; linear layers have K and C.
    `threshold` keeps floats with |w| above it; it says nothing of masks and integers. `snapshot` is a name, a place
    from 0 or "last". `partial` leaves layers dense that have no mask. Raises `InputError` for whatever cannot be read,
    matched or told; warns of layers that are kept whole.
    """
    known = layer_keys(network)
    contents = open_masks(Path(path), lambda key: resolve(key, known) is not None, snapshot)
    return _masks(contents, network, axes, threshold, partial)


def masks_from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    network: Network,
    *,
    axes: str = AXES,
    threshold: float | None = None,
    partial: bool = False,
) -> Masks:
    """The masks of `network` in arrays by key, under the same rules as those of a file."""
    given = {key: np.asarray(array) for key, array in arrays.items()}
    entries = (Array(key, a.shape, a.dtype.kind, lambda a=a: a) for key, a in given.items())  # type: ignore[misc]
    return _masks(Contents(None, tuple(entries)), network, axes, threshold, partial)


def weighted_layers(network: Network) -> dict[str, ThreePhaseLayer]:
    """The layers that have weights, by name."""
    return {layer.name: layer for layer in network if isinstance(layer, ThreePhaseLayer) and layer.weights}


def _masks(contents: Contents, network: Network, axes: str, threshold: float | None, partial: bool) -> Masks:
    where = None if contents.path is None else str(contents.path)
    declared = parse_axes(axes)
    _check_threshold(threshold)
    layers = weighted_layers(network)
    try:
        arrays = _assigned(contents.arrays, network, partial)
        sizes = {name: WeightSizes.of(layers[name]) for name in arrays}
        found = matched_axes({name: array.shape for name, array in arrays.items()}, sizes, declared)
        kept = {
            name: to_canonical(_kept(name, array, threshold), found[name], sizes[name])
            for name, array in arrays.items()
        }
    except InputError as error:
        raise InputError(error.message, error.where or where, error.hint) from None
    _warn_of_whole(kept, where)
    pairs = tuple((name, Actual(_read_only(kept[name]))) for name in layers if name in kept)
    dense = tuple(name for name in network.layer_names if name not in kept)
    return Masks(contents.path, contents.snapshot, pairs, dense)


def _read_only(mask: Bools) -> Bools:
    whole = np.ascontiguousarray(mask)
    whole.flags.writeable = False
    return whole


def _warn_of_whole(kept: Mapping[str, Bools], where: str | None) -> None:
    whole = [name for name, mask in kept.items() if mask.all()]
    if whole:
        place = f"{where}: " if where else ""
        have = "has a mask that keeps" if len(whole) == 1 else "have masks that keep"
        warnings.warn(f"{place}{_listed(whole)} {have} every weight", MapperWarning, stacklevel=4)


# Keys ------------------------------------------------------------------------------------------------------------


def layer_keys(network: Network) -> dict[str, str]:
    """What a key may call a layer -> the layer: its name, the name with dots for `/` and `__`, torchvision's name."""
    known: dict[str, str] = {}
    names = list(weighted_layers(network))
    for name in names:
        parts = _dotted(name).split(".")
        others = [[other if part == ours else part for part in parts] for other, ours in OTHER_PARTS.items()]
        for spelling in (_dotted(name), *(".".join(other) for other in others)):
            known.setdefault(spelling, name)
    return known | {name: name for name in names}


def resolve(key: str, known: Mapping[str, str]) -> tuple[str, int] | None:
    """The layer that `key` names, and whether it is a mask, weights or to be ignored; None where it names none.

    >>> resolve("module.conv1.weight_mask", {"conv1": "conv1"})
    ('conv1', 0)
    """
    for spelling in _spellings(key):
        for suffix, kind in SUFFIXES.items():
            name = spelling.removesuffix(suffix)
            if spelling.endswith(suffix) and name in known:
                return known[name], kind
    return None


def _spellings(key: str) -> Iterator[str]:
    """`key` as it is and with dots, each without one prefix after the other."""
    for spelling in dict.fromkeys((key, _dotted(key))):
        rest: str | None = spelling
        while rest is not None:
            yield rest
            rest = next((rest.removeprefix(p) for p in PREFIXES if rest.startswith(p)), None)


def _dotted(key: str) -> str:
    return key.replace("/", ".").replace("__", ".")


def _assigned(arrays: tuple[Array, ...], network: Network, partial: bool) -> dict[str, Array]:
    """The array of each layer; an error for what has none, for arrays without a layer and for two that vie for one."""
    known = layer_keys(network)
    found: dict[str, dict[int, list[Array]]] = {}
    unknown = []
    for array in arrays:
        match = resolve(array.key, known)
        if match is not None:
            found.setdefault(match[0], {}).setdefault(match[1], []).append(array)
        elif len(array.shape) >= 2:
            unknown.append(array.key)
    best = {name: kinds[min(kinds)] for name, kinds in found.items() if min(kinds) != IGNORED}
    missing = [name for name in weighted_layers(network) if name not in best]
    _refuse_unmatched(network, unknown, [] if partial and best else missing)
    for name, rivals in best.items():
        if len(rivals) > 1:
            keys = " and ".join(f"'{array.key}'" for array in rivals)
            raise InputError(f"layer '{name}' has {len(rivals)} masks: {keys}", hint="leave one")
    return {name: rivals[0] for name, rivals in best.items()}


def _refuse_unmatched(network: Network, unknown: list[str], missing: list[str]) -> None:
    known = layer_keys(network)
    problems, hint = [], None
    if unknown:
        shown = [f"'{key}'{_near(key, known)}" for key in unknown[:_SHOWN]]
        what = "1 array names" if len(unknown) == 1 else f"{len(unknown)} arrays name"
        problems.append(f"{what} no layer of network '{network.name}': {_listed(shown, len(unknown))}")
    if missing:
        what = "1 layer has" if len(missing) == 1 else f"{len(missing)} layers have"
        problems.append(f"{what} no mask: {_listed(missing)}")
        hint = f"--partial leaves {'it' if len(missing) == 1 else 'them'} dense"
    if problems:
        raise InputError("; ".join(problems), hint=hint)


def _near(key: str, known: Mapping[str, str]) -> str:
    """` (nearest: 'conv1')` for a key that names no layer."""
    *_, bare = _spellings(key)
    for suffix in SUFFIXES:
        if suffix and bare.endswith(suffix):
            bare = bare.removesuffix(suffix)
            break
    near = did_you_mean(bare, known) or ""
    return f" (nearest: {near.removeprefix('did you mean ').removesuffix('?')})" if near.startswith("did") else ""


def _listed(names: list[str], count: int | None = None) -> str:
    """The first few names, and how many more there are."""
    more = (count or len(names)) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


# Values ----------------------------------------------------------------------------------------------------------


def _check_threshold(threshold: float | None) -> None:
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if threshold is not None and not (number and math.isfinite(threshold) and threshold >= 0):
        raise InputError(f"threshold {threshold}", where="threshold", hint="a magnitude, 0 or more")


def _kept(name: str, array: Array, threshold: float | None) -> Bools:
    """What an array keeps, in its own axes."""
    what = f"{name}: '{array.key}'"
    if array.kind == "O":
        raise InputError(f"{what} holds Python objects, which are never unpickled", hint="save it as bool")
    if array.kind not in "biuf":
        raise InputError(f"{what} holds neither bool nor numbers", hint="save it as bool")
    words = array.read()
    if words.dtype.kind == "b":
        # Bytes of a file that calls them bool may be other than 0 and 1.
        return np.asarray(words.view(np.uint8) != 0)
    if words.dtype.kind != "f":
        return np.asarray(words != 0)
    return _kept_floats(what, words, threshold)


def _kept_floats(what: str, words: NDArray[Any], threshold: float | None) -> Bools:
    fine = np.isfinite(words)
    if not fine.all():
        index = tuple(int(i) for i in np.unravel_index(int(np.argmin(fine)), words.shape))
        raise InputError(f"{what} is {words[index]} at {index}", hint="masks and weights are finite")
    if threshold is not None:
        return np.asarray((words > threshold) | (words < -threshold))
    kept = np.asarray(words != 0)
    if kept.all():
        lever = "--threshold T keeps what is larger than T in magnitude; 0 takes the layer as dense"
        raise InputError(
            f"{what}: none of its {kept.size:,} floats is exactly 0, which says nothing of a mask", hint=lever
        )
    return kept
