"""What a page reads of a manifest beyond what names a run: its accelerator's limits and its problems, checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mapper.errors import InputError


class _Part(BaseModel):
    """Keys that no page reads may be anything."""

    model_config = ConfigDict(extra="ignore")


class _Buffer(_Part):
    name: str
    tensors: list[str]
    capacity_bits: int | None
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
    instances: int
    buffers: list[_Buffer] = Field(min_length=1)
    fanout: _Fanout


class _Unit(_Part):
    name: str
    energy_pj: float
    source: str
    area_um2: float | None = None


class _Compute(_Unit):
    units: int = Field(ge=1)


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


class _Problems(_Part):
    searches: int = 0
    finished: int = 0
    stopped: str | None = None
    failed: list[_Failed] = []
    unfinished: list[str] = []


class _Manifest(_Part):
    kind: Literal["search"] = "search"
    network: str
    metric: Literal["edp", "energy", "cycles", "pareto"] = "edp"
    command: list[str] = []
    constraints: list[str] = []
    zeros: dict[str, Any] | None = None
    top: int | None = None
    input_gradients: bool = False
    limits: _Limits
    problems: _Problems = _Problems()


def check_manifest(manifest: Mapping[str, Any], path: Path) -> None:
    """Raises `InputError` naming the first key that is missing or wrong."""
    try:
        _Manifest.model_validate(manifest, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(place) for place in first["loc"])
        raise InputError(f"'{key}' is missing or wrong: this is no manifest of mapper search", str(path)) from None
