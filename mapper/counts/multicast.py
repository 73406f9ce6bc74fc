"""The largest number of receivers of one word at once, per fan-out edge."""

from __future__ import annotations

import numpy as np

from mapper.counts.entering import Mode, Modes, View, views_of
from mapper.counts.footprint import AxisCase, RankAxis, count_case
from mapper.counts.geometry import Bools, Geometry, groups
from mapper.counts.traffic import Sharing, kept_levels, modes
from mapper.mapping.loopnest import Ints, Nests
from mapper.workload.einsum import Tensor


def max_multicast(nests: Nests, sharing: Sharing) -> dict[tuple[int, str], Ints]:
    """Per (level, operand): receivers below `level` of the word that most of them take from one read.

    At the start every active child receives its whole tile, and no later step reaches more of them.
    """
    out: dict[tuple[int, str], Ints] = {}
    for rows, geometry in groups(nests):
        for tensor in nests.einsum.operands:
            kept = kept_levels(nests, tensor)
            for parent, level in zip(kept, [*kept[1:], nests.level_count], strict=True):
                degree = _degree(geometry, tensor, level, modes(nests, level, parent, sharing))
                out.setdefault((parent, tensor.name), np.zeros(len(nests), dtype=np.int64))[rows] = degree
    return out


def _degree(geometry: Geometry, tensor: Tensor, level: int, chosen: Modes) -> Ints:
    views = views_of(geometry, level, chosen)
    degree = geometry.ones
    for dimension, view in views.items():
        if dimension not in tensor.dimensions:
            degree = degree * _shared_lanes(view)
    for rank in tensor.ranks:
        terms = [(t.coefficient, views[t.dimension]) for t in rank if t.dimension in views]
        if len(terms) > 1:
            axes = [view.axis(coefficient) for coefficient, view in terms]
            degree = degree * np.array([_most(axes, terms, row) for row in range(geometry.rows)], dtype=np.int64)
    return degree


def _at_end(view: View) -> Bools:
    """Whether the dimension is in its last round from the start: nothing loops outside its uneven slot."""
    assert view.uneven is not None
    nests, factors = view.geometry.nests, view.geometry.factors
    outside = [i for i in view.slots if i < view.uneven.slot]
    stepping = [i for i in outside if nests.slots[i].kind == "t" and nests.slots[i].level < view.level]
    return np.asarray(factors[stepping].prod(axis=0) == 1)


def _shared_lanes(view: View) -> Ints:
    """Active lanes that share a read at the start, in a dimension that does not index the tensor."""
    shared = [i for i in view.slots if view.modes[i] is Mode.UNION]
    factors = view.geometry.factors
    lanes = np.asarray(factors[shared].prod(axis=0))
    if view.uneven is None or view.modes[view.uneven.slot] is not Mode.UNION:
        return lanes
    idle = view.uneven.missing * factors[[i for i in shared if i > view.uneven.slot]].prod(axis=0)
    return np.where(_at_end(view) & view.all_affected(), lanes - idle, lanes)


def _most(axes: list[RankAxis], terms: list[tuple[int, View]], row: int) -> int:
    cases = []
    for axis, (_, view) in zip(axes, terms, strict=True):
        lanes = tuple((int(lanes[row]), int(stride[row])) for lanes, stride in axis.lanes)
        ended = view.uneven is not None and bool(_at_end(view)[row] and view.all_affected()[row])
        cut = int(axis.cut[row]) if axis.cut is not None and ended else 0
        active = int(axis.active[row]) if axis.active is not None else 0
        shape = (axis.row, active, cut, True, False) if ended else (-1, 0, 0, False, False)
        cases.append(AxisCase(axis.coefficient, int(axis.tile[row]), lanes, *shape))
    return count_case(tuple(cases), 0)[2]
