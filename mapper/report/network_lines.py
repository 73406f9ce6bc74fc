"""Where the links of a network lie on a page: the array with column 0 on the left and row 0 on top, lanes 1 apart.

Buses, and what leads from a switch to the children of a row, run between the PEs and turn off to each one that takes
words. What stands outside the array stands a part of `Plan.away` from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mapper.interconnect.graph import PARENT, Node

if TYPE_CHECKING:
    import networkx as nx

GUTTER = 0.5
"""How far from the middle of a PE a line passes it, above it or on its left, in lanes."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """From where to where, and the words of the link; `branch`: only what one PE takes from a line that passes it."""

    start: Point
    end: Point
    words: float
    branch: bool = False


@dataclass(frozen=True)
class Box:
    """Left, top, width and height."""

    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        return self.left + self.width / 2, self.top + self.height / 2


@dataclass(frozen=True)
class Plan:
    """A page for `columns` x `rows` PEs; `away`: how far from the array stands what feeds it.

    `crowded`: there is no room for lines that turn off to single PEs.
    """

    topology: str
    columns: int
    rows: int
    away: float
    crowded: bool = False

    @property
    def switched(self) -> bool:
        """Whether switches stand between the parent and the array."""
        return self.topology in ("tree", "crossbar", "benes")

    @property
    def edge(self) -> float:
        """Left of and above the array, where buses and switches begin."""
        return -0.5 - 0.8 * self.away

    @property
    def left(self) -> float:
        return self.edge - self.away * (2.6 if self.switched else 0.5)

    @property
    def top(self) -> float:
        above = {"bus": self.edge - 1.4 * self.away, "tree": -GUTTER - 0.5}
        return above.get(self.topology, -0.5) - 0.2 * self.away

    @property
    def width(self) -> float:
        return self.columns - 0.5 - self.left

    @property
    def height(self) -> float:
        return self.rows - 0.5 - self.top

    def parent(self, hub: str) -> Box:
        """The parent, as long as all buses that it feeds, by the name of what hangs on it."""
        thick = 0.45 * self.away
        if hub == "row bus":
            return Box(self.edge - thick, -0.5, thick, self.rows)
        if hub == "column bus":
            return Box(-0.5, self.edge - thick, self.columns, thick)
        if hub == "row":
            return Box(self.edge - 1.5 * self.away - thick, -GUTTER - 0.5, thick, self.rows)
        if self.switched:
            left, middle = self.edge - 2 * self.away - thick, (self.rows - 1) / 2
        else:
            left, middle = self.edge - thick, 0.0 if hub == "router" else -0.5 - 0.4 * self.away
        return Box(left, middle - thick / 2, thick, thick)

    def switches(self) -> list[Box]:
        """One for each row of a tree; one for all children of a crossbar or a Benes network."""
        thick = 0.45 * self.away
        if self.topology == "tree":
            side = min(thick, 0.6)
            return [Box(self.edge - side / 2, y - GUTTER - side / 2, side, side) for y in range(self.rows)]
        return [Box(self.edge - thick, -0.5, thick, self.rows)] if self.switched else []


Taken = dict[Node, float]
"""Words by the far end of each edge from a node."""


def lines(graph: nx.DiGraph, plan: Plan, tensor: str, back: bool) -> list[Line]:
    """What to draw for a tensor, the widest last; `back`: for its partial sums that come back, not for the rest."""
    taken = _taken(graph, tensor, back)
    if plan.topology == "mesh":
        found = list(_mesh(plan, taken))
    else:
        hubs = taken.get(PARENT, {})
        found = [line for hub, words in hubs.items() for line in _from_hub(plan, hub, words, taken.get(hub, {}))]
    return sorted((line for line in found if not (plan.crowded and line.branch)), key=lambda line: line.words)


def feeding(graph: nx.DiGraph, tensor: str) -> str:
    """The name of what hangs on the parent and carries a tensor."""
    around = (*graph.out_edges(PARENT, data=True), *graph.in_edges(PARENT, data=True))
    return next(str((end if start == PARENT else start)[0]) for start, end, at in around if f"words_{tensor}" in at)


def _taken(graph: nx.DiGraph, tensor: str, back: bool) -> dict[Node, Taken]:
    """Words of a tensor over every edge, by the end nearer to the parent, whichever way they go."""
    taken: defaultdict[Node, Taken] = defaultdict(dict)
    for start, end, attributes in graph.edges(data=True):
        if f"words_{tensor}" in attributes and (attributes[f"kind_{tensor}"] == "refill") is back:
            near, far = (start, end) if _distance(start) < _distance(end) else (end, start)
            taken[near][far] = attributes[f"words_{tensor}"]
    return taken


def _distance(node: Node) -> tuple[int, int]:
    """From the parent."""
    rank = 0 if node == PARENT else 2 if node[0] == "pe" else 1
    return rank, sum(place for place in node[1:] if isinstance(place, int))


def _mesh(plan: Plan, taken: dict[Node, Taken]) -> Iterator[Line]:
    """From router to router."""
    for near, ends in taken.items():
        start = plan.parent("router").middle if near == PARENT else _place(near)
        yield from (Line(start, _place(far), words) for far, words in ends.items() if far[0] == "router")


def _place(node: Node) -> Point:
    """Of a router or a PE."""
    return float(node[1]), float(node[2])


def _from_hub(plan: Plan, hub: Node, words: float, children: Taken) -> Iterator[Line]:
    """What feeds a bus or a switch, and what leads from there to the children."""
    name = str(hub[0])
    parent = plan.parent(name).middle
    if name == "unicast bus":
        yield Line(parent, (max(_place(child)[0] for child in children) - GUTTER, parent[1]), words)
    elif name == "switch":
        yield Line(parent, (plan.edge, parent[1]), words)
    elif name == "row":
        height = float(hub[1]) - GUTTER
        yield Line((parent[0], height), (plan.edge, height), words)
    if name in ("column bus", "unicast bus"):
        yield from _down(parent[1] if name == "unicast bus" else plan.edge, words, children)
    else:
        yield from _across(plan.edge, words if name == "row bus" else None, children)


def _down(top: float, words: float, children: Taken) -> Iterator[Line]:
    """A bus down each column, and where it turns off to its PEs."""
    for x, ends in _by(0, children).items():
        yield Line((x - GUTTER, top), (x - GUTTER, max(_place(end)[1] for end in ends)), words)
        yield from (Line((x - GUTTER, _place(end)[1]), _place(end), taken, branch=True) for end, taken in ends.items())


def _across(left: float, words: float | None, children: Taken) -> Iterator[Line]:
    """A bus along each row (of so many words), or all links to the PEs there, and where they turn off to their PEs."""
    for y, ends in _by(1, children).items():
        most = max(ends.values()) if words is None else words
        yield Line((left, y - GUTTER), (max(_place(end)[0] for end in ends), y - GUTTER), most)
        yield from (Line((_place(end)[0], y - GUTTER), _place(end), taken, branch=True) for end, taken in ends.items())


def _by(axis: int, children: Taken) -> dict[float, Taken]:
    """Children by column (0) or row (1)."""
    groups: defaultdict[float, Taken] = defaultdict(dict)
    for child, words in children.items():
        groups[_place(child)[axis]][child] = words
    return groups
