"""What tells one search from another: a key of all its content, the same in every process and on every machine.

The key is the SHA-256 of a canonical text of the problem, with mapper's version and sources before it. The text names
the class of every object and every field that its equality looks at (fields with `compare=False` say nothing about the
work), keeps the order of sequences and sorts what has none. Masks enter by shape and by the digest of their words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from json.encoder import encode_basestring_ascii
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

import mapper
from mapper.mapping import format_loop
from mapper.search.solve import Problem
from mapper.sparsity.known import Actual


def job_key(problem: Problem, version: str | None = None) -> str:
    """64 hexadecimal digits: equal for equal problems of one version. Raises `TypeError` as `canonical` does."""
    said = ",".join(f"{f.name}={_remembered(_Same(getattr(problem, f.name)))}" for f in fields(problem) if f.compare)
    return hashlib.sha256(f"mapper {version or release()}\n{_name(problem)}({said})".encode()).hexdigest()


def job_text(problem: Problem) -> str:
    """What a problem asks, for people: `fw 1/1 N64 K128 C128 P28 Q28 R3 S3, KN on procrustes by edp, top 5`."""
    bounds = " ".join(format_loop(dimension, bound) for dimension, bound in problem.einsum.bounds if bound > 1)
    asked = f"{problem.partitioning.name} on {problem.accelerator.name} by {problem.metric}, top {problem.top}"
    return f"{problem.einsum.name} {bounds}, {asked}"


@dataclass(frozen=True, eq=False)
class _Same:
    """An object that is equal to itself alone: equal ones may differ in text, as 1 and 1.0 do."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=4096)
def _remembered(same: _Same) -> str:
    """The text of an object that many problems share, such as the accelerator."""
    return canonical(same.value)


AFTERWARDS = ("cli", "report")
"""Rooms that only show what was found."""


@cache
def release() -> str:
    """The version and a digest of mapper's sources, so that who changes them finds no results of the old ones."""
    digest = hashlib.sha256()
    root = Path(mapper.__file__).parent
    for path in sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in AFTERWARDS):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return f"{mapper.__version__} {digest.hexdigest()}"


def canonical(value: object) -> str:
    """A value as text, in ASCII: equal values of one type have one text, and no others have it.

    Raises `TypeError` for a type that it does not know: its text might be that of an address.
    """
    return _text_of(type(value))(value)  # type: ignore[arg-type]  # types are hashable


@cache
def _text_of(kind: type) -> Callable[[Any], str]:
    """How values of a type are written; looking for it takes longer than the writing."""
    for kinds, text in _TEXTS:
        if issubclass(kind, kinds):
            return text
    if not is_dataclass(kind):
        raise TypeError(f"no canonical text of a {kind.__module__}.{kind.__qualname__}")
    head, names = f"{kind.__module__}.{kind.__qualname__}", [f.name for f in fields(kind) if f.compare]
    return lambda value: f"{head}({','.join([f'{name}={canonical(getattr(value, name))}' for name in names])})"


def _name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _number(value: Integral) -> str:
    return str(int(value))


def _array(value: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    if value.dtype.hasobject:
        raise TypeError("no canonical text of an array of objects")
    content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return f"array({value.dtype.str},{canonical(value.shape)},{content})"


def _actual(value: Actual) -> str:
    return f"Actual({canonical(value.array.shape)},{value.digest.hex()})"


def _sequence(value: Iterable[object]) -> str:
    return f"[{','.join(map(canonical, value))}]"


def _set(value: Iterable[object]) -> str:
    return f"set({','.join(sorted(map(canonical, value)))})"


def _mapping(value: Mapping[object, object]) -> str:
    return f"map({','.join(sorted(f'{canonical(k)}:{canonical(v)}' for k, v in value.items()))})"


_TEXTS: tuple[tuple[type | tuple[type, ...], Callable[..., str]], ...] = (
    (Enum, lambda value: f"{_name(value)}.{value.name}"),
    (type(None), str),
    ((bool, np.bool_), lambda value: str(bool(value))),
    (Integral, _number),
    (Fraction, lambda value: f"{value.numerator}/{value.denominator}"),
    ((float, np.floating), lambda value: float(value).hex()),
    (str, encode_basestring_ascii),
    (bytes, lambda value: f"bytes({value.hex()})"),
    (Actual, _actual),
    (np.ndarray, _array),
    ((tuple, list), _sequence),
    ((set, frozenset), _set),
    (Mapping, _mapping),
)
"""How each type is written; the first that fits counts, as an enum may be a text and a bool is a number."""
