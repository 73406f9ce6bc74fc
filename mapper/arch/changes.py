"""Changes of an accelerator's file before it is read: what a sweep varies, by the name of a level and of a key.

`GLB.capacity_kib` is a key of a level (or of one of its buffers), `bits.W` and `clock_ghz` are keys of the file,
`array` is the X by Y lanes of the one fan-out, `GLB.array` those below a level. A key may be one that the file does not
have. What the new value contradicts goes: another unit of the same quantity, and counts that only check the lanes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mapper.arch.memory import BANDWIDTHS, CAPACITIES, ENERGIES
from mapper.arch.schema import ArchSpec, ComputeSpec
from mapper.errors import did_you_mean
from mapper.yamlfile import Node, shown

ARRAY = "array"
"""Lanes of a fan-out, written 16x16."""
LEVELS = "levels"
UNIT = str(ComputeSpec.model_fields["name"].default)
"""What the compute unit is called where the file gives it no name."""
_INSTEAD = (CAPACITIES, BANDWIDTHS, ENERGIES)
"""Keys of which a memory has one."""
_CHECKS = ("pes", "instances")
"""Keys that state what follows from the lanes."""

Path = tuple[str | int, ...]


def changed(root: Node, changes: Mapping[str, Node]) -> Node:
    """The document with those values; errors point at the line that gives the value."""
    for key, value in changes.items():
        if key.rpartition(".")[2] == ARRAY:
            root = _with_array(root, key, value)
        else:
            root = _with(root, _path(root, key, value), value)
    return root


def _with_array(root: Node, key: str, value: Node) -> Node:
    """The lanes of both axes; what the file says of their number elsewhere goes."""
    lanes = re.fullmatch(r"(\d{1,9})x(\d{1,9})", str(value.plain()))
    if lanes is None:
        raise value.error(f"{key}: expected lanes of X and Y, found {shown(value.plain())}", "16x16")
    level = _path(root, key, value)[:-1] if "." in key else _fanout(root, key, value)
    root = _without(root, _CHECKS)
    for axis, text in zip("xy", lanes.groups(), strict=True):
        root = _with(root, (*level, "fanout", axis), Node(int(text), value.where))
    return root


def _fanout(root: Node, key: str, value: Node) -> Path:
    """The one level with a fan-out."""
    levels = _entries(root, LEVELS)
    found = [i for i, level in enumerate(levels) if level.child("fanout") is not None]
    if len(found) != 1:
        names = [f"{_name(levels[i])}.{ARRAY}" for i in found or range(len(levels))]
        raise value.error(f"{key}: the file has {len(found) or 'no'} fan-outs", f"one of: {', '.join(names)}")
    return LEVELS, found[0]


def _path(root: Node, key: str, value: Node) -> Path:
    """Where a key stands: below a level or buffer of that name, or at the top of the file."""
    first, *rest = key.split(".")
    places = _places(root)
    if first == LEVELS and rest:
        raise value.error(f"{key}: a key of a level goes by the level's name alone", ".".join(rest))
    start = places.get(first, (first,))
    if first not in places and first not in ArchSpec.model_fields:
        choices = [ARRAY, *places, *ArchSpec.model_fields]
        raise value.error(f"{key}: neither a level nor a key of an accelerator", did_you_mean(first, choices))
    if not rest and first in places:
        raise value.error(f"{key}: a level; which key of it?", f"{key}.capacity_kib")
    return (*start, *rest)


def _places(root: Node) -> dict[str, Path]:
    """Where levels, buffers side by side in one, and the compute unit stand in the file, by name."""
    compute = root.child("compute")
    found: dict[str, Path] = {} if compute is None else {_name(compute, UNIT): ("compute",)}
    for i, level in enumerate(_entries(root, LEVELS)):
        found[_name(level)] = (LEVELS, i)
        for j, buffer in enumerate(_entries(level, "buffers")):
            found[_name(buffer)] = (LEVELS, i, "buffers", j)
    return {name: path for name, path in found.items() if name}


def _name(node: Node, default: str = "") -> str:
    """Its name; one that is missing is for the schema to miss."""
    name = node.child("name")
    return default if name is None else str(name.plain())


def _entries(node: Node, key: str) -> Sequence[Node]:
    child = node.child(key)
    return child.value if child is not None and isinstance(child.value, list) else []


def _with(node: Node, path: Path, value: Node) -> Node:
    """`node` with `value` at `path`, copied along it."""
    if not path:
        return value
    key, *rest = path
    inner = node.child(key) or Node({}, value.where, node.last, node.last)
    if isinstance(node.value, list) and isinstance(key, int):
        return _copy(node, [*node.value[:key], _with(inner, tuple(rest), value), *node.value[key + 1 :]])
    if not isinstance(node.value, dict):
        raise value.error(f"{key}: there is no key in {shown(node.plain())}")
    others = {other for group in _INSTEAD if key in group and not rest for other in group if other != key}
    kept = {name: each for name, each in node.value.items() if name not in others}
    return _copy(node, kept | {str(key): _with(inner, tuple(rest), value)})


def _without(node: Node, keys: Sequence[str]) -> Node:
    """`node` without those keys, at any depth."""
    if isinstance(node.value, list):
        return _copy(node, [_without(each, keys) for each in node.value])
    if isinstance(node.value, dict):
        return _copy(node, {key: _without(each, keys) for key, each in node.value.items() if key not in keys})
    return node


def _copy(node: Node, value: dict[str, Node] | list[Node]) -> Node:
    return Node(value, node.where, node.first, node.last, node.size)
