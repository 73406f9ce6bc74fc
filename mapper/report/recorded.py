"""One mapping out of the tables that a search wrote: its row, and what it needs to be evaluated again."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mapper.arch import Accelerator, load_arch
from mapper.cost import Evaluation, evaluate_part
from mapper.errors import InputError, MapperWarning, MappingError, did_you_mean
from mapper.mapping import parse_nest
from mapper.report.files import MANIFEST
from mapper.shipped import is_file, is_folder
from mapper.sparsity.asked import ZerosAsked
from mapper.sparsity.given import ALL_DENSE, ZerosGiven
from mapper.workload import Layer, Network, Part
from mapper.workload.network import load_workload, whole_network

MAPPINGS = "mappings.csv"
KEYS = ("layer", "phase", "part", "partitioning", "rank")
"""Columns that tell the mappings of a run apart, outermost first."""
OPTIONS = dict(zip(KEYS, ("--layer", "--phase", "--part", "--partition", "--rank"), strict=True))
_INPUT = ("option", "given", "path", "sha256")
_SHOWN = 12

Row = dict[str, str]


@dataclass(frozen=True)
class Recorded:
    """A mapping of a run, evaluated again."""

    row: Row
    layer: Layer
    part: Part
    evaluation: Evaluation


@dataclass(frozen=True)
class RunFolder:
    """The tables and the manifest of one run."""

    path: Path
    rows: tuple[Row, ...]
    manifest: dict[str, Any]

    def select(self, **wanted: str | None) -> Row:
        """The one row with these values of `KEYS`; what is None must be the same in all rows that are left."""
        rows: Iterable[Row] = self.rows
        for key in KEYS:
            rows = self._narrowed(list(rows), key, wanted.get(key))
        return next(iter(rows))

    def _narrowed(self, rows: list[Row], key: str, value: str | None) -> list[Row]:
        choices = list(dict.fromkeys(row[key] for row in rows))
        if value is None:
            if len(choices) > 1:
                raise InputError(f"{self.path} has several: say which {key}", OPTIONS[key], _listed(choices))
            return rows
        found = [row for row in rows if row[key].lower() == value.lower()]
        if not found:
            near = did_you_mean(value, choices) or ""
            hint = near if near.startswith("did") else _listed(choices)
            raise InputError(f"{self.path} has no {key} '{value}' there", OPTIONS[key], hint)
        return found

    def load(self, row: Row) -> Recorded:
        """The mapping of `row` with its layer and accelerator, evaluated; a warning where a file has changed."""
        for path in self._changed:
            warnings.warn(MapperWarning(f"{path} has changed since the search"), stacklevel=2)
        layer = self._network[row["layer"]]
        part = next((part for part in layer.parts(row["phase"]) if part.label == row["part"]), None)
        if part is None:
            raise InputError(
                f"{layer.label} has no part {row['part']} in phase {row['phase']}", str(self.path / MAPPINGS)
            )
        return Recorded(row, layer, part, self._evaluation(layer, part, row))

    def _evaluation(self, layer: Layer, part: Part, row: Row) -> Evaluation:
        sparsity = self._zeros.sparsity(layer, part)
        try:
            return evaluate_part(part.einsum, self._accelerator, parse_nest(row["mapping"]), sparsity)
        except MappingError as error:
            raise MappingError(f"rank {row['rank']}: {error}", str(self.path / MAPPINGS)) from None

    @cached_property
    def _zeros(self) -> ZerosGiven:
        """What the search was told about zeros; a run of an earlier version was told nothing."""
        options = dict(self.manifest.get("zeros") or {})
        named = {entry["option"] for entry in self.manifest["inputs"]}
        for option in ("masks", "density"):
            if f"--{option}" in named:
                options[option] = self._source(f"--{option}")
        asked = ZerosAsked.from_dict(options)
        if asked == ZerosAsked():
            return ALL_DENSE
        text = self.manifest["workload"] if "+=" in self.manifest["workload"] else self._source("NETWORK")
        return asked.given(whole_network(text, self.manifest["batch"]))

    @cached_property
    def _changed(self) -> tuple[Path, ...]:
        """Inputs that are no longer what the search read; a page loads many rows, and masks are large."""
        paths = [(Path(entry["path"]), entry["sha256"]) for entry in self.manifest["inputs"]]
        return tuple(path for path, sha256 in paths if _has_changed(path, sha256))

    @cached_property
    def _accelerator(self) -> Accelerator:
        return load_arch(self._source("--arch"))

    @cached_property
    def _network(self) -> Network:
        """With its batch; an einsum states that in its bounds."""
        if "+=" in self.manifest["workload"]:
            return load_workload(self.manifest["workload"])
        return load_workload(self._source("NETWORK"), self.manifest["batch"])

    def _source(self, option: str) -> str:
        """The file that the search read, or what it was given where the file is not there any more."""
        entry: dict[str, str] = next(entry for entry in self.manifest["inputs"] if entry["option"] == option)
        return entry["path"] if is_file(entry["path"]) else entry["given"]


def read_run(folder: Path) -> RunFolder:
    """The tables of a run. Raises `InputError` naming the file that is missing or unreadable."""
    if not is_folder(folder):
        raise InputError("no such folder", str(folder), "give one that mapper search wrote")
    text = _text(folder / MAPPINGS)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows = tuple(reader)
    except csv.Error as error:
        raise InputError(f"not a CSV table: {error}", str(folder / MAPPINGS)) from None
    missing = [key for key in (*KEYS, "mapping") if key not in (reader.fieldnames or ())]
    if missing or any(None in row.values() or None in row for row in rows):
        wrong = f"no column {missing[0]}" if missing else "a row has not as many columns as the header"
        raise InputError(f"{wrong}: this is no table of mapper search", str(folder / MAPPINGS))
    if not rows:
        raise InputError("no mapping in it", str(folder / MAPPINGS))
    return RunFolder(folder, rows, _manifest(folder / MANIFEST))


def _manifest(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", f"{path}:{error.lineno}") from None
    except (RecursionError, ValueError):
        raise InputError(
            "nested too deep, or a number too long: this is no manifest of mapper search", str(path)
        ) from None
    if isinstance(document, dict) and "kind" in document:
        raise InputError(f"holds a {document['kind']}, not one search", str(path.parent), "mapper report shows it")
    wanted = {"workload": str, "batch": int, "inputs": list}
    for key, kind in wanted.items():
        if not isinstance(document, dict) or not isinstance(document.get(key), kind):
            raise InputError(f"'{key}' is missing or wrong: this is no manifest of mapper search", str(path))
    for entry in document["inputs"]:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _INPUT):
            raise InputError("'inputs' is wrong: this is no manifest of mapper search", str(path))
    for option in ("--arch",) if "+=" in document["workload"] else ("NETWORK", "--arch"):
        if option not in {entry["option"] for entry in document["inputs"]}:
            raise InputError(f"'inputs' names no {option}: this is no manifest of mapper search", str(path))
    return document


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError("no such file", str(path), "a folder that mapper search wrote has it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text file in UTF-8"
        raise InputError(f"cannot be read: {reason}", str(path)) from None


def _has_changed(path: Path, sha256: str) -> bool:
    """A file that cannot be read is missed where it is needed."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() != sha256
    except (OSError, ValueError):
        return False


def _listed(choices: list[str]) -> str:
    more = f" and {len(choices) - _SHOWN} more" if len(choices) > _SHOWN else ""
    return f"one of: {', '.join(choices[:_SHOWN])}{more}"
