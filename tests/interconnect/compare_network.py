"""Closed forms of the interconnect against delivery step by step: what differs, in words."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from mapper.counts.geometry import Geometry, groups
from mapper.counts.instance import paths
from mapper.counts.traffic import Sharing
from mapper.interconnect.busiest import busiest_refills, busiest_words
from mapper.interconnect.carried import Carried, Crossing, crossings, downward, returned, upward
from mapper.interconnect.topology import Link, carriers, topologies
from tests.interconnect.oracle_network import Flow, Key, run
from tests.strategies import Case

COUNTS = {"all": "all", "rows": "rows", "columns": "cols", "each": "each", "far_x": "far_x", "far_y": "far_y"}
LINKS = {
    "row bus": ("bus", "row"),
    "column bus": ("bus", "column"),
    "unicast bus": ("bus", "unicast"),
    "mesh": ("mesh", "row0"),
    "tree": ("tree", "row"),
    "crossbar": ("crossbar", "in"),
    "benes": ("tree", "pe"),
}
"""Our kinds of links as the oracle calls them."""


def differences(case: Case) -> list[str]:
    """What the closed forms say otherwise than the oracle."""
    flows, out = run(case), []
    ((_, geometry),) = groups(case.nests.without_unit_slots())
    sharing = Sharing(case.multicast)
    for level in sorted({key[0] for key in flows}):
        for crossing in crossings(geometry, level):
            for direction, carried in directions(geometry, crossing, sharing):
                flow = flows[level, crossing.tensor.name, direction]
                for ours, theirs in COUNTS.items():
                    found, right = int(getattr(carried, ours)[0]), getattr(flow, theirs)
                    if found != right:
                        out.append(f"{level} {crossing.tensor.name} {direction} {ours}: {found}, not {right}")
                bus = next(name for name, rows in carriers(geometry, crossing, "bus").items() if rows[0])
                if bus != f"{flow.bus} bus":
                    out.append(f"{level} {crossing.tensor.name}: {bus}, not {flow.bus}")
        out += _busiest(case, geometry, level, flows)
    return out


def directions(geometry: Geometry, crossing: Crossing, sharing: Sharing) -> list[tuple[str, Carried]]:
    """Every direction of a crossing, as the oracle calls them."""
    if crossing.tensor is not geometry.nests.einsum.output:
        return [("down", downward(geometry, crossing, sharing))]
    return [("up", upward(geometry, crossing)), ("refill", returned(geometry, crossing))]


def _busiest(case: Case, geometry: Geometry, level: int, flows: dict[Key, Flow]) -> list[str]:
    """Links of each topology that carry most: all tensors together, directions apart."""
    out, sharing = [], Sharing(case.multicast)
    for name, topology in topologies(case.accelerator.levels[level].fanout).items():
        oracle, kind = LINKS[name]
        for upward_only in (False, True):
            loads: Counter[object] = Counter()
            for (at, _, direction), flow in flows.items():
                if at == level and (direction == "up") is upward_only:
                    for (instance, link), words in flow.loads(oracle).items():
                        if link[0] == kind and (kind != "row0" or link[1] == 0):
                            loads[instance, link] += words
            right = max(loads.values(), default=0)
            found = max(
                _over(geometry, level, sharing, name, topology.link, path, upward_only)
                for path in paths(geometry, level)
            )
            if found != right:
                out.append(f"{level} busiest {name} {'up' if upward_only else 'down'}: {found}, not {right}")
    return out


def _over(
    geometry: Geometry, level: int, sharing: Sharing, name: str, link: Link, path: frozenset[str], upward_only: bool
) -> int:
    words: dict[bool, int] = defaultdict(int)
    for crossing in crossings(geometry, level):
        output = crossing.tensor is geometry.nests.einsum.output
        carries = carriers(geometry, crossing, "bus").get(name, np.ones(1, dtype=bool))[0]
        if not carries:
            continue
        words[output] += int(busiest_words(geometry, crossing, sharing, link, path)[0])
        if output:
            words[False] += int(busiest_refills(geometry, crossing, link, path)[0])
    return words[upward_only]
