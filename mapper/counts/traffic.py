"""Reads, fills, updates, drains, multicast and reductions of every tensor at every level, in exact integers.

An operand enters the tiles of a level (`fills`) and is read from the next level above that keeps it (`reads`), a word
wanted by several children once. An accumulated word that leaves a tile is drained, added to the others of its parent's
children on the way (spatial reduction) and written there (`updates`); when it comes back it is refilled, its first
visit starts from zero. With F(l) the words that enter tiles of level l united per parent instance, F_pe(l) the same
counted per child, and z(0) = |Z|:

    refills(l) = F(l) - z(parent)       z(l) = F_pe(l) - refills(l)
    updates(parent) = F(l)              reads(parent) = refills(l) = fills(l)
    drains(l) = F_pe(l)                 spatial reductions above l = F_pe(l) - F(l)

At the innermost level that keeps Z, with U the updates by compute: reads = U - z.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from mapper.counts.entering import Mode, Modes, entering
from mapper.counts.geometry import Geometry, groups
from mapper.counts.padding import sent
from mapper.mapping.loopnest import Ints, Nests
from mapper.workload.einsum import Tensor

Action = Literal["fills", "reads", "updates", "drains"]
ACTIONS: tuple[Action, ...] = ("fills", "reads", "updates", "drains")
Key = tuple[int, str, Action]

_K = TypeVar("_K")


@dataclass(frozen=True)
class Sharing:
    """Which fan-out axes can deliver one word to several children: `multicast[level]` for (X, Y)."""

    multicast: tuple[tuple[bool, bool], ...]

    @classmethod
    def everywhere(cls, levels: int) -> Sharing:
        return cls(((True, True),) * levels)


@dataclass
class Traffic:
    """Words per (level, tensor, action), an array with one entry per mapping; zero actions are left out.

    `reductions[(level, tensor)]`: spatial additions on the way into `level`; `delivered[(level, tensor)]`: words that
    arrive below `level`, each receiver counted; `temporal_reductions`: additions at the innermost level;
    `padding[tensor]`: words that level 0 would read more often if it stored the padding.
    """

    words: dict[Key, Ints] = field(default_factory=dict)
    reductions: dict[tuple[int, str], Ints] = field(default_factory=dict)
    delivered: dict[tuple[int, str], Ints] = field(default_factory=dict)
    padding: dict[str, Ints] = field(default_factory=dict)
    temporal_reductions: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def kept_levels(nests: Nests, tensor: Tensor) -> list[int]:
    """Levels that keep `tensor`, outermost first; level 0 always does."""
    return [level for level, names in enumerate(nests.keeps) if level == 0 or tensor.name in names]


def modes(nests: Nests, level: int, parent: int, sharing: Sharing | None) -> Modes:
    """Modes of the spatial slots for words that enter `level` from `parent`; no `sharing`: every child counted."""
    out = []
    for slot in nests.slots:
        if slot.kind == "t" or slot.level >= level:
            out.append(Mode.TILE)
        elif slot.level < parent or sharing is None:
            out.append(Mode.SEPARATE)
        else:
            shared = sharing.multicast[slot.level][0 if slot.kind == "x" else 1]
            out.append(Mode.UNION if shared else Mode.SEPARATE)
    return tuple(out)


def count(nests: Nests, sharing: Sharing | None = None) -> Traffic:
    """Traffic of every mapping of `nests`, summed over all instances."""
    sharing = sharing or Sharing.everywhere(nests.level_count)
    parts = groups(nests)
    if len(parts) == 1:
        return count_group(parts[0][1], sharing)
    return merge(len(nests), [(rows, count_group(geometry, sharing)) for rows, geometry in parts])


def merge(size: int, parts: list[tuple[Ints, Traffic]]) -> Traffic:
    """One `Traffic` of `size` mappings from the traffic of disjoint groups of rows."""
    out = Traffic(temporal_reductions=np.zeros(size, dtype=np.int64))
    for rows, part in parts:
        out.temporal_reductions[rows] = part.temporal_reductions
        _scatter(out.words, part.words, rows, size)
        _scatter(out.reductions, part.reductions, rows, size)
        _scatter(out.delivered, part.delivered, rows, size)
        _scatter(out.padding, part.padding, rows, size)
    return out


def _scatter(target: dict[_K, Ints], source: dict[_K, Ints], rows: Ints, size: int) -> None:
    for key, values in source.items():
        target.setdefault(key, np.zeros(size, dtype=np.int64))[rows] = values


def count_group(geometry: Geometry, sharing: Sharing) -> Traffic:
    """Traffic of mappings that have the same uneven slots."""
    traffic = Traffic()
    for operand in geometry.nests.einsum.operands:
        _count_operand(traffic, geometry, operand, sharing)
    _count_output(traffic, geometry)
    return traffic


def _count_operand(traffic: Traffic, geometry: Geometry, tensor: Tensor, sharing: Sharing) -> None:
    nests = geometry.nests
    kept = kept_levels(nests, tensor)
    for parent, level in itertools.pairwise(kept):
        fills = entering(geometry, tensor, level, modes(nests, level, level, None))
        traffic.words[level, tensor.name, "fills"] = fills
        _serve(traffic, geometry, tensor, parent, level, sharing)
        traffic.delivered[parent, tensor.name] = fills
    _serve(traffic, geometry, tensor, kept[-1], nests.level_count, sharing)
    traffic.delivered[kept[-1], tensor.name] = np.full(len(nests), nests.einsum.points, dtype=np.int64)


def _serve(traffic: Traffic, geometry: Geometry, tensor: Tensor, parent: int, level: int, sharing: Sharing) -> None:
    """Reads of `parent` for `level` (past the last: compute)."""
    nests = geometry.nests
    every_step, chosen = level == nests.level_count, modes(nests, level, parent, sharing)
    wanted = entering(geometry, tensor, level, chosen, every_step)
    reads = sent(geometry, tensor, parent, level, chosen, every_step)
    traffic.words[parent, tensor.name, "reads"] = reads
    if parent == 0 and any(tensor.stored):
        traffic.padding[tensor.name] = wanted - reads


@dataclass(frozen=True)
class Visits:
    """Words of the accumulated tensor that enter `level` from `parent`: united over children, each child's counted
    (`entered`), and those that come `back`; the others start from zero."""

    parent: int
    level: int
    united: Ints
    entered: Ints
    back: Ints


def sums(geometry: Geometry, distinct: Ints) -> Iterator[Visits]:
    """Between all levels that keep the accumulated tensor, outermost first; `distinct` is |Z|."""
    nests, tensor = geometry.nests, geometry.nests.einsum.output
    everywhere, zeros = Sharing.everywhere(nests.level_count), distinct
    for parent, level in itertools.pairwise(kept_levels(nests, tensor)):
        entered = entering(geometry, tensor, level, modes(nests, level, level, None))
        united = entering(geometry, tensor, level, modes(nests, level, parent, everywhere))
        yield Visits(parent, level, united, entered, united - zeros)
        zeros = entered - (united - zeros)


def _count_output(traffic: Traffic, geometry: Geometry) -> None:
    nests, tensor = geometry.nests, geometry.nests.einsum.output
    name, kept, everywhere = tensor.name, kept_levels(nests, tensor), Sharing.everywhere(nests.level_count)
    zeros = np.full(len(nests), output_words(nests), dtype=np.int64)
    for visit in sums(geometry, zeros):
        parent, level = visit.parent, visit.level
        traffic.words[level, name, "fills"] = traffic.words[parent, name, "reads"] = visit.back
        traffic.words[level, name, "drains"] = visit.entered
        traffic.words[parent, name, "updates"] = visit.united
        traffic.reductions[parent, name] = visit.entered - visit.united
        traffic.delivered[parent, name] = visit.back
        zeros = visit.entered - visit.back
    last, compute = kept[-1], modes(nests, nests.level_count, kept[-1], everywhere)
    updates = entering(geometry, tensor, nests.level_count, compute, every_step=True)
    traffic.words[last, name, "updates"] = updates
    traffic.words[last, name, "reads"] = updates - zeros
    traffic.reductions[last, name] = nests.einsum.points - updates
    traffic.delivered[last, name] = updates - zeros
    traffic.temporal_reductions = updates - zeros


def output_words(nests: Nests) -> int:
    """|Z|: distinct words of the accumulated tensor."""
    einsum = nests.einsum
    words = 1
    for dimension in einsum.output.dimensions:
        words *= einsum.extent[dimension]
    return words
