"""Words over every link against delivery step by step: what differs, in words."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mapper.counts.geometry import groups
from mapper.counts.traffic import Sharing
from mapper.interconnect.carried import crossings
from mapper.interconnect.degree import largest_group
from mapper.interconnect.links import LINKS, At, Flow, Links, link_words
from mapper.mapping.loopnest import Ints
from tests.interconnect.oracle_network import Flow as Delivered
from tests.interconnect.oracle_network import Key, run
from tests.strategies import Case

ORACLE = {
    "row bus": ("bus", "row"),
    "column bus": ("bus", "column"),
    "unicast bus": ("bus", "unicast"),
    "first row": ("mesh", "row0"),
    "column": ("mesh", "col"),
    "row": ("tree", "row"),
    "parent": ("crossbar", "in"),
    "child": ("crossbar", "out"),
}
"""Our kinds of links as the oracle calls them: its topology, and the name of its links."""

Loads = dict[tuple[int, ...], int]
"""Words by column and row, of those that a kind tells apart."""


def differences(case: Case) -> list[str]:
    """What the closed forms say otherwise than the oracle: loads of links, and children of the largest group."""
    delivered, out = run(case), list[str]()
    ((_, geometry),) = groups(case.nests.without_unit_slots())
    for level in sorted({key[0] for key in delivered}):
        for crossing in crossings(geometry, level):
            name = crossing.tensor.name
            output = crossing.tensor is geometry.nests.einsum.output
            flow = Flow(geometry, crossing, Sharing(case.multicast))
            degree = largest_group(geometry, crossing, flow.shared)
            right = delivered[level, name, "up" if output else "down"].degree
            if degree != right:
                out.append(f"{level} {name} largest group: {degree}, not {right}")
            for back in (False, True) if output else (False,):
                key = level, name, "refill" if back else "up" if output else "down"
                out += _loads(key, delivered[key], Flow(geometry, crossing, flow.sharing, back))
                out += _loads(key, delivered[key], Flow(geometry, crossing, flow.sharing, back, first=True))
    return out


def _loads(key: Key, right: Delivered, flow: Flow) -> list[str]:
    """Links of all topologies; of a mesh only where its ways are those of the counts, of buses those that are taken."""
    out = []
    for carrier, kinds in LINKS.items():
        if (carrier == "mesh" and not right.product) or (carrier.endswith("bus") and carrier != f"{right.bus} bus"):
            continue
        for links in kinds:
            found, expected = _found(links, link_words(flow, links)), _expected(links, right, flow.first)
            if found != expected:
                which = "first instance" if flow.first else "all instances"
                label = f"{' '.join(map(str, key))} {carrier} {links.name} {which}"
                out.append(f"{label}: {found}, not {expected}")
    return out


def _found(links: Links, words: Ints) -> Loads:
    """Links that carry something; those of a mesh's columns begin at its second row."""
    apart = [links.x is not At.ALL, links.y is not At.ALL]
    loads = {}
    for place, carried in np.ndenumerate(words):
        if carried and (links.name != "column" or place[1] > 0):
            loads[tuple(lane for lane, own in zip(place, apart, strict=True) if own)] = int(carried)
    return loads


def _expected(links: Links, right: Delivered, first: bool) -> Loads:
    topology, kind = ORACLE[links.name]
    loads: Counter[tuple[int, ...]] = Counter()
    for (instance, (name, *place)), words in right.loads(topology).items():
        if name == kind and not (first and any(instance)):
            loads[tuple(int(lane) for lane in place)] += words
    return dict(loads)
