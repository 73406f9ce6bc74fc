"""How each tensor of one mapping passes the fan-outs: its pattern, and what its network carries, in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from mapper.cost.network import Networks, Stream
from mapper.counts.geometry import Geometry
from mapper.interconnect.carried import crossings, slots_of
from mapper.interconnect.patterns import Pattern, pattern_of
from mapper.interconnect.topology import longest_path


@dataclass(frozen=True)
class Way:
    """One direction: words sent (`words`), those times the children they go to (`deliveries`), bits, bits times
    switches passed, picojoules. Expectations where zeros are known as densities."""

    action: str
    words: float
    deliveries: int
    bits: float
    bit_hops: float
    energy_pj: float


@dataclass(frozen=True)
class Passage:
    """One tensor below one level whose lanes are used. `ways` is empty, `longest_path` None where the spec gives the
    fan-out no network."""

    level: str
    tensor: str
    pattern: Pattern
    ways: tuple[Way, ...]
    longest_path: int | None

    @property
    def bit_hops(self) -> float:
        return sum(way.bit_hops for way in self.ways)

    @property
    def energy_pj(self) -> float:
        return sum(way.energy_pj for way in self.ways)


def used_lanes(geometry: Geometry, level: int) -> tuple[int, int]:
    """Columns and rows below a level that loops of the first mapping are spread over."""
    x, y = (prod(int(geometry.factors[i, 0]) for i in slots_of(geometry, level, kind)) for kind in "xy")
    return x, y


def passages(paths: Networks) -> Iterator[Passage]:
    """Of the first mapping, outermost level first, tensors in the einsum's order."""
    geometry = paths.geometry
    streams: dict[tuple[str, str], list[Stream]] = {}
    for stream in paths.streams():
        streams.setdefault((stream.level, stream.crossing.tensor.name), []).append(stream)
    for index, level in enumerate(paths.accelerator.levels):
        used = used_lanes(geometry, index)
        if max(used) == 1:
            continue
        network = level.fanout.network
        longest = None if network is None else longest_path(network.topology, level.fanout, used)
        for crossing in crossings(geometry, index):
            name = crossing.tensor.name
            ways = tuple(map(_way, streams.get((level.name, name), [])))
            yield Passage(level.name, name, pattern_of(geometry, index, crossing.tensor), ways, longest)


def _way(stream: Stream) -> Way:
    return Way(
        stream.action,
        float(stream.words[0]),
        int(stream.carried.each[0]),
        float(stream.bits[0]),
        float(stream.bit_hops[0]),
        float(stream.energy_pj[0]),
    )
