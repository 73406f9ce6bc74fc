"""Words through the busiest link of a kind, of the busiest instance of a level.

By translation every link carries what the first one does, with the exceptions of `mapper.counts.instance`: partial
sums come back to the first reducing child only, and the last lanes of a sliding dimension that leaves lanes idle may
reload more than they saved. So the first and the last lanes are looked at.
"""

from __future__ import annotations

import itertools

import numpy as np

from mapper.counts.entering import Mode, Modes, entering
from mapper.counts.geometry import Geometry
from mapper.counts.instance import Path, instance_sums
from mapper.counts.traffic import Sharing, modes
from mapper.interconnect.carried import Crossing
from mapper.interconnect.topology import Link
from mapper.mapping.loopnest import Ints


def busiest_words(geometry: Geometry, crossing: Crossing, sharing: Sharing, link: Link, path: Path) -> Ints:
    """Words of one direction, down for an operand and up for the accumulated tensor, per mapping."""
    output = crossing.tensor == geometry.nests.einsum.output
    shared = Sharing.everywhere(geometry.nests.level_count) if output else sharing
    chosen = _modes(geometry, crossing, shared, link, path)
    return entering(geometry, crossing.tensor, crossing.child, chosen, crossing.child == geometry.nests.level_count)


def busiest_refills(geometry: Geometry, crossing: Crossing, link: Link, path: Path) -> Ints:
    """Partial sums that come back over the link."""
    if crossing.child == geometry.nests.level_count:
        return geometry.ones * 0
    words = instance_refills(geometry, crossing, path)
    ends, evenly = [], geometry.ones
    for index, slot in enumerate(geometry.nests.slots):
        if slot.level < crossing.parent or not _pinned(geometry, index, crossing.level, link):
            continue
        lanes, last = geometry.factors[index], slot.dimension in path
        if slot.dimension not in crossing.tensor.dimensions:
            words = np.where(lanes > 1, 0, words) if last else words
        elif slot.dimension in geometry.uneven:
            ends.append((index, last))
        else:
            evenly = evenly * lanes
    if ends:
        words = np.where(words > 0, _at_ends(geometry, crossing, path, ends), 0)
    return words // evenly


def instance_refills(geometry: Geometry, crossing: Crossing, path: Path) -> Ints:
    """Of all children of the parent's instance on a path."""
    return instance_sums(geometry, crossing.parent, path)[crossing.tensor.name, "reads"]


def _at_ends(geometry: Geometry, crossing: Crossing, path: Path, ends: list[tuple[int, bool]]) -> Ints:
    """Refills of the first lane of each slot, or of the last one: all lanes less those beyond the first."""
    out = geometry.ones * 0
    firsts = [slot for slot, last in ends if not last]
    lasts = {slot: geometry.factors[slot] - 1 for slot, last in ends if last}
    for chosen in itertools.product((0, 1), repeat=len(firsts)):
        beyond = [slot for slot, taken in zip(firsts, chosen, strict=True) if taken]
        possible = np.all([geometry.factors[slot] > 1 for slot in beyond] or [geometry.ones > 0], axis=0)
        away = {slot: np.minimum(1, geometry.factors[slot] - 1) for slot in beyond} | lasts
        found = instance_refills(geometry.narrowed(away), crossing, path)
        out = out + (-1) ** len(beyond) * np.where(possible, found, 0)
    return out


def _pinned(geometry: Geometry, index: int, level: int, link: Link) -> bool:
    """Whether the link stands at one lane of a slot: those above the level, and those of the axes it stands on."""
    slot = geometry.nests.slots[index]
    if slot.kind == "t" or slot.level > level:
        return False
    return slot.level < level or (link.x if slot.kind == "x" else link.y)


def _modes(geometry: Geometry, crossing: Crossing, sharing: Sharing, link: Link, path: Path) -> Modes:
    nests, out = geometry.nests, []
    shared = modes(nests, crossing.child, crossing.level, sharing)
    for index, (slot, mode) in enumerate(zip(nests.slots, shared, strict=True)):
        if _pinned(geometry, index, crossing.level, link):
            out.append(Mode.LAST if slot.dimension in path else Mode.FIRST)
        else:
            out.append(mode)
    return tuple(out)
