"""From the words of the YAML to an `Accelerator`; every contradiction is an error with its line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mapper.arch.accelerator import Accelerator, Axis, Buffer, Compute, Fanout, Level
from mapper.arch.memory import Entry, build_buffer, exact, need_clock
from mapper.arch.network import SUFFIX as NETWORK
from mapper.arch.network import Network
from mapper.arch.schema import ArchSpec, FanoutSpec, LevelSpec, Memory, NetworkSpec
from mapper.arch.zerospec import build_zeros
from mapper.workload.einsum import ROLES
from mapper.yamlfile import Node, validate

RESERVED = ("X", "Y")
"""What a one-line mapping calls the axes of a fan-out; in small letters it takes them for a slip."""


def build(node: Node) -> Accelerator:
    """The accelerator that a YAML document describes.

    Raises `InputError` with `file:line` for the first thing that is missing, unknown or contradictory.
    """
    spec = validate(ArchSpec, node)
    _check_names(spec, node)
    bits = _bits(spec, node.at("bits"))
    levels = tuple(_level(spec, index, node.at("levels", index)) for index in range(len(spec.levels)))
    accelerator = Accelerator(
        name=spec.name,
        levels=levels,
        compute=_compute(spec, node.at("compute")),
        bits=bits,
        clock_ghz=spec.clock_ghz,
        technology_nm=spec.technology_nm,
        description=spec.description,
        zeros=build_zeros(spec.zeros, node.at("zeros"), levels),
    )
    _check_instances(spec, node, accelerator)
    return accelerator


def _bits(spec: ArchSpec, node: Node) -> tuple[tuple[str, int], ...]:
    """Bits of W, I, O and of a partial sum; `default` stands in for those not given."""
    pairs = []
    for key in (*ROLES, "partial_sum"):
        bits: int | None = getattr(spec.bits, key) or spec.bits.default
        if bits is None:
            raise node.error(f"bits.{key}: is missing", "give it, or bits.default")
        pairs.append((key, bits))
    return tuple(pairs)


def _compute(spec: ArchSpec, node: Node) -> Compute:
    unit = spec.compute
    if unit.energy_pj is None:
        raise node.error(f"compute: component {unit.name} has no energy", "compute: {energy_pj: ..., source: ...}")
    if unit.leakage_mw > 0:
        need_clock(spec, node.at("leakage_mw"), "compute.leakage_mw")
    return Compute(unit.energy_pj, unit.source, unit.name, unit.leakage_mw, unit.area_um2)


def _check_names(spec: ArchSpec, node: Node) -> None:
    """Levels, buffers, networks, compute and units for zeros each have a name of their own: tables list them."""
    named = []
    for index, level in enumerate(spec.levels):
        named.append((level.name, node.at("levels", index, "name")))
        if level.fanout and level.fanout.network:
            named.append((f"{level.name}{NETWORK}", node.at("levels", index, "fanout", "network")))
        for inner, buffer in enumerate(level.buffers or []):
            named.append((buffer.name, node.at("levels", index, "buffers", inner, "name")))
    named.append((spec.compute.name, node.at("compute", "name")))
    for index, event in enumerate(spec.zeros.events if spec.zeros else []):
        named.append((event.name, node.at("zeros", "events", index, "name")))
    seen: dict[str, str] = {}
    for name, place in named:
        if name.upper() in RESERVED:
            raise place.error(f"name '{name}' is reserved: a mapping calls an axis so", f"{name}_buffer")
        if name in seen:
            raise place.error(f"name '{name}' is given twice, on lines {seen[name]} and {place.line}", f"{name}_2")
        seen[name] = place.line


def _check_instances(spec: ArchSpec, node: Node, accelerator: Accelerator) -> None:
    """Where the file states instances they are the product of the fan-outs above."""
    stated: list[tuple[str, int | None, Node]] = [
        (f"levels.{level.name}", level.instances, node.at("levels", index, "instances"))
        for index, level in enumerate(spec.levels)
    ]
    stated.append(("compute", spec.compute.instances, node.at("compute", "instances")))
    for index, (label, instances, place) in enumerate(stated):
        actual = accelerator.instances[index]
        if instances is None or instances == actual:
            continue
        above = [
            f"{level.name} {level.fanout.x.lanes} x {level.fanout.y.lanes}" for level in accelerator.levels[:index]
        ]
        give = f"the fan-outs above ({', '.join(above)}) give {actual}" if above else "the outermost level is one"
        parent = accelerator.instances[max(index - 1, 0)]
        divides = f", and {parent} parents do not divide {instances}" if instances % parent else ""
        raise place.error(f"{label}.instances: {instances}, but {give}{divides}", f"instances: {actual}")


def _level(spec: ArchSpec, index: int, node: Node) -> Level:
    level = spec.levels[index]
    label = f"levels.{level.name}"
    beside = _beside(spec, level, node, label)
    room = frozenset[str]().union(*(buffer.roles for buffer in beside)) if beside else frozenset(ROLES)
    keep, may_keep = _kept(level, node, label, room)
    if index == 0 and keep != frozenset(ROLES):
        lost = _listed(frozenset(ROLES) - keep)
        raise node.at("keep").error(f"{label}: the outermost level keeps every tensor, this one does not keep {lost}")
    if beside and keep | may_keep != room:
        held = f"its buffers hold {_listed(room)}"
        raise node.at("keep").error(f"{label}: keep and may_keep name {_listed(keep | may_keep)}, {held}")
    buffers = beside or (build_buffer(Entry(level, node, label, spec), keep | may_keep),)
    return Level(level.name, buffers, keep, may_keep, _fanout(level.fanout, node.at("fanout"), f"{label}.fanout"))


def _beside(spec: ArchSpec, level: LevelSpec, node: Node, label: str) -> tuple[Buffer, ...]:
    """The `buffers` of a level, side by side: disjoint tensors, and no key of a memory outside them."""
    built: list[Buffer] = []
    for index, buffer in enumerate(level.buffers or []):
        place, name = node.at("buffers", index), f"{label}.buffers.{buffer.name}"
        roles = _roles(buffer.tensors, place.at("tensors"), f"{name}.tensors")
        for other in built:
            if other.roles & roles:
                shared = _listed(other.roles & roles)
                raise place.at("tensors").error(f"{name}.tensors: {shared} is already in {other.name}")
        built.append(build_buffer(Entry(buffer, place, name, spec), roles))
    if built:
        for key in Memory.model_fields:
            if node.child(key):
                raise node.at(key).error(f"{label}.{key}: stands outside the buffers", "move it into each of them")
    return tuple(built)


def _roles(roles: Sequence[str], node: Node, label: str) -> frozenset[str]:
    for index, role in enumerate(roles):
        if role in roles[:index]:
            raise node.error(f"{label}: {role} is given twice")
    return frozenset(roles)


def _listed(roles: frozenset[str]) -> str:
    return ", ".join(role for role in ROLES if role in roles)


def _kept(level: LevelSpec, node: Node, label: str, room: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Roles always kept, and roles a mapping may keep; `keep` is all there is room for but `may_keep` unless given."""
    may_keep = _roles(level.may_keep, node.at("may_keep"), f"{label}.may_keep")
    if level.keep is None:
        keep = room - may_keep
    else:
        keep = _roles(level.keep, node.at("keep"), f"{label}.keep")
    if keep & may_keep:
        both = _listed(keep & may_keep)
        raise node.at("may_keep").error(f"{label}.may_keep: {both} is in keep too", "always kept, or open: choose")
    if not keep | may_keep:
        raise node.at("keep").error(f"{label}: keeps no tensor", "keep: [W, I, O], or leave the level out")
    return keep, may_keep


def _fanout(spec: FanoutSpec | None, node: Node, label: str) -> Fanout:
    if spec is None:
        return Fanout()
    if spec.x is None and spec.y is None:
        raise node.error(f"{label}: has neither x nor y", "x: 16, y: 16")
    x, y = spec.x or 1, spec.y or 1
    if spec.pes is not None and spec.pes != x * y:
        raise node.at("pes").error(f"{label}.pes: {spec.pes}, but x * y is {x} * {y} = {x * y}", f"pes: {x * y}")
    return Fanout(
        _axis(spec, node, label, "x", x),
        _axis(spec, node, label, "y", y),
        _network(spec.network, node.at("network"), label),
    )


def _network(spec: NetworkSpec | None, node: Node, label: str) -> Network | None:
    if spec is None:
        return None
    bandwidth = spec.link_bits_per_cycle
    wires = spec.link_bits or (None if bandwidth is None else math.ceil(bandwidth))
    if spec.wire_um2_per_bit_mm is not None and wires is None:
        place = node.at("wire_um2_per_bit_mm")
        raise place.error(f"{label}.network.wire_um2_per_bit_mm: of links of unknown width", "give link_bits: 64")
    return Network(
        topology=spec.topology,
        tile_mm=float(spec.tile_mm),
        wire_pj_per_bit_mm=float(spec.wire_pj_per_bit_mm),
        switch_pj_per_bit=float(spec.switch_pj_per_bit),
        source=spec.source,
        link_bits_per_cycle=None if bandwidth is None else exact(bandwidth),
        link_bits=wires,
        wire_um2_per_bit_mm=spec.wire_um2_per_bit_mm,
        switch_um2=spec.switch_um2,
    )


def _axis(spec: FanoutSpec, node: Node, label: str, kind: str, lanes: int) -> Axis:
    allowed, irrelevant = f"spread_{kind}", f"spread_{kind}_irrelevant_to"
    letters: list[str] | None = getattr(spec, allowed)
    return Axis(
        lanes=lanes,
        multicast=getattr(spec.multicast, kind),
        reduction=getattr(spec.reduction, kind),
        allowed=None if letters is None else _roles(letters, node.at(allowed), f"{label}.{allowed}"),
        irrelevant_to=_roles(getattr(spec, irrelevant), node.at(irrelevant), f"{label}.{irrelevant}"),
    )
