"""What stands side by side in a comparison: what every layer and phase of a run costs, of each part one mapping.

Of each part it is the first mapping, under the partitioning with the lowest metric, as `best` in
`mapper.report.totals`. A layer and phase counts with all its parts or not at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, cast

from mapper.errors import InputError, did_you_mean
from mapper.report.comparison_rows import check_rows
from mapper.report.results import Results
from mapper.report.totals import ALL, BEST
from mapper.search.rows import METRIC_COLUMNS
from mapper.workload import Phase

LARGE = 10**18
"""More compute units than any accelerator has."""

Place = tuple[str, str]
"""A layer and a phase; `ALL` as the phase where the phases themselves are the sides."""


@dataclass(frozen=True)
class Piece:
    """What the first mapping of one part costs under one partitioning, once."""

    layer: str
    phase: str
    part: str
    partitioning: str
    repeat: int
    macs: int
    effectual_macs: float
    cycles: int
    energy_pj: float
    edp_pj_cycles: float
    optimal: bool


@dataclass(frozen=True)
class Cost:
    """Sums over pieces. `pes` is None where a run does not tell it."""

    macs: int
    effectual_macs: float
    cycles: int
    energy_pj: float
    pes: int | None

    @property
    def edp_pj_cycles(self) -> float:
        return self.energy_pj * self.cycles

    @property
    def utilization(self) -> float | None:
        """Effectual multiply-accumulates per cycle and compute unit."""
        return self.effectual_macs / (self.cycles * self.pes) if self.cycles and self.pes else None


@dataclass(frozen=True)
class Side:
    """What is compared: the pieces of every layer and phase that has all its parts.

    `known` are the layers and phases that were asked for, with a mapping or without; `found` and `manifest` say under
    which terms.
    """

    name: str
    pieces: Mapping[Place, tuple[Piece, ...]]
    known: tuple[Place, ...]
    found: Results
    manifest: Mapping[str, Any]

    @property
    def pes(self) -> int | None:
        compute = self.found.limits.get("compute")
        units = compute.get("units") if isinstance(compute, Mapping) else None
        return units if type(units) is int and 0 < units < LARGE else None

    def cost(self, places: Iterable[Place], repeated: bool = True) -> Cost:
        """The sum over layers and phases, each layer times its repeat or once."""
        found = [(p.repeat if repeated else 1, p) for place in places for p in self.pieces[place]]
        return Cost(
            sum(repeat * piece.macs for repeat, piece in found),
            sum(repeat * piece.effectual_macs for repeat, piece in found),
            sum(repeat * piece.cycles for repeat, piece in found),
            math.fsum(repeat * piece.energy_pj for repeat, piece in found),
            self.pes,
        )


def side(
    found: Results,
    partitionings: Iterable[str] | None = None,
    name: str | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> Side:
    """A run, of each part the best of `partitionings`, of all that it has where they are not given.

    `manifest` is that of the run, or the entries of one that are known. Raises `InputError` for a partitioning that the
    run has not, and for tables that are not those of a search.
    """
    every = pieces(found)
    names = matching(partitionings, {piece.partitioning: None for piece in every}, "partitioning", "--partition")
    chosen = [piece for piece in every if piece.partitioning in names]
    known = dict.fromkeys([*((piece.layer, piece.phase) for piece in every), *_without_mapping(manifest or {})])
    mapped = complete(best(chosen, found.metric))
    return Side(name or found.name, mapped, tuple(known), found, manifest or {})


def by_partitioning(
    found: Results, partitionings: Iterable[str] | None = None, manifest: Mapping[str, Any] | None = None
) -> tuple[Side, ...]:
    """Every partitioning of a run, or those that are named, and the best of them for each layer and part."""
    present = {piece.partitioning: None for piece in pieces(found)}
    names = matching(partitionings, present, "partitioning", "--partition")
    if len(names) < 2:
        raise InputError(f"{found.name} has one partitioning to compare: {', '.join(names)}", "--by partitioning")
    return (*(side(found, [name], name, manifest) for name in names), side(found, names, BEST, manifest))


def by_phase(whole: Side) -> tuple[Side, ...]:
    """The phases of a side as sides of their own, compared layer by layer."""
    phases = [str(phase) for phase in Phase if any(phase == other for _, other in whole.known)]

    def of(phase: str) -> Side:
        found = {(layer, ALL): some for (layer, other), some in whole.pieces.items() if other == phase}
        known = tuple((layer, ALL) for layer, other in whole.known if other == phase)
        return replace(whole, name=phase, pieces=found, known=known)

    return tuple(map(of, phases))


def pieces(found: Results) -> list[Piece]:
    """The first mapping of every layer, phase, part and partitioning.

    Raises `InputError` where a row is not one that a search wrote.
    """
    check_rows(found.mappings, found.name)
    return [Piece(**{each.name: cast(Any, row[each.name]) for each in fields(Piece)}) for row in found.firsts()]


def best(every: Iterable[Piece], metric: str) -> dict[tuple[str, str, str], Piece]:
    """By layer, phase and part the piece with the lowest metric; of equals the first."""
    column = METRIC_COLUMNS.get(metric, METRIC_COLUMNS["edp"])
    found: dict[tuple[str, str, str], Piece] = {}
    for piece in every:
        place = (piece.layer, piece.phase, piece.part)
        found[place] = min(found.get(place, piece), piece, key=lambda p: (getattr(p, column), p.edp_pj_cycles))
    return found


def complete(found: Mapping[tuple[str, str, str], Piece]) -> dict[Place, tuple[Piece, ...]]:
    """Pieces by layer and phase, of those that have all their parts: `2/4` is one of four."""
    parts: dict[Place, list[Piece]] = defaultdict(list)
    for (layer, phase, _), piece in found.items():
        parts[layer, phase].append(piece)
    return {place: tuple(some) for place, some in parts.items() if len(some) == int(some[0].part.partition("/")[2])}


def matching(wanted: Iterable[str] | None, present: Iterable[str], what: str, option: str) -> list[str]:
    """Those of `present` that are `wanted`, whatever the case, in the order asked for; all where None is."""
    known = {name.lower(): name for name in present}
    if wanted is None:
        return list(known.values())
    chosen = list(dict.fromkeys(wanted))
    for name in chosen:
        if name.lower() not in known:
            raise InputError(f"no {what} '{name}' there", option, did_you_mean(name, known.values()))
    return list(dict.fromkeys(known[name.lower()] for name in chosen))


def _without_mapping(manifest: Mapping[str, Any]) -> Iterator[Place]:
    """Layers and phases with a ranking that failed or was not finished."""
    problems = manifest.get("problems")
    told = problems if isinstance(problems, Mapping) else {}
    lists = (some for key in ("failed", "unfinished") if isinstance(some := told.get(key), list))
    for ranking in chain.from_iterable(lists):
        words = str(ranking["ranking"] if isinstance(ranking, Mapping) else ranking).rsplit(" ", 3)
        yield words[0], words[min(1, len(words) - 1)]
