"""A sweep in a YAML file: what is the same for every point, and what varies.

network: resnet18
arch: procrustes
batch: 64
partition: CK,KN,CN,PQ
set: {compute.area_um2: 8000}    # changes of the accelerator's file for every point
grid:                            # every combination of
  array: [8x8, 16x16]            #   a setting, or a key of the accelerator's file
  density: [0.1, 0.5, 1]
  memory:                        #   or several at once, by a name
    small: {GLB.capacity_kib: 64, GLB.energy_pj_per_word.read: 8.0}
    large: {GLB.capacity_kib: 128}
points:                          # and of these, one by one
  - {balance: none}
  - {balance: half_tile}
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mapper.errors import did_you_mean
from mapper.yamlfile import Node, read, shown

SETTINGS = (
    *("network", "arch", "batch", "phase", "layers", "partition", "metric", "top", "density", "activation_density"),
    *("gradient_density", "masks", "balance"),
)
"""What a point is asked; every other key is one of the accelerator's file."""
WORKLOAD = ("network", "batch", "phase", "layers", "density", "activation_density", "gradient_density", "masks")
"""Settings that are work, not a design: points that differ in one do not compete."""
LISTS = frozenset(("phase", "layers", "partition"))
"""Settings that take several values at once, all for every point."""
PARTITION = "partition"
"""The partitionings of a point are searched beside each other: tables have a column for them without an axis."""
SET, GRID, POINTS = "set", "grid", "points"
MOST = 100_000
"""Points of a sweep: each is a network."""
ONCE = "vary it once"

Value = str | int | float | bool


@dataclass(frozen=True)
class Asked:
    """One point: what varies, by name as the tables have it, and all settings and changes, as the file gives them."""

    names: tuple[tuple[str, Value], ...]
    settings: Mapping[str, Node]
    changes: Mapping[str, Node]

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.names) or "the only point"

    def text(self, key: str) -> str | None:
        """A setting as the command line would give it, None where it is not given."""
        return str(_value(key, self.settings[key], key in LISTS)) if key in self.settings else None

    def words(self, key: str) -> tuple[str, ...]:
        """A setting that may be a list."""
        plain = self.settings[key].plain() if key in self.settings else []
        return tuple(map(str, plain if isinstance(plain, list) else [plain]))


@dataclass(frozen=True)
class SweepFile:
    """Every point in the order of the file, and what varies: the names in the order of the columns, each with its
    `file:line`.
    """

    path: Path
    axes: Mapping[str, str]
    points: tuple[Asked, ...]


def read_sweep(path: Path | str) -> SweepFile:
    """The points of a file. Raises `InputError` with `file:line`."""
    root = read(path)
    fixed = {key: node for key, node in _mapping(root, "a sweep").items() if key not in (SET, GRID, POINTS)}
    for key, node in fixed.items():
        if key not in SETTINGS:
            known = (*SETTINGS, SET, GRID, POINTS)
            hint = f"{SET}: {{{key}: ...}}" if "." in key or key == "array" else did_you_mean(key, known)
            raise node.error(f"{key}: unknown key", hint)
    axes, partitions = _axes(root), _partitions(root)
    size = math.prod(len(axis.choices) for axis in axes)
    if size > MOST:
        raise root.at(GRID).error(f"{size:,} points, more than {MOST:,}", "several files")
    base = fixed | _changes(root)
    for key, node in (base | partitions).items():
        _value(key, node, several=key in LISTS)
    choices = itertools.product(*(axis.choices for axis in axes))
    points = tuple(_point(base, partitions, chosen, root) for chosen in choices)
    return SweepFile(Path(path), {name: place for axis in axes for name, place in axis.places.items()}, points)


@dataclass(frozen=True)
class _Choice:
    """One value of an axis: what the tables call it, and what it gives."""

    names: tuple[tuple[str, Value], ...]
    given: Mapping[str, Node]


@dataclass(frozen=True)
class _Axis:
    """What varies together: the names with their `file:line`, and the values."""

    places: Mapping[str, str]
    choices: tuple[_Choice, ...]


def _changes(root: Node) -> dict[str, Node]:
    """What the file changes of the accelerator at every point."""
    changes = _mapping(root.at(SET), SET) if root.child(SET) else {}
    for key, node in changes.items():
        if key in SETTINGS:
            raise node.error(f"{key}: a setting, not a key of the accelerator's file", f"{key}: beside {SET}:")
        _check_spelling(key, node)
    return dict(changes)


def _partitions(root: Node) -> dict[str, Node]:
    """Partitionings in the grid."""
    listed = root.child(GRID) and root.at(GRID).child(PARTITION)
    return {PARTITION: listed} if listed else {}


def _axes(root: Node) -> list[_Axis]:
    """The points of the list, then each axis of the grid, outermost first."""
    listed = [_listed(points)] if (points := root.child(POINTS)) is not None else []
    grid = _mapping(root.at(GRID), GRID) if root.child(GRID) else {}
    for name, node in grid.items():
        if listed and name in listed[0].places:
            raise node.error(f"{name}: varied here and on line {listed[0].places[name].rpartition(':')[2]}", ONCE)
    every = {name: node for name, node in grid.items() if name != PARTITION}
    return [*listed, *(_Axis({name: node.where}, tuple(_choices(name, node))) for name, node in every.items())]


def _listed(points: Node) -> _Axis:
    if not isinstance(points.value, list) or not points.value:
        raise points.error(f"{POINTS}: expected a list of points", "- {density: 0.1}")
    places, choices = dict[str, str](), dict[frozenset[tuple[str, str]], _Choice]()
    for node in points.value:
        given = _mapping(node, "a point")
        names = tuple((key, _value(key, each)) for key, each in given.items())
        same = frozenset((key, str(value)) for key, value in names)
        if same in choices:
            raise node.error("this point is given twice")
        choices[same] = _Choice(names, given)
        for key, each in given.items():
            _check_spelling(key, each)
            places.setdefault(key, each.where)
    return _Axis(places, tuple(choices.values()))


def _choices(name: str, node: Node) -> Iterator[_Choice]:
    """The values of one axis: a list of them, or several settings at once by name."""
    if isinstance(node.value, dict) and node.value:
        for label, bundle in node.value.items():
            given = _mapping(bundle, f"{name}.{label}")
            for key, each in given.items():
                _value(key, each, several=key in LISTS)
                _check_spelling(key, each)
            yield _Choice(((name, label),), given)
        return
    if not isinstance(node.value, list) or not node.value:
        raise node.error(f"{name}: expected a list of values, found {shown(node.plain())}", "[8x8, 16x16]")
    _check_spelling(name, node)
    seen = set[Value]()
    for each in node.value:
        value = _value(name, each)
        if not seen.isdisjoint((value, str(value))):
            raise each.error(f"{name}: {shown(value)} is given twice")
        seen.update((value, str(value)))
        yield _Choice(((name, value),), {name: each})


def _check_spelling(key: str, node: Node) -> None:
    """Refuse what looks like a setting; keys of the accelerator's file are known when that is read."""
    hint = did_you_mean(key, SETTINGS)
    if key not in SETTINGS and "." not in key and hint and hint.startswith("did"):
        raise node.error(f"{key}: unknown key", hint)


def _point(base: Mapping[str, Node], partitions: Mapping[str, Node], chosen: tuple[_Choice, ...], root: Node) -> Asked:
    varied = dict(partitions)
    for choice in chosen:
        for key, node in choice.given.items():
            if key in varied:
                raise node.error(f"{key}: varied here and on line {varied[key].line}", ONCE)
            varied[key] = node
    given = {**base, **varied}
    settings = {key: node for key, node in given.items() if key in SETTINGS}
    for key, example in (("network", "resnet18"), ("arch", "procrustes")):
        if key not in settings:
            raise root.error(f"{key}: is missing", f"{key}: {example}")
    changes = {key: node for key, node in given.items() if key not in SETTINGS}
    return Asked(tuple(name for choice in chosen for name in choice.names), settings, changes)


def _mapping(node: Node, what: str) -> dict[str, Node]:
    if not isinstance(node.value, dict) or not node.value:
        raise node.error(f"{what}: expected a mapping, found {shown(node.plain())}", "key: value")
    return node.value


def _value(key: str, node: Node, several: bool = False) -> Value:
    """The value of a setting or change: one word or number; or a list of them where `several` may be given."""
    value = node.plain()
    if several and isinstance(node.value, list) and node.value:
        return ",".join(str(_value(key, each)) for each in node.value)
    if isinstance(value, list | dict) or value is None:
        hint = f"{GRID}: {{{key}: [...]}} varies it" if isinstance(value, list) else None
        raise node.error(f"{key}: expected one value, found {shown(value)}", hint)
    return value  # type: ignore[no-any-return]
