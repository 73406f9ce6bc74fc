"""Loop orders of one level, one for each way the tiles below can be reused: `orders_of`.

What an order does to a tensor is decided by its innermost loops alone. Walk a level's loops from the inside out: as
long as they step over dimensions that do not index the tensor (its tile stays put) or that slide along one of its
ranks (its tile moves and overlaps the last one), words can stay. The first other loop moves the tile to words that
share nothing with the last, and from there outwards every loop counts as a whole. This innermost stretch is the
*tail* of the tensor; within it, neighbouring loops that leave the tile put may change places. So two orders whose
tails agree for every tensor give equal counts for every tensor and level (`tests/search/test_orders.py` compares all
permutations), and one order for each combination of tails covers all permutations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from mapper.workload.einsum import Einsum

Order = tuple[str, ...]
"""Dimensions of the temporal loops of a level, outermost first."""

Tail = tuple[frozenset[str] | str, ...]
"""Innermost first: sets of neighbouring loops that leave a tile put, and single loops along which it slides."""


@dataclass(frozen=True)
class Reuse:
    """Which dimensions leave the tile of a tensor put, and along which it slides."""

    puts: frozenset[str]
    slides: frozenset[str]


def reuse_of(einsum: Einsum) -> tuple[Reuse, ...]:
    """`Reuse` of each tensor of `einsum`, in their order; dimensions of one step loop nowhere and do not count."""
    looped = {d for d, bound in einsum.bounds if bound > 1}
    out = []
    for tensor in einsum.tensors:
        ranks = [[t.dimension for t in rank if t.dimension in looped] for rank in tensor.ranks]
        slides = frozenset(d for rank in ranks if len(rank) > 1 for d in rank)
        out.append(Reuse(frozenset(looped - tensor.dimensions), slides))
    return tuple(out)


def tail(order: Order, reuse: Reuse) -> Tail:
    """The tail of one tensor under `order`."""
    out: list[frozenset[str] | str] = []
    for dimension in reversed(order):
        if dimension in reuse.puts:
            if out and isinstance(out[-1], frozenset):
                out[-1] |= {dimension}
            else:
                out.append(frozenset({dimension}))
        elif dimension in reuse.slides:
            out.append(dimension)
        else:
            break
    return tuple(out)


@lru_cache(maxsize=4096)
def orders_of(reuses: tuple[Reuse, ...], dimensions: frozenset[str], prefix: Order = ()) -> tuple[Order, ...]:
    """One order of `dimensions` for each combination of tails: the first of its kind in the order of names.

    `prefix`: dimensions that come first, in this sequence, where the level loops over them.
    """
    first = tuple(d for d in prefix if d in dimensions)
    found: dict[tuple[Tail, ...], Order] = {}
    for order in _candidates(reuses, first, dimensions - set(first)):
        key = tuple(tail(order, reuse) for reuse in reuses)
        found[key] = min(order, found.get(key, order))
    return tuple(sorted(found.values()))


def _candidates(reuses: tuple[Reuse, ...], first: Order, free: frozenset[str]) -> Iterator[Order]:
    """Orders that end in every sequence of loops which some tail can tell from another."""
    suffixes: list[tuple[Order, tuple[Reuse, ...]]] = [((), reuses)]
    while suffixes:
        suffix, open_tails = suffixes.pop()
        left = sorted(free - set(suffix))
        if not left or not open_tails:
            yield (*first, *left, *suffix)
            continue
        for dimension in left:
            still = tuple(r for r in open_tails if dimension in r.puts or dimension in r.slides)
            suffixes.append(((dimension, *suffix), still))
