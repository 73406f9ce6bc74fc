"""Where our figures and those of a simulator differ, and whether a difference is the one that is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from mapper.cost.latency import PORTS, port_bandwidths
from tests.golden.cases import Golden, slides
from tests.golden.convert import TIMELOOP_RMW, Convention, Counts, Key, converted, used_instances
from tests.golden.executed import executed_moves

Pairs = dict[Key, tuple[Fraction, int]]
"""Ours and theirs."""


def counts_of(case: Golden, convention: Convention) -> Counts:
    """Our counts as the simulator would print them."""
    return converted(case.evaluation, TIMELOOP_RMW if case.rmw else convention)


def unequal(case: Golden, convention: Convention, *, sliding: bool) -> Pairs:
    """Counts that differ, of the sliding tensors or of all others; what one side does not mention is 0 there."""
    return {key: pair for key, pair in _pairs(case, convention, sliding) if pair[0] != pair[1]}


def _pairs(case: Golden, convention: Convention, sliding: bool) -> Iterator[tuple[Key, tuple[Fraction, int]]]:
    ours, theirs = counts_of(case, convention), case.counts
    for key in sorted({*ours, *theirs}):
        if slides(case.einsum, key[1]) == sliding:
            yield key, (ours.get(key, Fraction(0)), theirs.get(key, 0))


def over_counted(cases: Iterable[Golden], convention: Convention) -> dict[tuple[str, ...], tuple[float, int]]:
    """Every figure of a sliding tensor that differs, ours and theirs, by case, level, tensor and action."""
    return {
        (case.name, *key): (float(ours), theirs)
        for case in cases
        for key, (ours, theirs) in unequal(case, convention, sliding=True).items()
    }


def unequal_sizes(case: Golden) -> dict[Key, tuple[int, int]]:
    """Tiles and used instances that differ. No tile of these cases has holes, so sliding tensors are no exception."""
    nests, names = case.evaluation.nests, case.evaluation.accelerator.level_names
    pairs = {}
    for (level, tensor, what), theirs in case.figures.items():
        if what == "instances":
            pairs[level, tensor, what] = used_instances(nests, names.index(level)), theirs
        elif what == "tile":
            pairs[level, tensor, what] = case.evaluation.tiles.get((level, tensor), 0), theirs
    return {key: (ours, theirs) for key, (ours, theirs) in pairs.items() if ours != theirs}


def sliding_faults(case: Golden, convention: Convention) -> Iterator[str]:
    """Figures of sliding tensors that are not what executing the nest gives, or above what the simulator printed.

    A figure that takes too long to execute must be equal to the simulator's.
    """
    names, executed = case.evaluation.accelerator.level_names, executed_moves(case.evaluation)
    for key, (mine, theirs) in _pairs(case, convention, sliding=True):
        true = Fraction(executed.get(key, 0), used_instances(case.evaluation.nests, names.index(key[0])))
        if key in executed and mine != true:
            yield f"{key}: closed form {mine}, executed {true}"
        if key not in executed and mine != theirs:
            yield f"{key}: {mine}, not executed, simulator {theirs}"
        if mine > theirs:
            yield f"{key}: {mine} is more than the simulator's {theirs}"


def cycles_with_their_windows(case: Golden, convention: Convention) -> int:
    """Cycles from our counts, those of sliding tensors replaced by what the simulator printed."""
    theirs = {key: Fraction(words) for key, words in case.counts.items() if slides(case.einsum, key[1])}
    counts = {**counts_of(case, convention), **theirs}
    cycles = [case.evaluation.bounds["compute"]]
    for level in case.evaluation.accelerator.levels:
        for port, bandwidth in port_bandwidths(level.buffers[0]):
            moved = (n for (at, _, action), n in counts.items() if at == level.name and action in PORTS[port])
            cycles.append(math.ceil(sum(moved, Fraction(0)) / bandwidth))
    return max(cycles)


def operand_energies(case: Golden) -> dict[tuple[str, str], float]:
    """Our picojoules per level and operand that does not slide."""
    names = {t.name for t in case.einsum.operands if not slides(case.einsum, t.name)}
    energies: dict[tuple[str, str], float] = {}
    for item in case.evaluation.items:
        if item.tensor in names:
            at = item.component, item.tensor
            energies[at] = energies.get(at, 0.0) + item.energy_pj
    return energies
