"""Words through one instance of a level: what its ports must carry, for the instance that carries most.

By translation every instance carries what the first one does, with two exceptions. Refills of the accumulated tensor
go to the first reducing child only, so the first instance has them all. And where a sliding dimension leaves lanes
idle, a lane that idles must reload its whole window afterwards, which can cost it more than it saved; so the last
lanes of such dimensions are looked at as well, and callers take the maximum over `paths`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from mapper.counts.entering import Mode, Modes, entering
from mapper.counts.geometry import Geometry
from mapper.counts.padding import sent
from mapper.counts.traffic import Action, Sharing, kept_levels, modes
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Tensor

Path = frozenset[str]
"""Dimensions in which the instance stands in the last lane; in all others it stands in the first."""

Words = dict[tuple[str, Action], Ints]


def paths(geometry: Geometry, level: int) -> Iterator[Path]:
    """Instances of `level` that may carry most words."""
    nests = geometry.nests
    sliding = {t.dimension for o in nests.einsum.operands for rank in o.ranks if len(rank) > 1 for t in rank}
    above = {s.dimension for s in nests.slots if s.kind != "t" and s.level < level}
    choices = sorted(sliding & above & set(geometry.uneven))
    for last in itertools.product((False, True), repeat=len(choices)):
        yield frozenset(d for d, chosen in zip(choices, last, strict=True) if chosen)


def instance_words(geometry: Geometry, level: int, path: Path, sharing: Sharing) -> Words:
    """Words per (tensor, action) at the instance of `level` on `path`, over the whole run.

    Also `("|Z|", "updates")`: the distinct words of the accumulated tensor that it ever holds.
    """
    words: Words = {}
    nests = geometry.nests
    for operand in nests.einsum.operands:
        kept = kept_levels(nests, operand)
        if level in kept:
            if level > 0:
                words[operand.name, "fills"] = entering(geometry, operand, level, pinned(geometry, level, path, level))
            words[operand.name, "reads"] = _sent(geometry, operand, kept, level, path, sharing)
    if level in kept_levels(nests, nests.einsum.output):
        words |= instance_sums(geometry, level, path)
    return words


def _sent(geometry: Geometry, tensor: Tensor, kept: list[int], level: int, path: Path, sharing: Sharing | None) -> Ints:
    """Words exchanged with the next kept level below (or compute), united over children."""
    below = [k for k in kept if k > level]
    target = below[0] if below else geometry.nests.level_count
    return sent(geometry, tensor, level, target, pinned(geometry, level, path, target, sharing), not below)


def pinned(geometry: Geometry, level: int, path: Path, target: int, sharing: Sharing | None = None) -> Modes:
    """Modes for words that enter `target`, at or below the instance of `level` on `path`."""
    nests = geometry.nests
    shared = sharing or Sharing.everywhere(nests.level_count)
    base = modes(nests, target, level, shared) if target > level else modes(nests, target, target, None)
    return tuple(
        mode if slot.kind == "t" or slot.level >= level else Mode.LAST if slot.dimension in path else Mode.FIRST
        for slot, mode in zip(nests.slots, base, strict=True)
    )


def instance_sums(geometry: Geometry, level: int, path: Path) -> Words:
    """Those of `instance_words` that are of the accumulated tensor, which `level` keeps."""
    nests, tensor = geometry.nests, geometry.nests.einsum.output
    kept = kept_levels(nests, tensor)
    ever = zeros = entered = entering(geometry, tensor, 0, pinned(geometry, level, path, 0))
    refills = np.zeros_like(ever)
    for parent, inner in zip(kept, [k for k in kept[1:] if k <= level], strict=False):
        entered = entering(geometry, tensor, inner, pinned(geometry, level, path, inner))
        refills = np.where(_is_first(geometry, parent, inner, path), entered - zeros, 0)
        zeros = entered - refills
    updates = _sent(geometry, tensor, kept, level, path, None)
    words: Words = {("|Z|", "updates"): ever}
    words |= {(tensor.name, "updates"): updates, (tensor.name, "reads"): updates - zeros}
    if level > 0:
        words[tensor.name, "fills"], words[tensor.name, "drains"] = refills, entered
    return words


def _is_first(geometry: Geometry, parent: int, level: int, path: Path) -> Ints:
    """1 where the instance on `path` is the first reducing child between `parent` and `level`."""
    nests = geometry.nests
    first = geometry.ones
    for index, slot in enumerate(nests.slots):
        if slot.kind != "t" and parent <= slot.level < level and slot.dimension in path & nests.einsum.reductions:
            first = first * (geometry.factors[index] == 1)
    return first
