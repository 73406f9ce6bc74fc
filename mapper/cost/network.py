"""What the networks of the fan-outs cost: energy of every bit on its way, cycles of the busiest link.

Every operand goes down and every accumulated word goes up through each fan-out between two levels that keep it;
partial sums that come back go down again (`mapper.interconnect.carried`). A bit takes the energy of the switches that
it passes and of the wire that it drives (`mapper.interconnect.topology`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mapper.arch.accelerator import Accelerator, Level
from mapper.arch.network import SUFFIX, Network
from mapper.cost.precision import Precision
from mapper.counts.geometry import Geometry
from mapper.counts.instance import Path, paths
from mapper.counts.traffic import Action, Sharing
from mapper.interconnect.busiest import busiest_refills, busiest_words
from mapper.interconnect.carried import Carried, Crossing, crossings, downward, returned, upward
from mapper.interconnect.topology import Link, carriers, topologies
from mapper.mapping.loopnest import Ints
from mapper.sparsity.zeros import Moves

Floats = NDArray[np.float64]

SENT, COLLECTED, RETURNED = "sent", "collected", "returned"
"""Actions of a network: operands go down, sums go up, partial sums come back."""


@dataclass(frozen=True)
class Stream:
    """One tensor in one direction through the network below a level, per mapping.

    `carried`: dense counts; `words` put into the network and their `bits`, zeros left out where they do not travel;
    `bit_hops`: bits times switches passed; `energy_pj`.
    """

    level: str
    crossing: Crossing
    action: str
    carried: Carried
    words: Floats
    bits: Floats
    bit_hops: Floats
    energy_pj: Floats


def networks(accelerator: Accelerator) -> list[tuple[int, Level, Network]]:
    """Levels whose fan-out has lanes and a network."""
    return [
        (index, level, level.fanout.network)
        for index, level in enumerate(accelerator.levels)
        if level.fanout.network is not None and level.fanout.lanes > 1
    ]


@dataclass(frozen=True)
class Networks:
    """The networks of an accelerator under the mappings of one geometry."""

    precision: Precision
    moves: Moves
    sharing: Sharing

    @property
    def geometry(self) -> Geometry:
        return self.precision.geometry

    @property
    def accelerator(self) -> Accelerator:
        return self.precision.accelerator

    def streams(self, free: bool = True) -> Iterator[Stream]:
        """Every tensor through every network, outermost level first; without `free`, those that take energy only."""
        for index, level, network in networks(self.accelerator):
            if not free and not network.picojoules(1, 1):
                continue
            for crossing in crossings(self.geometry, index):
                for action, carried in self._directions(crossing):
                    yield self._stream(crossing, action, carried, level, network)

    def _stream(self, crossing: Crossing, action: str, carried: Carried, level: Level, network: Network) -> Stream:
        hops, tiles = np.zeros(self.geometry.rows), np.zeros(self.geometry.rows)
        for name, rows in carriers(self.geometry, crossing, network.topology).items():
            if rows.any():
                topology = topologies(level.fanout)[name]
                hops = np.where(rows, topology.hops.of(carried), hops)
                tiles = np.where(rows, topology.tiles.of(carried), tiles)
        driven = network.picojoules(hops, tiles)
        words, sent = (moved.astype(np.float64) for moved in self.moved(crossing, action, carried.all))
        bits = self.word_bits(crossing, action)
        return Stream(level.name, crossing, action, carried, words, sent, hops * bits, driven * bits)

    def _directions(self, crossing: Crossing) -> Iterator[tuple[str, Carried]]:
        if crossing.tensor != self.geometry.nests.einsum.output:
            yield SENT, downward(self.geometry, crossing, self.sharing)
            return
        yield COLLECTED, upward(self.geometry, crossing)
        if crossing.child < self.geometry.nests.level_count:
            yield RETURNED, returned(self.geometry, crossing)

    def moved(self, crossing: Crossing, action: str, words: Ints) -> tuple[Ints, Ints]:
        """(words, bits) that travel for so many dense words: zeros may stay behind; a sum is as wide as it drains."""
        tensor = crossing.tensor
        final, partial = self.accelerator.operand_bits(tensor), self.accelerator.partial_sum_bits
        width = words * 0 + (partial if action == RETURNED else final)
        if action == COLLECTED:
            width = np.where(self.precision.reduced_above(crossing.child), partial, width)
        moved: Action = "updates" if action == COLLECTED else "reads"
        return self.moves.moved(crossing.parent, tensor, moved, words, words * width)

    def word_bits(self, crossing: Crossing, action: str) -> Floats:
        """Bits that travel per dense word."""
        return self.moved(crossing, action, self.geometry.ones)[1].astype(np.float64)

    def busiest(self) -> Iterator[tuple[str, Ints, Fraction]]:
        """For each network whose links are limited its component, bits through the busiest link, and bits per cycle."""
        for index, level, network in networks(self.accelerator):
            if network.link_bits_per_cycle is not None:
                bits = [self._busiest(index, level, network, path) for path in paths(self.geometry, index + 1)]
                # A part of a bit takes a bit.
                yield level.name + SUFFIX, np.ceil(np.max(bits, axis=0)).astype(np.int64), network.link_bits_per_cycle

    def _busiest(self, index: int, level: Level, network: Network, path: Path) -> Floats:
        """Bits of the links on one path that carry most, over kinds of links and directions."""
        loads: dict[tuple[str, bool], Floats] = {}
        for crossing in crossings(self.geometry, index):
            for name, rows in carriers(self.geometry, crossing, network.topology).items():
                topology = topologies(level.fanout)[name]
                for action, words in self._over(crossing, topology.link, path):
                    key = name, not topology.together and action == COLLECTED
                    bits = np.where(rows, words * self.word_bits(crossing, action), 0.0)
                    loads[key] = loads.get(key, np.zeros(self.geometry.rows)) + bits
        return np.asarray(np.max(list(loads.values()), axis=0))

    def _over(self, crossing: Crossing, link: Link, path: Path) -> Iterator[tuple[str, Ints]]:
        """Words over one link, by action."""
        output = crossing.tensor == self.geometry.nests.einsum.output
        yield COLLECTED if output else SENT, busiest_words(self.geometry, crossing, self.sharing, link, path)
        if output and crossing.child < self.geometry.nests.level_count:
            yield RETURNED, busiest_refills(self.geometry, crossing, link, path)
