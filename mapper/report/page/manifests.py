"""What a page reads of the manifest of a search or a sweep: limits of accelerators, problems, inputs; checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mapper.errors import InputError
from mapper.report.files import MANIFEST
from mapper.report.manifest import SWEEP
from mapper.yamlfile import shown

LARGE = 10**18
"""More bits or units than any accelerator has."""


class _Part(BaseModel):
    """Keys that no page reads may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Buffer(_Part):
    name: str
    tensors: list[str]
    capacity_bits: int | None = Field(ge=0, lt=LARGE)
    double_buffered: bool
    bandwidth_bits_per_cycle: dict[str, float]
    energy_pj_per_bit: dict[str, float]
    source: str
    area_um2: float | None = None


class _Network(_Part):
    topology: str
    tile_mm: float
    wire_pj_per_bit_mm: float
    switch_pj_per_bit: float
    source: str


class _Fanout(_Part):
    network: _Network | None = None


class _Level(_Part):
    name: str
    instances: int = Field(ge=1, lt=LARGE)
    buffers: list[_Buffer] = Field(min_length=1)
    fanout: _Fanout


class _Unit(_Part):
    name: str
    energy_pj: float
    source: str
    area_um2: float | None = None


class _Compute(_Unit):
    units: int = Field(ge=1, lt=LARGE)


class _Zeros(_Part):
    skip: list[str] = []
    gate: list[str] = []
    balance: str | None = None
    formats: dict[str, str] = {}
    overhead_energy: float | None = None
    overhead_source: str | None = None
    events: list[_Unit] = []


class _Limits(_Part):
    name: str
    technology_nm: float | None = None
    levels: list[_Level] = Field(min_length=1)
    compute: _Compute
    zeros: _Zeros | None = None


class _Failed(_Part):
    ranking: str
    reason: str


class _Stopped(_Part):
    searches: int = 0
    finished: int = 0
    stopped: str | None = None


class _Problems(_Stopped):
    failed: list[_Failed] = []
    unfinished: list[str] = []


class _Search(_Part):
    kind: Literal["search"] = "search"
    network: str
    metric: Literal["edp", "energy", "cycles", "pareto"] = "edp"
    command: list[str] = []
    constraints: list[str] = []
    zeros: dict[str, str | float | bool | None] | None = None
    top: int | None = None
    input_gradients: bool = False
    limits: _Limits
    problems: _Problems = _Problems()


class _Sweep(_Part):
    kind: Literal["sweep"]
    sweep: str
    axes: list[str]
    points: list[dict[str, str | int | float | bool]]
    command: list[str] = []
    inputs: list[dict[str, str]]
    limits: dict[str, _Limits]
    problems: _Stopped = _Stopped()


SEARCH = "search"
"""What a manifest that names no kind is of."""
_KINDS: Mapping[str, type[_Part]] = {SEARCH: _Search, SWEEP: _Sweep}


def manifest_kind(folder: Path) -> tuple[str, dict[str, Any]]:
    """What a folder holds, and its manifest; a search where that cannot be read, for whose reader says what is wrong.

    Raises `InputError` for a kind that has no page.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return SEARCH, {}
    kind = manifest.get("kind", SEARCH) if isinstance(manifest, dict) else SEARCH
    if kind not in list(_KINDS):
        hint = "give a folder that mapper search or mapper sweep wrote"
        raise InputError(f"holds neither a search nor a sweep but {shown(kind)}", str(folder), hint)
    return kind, manifest


def check_manifest(manifest: Mapping[str, Any], path: Path, kind: str) -> None:
    """Raises `InputError` naming the first key that is missing or wrong."""
    try:
        _KINDS[kind].model_validate(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(place) for place in first["loc"])
        raise InputError(f"'{key}' is missing or wrong: this is no manifest of mapper {kind}", str(path)) from None
