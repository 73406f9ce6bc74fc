"""Partitionings: which dimensions are spread over the X and the Y axis of a fan-out.

A name gives X first: `KN` spreads K over the columns and N over the rows. Letters stand for what a layer's designer
means by them: K is the output channels of a layer, K of a group and then the groups G; C likewise.

    KN         two single letters: K on X, N on Y
    M1,N1      two names of any length (also written M1/N1)
    KP/N       K and P on X, N on Y; with long names M1.P/N1
    K/  /N     only X, only Y
    all        CK, KN, CN and PQ
    any        the search chooses
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mapper.errors import InputError, did_you_mean, expect
from mapper.workload.einsum import Einsum

STANDARD = ("CK", "KN", "CN", "PQ")
"""The four partitionings of the Procrustes paper: what `all` stands for."""

LETTERS = frozenset("NGKCPQRS")
"""Dimensions of layers: a partitioning may name them for every einsum; one without them has no lanes there."""

CHANNELS = frozenset("KC")
"""Letters that stand for a dimension per group and then for the groups."""

_GROUPS = "G"
_ANY = "any"
_ALL = "all"


@dataclass(frozen=True)
class Partitioning:
    """Letters on X and on Y, under the name that tables print. Neither axis is given where the search chooses."""

    name: str
    x: tuple[str, ...] = ()
    y: tuple[str, ...] = ()

    @property
    def is_any(self) -> bool:
        """The search chooses."""
        return self.name == _ANY

    def __str__(self) -> str:
        return self.name


def parse_partitionings(text: str, dimensions: Iterable[str]) -> tuple[Partitioning, ...]:
    """A list as the option gives it: `CK,KN`, `all`, `any`, each once and in the given order.

    `M,N` is one partitioning where both are dimensions. Raises `InputError` with the nearest valid name.
    """
    known = tuple(dimensions)
    pieces = re.sub(r"\s*/\s*", "/", text).replace(",", " ").split()
    if not pieces:
        raise InputError("no partitioning is given", hint=did_you_mean("", _choices(known)))
    if _is_pair(pieces, known):
        pieces = ["/".join(pieces)]
    names = [name for piece in pieces for name in (STANDARD if piece.lower() == _ALL else (piece,))]
    return tuple(dict.fromkeys(parse_partitioning(name, known) for name in names))


def parse_partitioning(text: str, dimensions: Iterable[str]) -> Partitioning:
    """One partitioning of an einsum (or a network) with these dimensions. Raises `InputError`."""
    expect(text, str, "a partitioning", "text such as 'KN', or 'any'")
    known, name = tuple(dimensions), text.strip()
    if name.lower() == _ANY:
        return Partitioning(_ANY)
    x, y = (_axis(side, name, known) for side in _sides(name, known))
    for axis in (x, y):
        for dimension in axis:
            _check(dimension, axis, name, known)
    return Partitioning(_name(x, y), x, y)


def spread(partitioning: Partitioning, einsum: Einsum) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Dimensions of `einsum` on X and on Y: K and C bring the groups along, dimensions of one step fall away.

    The groups go to the first axis that asks for them (the one that names G, else X before Y) and to no other.
    """
    named = {*partitioning.x, *partitioning.y}
    groups_left = _GROUPS not in named
    axes = []
    for letters in (partitioning.x, partitioning.y):
        dimensions = list(letters)
        channels = [i for i, letter in enumerate(letters) if letter in CHANNELS]
        if channels and groups_left:
            dimensions.insert(channels[0] + 1, _GROUPS)
            groups_left = False
        axes.append(tuple(d for d in dimensions if einsum.extent.get(d, 1) > 1))
    return axes[0], axes[1]


def _is_pair(pieces: list[str], known: tuple[str, ...]) -> bool:
    """Two single letters or two dimensions: neither is a partitioning by itself."""
    return len(pieces) == 2 and (all(len(p) == 1 for p in pieces) or all(p in known for p in pieces))


def _sides(name: str, known: tuple[str, ...]) -> tuple[str, str]:
    parts = re.split(r"\s*[,/]\s*", name)
    if len(parts) == 2 and any(parts):
        return parts[0], parts[1]
    if len(parts) == 1 and len(name) == 2:
        return name[0], name[1]
    raise InputError(f"'{name}' is not a partitioning", hint=did_you_mean(name, _choices(known)))


def _choices(known: tuple[str, ...]) -> tuple[str, ...]:
    """What ships, and an example of two dimensions of the einsum."""
    return (*STANDARD, *([f"{known[0]}/{known[-1]}"] if len(known) > 1 else []), _ALL, _ANY)


def _axis(side: str, name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The dimensions of one side: one name, names between dots, or single letters in a row."""
    if not side:
        return ()
    if side in known:
        return (side,)
    if "." in side:
        return tuple(part.strip() for part in side.split("."))
    letters = {d for d in known if len(d) == 1} | LETTERS
    if all(letter in letters for letter in side):
        return tuple(side)
    raise _unknown(side, name, known)


def _check(dimension: str, axis: tuple[str, ...], name: str, known: tuple[str, ...]) -> None:
    if dimension not in known and dimension not in LETTERS:
        raise _unknown(dimension, name, known)
    if axis.count(dimension) > 1:
        raise InputError(f"partitioning '{name}' spreads {dimension} twice over one axis", hint="name it once")


def _unknown(dimension: str, name: str, known: tuple[str, ...]) -> InputError:
    return InputError(f"partitioning '{name}': no dimension '{dimension}'", hint=did_you_mean(dimension, known))


def _name(x: tuple[str, ...], y: tuple[str, ...]) -> str:
    """The canonical name: two letters where each axis has one, else axes on either side of a slash."""
    if len(x) == len(y) == 1 and len(x[0] + y[0]) == 2:
        return x[0] + y[0]
    return "/".join(("." if any(len(d) > 1 for d in axis) else "").join(axis) for axis in (x, y))
