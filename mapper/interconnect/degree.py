"""The largest number of children below a level that one word goes to at once, or whose sums become one.

At the start every child that is not idle lacks its whole tile, and no later step finds more children without a word.
So the first step is looked at: lanes of dimensions that do not index the tensor share all words, and of a sliding rank
the positions of every lane's window are laid over each other. Ranks and dimensions multiply.
"""

from __future__ import annotations

import itertools
from functools import reduce
from math import prod

import numpy as np

from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Sharing
from mapper.interconnect.carried import AXES, Crossing
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Rank


def largest_group(geometry: Geometry, crossing: Crossing, sharing: Sharing) -> int:
    """Children of the word that most of them share, for the first mapping of a geometry."""
    einsum, tensor = geometry.nests.einsum, crossing.tensor
    lanes = {d: _first_coordinates(geometry, crossing, sharing, d) for d in einsum.dimensions}
    shared = prod(sum(len(lane) > 0 for lane in lanes[d]) for d in einsum.dimensions if d not in tensor.dimensions)
    return shared * prod(_most(rank, lanes) for rank in tensor.ranks)


def _first_coordinates(geometry: Geometry, crossing: Crossing, sharing: Sharing, dimension: str) -> list[Ints]:
    """Of each lane that may share a word: coordinates of its tile in the first step, none where it idles."""
    starts = inside = np.zeros(1, dtype=np.int64)
    for index in geometry.of.get(dimension, []):
        slot, steps = geometry.nests.slots[index], np.arange(geometry.factors[index, 0])
        steps = steps * geometry.strides[index, 0]
        if slot.kind == "t":
            inside = np.add.outer(inside, steps).ravel() if slot.level >= crossing.child else inside
        elif slot.level >= crossing.child:
            inside = np.add.outer(inside, steps).ravel()
        elif slot.level >= crossing.level and sharing.multicast[slot.level][AXES.index(slot.kind)]:
            # A child below the level has all lanes of the fan-outs inside it.
            if slot.level == crossing.level:
                starts = np.add.outer(starts, steps).ravel()
            else:
                inside = np.add.outer(inside, steps).ravel()
    extent = geometry.nests.einsum.extent[dimension]
    return [at[at < extent] for at in np.add.outer(starts, inside)]


def _most(rank: Rank, lanes: dict[str, list[Ints]]) -> int:
    """Lanes of the position that most of them have."""
    if len(rank) == 1:
        return 1
    span = sum(term.coefficient * max(at.max(initial=0) for at in lanes[term.dimension]) for term in rank) + 1
    covered = np.zeros(span, dtype=np.int64)
    for windows in itertools.product(*([term.coefficient * at for at in lanes[term.dimension]] for term in rank)):
        covered[np.unique(reduce(np.add.outer, windows))] += 1
    return int(covered.max())
