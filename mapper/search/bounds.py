"""Lower bounds on the cost of every mapping under fixed lanes and kept tensors, and the joins that find the cheap ones.

Cost is a sum along a chain of levels (`mapper.search.words`), so two things follow:

* `ahead[l]`: for each row at `l` the least that all outer levels can add, computed from the outermost level inwards.
* Starting from the innermost rows, partial mappings are joined with rows of the next level outwards, and only those
  whose cost so far plus `ahead` stays within the budget go on (`Bounds.join`).

Flows that loops further out have a say in (`Effect.open`) count at their least until the pass that decides them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mapper.cost.energy import Floats
from mapper.counts.distinct import distinct_rows
from mapper.counts.geometry import Bools
from mapper.search.forms import Flow, Form, Keeps, Side
from mapper.search.groups import GroupTable
from mapper.search.keep import Keep
from mapper.search.passes import Effect, Pass
from mapper.search.space import Mapspace
from mapper.search.waits import Waits
from mapper.search.words import Index, Term, Words

Bits = NDArray[np.uint8]
Split = tuple[Floats, Floats, list[Term]]
"""Costs that rows decide, that rows further out decide, and terms of both."""

PAIRS = 1 << 21
"""Pairs of rows that a join looks at in one piece."""
PRODUCTS = 48
"""Distinct values of a shared product that `ahead` tells apart; more are rounded down to these."""


@dataclass(frozen=True)
class Open:
    """A flow that loops further out have a say in, counted at its least: its effect at `level`."""

    flow: Flow
    effect: Effect
    level: int


@dataclass(frozen=True)
class Partial:
    """Mappings decided from the innermost level out to some level.

    `rows[level]` are row numbers, `cost` what is settled (forms, mappings), `cycles` steps of compute, `passes[level]`
    numbers of passes. `open` is the same for all.
    """

    rows: dict[int, Index]
    cost: Floats
    cycles: Floats
    passes: dict[int, Index]
    open: tuple[Open, ...] = ()

    def __len__(self) -> int:
        return len(self.cycles)

    def take(self, chosen: Index) -> Partial:
        rows = {level: rows[chosen] for level, rows in self.rows.items()}
        passes = {level: numbers[chosen] for level, numbers in self.passes.items()}
        return Partial(rows, self.cost[:, chosen], self.cycles[chosen], passes, self.open)

    @staticmethod
    def together(parts: list[Partial]) -> Partial:
        """Partial mappings with the same open flows, as one."""
        first = parts[0]
        return Partial(
            {level: np.concatenate([p.rows[level] for p in parts]) for level in first.rows},
            np.concatenate([p.cost for p in parts], axis=1),
            np.concatenate([p.cycles for p in parts]),
            {level: np.concatenate([p.passes[level] for p in parts]) for level in first.passes},
            first.open,
        )


class Bounds(Words):
    """Bounds of one choice of lanes and kept tensors."""

    def __init__(
        self,
        space: Mapspace,
        keeps: Keeps,
        tables: tuple[GroupTable, ...],
        forms: tuple[Form, ...],
        passes: dict[int, tuple[Pass, ...]],
    ) -> None:
        super().__init__(space, keeps, tables, forms)
        self.passes = passes
        self.cases = {level: [case for made in found for case in made.cases] for level, found in passes.items()}
        self.numbers = {case: i for cases in self.cases.values() for i, case in enumerate(cases)}
        self._allowed_pairs: dict[object, Bools] = {}
        self._followed: dict[object, tuple[Bools, Bools]] = {}
        self._parts: dict[object, Split] = {}
        self._flow_parts: dict[object, tuple[Floats, Floats | None, list[Term]]] = {}
        self._ahead: dict[int, Floats] = {}
        self.waits = Waits(space, keeps)
        self._ratio = self.waits.rows(tables, self.rows[self.levels - 1])
        self._raised = np.zeros(len(self._ratio), dtype=bool)

    # What outer levels add at least.

    @property
    def ahead(self) -> dict[int, Floats]:
        """For each row (forms, rows) of each level the least that all levels further out can add."""
        if not self._ahead:
            self._ahead[0] = np.zeros((len(self.forms), 1))
            for level in range(1, self.levels if not self.empty else 1):
                every = [self.ahead_of(made, level) for made in self.passes[level - 1]]
                self._ahead[level] = np.minimum.reduce(every)
        return self._ahead

    def _allowed(self, made: Pass, level: int, number: int) -> Bools:
        """Pairs of states of group `number` at `level + 1` and `level` that a pass allows."""
        table = self.tables[number]
        mine = frozenset(table.members)
        key = (level, number, made.loops & mine, made.idles & mine)
        if key not in self._allowed_pairs:
            link = table.link(level)
            out = link.chains
            for d in made.loops & mine:
                out = out & link.loops[d]
            for d in made.idles & mine:
                out = out & link.idles[d]
            self._allowed_pairs[key] = out
        return self._allowed_pairs[key]

    def _effects(self, made: Pass, level: int) -> list[tuple[Flow, Effect]]:
        """The flows into `level` and what the pass of the level above does to them."""
        pairs = zip(self.space.einsum.tensors, made.effects, strict=True)
        return [(self.into[t.name, level], effect) for t, effect in pairs if (t.name, level) in self.into]

    def _following(self, made: Pass, level: int) -> tuple[Bools, Bools]:
        """Rows at `level` that some row further out can follow under a pass, and rows further out that can."""
        key = (level, made.loops, made.idles)
        if key not in self._followed:
            rows, outer = self.rows[level], self.rows[level - 1]
            possible, followed = np.ones(len(rows), dtype=bool), np.ones(len(outer), dtype=bool)
            for number in range(len(self.tables)):
                allowed = self._allowed(made, level - 1, number)
                possible &= np.asarray(allowed.any(axis=1))[rows[:, number]]
                followed &= np.asarray(allowed.any(axis=0))[outer[:, number]]
            self._followed[key] = possible, followed
        return self._followed[key]

    def ahead_of(self, made: Pass, level: int) -> Floats:
        """Least cost (forms, rows) of the flows into `level` and all further out, where the loops of `level - 1` are
        those of a pass; infinite where no row can follow."""
        key = ("ahead", level, made)
        if key not in self._memory:
            self._memory[key] = self._make_ahead(made, level)
        return self._memory[key]

    def _ahead_of_cases(self, made: Pass, level: int) -> Floats:
        """The same of every case of a pass: (cases, forms, rows)."""
        key = ("cases", level, made)
        if key not in self._memory:
            self._memory[key] = np.stack([self._make_ahead(case, level) for case in made.cases])
        return self._memory[key]

    def _make_ahead(self, made: Pass, level: int) -> Floats:
        possible, followed = self._following(made, level)
        if not possible.any() or not followed.any():
            return np.full((len(self.forms), len(self.rows[level])), np.inf)
        inner, base, terms = self._split(made, level)
        return np.where(possible, inner + self._least(terms, base, level, made, followed), np.inf)

    def _split(self, made: Pass, level: int) -> Split:
        """Cost of the flows into `level` under a pass: (decided by its rows, by the rows further out, by both)."""
        key = (level, made)
        if key not in self._parts:
            self._parts[key] = self._make_split(made, level)
        return self._parts[key]

    def _make_split(self, made: Pass, level: int) -> Split:
        parts = [self._part(flow, effect, level) for flow, effect in self._effects(made, level)]
        inner = np.zeros((len(self.forms), len(self.rows[level])))
        base = self.ahead[level - 1] + self.unfinished(level - 1)
        for mine, theirs, _ in parts:
            inner += mine
            if theirs is not None:
                base = base + theirs
        return inner, base, [term for _, _, coupled in parts for term in coupled]

    def _part(self, flow: Flow, effect: Effect, level: int) -> tuple[Floats, Floats | None, list[Term]]:
        """What one flow into `level` adds to a split; many passes have the same effect on it."""
        key = (level, flow, effect)
        if key not in self._flow_parts:
            inner: Floats = np.zeros((len(self.forms), 1)) + self.lowest(flow, level)
            base: Floats | None = None
            coupled: list[Term] = []
            if effect.kind == "fixed":
                inner = inner + self.once[flow]
            else:
                for term in self.terms(flow, effect, level - 1, {level: slice(None)}):
                    if term.share is None and term.outer is None and term.inner is not None:
                        inner = inner + term.weight[:, None] * term.inner
                    elif term.share is None and term.inner is None and term.outer is not None:
                        base = term.weight[:, None] * term.outer + (0.0 if base is None else base)
                    else:
                        coupled.append(term)
            self._flow_parts[key] = inner, base, coupled
        return self._flow_parts[key]

    def _least(self, terms: list[Term], base: Floats, level: int, made: Pass, followed: Bools) -> Floats:
        """Least of `base` plus `terms` over the rows further out, for each row of `level`."""
        size = len(self.rows[level])
        base = base[:, followed]
        inner = [self._inner_least(term, level, made) for term in terms]
        outer = [np.ones(base.shape[1]) if t.outer is None else t.outer[followed] for t in terms]
        varying = [i for i, values in enumerate(outer) if values.min() != values.max()]
        out = np.zeros((len(base), size))
        for i, term in enumerate(terms):
            if i not in varying:
                out += term.weight[:, None] * inner[i] * outer[i][0]
        if not varying:
            return np.asarray(out + base.min(axis=1)[:, None])
        puts, which = _coarse(np.stack([outer[i] for i in varying], axis=1))
        least = np.full((len(base), len(puts)), np.inf)
        for form in range(len(base)):
            np.minimum.at(least[form], which, base[form])
        best = np.full(out.shape, np.inf)
        for value, floor in zip(puts, least.T, strict=True):
            added = floor[:, None] + np.zeros_like(out)
            for i, put in zip(varying, value, strict=True):
                added += terms[i].weight[:, None] * inner[i] * put
            np.minimum(best, added, out=best)
        return np.asarray(out + best)

    def _inner_least(self, term: Term, level: int, made: Pass) -> Floats:
        """Factor of a term per row of `level`, its share at its least."""
        key = ("least", id(term), level, made)
        if key not in self._memory:
            self._memory[key] = self._make_inner_least(term, level, made)
        return self._memory[key]

    def _make_inner_least(self, term: Term, level: int, made: Pass) -> Floats:
        out = np.ones(len(self.rows[level])) if term.inner is None else term.inner
        if term.share is None:
            return out
        number, _, table = term.share
        least = np.where(self._allowed(made, level - 1, number), table, np.inf).min(axis=1)
        # Rows that no row can follow are left out elsewhere; infinity times 0 is no number.
        least[~np.isfinite(least)] = 1.0
        return np.asarray(out * least[self.rows[level][:, number]])

    # Joins.

    def start(self) -> Partial:
        """The innermost rows."""
        level = self.levels - 1
        return Partial({level: np.arange(len(self.rows[level]))}, self.settled, self.cycles * self._ratio, {})

    def hopeful(self, keep: Keep, energy: float) -> bool:
        """Whether, of mappings that take `energy` or more, any may be within `keep`, whatever outer levels add."""
        if keep.metric == "energy" or not np.isfinite(keep.budget[0]):
            return True
        self._raise(self._hopeful(keep, energy))
        return bool(self._hopeful(keep, energy).any())

    def _hopeful(self, keep: Keep, energy: float) -> Bools:
        """Innermost rows that may be."""
        cycles = self.cycles * self._ratio
        value = energy * np.maximum(cycles, 1.0) if keep.metric == "edp" else cycles
        return keep.worth(value, np.full(len(cycles), energy)) & (cycles <= keep.most_cycles)

    def raise_cycles(self, keep: Keep) -> None:
        """Let rows within `keep` take the cycles that the model says they take where PEs wait for each other."""
        if keep.metric != "energy" or keep.leakage or np.isfinite(keep.most_cycles):
            start = self.start()
            self._raise(keep(self.lower(start, self.levels - 1), start.cycles))

    def _raise(self, rows: Bools) -> None:
        near = np.flatnonzero(rows & ~self._raised)
        ratios = self.waits.raised(self.tables, self.rows[self.levels - 1][near]) if len(near) else None
        if ratios is not None:
            self._ratio[near] = np.maximum(self._ratio[near], ratios)
        self._raised[near] = True

    def lower(self, partial: Partial, level: int) -> Floats:
        """Cost (forms, partial mappings) at least, decided out to `level`."""
        return np.asarray(partial.cost + self.ahead[level][:, partial.rows[level]])

    def near(self, partial: Partial, level: int, made: Pass, keep: Keep, most: int | None = None) -> Partial:
        """Those of the partial mappings that a pass may complete within `keep`; the `most` promising ones."""
        low = partial.cost + self.ahead_of(made, level)[:, partial.rows[level]]
        chosen = np.flatnonzero(keep(low, partial.cycles))
        if most is not None and len(chosen) > most:
            value, energy, _ = keep.bounds(low[:, chosen], partial.cycles[chosen])
            chosen = np.sort(chosen[np.lexsort((energy, value))[:most]])
        return partial.take(chosen)

    def near_cases(self, partial: Partial, level: int, made: Pass, keep: Keep) -> Iterator[tuple[Pass, Partial]]:
        """For each case of a pass, those of the partial mappings that it may complete within `keep`, if any."""
        if not made.cases:
            return
        low = partial.cost + self._ahead_of_cases(made, level)[:, :, partial.rows[level]]
        flat = np.ascontiguousarray(low.swapaxes(0, 1)).reshape(len(self.forms), -1)
        within = keep(flat, np.tile(partial.cycles, len(low))).reshape(len(low), -1)
        for number in np.flatnonzero(within.any(axis=1)).tolist():
            yield made.cases[number], partial.take(np.flatnonzero(within[number]))

    def join(self, partial: Partial, level: int, made: Pass, keep: Keep) -> Iterator[Partial]:
        """Partial mappings out to `level`, extended by the rows of `level - 1` under a pass, within `keep`."""
        if level == 1:
            bits = self._bits(made, level, np.zeros(1, dtype=np.intp))
            going = np.flatnonzero(self._compatible(bits, level, partial.rows[level])[:, 0])
            yield from self._pair(partial, level, made, keep, going, np.zeros(len(going), dtype=np.intp))
            return
        _, followed = self._following(made, level)
        candidates = np.flatnonzero(followed)
        inner, base, coupled = self._split(made, level)
        mine = partial.rows[level]
        least = partial.cost[0] + inner[0, mine]
        for term in coupled:
            put = 1.0 if term.outer is None else term.outer[candidates].min()
            least = least + term.weight[0] * self._inner_least(term, level, made)[mine] * put
        # Both sides in the order of energy: each partial mapping goes with a stretch of the rows further out.
        candidates = candidates[np.argsort(base[0, candidates], kind="stable")]
        room = keep.most_energy(partial.cycles) - least
        counts = np.searchsorted(base[0, candidates], room, side="right")
        going = np.flatnonzero(counts)
        if not going.size:
            return
        candidates = candidates[: counts.max()]
        bits = self._bits(made, level, candidates)
        step = max(1, PAIRS // len(candidates))
        for begin in range(0, len(going), step):
            piece = going[begin : begin + step]
            packed = self._compatible(bits, level, mine[piece])
            some = np.flatnonzero(packed.any(axis=1))
            together = np.unpackbits(packed[some], axis=1, count=len(candidates)).view(np.bool_)
            a, b = np.divmod(np.flatnonzero(together), len(candidates))
            near = b < counts[piece[some[a]]]
            if near.any():
                yield from self._pair(partial, level, made, keep, piece[some[a[near]]], candidates[b[near]])

    def _bits(self, made: Pass, level: int, candidates: Index) -> tuple[list[Bits], list[list[tuple[int, Bits]]]]:
        """Which of `candidates` go with each state, in packed bits: per group, and per set of which one must loop."""
        outer = level - 1
        states = [self.rows[outer][candidates, number] for number in range(len(self.tables))]
        every = [
            np.packbits(self._allowed(made, outer, number)[:, states[number]], axis=1)
            for number in range(len(self.tables))
        ]
        some = []
        for dimensions in made.some:
            either = []
            for number, table in enumerate(self.tables):
                loops = [table.link(outer).loops[d] for d in sorted(dimensions & set(table.members))]
                if loops:
                    either.append((number, np.packbits(np.logical_or.reduce(loops)[:, states[number]], axis=1)))
            some.append(either)
        return every, some

    def _compatible(self, bits: tuple[list[Bits], list[list[tuple[int, Bits]]]], level: int, rows: Index) -> Bits:
        """Packed bits, per row: the candidates whose states some chain has with the row's in every group."""
        every, some = bits
        out: Bits = np.bitwise_and.reduce([found[self.rows[level][rows, number]] for number, found in enumerate(every)])
        for either in some:
            out &= np.bitwise_or.reduce([found[self.rows[level][rows, number]] for number, found in either])
        return out

    def _pair(
        self, partial: Partial, level: int, made: Pass, keep: Keep, a: Index, following: Index
    ) -> Iterator[Partial]:
        """Pairs of partial mappings (numbers `a`) and rows further out, within `keep`."""
        outer = level - 1
        inner, base, coupled = self._split(made, level)
        if coupled and len(a) and outer:
            mine = partial.rows[level][a]
            cost = partial.cost[:, a] + inner[:, mine] + base[:, following]
            for term in coupled:
                words = self._inner_least(term, level, made)[mine]
                cost += term.weight[:, None] * (words if term.outer is None else words * term.outer[following])
            good = np.flatnonzero(keep(cost, partial.cycles[a]))
            a, following = a[good], following[good]
        if not len(a):
            return
        chosen = partial.take(a)
        settled, still = self._settle(chosen, made, level, inner, following)
        within = np.flatnonzero(keep(settled + self.ahead[outer][:, following], chosen.cycles))
        if within.size:
            kept = chosen.take(within)
            rows = {**kept.rows, outer: following[within]}
            passes = {**kept.passes, outer: np.full(len(within), self.numbers[made])}
            yield Partial(rows, settled[:, within], kept.cycles, passes, still)

    def _settle(
        self, partial: Partial, made: Pass, level: int, inner: Floats, following: Index
    ) -> tuple[Floats, tuple[Open, ...]]:
        """Cost of pairs with the flows into `level` settled, and flows that are open still."""
        outer = level - 1
        cost = partial.cost + inner[:, partial.rows[level]]
        unfinished = self.unfinished(outer)
        if not isinstance(unfinished, float):
            cost = cost + unfinished[:, following]
        still: list[Open] = []
        rows = {**partial.rows, outer: following}
        at: dict[int, Index | slice] = dict(rows)
        for flow, effect in self._effects(made, level):
            if effect.kind != "fixed":
                terms = self.terms(flow, effect, outer, at)
                # What the rows at `level` decide alone is in `inner`.
                if effect.kind == "slid" or (effect.kind == "reused" and outer):
                    cost = cost + self._value(terms, rows, outer)
                if effect.shared and not effect.deep:
                    cost = cost + self._not_saved(flow, effect, rows, outer)
            if effect.open:
                still.append(Open(flow, effect.essence, outer))
        effects = dict(zip([t.name for t in self.space.einsum.tensors], made.effects, strict=True))
        for waiting in partial.open:
            cost, left = self._close(cost, waiting, effects[waiting.flow.tensor.name], rows, outer)
            still += left
        return cost, tuple(still)

    def _close(
        self, cost: Floats, waiting: Open, effect: Effect, rows: dict[int, Index], outer: int
    ) -> tuple[Floats, list[Open]]:
        """Cost with what a pass says of a flow that was open."""
        flow, at = waiting.flow, dict[int, Index | slice](rows)
        if effect.kind == "fixed":
            return cost, [waiting]
        if waiting.effect.kind == "slid":
            # A loop of another rank is innermost further out: all loops of this rank come with it wrapping.
            beside = effect.case in ("alone", "quiet") and not self._same_rank(flow, effect, waiting.effect)
            if effect.kind != "moved" and not beside:
                return cost, []
            case = waiting.effect.case if effect.kind == "moved" else "loud"
            before = self._value(self.terms(flow, waiting.effect, waiting.level, at), rows, waiting.level)
            after = self._value(self.terms(flow, waiting.effect, waiting.level, at, case), rows, waiting.level)
            return cost + after - before, []
        left = [Open(flow, effect.essence, outer)] if effect.deep else []
        after = self._value(self.terms(flow, effect, outer, at), rows, outer)
        return cost - self.once[flow] + after, left

    def _not_saved(self, flow: Flow, effect: Effect, rows: dict[int, Index], outer: int) -> Floats:
        """What `loud` leaves out too much where the next loop outside the head is of another rank (`shared`).

        Its steps find at most what it finds as the head of its own rank. Loops outside of it come with both wrapping:
        those of its rank find at most what they find there, those of the head's rank what they find in that rank.
        """
        mine = next(i for i, table in enumerate(self.tables) if effect.head in table.members)
        other = next(i for i, table in enumerate(self.tables) if effect.shared in table.members)
        out = np.zeros((len(self.forms), len(rows[outer])))
        loud, alone = (self.terms(flow, effect, outer, dict(rows), case) for case in ("loud", "alone"))
        whole = self.terms(flow, replace(effect, kind="reused" if effect.put else "moved"), outer, dict(rows))
        for (side, _), near, far, all_of_it in zip(self.used[flow], loud, alone, whole, strict=True):
            share = {"killed": "alone", "ranks": "quiet", "any": "loud"}[effect.corner]
            found = self._shares(other, flow, side, outer, rows, effect.shared, share)
            extra = (self._value([far], rows, outer) - self._value([near], rows, outer)) * found
            if effect.corner == "ranks":
                corner = self._shares(mine, flow, side, outer, rows, effect.head, "quiet", gain=True)
                corner = corner * self._shares(other, flow, side, outer, rows, effect.shared, "loud", gain=True)
                extra = extra - self._value([all_of_it], rows, outer) * corner
            out += np.maximum(extra, 0.0)
        return out

    def _shares(
        self,
        group: int,
        flow: Flow,
        side: Side,
        outer: int,
        rows: dict[int, Index],
        head: str,
        case: str,
        gain: bool = False,
    ) -> Floats:
        """Entries of a group's table of shares, per mapping; 0 or all where there is none."""
        table = self.tables[group].ratio(flow, side, outer, head, case, gain)
        found = table[self.rows[flow.level][rows[flow.level], group], self.rows[outer][rows[outer], group]]
        return np.where(np.isfinite(found), found, 1.0 if gain else 0.0)

    def _same_rank(self, flow: Flow, one: Effect, other: Effect) -> bool:
        return any({one.head, other.head} <= {t.dimension for t in rank} for rank in flow.tensor.ranks)

    def _value(self, terms: list[Term], rows: dict[int, Index], outer: int) -> Floats:
        """Sum (forms, mappings) of terms whose inner factors are per mapping."""
        size = len(rows[outer])
        out = np.zeros((len(self.forms), size))
        for term in terms:
            words = np.ones(size) if term.inner is None else term.inner
            if term.outer is not None:
                words = words * term.outer[rows[outer]]
            if term.share is not None:
                number, level, table = term.share
                found = table[self.rows[level][rows[level], number], self.rows[outer][rows[outer], number]]
                # Where no chain slides so, another pass speaks of the mapping.
                words = words * np.where(np.isfinite(found), found, 1.0)
            out += term.weight[:, None] * words
        return out


def _coarse(values: Floats) -> tuple[Floats, Index]:
    """Distinct rows of `values`, and which each is; of very many, some are rounded down to others."""
    first, which = distinct_rows(values)
    distinct = values[first]
    if len(distinct) <= PRODUCTS:
        return distinct, which
    size = -(-len(distinct) // PRODUCTS)
    number = np.arange(len(distinct)) // size
    least = np.stack([distinct[number == i].min(axis=0) for i in range(number[-1] + 1)])
    return least, number[which]
