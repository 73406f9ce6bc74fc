"""An einsum in the field's notation, and what each of its letters stands for in a layer and phase.

A sliding rank gets a name of its own (h, w), defined beside the formula: `O[N,K,P,Q] += W[K,C,R,S] * I[N,C,h,w]` with
`h = 2*P+R`. Dimensions of one step are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mapper.workload import Conv2d, Einsum, Layer, Linear, Matmul, Part, Phase, Rank

CONVOLUTION = {
    "N": "samples",
    "G": "groups",
    "K": "output channels",
    "C": "input channels",
    "P": "output rows",
    "Q": "output columns",
    "R": "filter rows",
    "S": "filter columns",
}
"""What the letters of a convolution count."""

_GRADIENT = CONVOLUTION | {"P": "input rows", "Q": "input columns"}
_RESIDUE = CONVOLUTION | {
    "P": "input rows of this part",
    "Q": "input columns of this part",
    "R": "filter rows that meet them",
    "S": "filter columns that meet them",
}
_LINEAR = {"N": "samples", "K": "output features", "C": "input features"}
_MATMUL = {"N": "columns of B", "K": "rows of A", "C": "columns of A, rows of B"}


@dataclass(frozen=True)
class Letter:
    """A dimension: its bound, what it counts, the tensors it indexes and those that stay put while it steps."""

    name: str
    bound: int
    meaning: str
    moves: tuple[str, ...]
    reuses: tuple[str, ...]


@dataclass(frozen=True)
class Formula:
    """`text` with `definitions` such as `h = 2*P+R`; `ranks[tensor]`: (name, rank) of each rank that loops."""

    text: str
    definitions: tuple[str, ...]
    ranks: dict[str, tuple[tuple[str, Rank], ...]]


def formula(einsum: Einsum) -> Formula:
    """`einsum` without the dimensions of one step."""
    names: dict[str, str] = {}
    free = (name for name in _sliding_names() if name not in einsum.dimensions)
    ranks = {}
    for tensor in einsum.tensors:
        looping = [_looping(rank, einsum) for rank in tensor.ranks]
        ranks[tensor.name] = tuple((_name(rank, names, free), rank) for rank in looping if rank)
    pieces = {name: f"{name}[{','.join(_index(n, rank) for n, rank in named)}]" for name, named in ranks.items()}
    text = f"{pieces[einsum.output.name]} += {' * '.join(pieces[t.name] for t in einsum.operands)}"
    return Formula(text, tuple(f"{name} = {rank}" for rank, name in names.items()), ranks)


def letters(layer: Layer, part: Part) -> tuple[Letter, ...]:
    """The dimensions that loop, in the einsum's order."""
    einsum, meanings = part.einsum, _meanings(layer, part)
    return tuple(
        Letter(name, bound, meanings.get(name, ""), *_split(name, einsum)) for name, bound in einsum.bounds if bound > 1
    )


def _meanings(layer: Layer, part: Part) -> dict[str, str]:
    if isinstance(layer, Linear):
        return _LINEAR
    if isinstance(layer, Matmul):
        return _MATMUL
    if not isinstance(layer, Conv2d):
        return {}
    known = CONVOLUTION if part.phase is Phase.fw else _GRADIENT if part.count == 1 else _RESIDUE
    if layer.groups == 1:
        return known
    return known | {name: f"{known[name]} of a group" for name in "KC"}


def _split(dimension: str, einsum: Einsum) -> tuple[tuple[str, ...], tuple[str, ...]]:
    moved = tuple(t.name for t in einsum.tensors if dimension in t.dimensions)
    return moved, tuple(t.name for t in einsum.tensors if t.name not in moved)


def _looping(rank: Rank, einsum: Einsum) -> Rank:
    return tuple(term for term in rank if einsum.extent[term.dimension] > 1)


def _sliding_names() -> Iterator[str]:
    yield from ("h", "w")
    number = 1
    while True:
        yield f"h{number}"
        number += 1


def _name(rank: Rank, names: dict[str, str], free: Iterator[str]) -> str:
    """A plain rank is called as its dimension; a sliding one gets the next free name, the same for the same sum."""
    if len(rank) == 1:
        return rank[0].dimension
    text = "+".join(map(str, rank))
    if text not in names:
        names[text] = next(free)
    return names[text]


def _index(name: str, rank: Rank) -> str:
    return str(rank[0]) if len(rank) == 1 else name
