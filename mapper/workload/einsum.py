"""An einsum: what is computed, as loops over named dimensions and tensors with affine ranks.

    O[N,K,P,Q] += W[K,C,R,S] * I[N,C,2*P+R,2*Q+S]

Every tensor axis (a *rank*) is a sum of `coefficient * dimension`. A rank of one dimension is plain; a rank of
several slides, and its tiles overlap. The accumulated tensor (left of `+=`) must be plain. Each dimension occurs in
at most one rank of a tensor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

from mapper.errors import InputError, did_you_mean

ROLES = ("W", "I", "O")
"""Where hardware puts a tensor: W the plain operand, I the sliding (second) operand, O the accumulated tensor."""

LARGEST_BOUND = 2**40
"""No loop is longer: its divisors are found by trial, and counts of it would leave 63-bit integers."""
LARGEST_SPAN = 2**26
"""No sliding rank is longer: windows with holes are counted on sets of one bit per position."""


def divisors(number: int) -> list[int]:
    """Divisors in ascending order; up to `LARGEST_BOUND` they take a moment."""
    small = [i for i in range(1, math.isqrt(number) + 1) if number % i == 0]
    return small + [number // i for i in reversed(small) if i * i != number]


@dataclass(frozen=True)
class Term:
    """`coefficient * dimension`, one summand of a rank."""

    coefficient: int
    dimension: str

    def __str__(self) -> str:
        return self.dimension if self.coefficient == 1 else f"{self.coefficient}*{self.dimension}"


Rank = tuple[Term, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor of an einsum.

    `role` (W, I or O) says which buffers of the hardware it uses; `data` (W, I or O) whose bits it has: dI is
    accumulated (role O) with the bits of I. `padding_words` are words of its padded extent that no memory stores;
    `stored` gives per rank the positions (first, past the last) that are, None where all of them are.
    """

    name: str
    ranks: tuple[Rank, ...]
    role: str = "W"
    data: str = "W"
    padding_words: int = 0
    stored: tuple[tuple[int, int] | None, ...] = ()

    @cached_property
    def dimensions(self) -> frozenset[str]:
        return frozenset(term.dimension for rank in self.ranks for term in rank)

    def window(self, rank: int) -> tuple[int, int] | None:
        """Positions of a rank that memory stores, None where it stores all."""
        return self.stored[rank] if self.stored else None

    def __str__(self) -> str:
        return f"{self.name}[{','.join('+'.join(map(str, rank)) for rank in self.ranks)}]"


@dataclass(frozen=True)
class Einsum:
    """Bounds, operands and one accumulated tensor. `macs` is what the layer needs (by default every point)."""

    bounds: tuple[tuple[str, int], ...]
    operands: tuple[Tensor, ...]
    output: Tensor
    macs: int = -1
    name: str = "einsum"

    def __post_init__(self) -> None:
        for dimension, bound in self.bounds:
            if isinstance(bound, bool) or not isinstance(bound, Integral) or bound < 1:
                raise InputError(f"dimension {dimension} has bound {bound!r}; bounds are whole, 1 or more", hint="1")
            if bound > LARGEST_BOUND:
                raise InputError(f"dimension {dimension} has bound {bound:,}", hint=f"at most {LARGEST_BOUND:,}")
        for tensor in self.tensors:
            self._check(tensor)
        if self.macs < 0:
            object.__setattr__(self, "macs", self.points)

    def _check(self, tensor: Tensor) -> None:
        seen: set[str] = set()
        for rank in tensor.ranks:
            for term in rank:
                if term.dimension not in self.extent:
                    raise InputError(
                        f"tensor {tensor} uses dimension {term.dimension}, which has no bound",
                        hint=did_you_mean(term.dimension, self.extent),
                    )
                if term.dimension in seen:
                    raise InputError(f"dimension {term.dimension} occurs twice in tensor {tensor}")
                if term.coefficient < 1:
                    raise InputError(f"coefficient {term.coefficient} in tensor {tensor} is not positive")
                seen.add(term.dimension)
            looped = [term for term in rank if self.extent[term.dimension] > 1]
            if tensor == self.output and len(looped) > 1:
                raise InputError(f"accumulated tensor {tensor} slides; it must have one dimension per rank")
            span = 1 + sum(term.coefficient * (self.extent[term.dimension] - 1) for term in looped)
            if len(looped) > 1 and span > LARGEST_SPAN:
                text = "+".join(map(str, rank))
                raise InputError(
                    f"rank {text} of tensor {tensor.name} spans {span:,}", hint=f"at most {LARGEST_SPAN:,}"
                )

    @cached_property
    def extent(self) -> dict[str, int]:
        """Bound of each dimension, by name, in declared order."""
        return dict(self.bounds)

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.extent)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Operands in declared order, then the accumulated tensor."""
        return (*self.operands, self.output)

    @cached_property
    def points(self) -> int:
        """Product of the bounds: what a loop nest executes."""
        return math.prod(bound for _, bound in self.bounds)

    @cached_property
    def reductions(self) -> frozenset[str]:
        """Dimensions that do not index the accumulated tensor."""
        return frozenset(self.extent) - self.output.dimensions

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name; an error with the nearest name otherwise."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise InputError(f"no tensor '{name}'", hint=did_you_mean(name, [t.name for t in self.tensors]))

    def __str__(self) -> str:
        return f"{self.output} += {' * '.join(map(str, self.operands))}"

    @property
    def text(self) -> str:
        """The einsum with its bounds, as `Einsum.parse` reads it."""
        return f"{self}; {' '.join(f'{d}={n}' for d, n in self.bounds)}"

    @classmethod
    def parse(cls, text: str, bounds: Mapping[str, int] | None = None, **more: int) -> Einsum:
        """Read `"Z[M,N] += A[M,K] * B[K,N]; M=64 N=64 K=64"`; bounds may also come as keywords.

        Roles go by place: the first operand takes W, the others I, the accumulated tensor O.
        """
        formula, _, tail = text.partition(";")
        extents = {**_parse_bounds(tail, text), **(bounds or {}), **more}
        match = re.fullmatch(r"\s*(.+?)\s*\+=\s*(.+?)\s*", formula)
        if not match:
            raise InputError(f"not an einsum: {text!r}", hint="Z[M,N] += A[M,K] * B[K,N]; M=64 N=64 K=64")
        output = _parse_tensor(match[1], "O", text)
        factors = re.split(r"\*\s*(?=[A-Za-z_]\w*\s*\[)", match[2])
        operands = tuple(_parse_tensor(part, "I" if i else "W", text) for i, part in enumerate(factors))
        names = [t.name for t in (*operands, output)]
        if len(set(names)) < len(names):
            raise InputError(f"a tensor is named twice in {text!r}")
        used = {term.dimension for t in (*operands, output) for rank in t.ranks for term in rank}
        for dimension in extents:
            if dimension not in used:
                raise InputError(
                    f"bound of {dimension}, which no tensor uses", hint=did_you_mean(dimension, sorted(used))
                )
        missing = sorted(used - set(extents))
        if missing:
            raise InputError(f"no bound for {', '.join(missing)} in {text!r}", hint=f"add {missing[0]}=1")
        return cls(tuple(extents.items()), operands, output)


def _parse_bounds(tail: str, text: str) -> dict[str, int]:
    bounds: dict[str, int] = {}
    for word in tail.replace(",", " ").split():
        match = re.fullmatch(r"([A-Za-z_]\w*)=(\d{1,4000})", word)
        if not match:
            raise InputError(f"bad bound {word!r} in {text!r}", hint="M=64")
        if match[1] in bounds:
            raise InputError(f"two bounds for {match[1]} in {text!r}")
        bounds[match[1]] = int(match[2])
    return bounds


def _parse_tensor(text: str, role: str, whole: str) -> Tensor:
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*\[([^\]]*)\]\s*", text)
    if not match:
        raise InputError(f"not a tensor: {text.strip()!r} in {whole!r}", hint="A[M,K]")
    ranks = tuple(_parse_rank(r, whole) for r in match[2].split(",")) if match[2].strip() else ()
    return Tensor(match[1], ranks, role, match[1] if match[1] in ROLES else role)


def _parse_rank(text: str, whole: str) -> Rank:
    terms = []
    for summand in text.split("+"):
        match = re.fullmatch(r"\s*(?:(\d{1,4000})\s*\*\s*)?([A-Za-z_]\w*)\s*", summand)
        if not match:
            raise InputError(f"not a rank: {text.strip()!r} in {whole!r}", hint="2*P+R")
        terms.append(Term(int(match[1] or 1), match[2]))
    return tuple(terms)
