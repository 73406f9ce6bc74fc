"""The `zeros:` block of an accelerator's YAML: which zeros are skipped, how tensors are stored, what that costs.

    zeros:
      skip: [W]                                   # zeros of W take neither cycle nor energy
      balance: half_tile
      formats: {DRAM: csb, GLB: {W: {kind: csb, block: 9}}, RF: {W: "2:4"}}
      overhead: {energy: 0.11, area: 0.14, source: "..."}
      events: [{name: estimator, kind: gradient, energy_pj: 32, source: "..."}]

A level's format alone stands for that of W, the name of a format for its mapping, `N:M` for `{kind: n_m, n: N, m: M}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mapper.arch.accelerator import Level
from mapper.arch.quantities import Count, Name, NotNegative, Source, known
from mapper.arch.zeros import BALANCES, EVENT_KINDS, FORMAT_KEYS, FORMAT_KINDS, Event, Format, Zeros
from mapper.errors import did_you_mean
from mapper.workload.einsum import ROLES
from mapper.yamlfile import Node, StrictModel, shown

MAX_BITS = 64
"""Of a pointer, an index or a run."""

Bits = Annotated[int, Field(ge=1, le=MAX_BITS)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


_known_format = known("format", FORMAT_KINDS)


def _written_out(value: object) -> object:
    """`csb` is short for `{kind: csb}`, `2:4` for `{kind: n_m, n: 2, m: 4}`."""
    if isinstance(value, str):
        pattern = re.fullmatch(r"(\d{1,9}):(\d{1,9})", value)
        if pattern:
            return {"kind": "n_m", "n": int(pattern[1]), "m": int(pattern[2])}
        return {"kind": _known_format(value)}
    if not isinstance(value, dict):
        raise ValueError(f"expected the name of a format or {{kind: ..., ...}}, found {shown(value)}")
    return value


def _of_the_plain_operand(value: object) -> object:
    """A format alone is that of W."""
    return {"W": value} if isinstance(value, str) else value


class FormatSpec(StrictModel):
    """How one tensor is stored at a level."""

    kind: Annotated[str, AfterValidator(_known_format)]
    block: Count | None = Field(None, description="csb: positions of a block; a filter kernel unless given")
    pointer_bits: Bits | None = Field(None, description="csb: 20 unless given; csr, csc: what the tensor needs")
    index_bits: Bits | None = Field(None, description="csr, csc: of a place in a row or column; what its length needs")
    run_bits: Bits | None = Field(None, description="rle: of the run of zeros before a nonzero; 4 unless given")
    n: Count | None = Field(None, description="n_m: words kept")
    m: Count | None = Field(None, description="n_m: of so many")


Stored = Annotated[FormatSpec, BeforeValidator(_written_out)]


class LevelFormats(StrictModel):
    """How the tensors are stored at one level; densely unless given."""

    W: Stored | None = None
    I: Stored | None = None  # noqa: E741 (the name of the tensor)
    O: Stored | None = None  # noqa: E741


class OverheadSpec(StrictModel):
    """What the units that handle zeros add, as a share of all else on the chip, dense work too."""

    energy: NotNegative = 0.0
    area: NotNegative = 0.0
    source: Source


class EventSpec(StrictModel):
    """A unit of the sparse hardware: picojoules per event of its kind."""

    name: Name
    kind: Annotated[str, AfterValidator(known("kind of event", EVENT_KINDS))]
    energy_pj: NotNegative
    area_um2: NotNegative | None = None
    source: Source


class ZerosSpec(StrictModel):
    """The whole block."""

    skip: list[Literal["W", "I"]] = Field([], description="operands whose zeros take neither cycle nor energy")
    gate: list[Literal["W", "I"]] = Field([], description="operands whose zeros take a cycle, but no energy")
    balance: Annotated[str, AfterValidator(known("balance", BALANCES))] = "none"
    formats: dict[str, Annotated[LevelFormats, BeforeValidator(_of_the_plain_operand)]] = Field(
        {}, description="per level and tensor"
    )
    capacity_quantile: Share | None = Field(
        None, description="of compressed tiles that fit; room for dense ones if not given"
    )
    skip_block: Count = Field(1, description="words that are skipped only together")
    compaction: bool = Field(False, description="rows are packed before blocks of them are skipped")
    monitor_samples: Annotated[int, Field(ge=0)] = 0
    overhead: OverheadSpec | None = None
    events: list[EventSpec] = Field([], description="units whose energy is counted per event")


def build_zeros(spec: ZerosSpec | None, node: Node, levels: Sequence[Level]) -> Zeros | None:
    """The block as `Zeros`, None where the file has none; `node` is the block's, `levels` the accelerator's.

    Raises `InputError` with `file:line` for an unknown level, a tensor that a level does not keep, a role both skipped
    and gated, and for every key that nobody would read.
    """
    if spec is None:
        return None
    _check_roles(spec, node)
    _check_events(spec, node)
    overhead = spec.overhead
    return Zeros(
        skip=frozenset(spec.skip),
        gate=frozenset(spec.gate),
        balance=spec.balance,
        formats=tuple(_formats(spec, node.at("formats"), levels)),
        events=tuple(Event(e.name, e.kind, e.energy_pj, e.source, e.area_um2) for e in spec.events),
        overhead_energy=overhead.energy if overhead else 0.0,
        overhead_area=overhead.area if overhead else 0.0,
        overhead_source=overhead.source if overhead else "",
        capacity_quantile=spec.capacity_quantile,
        skip_block=spec.skip_block,
        compaction=spec.compaction,
        monitor_samples=spec.monitor_samples,
    )


def _check_roles(spec: ZerosSpec, node: Node) -> None:
    """A role has one policy; what only speeds up skipping needs something to skip."""
    for key, roles in (("skip", spec.skip), ("gate", spec.gate)):
        for index, role in enumerate(roles):
            if role in roles[:index]:
                raise node.at(key, index).error(f"zeros.{key}: {role} is given twice")
    for index, role in enumerate(spec.gate):
        if role in spec.skip:
            raise node.at("gate", index).error(f"zeros.gate: {role} is in skip too", "skipped or gated: choose")
    idle = {"balance": "none", "skip_block": 1, "compaction": False}
    for key, nothing in idle.items():
        if not spec.skip and getattr(spec, key) != nothing:
            raise node.at(key).error(f"zeros.{key}: says nothing where no zeros are skipped", "skip: [W]")


def _check_events(spec: ZerosSpec, node: Node) -> None:
    for index, event in enumerate(spec.events):
        if event.kind == "sample" and not spec.monitor_samples:
            place = node.at("events", index, "kind")
            raise place.error(f"zeros.events.{event.name}: no monitor takes samples", "monitor_samples: 4096")


def _formats(spec: ZerosSpec, node: Node, levels: Sequence[Level]) -> Iterator[tuple[tuple[str, str], Format]]:
    """((level, role), format) of everything that is given, levels outermost first."""
    by_name = {level.name: level for level in levels}
    for name in spec.formats:
        if name not in by_name:
            raise node.at(name).error(f"zeros.formats: no level '{name}'", did_you_mean(name, by_name))
    for name, level in by_name.items():
        for role in ROLES:
            stored: FormatSpec | None = getattr(spec.formats.get(name), role, None)
            if stored is not None:
                place = node.at(name, role)
                if role not in level.keep | level.may_keep:
                    kept = ", ".join(r for r in ROLES if r in level.keep | level.may_keep)
                    raise place.error(f"zeros.formats.{name}: level {name} does not keep {role}", f"it keeps {kept}")
                yield (name, role), _format(stored, place, f"zeros.formats.{name}.{role}")


def _format(spec: FormatSpec, node: Node, label: str) -> Format:
    """A format whose keys all mean something for its kind."""
    keys = FORMAT_KEYS[spec.kind]
    for key in ("block", "pointer_bits", "index_bits", "run_bits", "n", "m"):
        if getattr(spec, key) is not None and key not in keys:
            hint = f"{spec.kind} takes {', '.join(keys)}" if keys else f"{spec.kind} takes no other key"
            raise node.at(key).error(f"{label}.{key}: says nothing in {spec.kind}", hint)
    if spec.kind == "n_m":
        return _pattern(spec, node, label)
    return Format(spec.kind, spec.block, spec.pointer_bits or 0, spec.run_bits or 0, index_bits=spec.index_bits or 0)


def _pattern(spec: FormatSpec, node: Node, label: str) -> Format:
    if spec.n is None or spec.m is None:
        missing = "n" if spec.n is None else "m"
        raise node.error(f"{label}.{missing}: is missing", "kind: n_m, n: 2, m: 4")
    if spec.n > spec.m:
        raise node.at("n").error(f"{label}.n: {spec.n} of every {spec.m} words", f"at most {spec.m}")
    return Format("n_m", n=spec.n, m=spec.m)
