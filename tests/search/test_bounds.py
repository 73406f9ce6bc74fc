"""Every bound is at most the cost of every mapping that it speaks of, and every mapping is one that bounds speak of.

Small problems are joined with an endless budget, so that everything comes out: what was known of a mapping at each
level, and at a glance, against what the model says of it in the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

from mapper.arch import Accelerator, load_arch
from mapper.cost.batch import evaluate_nests, fits_nests, rank_costs
from mapper.cost.energy import Floats
from mapper.cost.latency import port_bandwidths
from mapper.counts.geometry import groups
from mapper.mapping import parse_partitioning
from mapper.mapping.loopnest import Ints, Nests
from mapper.search.bounds import Bounds, Partial
from mapper.search.forms import Keeps, energy_form, leakage_pj_per_cycle, port_forms
from mapper.search.groups import GroupTable
from mapper.search.keep import Keep
from mapper.search.leaves import Leaf, Leaves, nests_of
from mapper.search.optimal import Search
from mapper.search.orders import Order, Reuse
from mapper.search.passes import Effect, Pass
from mapper.search.quick import Quick
from mapper.search.solve import Problem, solve
from mapper.search.space import Mapspace
from mapper.search.waits import Waits
from mapper.workload import Einsum, Phase, load_network
from tests.search import exhaustive
from tests.search.problems import describe, random_problem

EXACT = 1 + 1e-9
"""Sums of floats may differ by that."""
BATCH = 2000

Known = tuple[tuple[int, ...], tuple[int, ...]]
"""A partial mapping: its rows from the innermost level outwards, and the passes between them."""


class Watched(Bounds):
    """Bounds that remember what was known of each partial mapping when it was made."""

    @cached_property
    def known(self) -> dict[Known, Floats]:
        return {}

    def watch(self, partial: Partial, level: int) -> None:
        low = self.lower(partial, level)
        for i, key in enumerate(keys_of(partial, level)):
            self.known[key] = low[:, i]

    def join(self, partial: Partial, level: int, made: Pass, keep: Keep) -> Iterator[Partial]:
        for joined in super().join(partial, level, made, keep):
            self.watch(joined, level - 1)
            yield joined


def keys_of(partial: Partial, level: int) -> list[Known]:
    """What each partial mapping has decided out to `level`."""
    inwards = sorted((at for at in partial.rows if at >= level), reverse=True)
    rows = np.stack([partial.rows[at] for at in inwards], axis=1).tolist()
    passes = [[partial.passes[at][i] for at in inwards[1:]] for i in range(len(partial))]
    return [(tuple(row), tuple(map(int, numbers))) for row, numbers in zip(rows, passes, strict=True)]


@dataclass
class Subproblem:
    """Kept tensors and a class of lanes."""

    search: Search
    keeps: Keeps
    number: int

    @cached_property
    def tables(self) -> tuple[GroupTable, ...]:
        space, lanes = self.search.space, self.search.lanes
        chosen = lanes.choices[lanes.classes[0][self.number]].tolist()
        chains = {d: lanes.spreads[d].chains[n] for d, n in zip(space.looped, chosen, strict=True)}
        return tuple(
            GroupTable(space, self.keeps, self.search.factors, members, {d: chains[d] for d in members})
            for members in self.search.groups
        )

    @cached_property
    def bounds(self) -> Watched:
        einsum, accelerator = self.search.space.einsum, self.search.accelerator
        forms = (energy_form(einsum, accelerator, self.keeps), *port_forms(einsum, accelerator, self.keeps))
        return Watched(self.search.space, self.keeps, self.tables, forms, self.search._passes)

    @cached_property
    def leaves(self) -> Leaves:
        search, lanes = self.search, self.search.lanes
        members = lanes.choices[np.flatnonzero(lanes.classes[1] == self.number)]
        return Leaves(search.space, search.factors, lanes, members, self.tables, search.reuses)

    def complete(self) -> Iterator[tuple[Partial, int]]:
        """Every complete mapping of states, one at a time."""
        if self.bounds.empty:
            return
        level = self.search.levels - 1
        self.search.keep = Keep("energy", leakage_pj_per_cycle(self.search.accelerator))
        start = self.bounds.start()
        self.bounds.watch(start, level)
        for found in self.search._joined(self.bounds, start, level):
            for i in range(len(found)):
                yield found, i

    def spoken_of(self) -> dict[Leaf, Floats]:
        """The mappings of this subproblem, with the most that was known of each on its way; infinite: no pass spoke of
        it."""
        levels, bounds = self.search.levels, self.bounds
        found: dict[Leaf, Floats] = {}
        nothing = np.full(len(bounds.forms) + 1, np.inf)
        for partial, i in self.complete():
            states = [
                [int(bounds.rows[level][partial.rows[level][i], group]) for level in range(levels - 1, 0, -1)]
                for group in range(len(self.tables))
            ]
            passes = [bounds.cases[level][partial.passes[level][i]] for level in range(levels - 1)]
            low = self._most_known(partial.take(np.array([i])))
            for leaf in self.leaves.of(states, passes):
                known = found.setdefault(leaf, nothing)
                if all(self.means(*told) for told in zip(range(levels), passes, leaf.orders, strict=False)):
                    found[leaf] = low if known is nothing else np.maximum(low, known)
        return found

    def means(self, level: int, made: Pass, order: Order) -> bool:
        """Whether the loops of a level are all that a pass says of them."""
        loops = set(order)
        asked = made.loops <= loops and not made.idles & loops and all(some & loops for some in made.some)
        effects = zip(self.search.reuses, made.effects, strict=True)
        return asked and made.covers(order) and all(is_effect(level, one, effect, order) for one, effect in effects)

    def _most_known(self, partial: Partial) -> Floats:
        lows = [self.bounds.known[keys_of(partial, level)[0]] for level in range(self.search.levels)]
        return np.append(np.max(lows, axis=0), partial.cycles)


def is_effect(level: int, reuse: Reuse, effect: Effect, order: Order) -> bool:
    """Whether a level's loops do to one tensor what `Effect` says of its kind."""
    moving = [d for d in order if d not in reuse.puts]
    innermost = moving[-1] if moving else ""
    put = not order or order[-1] in reuse.puts
    return {
        "moved": not put and innermost not in reuse.slides,
        "reused": put and innermost not in reuse.slides and bool(moving or level == 0),
        "fixed": not moving,
        "slid": innermost == effect.head and put is effect.put,
    }[effect.kind]


def costs_of(nests: Nests, accelerator: Accelerator) -> Floats:
    """Energy, leakage apart, cycles of every limited port and steps of compute (figures, mappings); infinite where it
    does not fit."""
    ports = port_names(nests.einsum, accelerator, nests.keeps)
    out = np.full((2 + len(ports), len(nests)), np.inf)
    fitting = np.flatnonzero(fits_nests(nests, accelerator))
    if fitting.size:
        for rows, geometry in groups(nests.take(fitting).without_unit_slots()):
            found = evaluate_nests(geometry.nests, accelerator)
            leaked = leakage_pj_per_cycle(accelerator) * found.costs.cycles
            cycles = [found.bounds[name] for name in (*ports, "compute")]
            out[:, fitting[rows]] = [found.costs.energy_pj - leaked, *cycles]
    return out


def port_names(einsum: Einsum, accelerator: Accelerator, keeps: Keeps) -> list[str]:
    """Names of the ports that have a form, in the order of the forms."""
    return [
        f"{buffer.name} {port}"
        for level in accelerator.levels
        for buffer in level.buffers
        for port, _ in port_bandwidths(buffer)
        if port_forms(einsum, only(accelerator, buffer.name, port), keeps)
    ]


def only(accelerator: Accelerator, name: str, port: str) -> Accelerator:
    """With no other port limited."""
    levels = []
    for level in accelerator.levels:
        buffers = []
        for buffer in level.buffers:
            kept = {each: width for each, width in port_bandwidths(buffer) if (buffer.name, each) == (name, port)}
            read, write, shared = (kept.get(each) for each in ("read", "write", "shared"))
            buffers.append(replace(buffer, read_bandwidth=read, write_bandwidth=write, shared_bandwidth=shared))
        levels.append(replace(level, buffers=tuple(buffers)))
    return replace(accelerator, levels=tuple(levels))


def subproblems(search: Search) -> Iterator[tuple[Subproblem, Floats | None]]:
    """Every choice of kept tensors and class of lanes, and a quick bound on its mappings; None where nothing fits."""
    lanes = search.lanes
    first, _ = lanes.classes
    for keeps in search.keeps:
        quick = Quick(search.space, search.factors, lanes, lanes.choices[first], keeps)
        forms, cycles = search._forms(search.keeps.index(keeps)), Waits(search.space, keeps).by_lanes(lanes, first)
        low = np.stack([quick.form(form) for form in forms]) if quick.fits else None
        for number in range(len(first)):
            quick_bound = None if low is None else np.append(low[:, number], cycles[number])
            yield Subproblem(search, keeps, number), quick_bound


def batches(leaves: Sequence[Leaf]) -> Iterator[Sequence[Leaf]]:
    for start in range(0, len(leaves), BATCH):
        yield leaves[start : start + BATCH]


SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_mapping_costs_less_than_what_was_known_of_it(seed: int) -> None:
    problem = random_problem(random.Random(f"bounds {seed}"), 5_000, 150)
    accelerator = problem.accelerator
    every = exhaustive.ranking(replace(problem, metric="energy", top=1 << 30))
    covered = set()
    for subproblem, quick in subproblems(Search(space_of(problem))):
        known = subproblem.spoken_of()
        for leaves in batches(list(known)):
            nests = nests_of(subproblem.search.space, subproblem.keeps, leaves)
            costs = costs_of(nests, accelerator)
            low = np.stack([known[leaf] for leaf in leaves], axis=1)
            wrong = [
                f"{nest_text(nests, i, accelerator)}: {low[:, i]} of {costs[:, i]}"
                for i in np.flatnonzero((low > costs * EXACT + 1e-9).any(axis=0)).tolist()
            ]
            assert not wrong, describe(problem)
            fitting = np.isfinite(costs[0])
            assert quick is not None or not fitting.any()
            assert quick is None or (quick[:, None] <= costs * EXACT + 1e-9).all(), describe(problem)
            covered |= {nest_text(nests, i, accelerator) for i in np.flatnonzero(fitting).tolist()}
    assert {entry.text for entry in every} <= covered, describe(problem)


def space_of(problem: Problem) -> Mapspace:
    """The mapspace, even if no mapping satisfies the constraints."""
    return Mapspace(problem.einsum, problem.accelerator, problem.partitioning, problem.constraints)


def nest_text(nests: Nests, row: int, accelerator: Accelerator) -> str:
    return str(nests.nest(row, accelerator.level_names, accelerator.open_levels))


# A real layer ---------------------------------------------------------------------------------------------------------

STRUCTURES, EACH = 20, 100
"""Combinations of loop orders, and how many mappings of each: 2,000 in all."""


@pytest.mark.parametrize("phase", [Phase.bw, Phase.wu])
def test_no_random_mapping_of_a_real_layer_beats_the_search_or_its_bounds(phase: Phase) -> None:
    layer = next(one for one in load_network("resnet18", batch=4).layers if one.name == "layer3.0.conv2")
    (part,) = layer.parts(phase)
    einsum, accelerator = part.einsum, load_arch("procrustes")
    problem = Problem(einsum, accelerator, parse_partitioning("KN", einsum.dimensions), top=1)
    best = {metric: solve(replace(problem, metric=metric)).ranked[0].evaluation for metric in ("edp", "cycles")}
    search, rng = Search(space_of(problem)), np.random.default_rng(0)
    every = list(subproblems(search))
    compared = 0
    for number in rng.choice(len(every), STRUCTURES):
        subproblem, quick = every[number]
        nests, rows = random_mappings(subproblem, rng)
        costs = costs_of(nests, accelerator)
        start = subproblem.bounds.start()
        low = subproblem.bounds.lower(start, search.levels - 1)[:, rows]
        assert (low <= costs[:-1] * EXACT).all()
        assert quick is not None
        assert (quick[:, None] <= costs * EXACT).all()
        values = rank_costs(nests, accelerator)
        assert (values.cycles >= best["cycles"].cycles).all()
        assert (values.edp >= best["edp"].edp_pj_cycles).all()
        compared += len(nests)
    assert compared == STRUCTURES * EACH


def random_mappings(subproblem: Subproblem, rng: np.random.Generator) -> tuple[Nests, Ints]:
    """Mappings that fit, random chains in random orders, and the row of each at the innermost level."""
    space, tables, level = subproblem.search.space, subproblem.tables, subproblem.search.levels - 1
    orders = tuple(tuple(rng.permutation(space.looped).tolist()) for _ in range(level + 1))
    table_of = {d: i for i, table in enumerate(tables) for d in table.members}
    row_of = {tuple(states): row for row, states in enumerate(subproblem.bounds.rows[level].tolist())}
    factors, rows = list[list[int]](), list[int]()
    while len(rows) < EACH:
        tried = [rng.integers(table.size, size=2_000) for table in tables]
        every = np.concatenate([tables[table_of[d]].rows[d][tried[table_of[d]]] for d in space.looped], axis=1)
        fitting = np.flatnonzero(fits_nests(space.nests(orders, subproblem.keeps, every), space.accelerator))
        states = np.stack([table.state_of[level][i] for table, i in zip(tables, tried, strict=True)], axis=1)
        factors += every[fitting].tolist()
        rows += [row_of[tuple(found)] for found in states[fitting].tolist()]
    return space.nests(orders, subproblem.keeps, np.array(factors[:EACH])), np.array(rows[:EACH])
