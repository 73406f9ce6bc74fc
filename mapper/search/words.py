"""What the rows of each level move, under fixed lanes and kept tensors: factors of every flow, for arrays of rows.

A mapping is a state per group and level. The rows of a level are the combinations of states whose tiles fit it. The
words of a flow into level `l` are decided by the rows at `l`, the rows at `l - 1` and the pass between them
(`mapper.search.passes`): each is a product of a factor of the one, a factor of the other and, where a tensor slides,
a share that both decide (`Term`).

All costs are vectors: picojoules, then the cycles of each limited port (`mapper.search.forms`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mapper.cost.batch import moves_of
from mapper.cost.energy import Floats
from mapper.counts.geometry import Bools
from mapper.errors import InputError
from mapper.search.forms import Flow, Form, Keeps, Side, Widths, flows, output_words, priced
from mapper.search.groups import GroupTable, sliding_places
from mapper.search.passes import Effect
from mapper.search.space import Mapspace
from mapper.sparsity.room import least_room
from mapper.workload.einsum import Tensor

Index = NDArray[np.intp]

MOST_ROWS = 20_000_000
"""Tiles of one level that are held side by side; each takes some hundred bytes while they are listed."""


def too_many_tiles(space: Mapspace, level: int) -> InputError:
    """The refusal of a space whose tiles would not fit in memory."""
    name = space.accelerator.level_names[level]
    return InputError(
        f"{name} has more than {MOST_ROWS:,} tilings that fit under one choice of lanes: too many to be compared",
        hint=f"constraints on the factors of {name} make them fewer",
    )


def fit(
    space: Mapspace, keeps: Keeps, level: int, words: dict[str, Floats], size: int, reduced: Floats | float = 0.0
) -> Bools:
    """Whether tiles of so many words fit the buffers of `level`; `reduced`: 1 where a reduction stands further out.

    With no `reduced`, partial sums are taken at their least width.
    """
    fits = np.ones(size, dtype=bool)
    for buffer in space.accelerator.levels[level].buffers:
        if buffer.capacity_bits is not None:
            bits = np.zeros(size)
            for tensor in space.einsum.tensors:
                if tensor.name in words and tensor.role in buffer.roles:
                    moves = moves_of(space.einsum, space.accelerator, space.sparsity, keeps)
                    taken = least_room(moves, tensor, level, words[tensor.name], _uneven(space, tensor, level))
                    if taken is None:
                        taken = words[tensor.name] * _bits(space, keeps, tensor, level, reduced)
                    bits += taken * (1 + buffer.double_buffered)
            fits &= bits <= buffer.capacity_bits
    return fits


def _uneven(space: Mapspace, tensor: Tensor, level: int) -> int:
    """Dimensions of a tensor that may be spread at `level` or further in: some of their lanes may idle."""
    spread = {d for d in space.looped for at, kind in space.places(d) if kind != "t" and at >= level}
    return len(spread & tensor.dimensions)


def _bits(space: Mapspace, keeps: Keeps, tensor: Tensor, level: int, reduced: Floats | float) -> Floats | float:
    final, partial = space.accelerator.operand_bits(tensor), space.accelerator.partial_sum_bits
    if tensor != space.einsum.output:
        return final
    innermost = max(at for at, names in enumerate(keeps) if at == 0 or tensor.name in names)
    if level == innermost:
        return partial
    return min(final, partial) + reduced * max(partial - final, 0)


@dataclass(frozen=True)
class Term:
    """`weight * inner * outer * share` per pair of rows; None stands for ones. `share`: (group, level of the inner
    state, table by inner and outer state)."""

    weight: Floats
    inner: Floats | None = None
    outer: Floats | None = None
    share: tuple[int, int, Floats] | None = None


class Words:
    """Factors of one choice of lanes and kept tensors. `forms`: energy first, then ports."""

    def __init__(self, space: Mapspace, keeps: Keeps, tables: tuple[GroupTable, ...], forms: tuple[Form, ...]) -> None:
        self.space, self.keeps, self.tables, self.forms = space, keeps, tables, forms
        self.levels = len(space.accelerator.levels)
        self.flows = flows(space.einsum, keeps)
        self.widths = Widths(space.einsum, space.accelerator, keeps, space.sparsity)
        self.into = {(f.name, f.level): f for f in self.flows}
        self.rows = {level: self._rows(level) for level in range(self.levels - 1, 0, -1)}
        self.rows[0] = np.zeros((1, len(tables)), dtype=np.intp)
        self.empty = any(len(rows) == 0 for rows in self.rows.values())
        self._memory: dict[object, Floats] = {}
        self._positive: dict[Flow, bool] = {}

    def _rows(self, level: int) -> Index:
        """Combinations of states whose tiles fit the buffers of `level`; tiles of partial sums at their least width."""
        rows = np.zeros((1, 0), dtype=np.intp)
        words = {name: np.ones(1) for name in self.keeps[level]}
        for table in self.tables:
            state = table.states[level]
            if len(rows) * state.size > MOST_ROWS:
                raise too_many_tiles(self.space, level)
            column = np.tile(np.arange(state.size), len(rows))[:, None]
            rows = np.concatenate([np.repeat(rows, state.size, axis=0), column], axis=1)
            words = {name: np.outer(held, state.tile[name]).ravel() for name, held in words.items()}
            fitting = fit(self.space, self.keeps, level, words, len(rows))
            rows, words = rows[fitting], {name: held[fitting] for name, held in words.items()}
        reduced = np.zeros(len(rows))
        for number, table in enumerate(self.tables):
            reduced = np.maximum(reduced, table.states[level].reduced[rows[:, number]])
        return rows[fit(self.space, self.keeps, level, words, len(rows), reduced)]

    # Factors of rows.

    def product(self, kind: str, level: int, flow: Flow, side: Side) -> Floats:
        """Product over groups of one factor, for every row of `level`."""
        key = (kind, level, flow, side)
        if key not in self._memory:
            out = np.ones(len(self.rows[level]))
            for number, table in enumerate(self.tables):
                out = out * getattr(table.states[level], kind)[flow, side][self.rows[level][:, number]]
            self._memory[key] = out
        return self._memory[key]

    def weights(self, flow: Flow) -> list[tuple[Side, Floats]]:
        """(side, weight per form) of a flow; sides without weight left out."""
        pairs = [(side, np.array([form.of(flow)[side] for form in self.forms])) for side in Side]
        return [(side, weight) for side, weight in pairs if weight.any()]

    @cached_property
    def used(self) -> dict[Flow, list[tuple[Side, Floats]]]:
        """Weights of words that reuse makes fewer: those below zero are in `_lowest`, unless that is not needed."""
        out = {}
        for flow in self.flows:
            weights = self.weights(flow)
            if not self._clearly_positive(flow):
                weights = [(side, np.maximum(weight, 0.0)) for side, weight in weights]
            out[flow] = [(side, weight) for side, weight in weights if weight.any()]
        return out

    def _clearly_positive(self, flow: Flow) -> bool:
        if flow not in self._positive:
            self._positive[flow] = self._is_clearly_positive(flow)
        return self._positive[flow]

    def _is_clearly_positive(self, flow: Flow) -> bool:
        """Whether fewer words always cost less, in spite of a weight below zero: each served word enters few lanes."""
        served, entered = (np.array([form.of(flow)[side] for form in self.forms]) for side in Side)
        if (entered >= 0).all():
            return bool((served >= 0).all())
        lanes = 1.0
        for table in self.tables:
            for d in table.members:
                if d not in flow.tensor.dimensions:
                    spread = [i for i, (_, kind) in enumerate(self.space.places(d)) if kind != "t"]
                    lanes *= float(table.rows[d][:, spread].prod(axis=1).max(initial=1))
        return bool((served + np.minimum(entered, 0.0) * lanes >= 0).all())

    def slides(self, flow: Flow) -> bool:
        return bool(sliding_places(flow.tensor, self.space.looped))

    @cached_property
    def once(self) -> dict[Flow, Floats]:
        """Cost (forms, 1) of each flow where it is loaded once."""
        out = {}
        for flow in self.flows:
            cost = np.zeros((len(self.forms), 1))
            if flow.level < self.levels:
                for side, weight in self.used[flow]:
                    least, most = (
                        np.prod([table.once(flow, side, largest) for table in self.tables]) for largest in (False, True)
                    )
                    # The fewest words where they cost, the most where a weight is below zero.
                    cost[:, 0] += np.where(weight >= 0, weight * least, weight * most)
            out[flow] = cost
        return out

    # What an effect makes of a flow.

    def terms(self, flow: Flow, effect: Effect, level: int, at: dict[int, Index | slice], case: str = "") -> list[Term]:
        """Terms of `flow` under `effect` of the loops at `level`; `at` gives the rows of levels further in.

        `case` names the share that is taken where the tensor slides, by default the one of the effect.
        """
        right, between = flow.level == level + 1, at.get(level + 1, slice(None))
        out = []
        for side, weight in self.used[flow]:
            inner = outer = share = None
            if effect.kind == "moved" or (effect.kind == "slid" and not effect.put):
                if right:
                    inner = self.product("moved", flow.level, flow, side)[at[flow.level]]
                else:
                    inner = self.product("reused", level + 1, flow, side)[between]
                    if self.slides(flow):
                        inner = inner * self.product("slid", flow.level, flow, side)[at[flow.level]]
            elif level == 0:
                inner = self._started(flow, side, effect, right, at)
            else:
                outer = self.product("reused", level, flow, side)
                if effect.counted and right:
                    inner, outer = self._counted(flow, side, level, effect, at[flow.level])
                elif self.slides(flow):
                    inner = self.product("slid", flow.level, flow, side)[at[flow.level]]
            if effect.kind == "slid":
                case = case or ("deep" if effect.deep else effect.case)
                group = next(i for i, table in enumerate(self.tables) if effect.head in table.members)
                share = (group, flow.level, self.tables[group].ratio(flow, side, level, effect.head, case))
            out.append(Term(weight, inner, outer, share))
            wider = self._wider(flow, side)
            if wider is not None:
                mask = self.reduced(flow.level)[at[flow.level]]
                out.append(Term(wider, mask if inner is None else inner * mask, outer, share))
        return out

    def _started(self, flow: Flow, side: Side, effect: Effect, right: bool, at: dict[int, Index | slice]) -> Floats:
        """Factor of a flow that the loops of level 0 leave put: of its rows alone, as nothing stands further out."""
        key = ("started", flow, side, effect.counted if right else None)
        if key not in self._memory:
            out = np.ones(len(self.rows[1]))
            for number, table in enumerate(self.tables):
                puts = set(table.members) - flow.tensor.dimensions
                counted = right and puts and puts <= effect.counted and not self.slides(flow)
                state = table.states[1]
                out = out * (state.moved if counted else state.start)[flow, side][self.rows[1][:, number]]
            self._memory[key] = out
        found = self._memory[key][at.get(1, slice(None))]
        if self.slides(flow):
            return np.asarray(found * self.product("slid", flow.level, flow, side)[at[flow.level]])
        return found

    def _wider(self, flow: Flow, side: Side) -> Floats | None:
        """Weight that words of a drain have in addition where they are partial sums (forms are too low there)."""
        if flow.tensor != self.space.einsum.output or side is not Side.entered or flow.level == self.levels:
            return None
        accelerator = priced(self.space.accelerator)
        wide, narrow = accelerator.partial_sum_bits, accelerator.operand_bits(flow.tensor)
        bits = self.widths.at_level(flow, "drains", wide) - self.widths.at_level(flow, "drains", narrow)
        drain = accelerator.levels[flow.level].buffer(flow.tensor).energies.drain
        if bits <= 0 or drain <= 0:
            return None
        out = np.zeros(len(self.forms))
        out[0] = bits * drain
        return out

    def reduced(self, level: int) -> Floats:
        """1 for rows of `level` above which a reduction loop stands, else 0."""
        key = ("reduced", level)
        if key not in self._memory:
            out = np.zeros(len(self.rows[level]))
            for number, table in enumerate(self.tables):
                if level:
                    out = np.maximum(out, table.states[level].reduced[self.rows[level][:, number]])
            self._memory[key] = out
        return self._memory[key]

    def unfinished(self, level: int) -> Floats | float:
        """Cost (forms, rows) of updates into `level` that forms take as finished where a reduction is still to come."""
        accelerator, tensor = priced(self.space.accelerator), self.space.einsum.output
        if level == 0 or tensor.name not in self.keeps[level]:
            return 0.0
        flow = next(f for f in self.flows if f.tensor == tensor and f.parent == level)
        wide, narrow = accelerator.partial_sum_bits, accelerator.operand_bits(tensor)
        bits = self.widths.at_parent(flow, "updates", wide) - self.widths.at_parent(flow, "updates", narrow)
        if bits <= 0:
            return 0.0
        out = np.zeros((len(self.forms), len(self.rows[level])))
        update = accelerator.levels[level].buffer(tensor).energies.write
        out[0] = output_words(self.space.einsum) * bits * update * self.reduced(level)
        return out

    def _counted(
        self, flow: Flow, side: Side, level: int, effect: Effect, mine: Index | slice
    ) -> tuple[Floats | None, Floats | None]:
        """Inner and outer factor of a reused flow where some of the loops that leave it put are counted."""
        if self.slides(flow):
            return self.product("slid", flow.level, flow, side)[mine], self.product("reused", level, flow, side)
        key = ("counted", flow, side, level, effect.counted)
        if key not in self._memory:
            inner, outer = np.ones(len(self.rows[flow.level])), np.ones(len(self.rows[level]))
            for number, table in enumerate(self.tables):
                puts = set(table.members) - flow.tensor.dimensions
                if puts and puts <= effect.counted:
                    inner = inner * table.states[flow.level].moved[flow, side][self.rows[flow.level][:, number]]
                else:
                    outer = outer * table.states[level].reused[flow, side][self.rows[level][:, number]]
            self._memory[key], self._memory[*key, "outer"] = inner, outer
        return self._memory[key][mine], self._memory[*key, "outer"]

    def lowest(self, flow: Flow, level: int) -> Floats | float:
        """Part below zero of a flow's cost, per row of `level` that it goes into: all its words are moved, at most."""
        if self._clearly_positive(flow):
            return 0.0
        out = np.zeros((len(self.forms), len(self.rows[level])))
        for side, weight in self.weights(flow):
            if (weight < 0).any():
                out += np.minimum(weight, 0.0)[:, None] * self.product("moved", level, flow, side)
        return out

    @cached_property
    def settled(self) -> Floats:
        """Cost (forms, innermost rows) that only the innermost rows decide: constants, and what compute moves."""
        level = self.levels - 1
        out = np.array([[form.constant] for form in self.forms]) + np.zeros((1, len(self.rows[level])))
        for flow in self.flows:
            if flow.level == self.levels:
                for side, weight in self.weights(flow):
                    out = out + weight[:, None] * self.product("moved", level, flow, side)
        return out + self.unfinished(level)

    @cached_property
    def cycles(self) -> Floats:
        """Steps of compute per innermost row."""
        level = self.levels - 1
        out = np.ones(len(self.rows[level]))
        for number, table in enumerate(self.tables):
            found = table.states[level].cycles
            assert found is not None
            out = out * found[self.rows[level][:, number]]
        return out
