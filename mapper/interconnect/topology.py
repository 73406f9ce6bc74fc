"""What a word's way through a network takes: the switches it passes, the wire it drives, the links that carry most.

A table of the topologies (`mapper.arch.network`). Each says from the words that a fan-out carries
(`mapper.interconnect.carried`) how many switches they pass and how many tiles of wire they drive, and which of its
links carry most words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mapper.arch.accelerator import Fanout
from mapper.counts.geometry import Bools, Geometry
from mapper.interconnect.carried import Carried, Crossing, Floats, slots_of


@dataclass(frozen=True)
class Weights:
    """What each count of `Carried` adds; `far`: of both axes."""

    all: float = 0.0
    rows: float = 0.0
    columns: float = 0.0
    each: float = 0.0
    far: float = 0.0

    def of(self, carried: Carried) -> Floats:
        """The sum, per mapping; only what has a weight is counted."""
        out = self.all * carried.all.astype(np.float64)
        for weight, name in ((self.rows, "rows"), (self.columns, "columns"), (self.each, "each")):
            if weight:
                out += weight * getattr(carried, name)
        return out + self.far * (carried.far_x + carried.far_y) if self.far else out


@dataclass(frozen=True)
class Link:
    """A kind of links. `x`: one of them belongs to one column, `y`: to one row."""

    name: str
    x: bool = False
    y: bool = False


@dataclass(frozen=True)
class Topology:
    """`hops`, `tiles`: switches passed and tiles of wire driven by all words together.

    `link`: the kind that carries most. `together`: a link carries both directions.
    """

    hops: Weights
    tiles: Weights
    link: Link
    together: bool = False


def stages(lanes: int) -> int:
    """Of a Benes network for so many children."""
    return max(1, 2 * (lanes - 1).bit_length() - 1)


@lru_cache(maxsize=256)
def topologies(fanout: Fanout) -> dict[str, Topology]:
    """By name, for an array; the three buses of `bus` each carry the flows that suit them (`carriers`)."""
    x, y = fanout.x.lanes, fanout.y.lanes
    across = (x + y) / 2
    return {
        "row bus": Topology(Weights(rows=1), Weights(rows=x), Link("row bus", y=True), together=True),
        "column bus": Topology(Weights(columns=1), Weights(columns=y), Link("column bus", x=True), together=True),
        "unicast bus": Topology(Weights(all=1), Weights(all=x + y), Link("unicast bus"), together=True),
        "mesh": Topology(Weights(all=1, far=1), Weights(all=1, far=1), Link("link of the parent")),
        "tree": Topology(Weights(rows=1, each=1), Weights(rows=y / 2, each=x / 2), Link("link of a row", y=True)),
        "crossbar": Topology(Weights(all=1, each=1), Weights(all=1, each=across), Link("link of the parent")),
        "benes": Topology(Weights(each=stages(x * y)), Weights(each=across), Link("link of a child", x=True, y=True)),
    }


def longest_path(topology: str, fanout: Fanout, used: tuple[int, int]) -> int:
    """Switches on the way to the furthest child, where `used` columns and rows hold work."""
    paths = {"bus": 1, "mesh": used[0] + used[1] - 1, "tree": 2, "crossbar": 2, "benes": stages(fanout.lanes)}
    return paths[topology]


def inventory(topology: str, fanout: Fanout) -> tuple[float, int]:
    """(tiles of wire, switches) of a whole network, every link as wide as one; both directions where they are apart."""
    x, y = fanout.x.lanes, fanout.y.lanes
    across = x * y * (x + y)
    return {
        "bus": (x * y * 3.0 + y, x + y + 1),
        "mesh": (2.0 * (1 + x * (y - 1) + y * (x - 1)), x * y),
        "tree": (float(y * y + x * x * y), y + 1),
        "crossbar": (2.0 + across, x * y),
        "benes": (float(across), stages(x * y) * -(-x * y // 2)),
    }[topology]


def carriers(geometry: Geometry, crossing: Crossing, topology: str) -> dict[str, Bools]:
    """Which of the `topologies` carry a tensor, and for which mappings.

    A bus of each row where lanes along X share words, or where PEs on a diagonal do; else one of each column where
    lanes along Y share words; else the bus that reaches every PE alone.
    """
    every = np.ones(geometry.rows, dtype=bool)
    if topology != "bus":
        return {topology: every}
    shared = dict.fromkeys("xy", ~every)
    for kind in "xy":
        for slot in slots_of(geometry, crossing.level, kind):
            if geometry.nests.slots[slot].dimension not in crossing.tensor.dimensions:
                shared[kind] = shared[kind] | (geometry.factors[slot] > 1)
    rows = shared["x"] | diagonal(geometry, crossing)
    columns = shared["y"] & ~rows
    return {"row bus": rows, "column bus": columns, "unicast bus": ~rows & ~columns}


def diagonal(geometry: Geometry, crossing: Crossing) -> Bools:
    """Mappings that spread a sliding rank over both axes: a word is wanted on a diagonal, or across halos."""
    einsum, out = geometry.nests.einsum, np.zeros(geometry.rows, dtype=bool)
    for rank in crossing.tensor.ranks:
        looped = {term.dimension for term in rank if einsum.extent[term.dimension] > 1}
        if len(looped) > 1:
            on = {kind: np.zeros(geometry.rows, dtype=bool) for kind in "xy"}
            for kind in "xy":
                for slot in slots_of(geometry, crossing.level, kind):
                    if geometry.nests.slots[slot].dimension in looped:
                        on[kind] |= geometry.factors[slot] > 1
            out |= on["x"] & on["y"]
    return out
