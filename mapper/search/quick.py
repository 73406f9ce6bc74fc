"""A quick bound on every choice of lanes at once, before any of them is looked at closely.

Into the innermost level a flow moves at least `distinct words * product of (bound / (tile * lanes))` over the
dimensions that leave it put, unless the loops above reuse its tile. Which flows can be reused together is decided by
the innermost loop above; which tiles go together by the buffers of that level. All flows further out move each word
once, at least.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mapper.cost.energy import Floats
from mapper.counts.distinct import distinct_rows
from mapper.mapping.loopnest import Ints
from mapper.search.factors import Factors, distinct_positions
from mapper.search.forms import Flow, Form, Keeps, Side, flows
from mapper.search.groups import groups_of, sliding_places, tile_words
from mapper.search.lanes import Lanes
from mapper.search.space import Mapspace
from mapper.search.words import fit


class Quick:
    """Bounds of one choice of kept tensors. `choices` are rows of lanes."""

    def __init__(
        self, space: Mapspace, factors: Factors, lanes: Lanes, choices: NDArray[np.int32], keeps: Keeps
    ) -> None:
        self.space, self.factors, self.lanes, self.choices, self.keeps = space, factors, lanes, choices, keeps
        self.levels = len(space.accelerator.levels)
        self.flows = flows(space.einsum, keeps)
        self.inner = [flow for flow in self.flows if flow.level == self.levels - 1]
        self.shared = {flow: self._lanes_of(flow) for flow in self.flows}
        self.tiles = self._tiles()

    @property
    def fits(self) -> bool:
        """Whether any tile fits the innermost level."""
        return len(self.tiles) > 0

    def _lanes_of(self, flow: Flow) -> Floats:
        """Lanes, per choice, that can take one word of a flow at once.

        Compute takes single words, and lanes along which the tensor slides meet in some of them: `a` lanes of one
        dimension and `b` of another stand on `a + b - 1` positions or more.
        """
        out = np.ones(len(self.choices))
        for d in self.space.looped:
            if d not in flow.tensor.dimensions:
                out = out * self._shared(flow, d)
        if flow.level == self.levels:
            for place in sliding_places(flow.tensor, self.space.looped):
                dimensions = [t.dimension for t in flow.tensor.ranks[place] if t.dimension in self.space.looped]
                lanes = np.stack([self._shared(flow, d) for d in dimensions])
                out = out * lanes.prod(axis=0) / (lanes.sum(axis=0) - (len(dimensions) - 1))
        return out

    def _shared(self, flow: Flow, dimension: str) -> Floats:
        """Lanes of a dimension, per choice, that one read of the flow can reach."""
        spread = self.lanes.spreads[dimension]
        chosen = self.choices[:, self.space.looped.index(dimension)]
        united, out = flow.tensor == self.space.einsum.output, np.ones(len(self.choices))
        for column, (level, kind) in enumerate(spread.places):
            axis = self.space.accelerator.levels[level].fanout.axis(kind)
            if flow.parent <= level < flow.level and (united or axis.multicast):
                out = out * spread.values[chosen, column]
        return out

    def _tiles(self) -> Floats:
        """For every tile of the innermost level that fits, how often each inner flow must move at least (flows)."""
        level = self.levels - 1
        names = self.keeps[level]
        words = {name: np.ones(1) for name in names}
        often = np.ones((1, len(self.inner)))
        for members in groups_of(self.space.einsum, self.space.looped):
            extents = self._extents(members, level)
            size = len(next(iter(extents.values())))
            tiles = {name: tile_words(self.space.einsum.tensor(name), extents, size) for name in names}
            words = {name: np.outer(held, tiles[name]).ravel() for name, held in words.items()}
            mine = np.ones((size, len(self.inner)))
            for i, flow in enumerate(self.inner):
                for d in members:
                    if d not in flow.tensor.dimensions:
                        mine[:, i] *= self.space.einsum.extent[d] / extents[d]
            often = (often[:, None, :] * mine[None]).reshape(len(often) * size, len(self.inner))
            fitting = fit(self.space, self.keeps, level, words, len(often))
            often, words = often[fitting], {name: held[fitting] for name, held in words.items()}
            if len(often) > 1:
                often, words = _undominated(often, words)
        return often

    def _extents(self, members: tuple[str, ...], level: int) -> dict[str, Ints]:
        """Every combination of the members' tile extents at `level`."""
        each = []
        for d in members:
            inside = [i for i, (at, _) in enumerate(self.space.places(d)) if at >= level]
            extents = self.factors.chains[d][:, inside].prod(axis=1)
            each.append(np.unique(np.minimum(extents, self.space.einsum.extent[d])))
        return {d: values.ravel() for d, values in zip(members, np.meshgrid(*each, indexing="ij"), strict=True)}

    def _distinct(self, flow: Flow, side: Side) -> float:
        einsum = self.space.einsum
        unpadded = side is Side.served and flow.parent == 0 and flow.tensor != einsum.output
        ranks = range(len(flow.tensor.ranks))
        return float(math.prod(distinct_positions(einsum, flow.tensor, place, unpadded) for place in ranks))

    def form(self, form: Form) -> Floats:
        """A form at least, per choice."""
        out = np.full(len(self.choices), form.constant)
        rates = []
        for flow in self.flows:
            each = self._each(flow, form)
            if flow in self.inner:
                rates.append(np.maximum(each, 0.0))
                out = out + np.minimum(each, 0.0)
            else:
                out = out + each
        if not rates:
            return out
        # Choices with the same rates are bounded once.
        table = np.stack(rates, axis=1)
        first, which = distinct_rows(table)
        table = table[first]
        best = np.full(len(table), np.inf)
        for reused in self._reused_together():
            often = np.where(reused, 1.0, self.tiles)
            for begin in range(0, len(table), 4096):
                piece = slice(begin, begin + 4096)
                best[piece] = np.minimum(best[piece], (table[piece] @ often.T).min(axis=1))
        return np.asarray(out + best[which])

    def _each(self, flow: Flow, form: Form) -> Floats:
        """Cost per choice of a flow that moves once; further moves cost as much again. Below zero: of all its moves."""
        served, entered = form.of(flow)
        once, entering = (self._distinct(flow, side) for side in Side)
        lanes, points = self.shared[flow], float(self.space.einsum.points)
        if flow.level == self.levels:
            if flow.parent == 0 and any(flow.tensor.stored):
                # Points that stand on padding are served nothing.
                extent = self.space.einsum.extent
                points = once * math.prod(n for d, n in extent.items() if d not in flow.tensor.dimensions)
            return np.asarray(served * points / lanes)
        if flow not in self.inner:
            cost = once * served + entering * np.maximum(entered, 0.0) + np.minimum(entered, 0.0) * once * lanes
            return np.where(served + np.minimum(entered, 0.0) * lanes >= 0, cost, np.minimum(entered, 0.0) * points)
        cost = once * served / lanes + entering * entered
        # Where more words cost less, no more enter than there are points.
        return np.where(cost >= 0, cost, points * (served / lanes + entered))

    def _reused_together(self) -> list[NDArray[np.bool_]]:
        """Sets of inner flows that one innermost loop can leave alone, the largest ones."""
        looped = self.space.looped
        sets = set()
        for first in looped:
            sets.add(frozenset(i for i, flow in enumerate(self.inner) if _stays(flow, first, looped)))
        sets.add(frozenset(range(len(self.inner)))) if not sets else None
        largest = [s for s in sets if not any(s < other for other in sets)]
        return [np.array([i in s for i in range(len(self.inner))]) for s in sorted(largest, key=sorted)]


def _stays(flow: Flow, first: str, looped: tuple[str, ...]) -> bool:
    tensor = flow.tensor
    slides = {t.dimension for p in sliding_places(tensor, looped) for t in tensor.ranks[p]}
    return first not in tensor.dimensions or first in slides


def _undominated(often: Floats, words: dict[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """Tiles that no other beats in every count and every size; ties kept once."""
    table = np.concatenate([often, np.stack(list(words.values()), axis=1)], axis=1) if words else often
    table = table[distinct_rows(table)[0]]
    keep = np.ones(len(table), dtype=bool)
    if len(table) <= 4096:
        for i in range(len(table)):
            if keep[i]:
                worse = (table[i + 1 :] >= table[i]).all(axis=1)
                keep[i + 1 :] &= ~worse
    table = table[keep]
    count = often.shape[1]
    return table[:, :count], {name: table[:, count + i] for i, name in enumerate(words)}
