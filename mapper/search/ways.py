"""How far a word goes in a network at least, for every choice of lanes.

Lanes that share a word all get it, and lanes with words of their own get equally many, but in the last round of a
dimension only some lanes are active. A word is sent in every round of a dimension that does not index it alike, or in
the first one alone, where all lanes are active; words of an indexing dimension are sent in every round alike. So means
over the rounds of the most uneven chain are bounds. Nothing is said of dimensions with lanes at several places, nor of
windows that slide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapper.arch.network import Network
from mapper.cost.energy import Floats
from mapper.interconnect.topology import Topology, topologies
from mapper.search.groups import sliding_places
from mapper.search.lanes import Lanes, Spread
from mapper.search.space import Mapspace
from mapper.workload.einsum import Tensor

Sizes = dict[str, Floats]
"""Of each axis, per choice."""


@dataclass(frozen=True)
class Means:
    """Of each value of a dimension's lanes at one place, over the rounds: at least.

    `lanes`: active ones; `last`: the furthest active one; `own`: the lane of a word that only one lane takes.
    """

    lanes: Floats
    last: Floats
    own: Floats


class Ways:
    """Under every choice of lanes of a mapspace; bounds are per class of interchangeable choices."""

    def __init__(self, space: Mapspace, lanes: Lanes, chains: dict[str, NDArray[np.int64]]) -> None:
        self.space, self.lanes = space, lanes
        self.means = {
            (d, place): _means(space, d, spread, chains[d], column)
            for d, spread in lanes.spreads.items()
            for column, place in enumerate(spread.places)
        }
        _, self.which = lanes.classes
        self._looped = tuple(lanes.spreads)

    def picojoules(self, tensor: Tensor, level: int, network: Network, alone: bool) -> Floats:
        """Per bit sent through the network below `level`, per class: at least. `alone`: what children take is counted
        apart."""
        fanout = self.space.accelerator.levels[level].fanout
        output = tensor == self.space.einsum.output
        shares = {kind: output or fanout.axis(kind).multicast for kind in "xy"}
        far = {kind: self._far(tensor, level, kind, "last" if shares[kind] else "own") for kind in "xy"}
        spread = {kind: self._shared(tensor, level, kind, shares[kind]) for kind in "xy"}
        return self._by_class(self._price(tensor, level, network, spread, far, alone))

    def back(self, tensor: Tensor, level: int, network: Network) -> Floats:
        """Per bit of a partial sum that comes back to the first child of its group, per class: at least."""
        far = {kind: self._far(tensor, level, kind, None) for kind in "xy"}
        return self._by_class(self._price(tensor, level, network, self._one, far, False))

    def _by_class(self, energy: Floats) -> Floats:
        """The least of interchangeable choices."""
        out = np.full(int(self.which.max(initial=0)) + 1, np.inf)
        np.minimum.at(out, self.which, energy)
        return out

    @property
    def _one(self) -> Sizes:
        """One lane of each axis."""
        return dict.fromkeys("xy", np.ones(len(self.which)))

    def _price(self, tensor: Tensor, level: int, network: Network, spread: Sizes, far: Sizes, alone: bool) -> Floats:
        """Per choice. A word takes `spread` lanes of each axis, `far` the furthest of them."""
        every = topologies(self.space.accelerator.levels[level].fanout)
        if network.topology != "bus":
            return _along(every[network.topology], network, spread, far, alone)
        row, column, unicast = (
            _along(every[f"{name} bus"], network, spread, far, alone) for name in ("row", "column", "unicast")
        )
        one_row = _along(every["row bus"], network, self._one, far, alone)
        shared = {kind: self._spread_apart(tensor, level, kind) for kind in "xy"}
        # On a diagonal words go over row buses, else alone: the cheaper of the two.
        neither = np.minimum(one_row, unicast)
        return np.where(shared["x"], row, np.where(shared["y"], np.minimum(column, one_row), neither))

    def _spread_apart(self, tensor: Tensor, level: int, kind: str) -> NDArray[np.bool_]:
        """Choices with lanes of a dimension that does not index the tensor."""
        out = np.zeros(len(self.which), dtype=bool)
        for d, lanes, _ in self._on(level, kind):
            if d not in tensor.dimensions:
                out |= lanes > 1
        return out

    def _on(self, level: int, kind: str) -> list[tuple[str, NDArray[np.int64], Means]]:
        """Dimensions that may be spread on an axis, outermost first: lanes and means per choice."""
        out = []
        for i, (d, spread) in enumerate(self.lanes.spreads.items()):
            if (level, kind) in spread.places:
                chosen = self.lanes.choices[:, i]
                column = spread.places.index((level, kind))
                means = self.means[d, (level, kind)]
                picked = Means(means.lanes[chosen], means.last[chosen], means.own[chosen])
                out.append((d, spread.values[chosen, column], picked))
        return out

    def _shared(self, tensor: Tensor, level: int, kind: str, shares: bool) -> Floats:
        """Lanes of an axis that take one word."""
        out = np.ones(len(self.which))
        for d, _, means in self._on(level, kind) if shares else []:
            if d not in tensor.dimensions:
                out = out * means.lanes
        return out

    def _far(self, tensor: Tensor, level: int, kind: str, others: str | None) -> Floats:
        """The furthest lane of an axis that takes one word; in dimensions that do not index the tensor the one that
        `others` names of `Means`, or the first."""
        sliding = {t.dimension for place in sliding_places(tensor, self._looped) for t in tensor.ranks[place]}
        out, stride = np.zeros(len(self.which)), np.ones(len(self.which))
        for d, lanes, means in reversed(self._on(level, kind)):
            lane = "own" if d in tensor.dimensions else others
            if lane is not None and d not in sliding:
                out = out + stride * getattr(means, lane)
            stride = stride * lanes
        return out


def _along(topology: Topology, network: Network, spread: Sizes, far: Sizes, alone: bool) -> Floats:
    each = 0.0 if alone else spread["x"] * spread["y"]
    beyond = far["x"] + spread["x"] * far["y"]
    hops, tiles = (
        w.all + w.rows * spread["y"] + w.columns * spread["x"] + w.each * each + w.far * beyond
        for w in (topology.hops, topology.tiles)
    )
    return network.picojoules(hops, tiles)


def _means(space: Mapspace, dimension: str, spread: Spread, chains: NDArray[np.int64], column: int) -> Means:
    level, _ = spread.places[column]
    inside = [i for i, (at, kind) in enumerate(space.places(dimension)) if kind == "t" and at > level]
    found = []
    for value, numbers in zip(spread.values, spread.chains, strict=True):
        n = int(value[column])
        if int(value.prod()) != n:
            found.append((1.0, 0.0, 0.0))
            continue
        tiles = space.einsum.extent[dimension] // chains[numbers][:, inside].prod(axis=1)
        full = -(-tiles // n) - 1
        active = tiles - full * n
        lanes = (full * n + active) / (full + 1)
        last = (full * (n - 1) + active - 1) / (full + 1)
        own = (full * n * (n - 1) + active * (active - 1)) / (2 * tiles)
        found.append((float(lanes.min()), float(last.min()), float(own.min())))
    lanes, last, own = np.array(found, dtype=np.float64).reshape(-1, 3).T
    return Means(lanes, last, own)
