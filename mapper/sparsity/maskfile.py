"""Files that hold masks: what arrays are in them, under which keys, without unpickling and without trusting headers.

    FILE.npz            one array per layer
    FOLDER              `.npy` files, memory-mapped; a sub-folder is part of the key
    FILE.pt, FILE.pth   a PyTorch state (needs torch); a checkpoint's `masks` or `state_dict` is taken
    FOLDER              snapshots: such files or folders side by side, of which one is chosen

An `Array` is known by its header alone; its words are read when asked for. Whoever asks has compared the shape with
what the layer needs, so no header, however absurd, makes this read or allocate more than that.
"""

from __future__ import annotations

import lzma
import math
import pickle
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mapper.errors import InputError, did_you_mean

SUFFIXES = (".npz", ".npy", ".pt", ".pth")
LAST = "last"
"""The snapshot that comes last in natural order (epoch_9 before epoch_10)."""

_STATES = ("masks", "state_dict", "model_state_dict", "model")
"""Where a checkpoint keeps its tensors; the first that it has."""
_READABLE = "a .npz, a folder of .npy, or a PyTorch state (.pt, .pth)"
_BROKEN = (
    *(OSError, ValueError, EOFError, SyntaxError, MemoryError, RecursionError, RuntimeError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError),
    *(LookupError, TypeError, AttributeError, OverflowError),
)
"""What reading a damaged file raises, from wherever it hits the damage."""


@dataclass(frozen=True)
class Array:
    """An array of a file: `kind` as of a NumPy dtype (`b` bool, `i` `u` integer, `f` float, `O` object ...)."""

    key: str
    shape: tuple[int, ...]
    kind: str
    read: Callable[[], NDArray[Any]]


@dataclass(frozen=True)
class Contents:
    """The arrays of one file, or of one snapshot of a folder; `snapshot` is its name, None where there is no choice.

    `path` is None where the arrays are of no file.
    """

    path: Path | None
    arrays: tuple[Array, ...]
    snapshot: str | None = None


def open_masks(path: Path, is_layer: Callable[[str], bool], snapshot: str | int | None = None) -> Contents:
    """The arrays of `path`; `is_layer` says of a key whether it names a layer. Raises `InputError`.

    `snapshot` is a name, a place from 0 (negative from the end) or "last".
    """
    try:
        if path.is_dir():
            return _folder(path, is_layer, snapshot)
        _check_file(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", str(path)) from None
    chosen = None if snapshot is None else _chosen(path, [path], snapshot)
    return Contents(path, _arrays(path), _name(chosen) if chosen else None)


def _check_file(path: Path) -> None:
    if not path.exists():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        near = did_you_mean(path.name, beside) if beside else None
        hint = near if near and near.startswith("did") else _READABLE
        raise InputError("no such file or folder", str(path), hint)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"masks are not read from '{path.suffix or path.name}'", str(path), _READABLE)
    if not path.is_file():
        raise InputError("is not a file", str(path), _READABLE)


def _folder(path: Path, is_layer: Callable[[str], bool], snapshot: str | int | None) -> Contents:
    """A folder of `.npy`, where any stands in it directly or names a layer from its sub-folders, or of snapshots."""
    keys = {_key(path, file): file for file in sorted(path.rglob("*.npy")) if not _hidden(path, file)}
    if any("/" not in key or is_layer(key) for key in keys):
        chosen = None if snapshot is None else _chosen(path, [path], snapshot)
        return Contents(path, tuple(_npy(file, key) for key, file in keys.items()), _name(chosen) if chosen else None)
    inside = sorted((p for p in path.iterdir() if _is_snapshot(p)), key=_natural)
    if not inside:
        raise InputError("the folder holds no masks", str(path), _READABLE)
    one = _chosen(path, inside, snapshot)
    arrays = _arrays(one) if one.is_file() else _folder(one, is_layer, None).arrays
    return Contents(one, arrays, _name(one))


def _key(folder: Path, file: Path) -> str:
    return file.relative_to(folder).with_suffix("").as_posix()


def _hidden(folder: Path, file: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _is_snapshot(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if path.is_dir():
        return any(file.suffix.lower() in SUFFIXES and not _hidden(path, file) for file in path.rglob("*"))
    return path.suffix.lower() in SUFFIXES


def _natural(path: Path) -> list[tuple[int, str]]:
    """Numbers in a name by their value: epoch_9 before epoch_10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", path.name)]


def _name(path: Path) -> str:
    """A snapshot's name: that of the folder, or of the file without its ending."""
    return path.stem if path.suffix.lower() in SUFFIXES else path.name


def _chosen(path: Path, inside: list[Path], snapshot: str | int | None) -> Path:
    """The snapshot that is asked for, by name, by place or as the last; the only one where none is."""
    names = [_name(one) for one in inside]
    if snapshot is None and len(inside) == 1:
        return inside[0]
    if snapshot is None:
        raise InputError(f"holds {len(names)} snapshots: {_listed(names)}", str(path), "choose one: a name, 'last', 0")
    for place, one in enumerate(inside):
        if snapshot in (names[place], one.name):
            return one
    if str(snapshot).lower() == LAST:
        return inside[-1]
    if re.fullmatch(r"-?[0-9]{1,9}", str(snapshot)) and -len(inside) <= int(snapshot) < len(inside):
        return inside[int(snapshot)]
    near = did_you_mean(snapshot, names) or ""
    hint = near if near.startswith("did") else f"'{LAST}', 0 to {len(names) - 1}, or one of: {_listed(names)}"
    raise InputError(f"no snapshot '{snapshot}'", str(path), hint)


def _listed(names: list[str]) -> str:
    return ", ".join(names if len(names) <= 12 else [*names[:8], "...", *names[-3:]])


def _arrays(path: Path) -> tuple[Array, ...]:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _npz(path)
    return (_npy(path, path.stem),) if suffix == ".npy" else _torch(path)


# NumPy -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    column_major: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def array(self, data: bytes) -> NDArray[Any]:
        return np.frombuffer(data, self.dtype).reshape(self.shape, order="F" if self.column_major else "C")


def _header(stream: IO[bytes]) -> _Header:
    """The header of an `.npy`; a header is text of at most 10,000 characters, and only literals are read from it."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    header = _Header(*read(stream))
    if any(extent < 0 for extent in header.shape):
        raise ValueError(f"a shape of {header.shape}")
    return header


def _npy(path: Path, key: str) -> Array:
    """An `.npy` file, to be memory-mapped."""
    if not path.is_file():
        raise InputError("is not a file", str(path), "a folder of .npy files")
    try:
        with path.open("rb") as stream:
            header, start = _header(stream), stream.tell()
    except _BROKEN as error:
        raise _damaged(path, error) from None
    return Array(key, header.shape, header.dtype.kind, partial(_mapped, path, header, start))


def _mapped(path: Path, header: _Header, start: int) -> NDArray[Any]:
    order: Any = "F" if header.column_major else "C"
    try:
        return np.memmap(path, header.dtype, "r", start, header.shape, order)
    except _BROKEN as error:
        raise _damaged(path, error) from None


def _npz(path: Path) -> tuple[Array, ...]:
    """The members of an `.npz` by their headers."""
    arrays = []
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.filename.endswith(".npy"):
                    with archive.open(member) as stream:
                        header = _header(stream)
                    key, read = member.filename.removesuffix(".npy"), partial(_member, path, member, header)
                    arrays.append(Array(key, header.shape, header.dtype.kind, read))
    except _BROKEN as error:
        raise _damaged(path, error) from None
    if not arrays:
        raise InputError("holds no arrays", str(path), "one array per layer, under the layer's name")
    return tuple(arrays)


def _member(path: Path, member: zipfile.ZipInfo, header: _Header) -> NDArray[Any]:
    """The words of one member: as many as its header says, to the end of the member, where its checksum is compared."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            _header(stream)
            data = stream.read(header.size)
            if len(data) < header.size or stream.read(1):
                raise ValueError(f"'{member.filename}' does not hold the {header.size:,} bytes of its header")
            return header.array(data)
    except _BROKEN as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()
    shown = reason[0] if reason and isinstance(error, ValueError | zipfile.BadZipFile | zlib.error | OSError) else ""
    return InputError(
        f"damaged, or not what its ending says{f': {shown}' if shown else ''}", str(path), "write it anew"
    )


# PyTorch ---------------------------------------------------------------------------------------------------------


def _torch(path: Path) -> tuple[Array, ...]:
    """The tensors of a PyTorch state. Only tensors and plain values are read: nothing in the file is executed."""
    try:
        torch: Any = import_module("torch")
    except ImportError:
        raise InputError("PyTorch states need torch", str(path), "pip install 'mapper[torch]'") from None
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        what = "damaged, or holds Python objects, which are never unpickled"
        raise InputError(what, str(path), "torch.save(model.state_dict(), FILE)") from None
    except Exception as error:
        # torch raises what the unpickler or the archive happened to: there is no common root.
        raise _damaged(path, error) from None
    state = _state(loaded)
    arrays = tuple(_tensor(path, str(key), value) for key, value in state.items() if hasattr(value, "detach"))
    if not arrays:
        raise InputError("holds no tensors", str(path), "a state_dict, or a dictionary of masks")
    return arrays


def _state(loaded: object) -> Mapping[Any, Any]:
    """The tensors by key, of a state itself or of the checkpoint around it."""
    if not isinstance(loaded, Mapping):
        return {}
    return next((_state(loaded[key]) for key in _STATES if isinstance(loaded.get(key), Mapping)), loaded)


def _tensor(path: Path, key: str, tensor: Any) -> Array:
    kind = "f" if tensor.is_floating_point() else "c" if tensor.is_complex() else "i"

    def read() -> NDArray[Any]:
        try:
            here = tensor.detach().to_dense().cpu()
            try:
                return np.asarray(here.numpy())
            except TypeError:
                # NumPy has no bfloat16; in float32 it has the same zeros.
                return np.asarray(here.float().numpy())
        except (RuntimeError, NotImplementedError) as error:
            raise _damaged(path, error) from None

    return Array(key, tuple(tensor.shape), kind, read)
