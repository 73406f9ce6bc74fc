"""Chains of dimensions that are counted together, under fixed lanes, as tables of what the search multiplies.

A *group* is a set of dimensions that share a sliding rank, or one dimension by itself. All its chains are known; at
each level only a few things about a chain matter: its part of the tiles, and its factors of the words that are
decided there (`State`). Chains that agree in them are one state of the group at that level, and `links` say which
states of neighbouring levels belong to a common chain.

Words of a flow into level `l` that are not reused by the loops of the level above, `l - 1`, depend on the state at
`l`; words that are reused over all these loops depend on the state at `l - 1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.cost.energy import Floats
from mapper.counts.distinct import distinct_rows
from mapper.counts.footprint import RankAxis, closed_form, count_rows
from mapper.counts.geometry import Bools
from mapper.mapping.loopnest import Ints
from mapper.search.factors import Factors, Sliding
from mapper.search.forms import Flow, Keeps, Key, Side, flows
from mapper.search.space import Mapspace
from mapper.workload.einsum import Einsum, Tensor

SIDES = (Side.served, Side.entered)


def groups_of(einsum: Einsum, looped: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Looped dimensions, those that share a rank of any tensor together."""
    parent = {d: d for d in looped}

    def root(d: str) -> str:
        while parent[d] != d:
            d = parent[d]
        return d

    for tensor in einsum.tensors:
        for rank in tensor.ranks:
            together = [t.dimension for t in rank if t.dimension in parent]
            for d in together[1:]:
                parent[root(d)] = root(together[0])
    found: dict[str, list[str]] = {}
    for d in looped:
        found.setdefault(root(d), []).append(d)
    return tuple(tuple(members) for members in found.values())


def sliding_places(tensor: Tensor, looped: tuple[str, ...]) -> tuple[int, ...]:
    """Ranks of `tensor` along which several looped dimensions slide."""
    return tuple(place for place, rank in enumerate(tensor.ranks) if sum(term.dimension in looped for term in rank) > 1)


def tile_words(tensor: Tensor, extents: dict[str, Ints], size: int) -> Floats:
    """Distinct words of tiles of `tensor` along the dimensions whose extents (arrays of `size`) are given."""
    words = np.ones(size, dtype=np.int64)
    for rank in tensor.ranks:
        axes = [RankAxis(t.coefficient, extents[t.dimension], ()) for t in rank if t.dimension in extents]
        if len(axes) == 1:
            words = words * axes[0].tile
        elif axes:
            usable, length, _, _ = closed_form(axes)
            counted, _ = count_rows(axes, [None] * len(axes), np.zeros_like(words), ~usable)
            words = words * np.where(usable, length, counted)
    return words.astype(np.float64)


@dataclass(frozen=True)
class State:
    """What matters of a group at one level: arrays with one entry per state.

    `tile[tensor]`: words of its tile. `moved[flow, side]`: factor of the words into this level, every step counted.
    `slid[flow, side]`: only the sliding ranks' part of it. `reused[flow, side]`: factor of the words into some level
    further in, the loops of this level and of all from here to there left out (without sliding ranks), and
    `start[flow, side]` with all loops left out, at level 1. `cycles`: steps of compute, at the innermost level.
    `reduced`: 1 where a reduction stands further out, 0 where none does.
    """

    size: int
    tile: dict[str, Floats]
    moved: dict[Key, Floats]
    slid: dict[Key, Floats]
    reused: dict[Key, Floats]
    start: dict[Key, Floats]
    cycles: Floats | None
    reduced: Floats


@dataclass(frozen=True)
class Link:
    """How states of a level (columns) go with those of the next level inwards (rows).

    `chains`: some chain has both. `loops[d]`, `idles[d]`: some such chain loops over `d` at the outer level, or does
    not.
    """

    chains: Bools
    loops: dict[str, Bools]
    idles: dict[str, Bools]


class GroupTable:
    """Chains of one group whose lanes are `lanes[d]` (a row of lanes per dimension), as states and links."""

    def __init__(
        self,
        space: Mapspace,
        keeps: Keeps,
        factors: Factors,
        members: tuple[str, ...],
        chosen: dict[str, NDArray[np.int64]],
    ) -> None:
        self.space, self.keeps, self.factors, self.members = space, keeps, factors, members
        self.levels = len(space.accelerator.levels)
        self.flows = flows(space.einsum, keeps)
        parts = np.meshgrid(*(chosen[d] for d in members), indexing="ij")
        grid = np.stack([part.ravel() for part in parts], axis=1)
        self.index = {d: grid[:, i] for i, d in enumerate(members)}
        self.rows = {d: factors.chains[d][self.index[d]] for d in members}
        self.size = len(grid)
        self.state_of: dict[int, NDArray[np.intp]] = {}
        self.states: dict[int, State] = {}
        for level in range(self.levels - 1, 0, -1):
            self._add_states(level)
        self.state_of[0] = np.zeros(self.size, dtype=np.intp)

    @cached_property
    def slides(self) -> dict[str, tuple[int, ...]]:
        """Per tensor its sliding ranks that lie in this group."""
        return {
            t.name: tuple(
                p
                for p in sliding_places(t, self.space.looped)
                if any(term.dimension in self.members for term in t.ranks[p])
            )
            for t in self.space.einsum.tensors
        }

    def temporal(self, dimension: str, level: int) -> Ints:
        """Factor of the dimension's loop at `level`, per row."""
        return np.asarray(self.rows[dimension][:, self.space.places(dimension).index((level, "t"))])

    def _extent(self, dimension: str, level: int) -> Ints:
        """Extent of the dimension in the largest tile at `level`."""
        inside = [i for i, (at, _) in enumerate(self.space.places(dimension)) if at >= level]
        extent = self.rows[dimension][:, inside].prod(axis=1)
        return np.asarray(np.minimum(extent, self.space.einsum.extent[dimension]))

    def _tile(self, tensor: Tensor, level: int) -> Floats:
        return tile_words(tensor, {d: self._extent(d, level) for d in self.members}, self.size)

    def _split(self, flow: Flow, side: Side) -> tuple[Floats, list[Floats]]:
        """(ranks, steps) of a flow's factor: `steps[x]` with the loops of levels from x inwards left out."""
        ranks = np.ones(self.size)
        for place, rank in enumerate(flow.tensor.ranks):
            mine = [t.dimension for t in rank if t.dimension in self.members]
            if len(mine) > 1:
                ranks = ranks * self.sliding(flow, side, place).every
            elif mine:
                found = self.factors.positions(mine[0], flow, side, place)
                ranks = ranks * found.every[self.index[mine[0]]]
        steps = [np.ones(self.size)] * (1 if flow.level == self.levels else flow.level + 1)
        for d in self.members:
            if d not in flow.tensor.dimensions:
                units = self.factors.units(d, flow, side)
                steps = [step * found[self.index[d]] for step, found in zip(steps, units.outside, strict=True)]
        return ranks, steps

    def sliding(self, flow: Flow, side: Side, place: int) -> Sliding:
        """`Sliding` of a rank for every row."""
        key = (flow, side, place)
        if key not in self._sliding:
            rank = flow.tensor.ranks[place]
            rows = {t.dimension: self.rows[t.dimension] for t in rank if t.dimension in self.members}
            self._sliding[key] = self.factors.sliding(flow, side, place, rows)
        return self._sliding[key]

    @cached_property
    def _sliding(self) -> dict[tuple[Flow, Side, int], Sliding]:
        return {}

    @cached_property
    def parts(self) -> dict[Key, tuple[Floats, list[Floats]]]:
        """`_split` of every flow and side that is counted."""
        return {
            (flow, side): self._split(flow, side)
            for flow in self.flows
            for side in (SIDES if flow.level < self.levels else SIDES[:1])
        }

    def put(self, flow: Flow, side: Side, largest: bool = False) -> float:
        """Least (or largest) factor of a flow, all loops that leave it put left out, without its sliding ranks."""
        ranks, steps = self.parts[flow, side]
        found = steps[0] if self.slides[flow.tensor.name] else ranks * steps[0]
        return float(found.max() if largest else found.min())

    def once(self, flow: Flow, side: Side, largest: bool = False) -> float:
        """Least (or largest) factor of a flow that is loaded once: what it moves at least, however it is reused."""
        out = self.put(flow, side, largest)
        for place in self.slides[flow.tensor.name]:
            out *= self.factors.distinct(flow, side, place)
        return out

    def _add_states(self, level: int) -> None:
        tensors = [t for t in self.space.einsum.tensors if t.name in self.keeps[level]]
        columns: dict[tuple[str, object], Floats] = {("tile", t.name): self._tile(t, level) for t in tensors}
        innermost = level == self.levels - 1
        for key, (ranks, steps) in self.parts.items():
            flow = key[0]
            slides = bool(sliding_places(flow.tensor, self.space.looped))
            if flow.level == level or (flow.level == self.levels and innermost):
                columns["moved", key] = ranks * steps[-1]
                if slides:
                    columns["slid", key] = ranks if self.slides[flow.tensor.name] else np.ones(self.size)
            if level < flow.level < self.levels:
                columns["reused", key] = steps[level] if self.slides[flow.tensor.name] else ranks * steps[level]
            if level == 1 and flow.level < self.levels:
                columns["start", key] = steps[0] if self.slides[flow.tensor.name] else ranks * steps[0]
        if innermost:
            columns["cycles", ""] = self._cycles()
        columns["reduced", ""] = self._reduced(level)
        table = np.stack(list(columns.values()), axis=1)
        first, self.state_of[level] = distinct_rows(table)

        def pick(kind: str) -> dict[Any, Floats]:
            return {name: table[first, i] for i, (found, name) in enumerate(columns) if found == kind}

        tile, moved, slid, reused, start = (pick(kind) for kind in ("tile", "moved", "slid", "reused", "start"))
        self.states[level] = State(
            len(first), tile, moved, slid, reused, start, pick("cycles").get(""), pick("reduced")[""]
        )

    def _reduced(self, level: int) -> Floats:
        """Whether a reduction loop stands above `level`; of no interest where finished outputs have the same width."""
        output, accelerator = self.space.einsum.output, self.space.accelerator
        out = np.zeros(self.size)
        if accelerator.operand_bits(output) != accelerator.partial_sum_bits:
            for d in self.members:
                if d not in output.dimensions:
                    above = [i for i, (at, _) in enumerate(self.space.places(d)) if at < level]
                    out = np.maximum(out, self.rows[d][:, above].prod(axis=1) > 1)
        return out

    def _cycles(self) -> Floats:
        cycles = np.ones(self.size)
        for d in self.members:
            temporal = [i for i, (_, kind) in enumerate(self.space.places(d)) if kind == "t"]
            cycles = cycles * self.rows[d][:, temporal].prod(axis=1)
        return cycles

    def count(self, level: int) -> int:
        """States at `level`; level 0 has one."""
        return self.states[level].size if level else 1

    def link(self, level: int) -> Link:
        """States of `level + 1` (rows) against those of `level` (columns)."""
        if level not in self._links:
            self._links[level] = self._make_link(level)
        return self._links[level]

    @cached_property
    def _links(self) -> dict[int, Link]:
        return {}

    def _make_link(self, level: int) -> Link:
        shape = (self.count(level + 1), self.count(level))
        pairs = (self.state_of[level + 1], self.state_of[level])

        def where(rows: Bools) -> Bools:
            out = np.zeros(shape, dtype=bool)
            out[pairs[0][rows], pairs[1][rows]] = True
            return out

        loops = {d: self.temporal(d, level) > 1 for d in self.members}
        every = np.ones(self.size, dtype=bool)
        return Link(
            where(every),
            {d: where(active) for d, active in loops.items()},
            {d: where(~active) for d, active in loops.items()},
        )

    def ratio(self, flow: Flow, side: Side, level: int, head: str, case: str, gain: bool = False) -> Floats:
        """Least share of a flow's factor that is moved with `head` at `level`, by states at the flow's level (rows)
        and at `level` (columns); infinite where no chain idles over the tensor in between. `case`: as in `Sliding`.

        `gain`: instead the largest share that `case` moves less than `alone`.
        """
        key = (flow, side, level, head, case, gain)
        if key not in self._ratios:
            place = next(
                p for p in self.slides[flow.tensor.name] if any(t.dimension == head for t in flow.tensor.ranks[p])
            )
            found = self.sliding(flow, side, place)
            moved = getattr(found, case)[level, head]
            if gain:
                moved = found.alone[level, head] - moved
            # Padding alone: nothing is moved whatever the share.
            share = np.divide(moved, found.every, out=np.ones(self.size), where=found.every > 0)
            usable = self.temporal(head, level) > 1
            for between in range(level + 1, flow.level):
                for d in self.members:
                    if d in flow.tensor.dimensions:
                        usable = usable & (self.temporal(d, between) == 1)
            shape = (self.count(flow.level), self.count(level))
            pairs = (self.state_of[flow.level][usable], self.state_of[level][usable])
            out = np.full(shape, -np.inf if gain else np.inf)
            (np.maximum if gain else np.minimum).at(out, pairs, share[usable])
            self._ratios[key] = out
        return self._ratios[key]

    @cached_property
    def _ratios(self) -> dict[object, Floats]:
        return {}
