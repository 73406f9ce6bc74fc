"""Designs, partitionings, phases or runs side by side: the same work, each against one of them, the baseline.

A side holds what every layer and phase costs (`mapper.report.sides`). Only what all sides have in full is compared. A
ratio above 1 is better than the baseline. The geometric mean is that of the layers' own ratios, each layer as often as
it is repeated; in `all` a layer's ratio is that of its phases together.

>>> geometric_mean([(4.0, 1), (0.5, 2)])
1.0
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mapper.errors import InputError, did_you_mean
from mapper.report.sides import Cost, Place, Side
from mapper.report.totals import ALL
from mapper.workload import Phase

BY = ("design", "partitioning", "phase")
"""What the sides of a comparison are."""


@dataclass(frozen=True)
class Measure:
    """A figure of `Cost`, and the name of its ratio, which is above 1 where it is better than the baseline's."""

    figure: str
    ratio: str
    more_is_better: bool = False

    def against(self, base: Cost, other: Cost) -> float | None:
        """The ratio; None where a figure is missing or the ratio has no value, as to 0 cycles."""
        a, b = getattr(base, self.figure), getattr(other, self.figure)
        if a is None or b is None:
            return None
        if a == b:
            return 1.0
        above, below = (b, a) if self.more_is_better else (a, b)
        return above / below if below else None


MEASURES = (
    Measure("cycles", "speedup"),
    Measure("energy_pj", "energy_saving"),
    Measure("edp_pj_cycles", "edp_gain"),
    Measure("utilization", "utilization_gain", more_is_better=True),
)

Ratios = Mapping[str, float | None]


@dataclass(frozen=True)
class LayerLine:
    """One layer of the side `name` in a phase, once, against the baseline."""

    phase: str
    layer: str
    repeat: int
    name: str
    partitionings: str
    cost: Cost
    ratios: Ratios


@dataclass(frozen=True)
class TotalLine:
    """A side in a phase, every layer times its repeat, against the baseline; `means` are geometric, over layers."""

    phase: str
    name: str
    layers: int
    layers_repeated: int
    cost: Cost
    ratios: Ratios
    means: Ratios


@dataclass(frozen=True)
class LeftOut:
    """A layer and phase that is not compared: the sides that did not search it, and those without all its mappings."""

    layer: str
    phase: str
    unsearched: tuple[str, ...]
    unmapped: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Sides of the same work. `by` is one of `BY`."""

    sides: tuple[Side, ...]
    baseline: Side
    places: tuple[Place, ...]
    left_out: tuple[LeftOut, ...]
    by: str = BY[0]

    @cached_property
    def phases(self) -> tuple[str, ...]:
        """The compared phases in the order of training, then `ALL`."""
        found = {phase for _, phase in self.places}
        return (*(str(phase) for phase in Phase if phase in found), ALL)

    @cached_property
    def layers(self) -> tuple[LayerLine, ...]:
        """Phases, in each the layers as in the network, of each the sides."""
        return tuple(
            self._layer(phase, layer, places, side)
            for phase in self.phases
            for layer, places in self._by_layer(phase).items()
            for side in self.sides
        )

    @cached_property
    def totals(self) -> tuple[TotalLine, ...]:
        """Phases, in each the sides."""
        return tuple(self._total(phase, side) for phase in self.phases for side in self.sides)

    def _in(self, phase: str) -> list[Place]:
        return [place for place in self.places if phase in (ALL, place[1])]

    def _by_layer(self, phase: str) -> dict[str, list[Place]]:
        found: dict[str, list[Place]] = defaultdict(list)
        for place in self._in(phase):
            found[place[0]].append(place)
        return found

    def _layer(self, phase: str, layer: str, places: list[Place], side: Side) -> LayerLine:
        pieces = [piece for place in places for piece in side.pieces[place]]
        cost = side.cost(places, repeated=False)
        names = "+".join(dict.fromkeys(piece.partitioning for piece in pieces))
        ratios = _ratios(self.baseline.cost(places, repeated=False), cost)
        return LayerLine(phase, layer, pieces[0].repeat, side.name, names, cost, ratios)

    def _total(self, phase: str, side: Side) -> TotalLine:
        places = self._in(phase)
        lines = [line for line in self.layers if line.phase == phase and line.name == side.name]
        cost = side.cost(places)
        means = {m.ratio: geometric_mean((line.ratios[m.ratio], line.repeat) for line in lines) for m in MEASURES}
        repeats = sum(line.repeat for line in lines)
        return TotalLine(phase, side.name, len(lines), repeats, cost, _ratios(self.baseline.cost(places), cost), means)


def compare(sides: Sequence[Side], baseline: str | None = None, by: str = BY[0]) -> Comparison:
    """`sides` against the one called `baseline`, the first where it is not given.

    Raises `InputError` where there is nothing to compare, and where the sides did not do the same work: the MACs or the
    repeat of a layer differ. Between phases they may.
    """
    if len(sides) < 2:
        raise InputError(f"one {by} alone has nothing to be compared with", hint="give at least two")
    sides = _told_apart(sides)
    names = [side.name for side in sides]
    if baseline is not None and baseline not in names:
        raise InputError(f"nothing compared is called '{baseline}'", "--baseline", did_you_mean(baseline, names))
    asked = list(dict.fromkeys(place for side in sides for place in (*side.pieces, *side.known)))
    common = tuple(place for place in asked if all(place in side.pieces for side in sides))
    left = tuple(_left_out(place, sides) for place in asked if place not in common)
    if not common:
        raise InputError(f"no layer and phase has its mappings in all of them: {', '.join(names)}", hint=_why(left))
    base = sides[0 if baseline is None else names.index(baseline)]
    if by != "phase":
        _check_work(base, sides, common)
    return Comparison(sides, base, common, left, by)


def geometric_mean(ratios: Iterable[tuple[float | None, int]]) -> float | None:
    """Of ratios and how often each counts; None where one has no value or is 0."""
    counted = [(ratio, count) for ratio, count in ratios if count]
    if not counted or any(not ratio for ratio, _ in counted):
        return None
    logs = math.fsum(count * math.log(ratio) for ratio, count in counted if ratio)
    return math.exp(logs / sum(count for _, count in counted))


def _ratios(base: Cost, other: Cost) -> Ratios:
    return {measure.ratio: measure.against(base, other) for measure in MEASURES}


def _told_apart(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Sides with names of their own: the second of a name has a 2 behind it."""
    names = [side.name for side in sides]
    counts = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return tuple(
        side if count == 1 else replace(side, name=f"{side.name} ({count})")
        for side, count in zip(sides, counts, strict=True)
    )


def _left_out(place: Place, sides: Iterable[Side]) -> LeftOut:
    missing = [side for side in sides if place not in side.pieces]
    unsearched = tuple(side.name for side in missing if place not in side.known)
    return LeftOut(*place, unsearched, tuple(side.name for side in missing if side.name not in unsearched))


def _why(left: Sequence[LeftOut]) -> str:
    if not left:
        return "the layers and phases that are asked for were not searched"
    return f"{left[0].layer} {left[0].phase} is not in {', '.join((*left[0].unsearched, *left[0].unmapped))}"


def _check_work(base: Side, sides: Iterable[Side], places: Iterable[Place]) -> None:
    """Raises `InputError` where a layer asks for another number of MACs, or is there another number of times."""
    for place in places:
        for side in sides:
            mine, other = base.pieces[place], side.pieces[place]
            works = {
                "MACs": (sum(piece.macs for piece in mine), sum(piece.macs for piece in other)),
                "times": (mine[0].repeat, other[0].repeat),
            }
            for unit, (expected, got) in works.items():
                if expected != got:
                    each = f"{expected:,} {unit} in {base.name}, {got:,} in {side.name}"
                    batches = [f"batch {one.manifest['batch']}" for one in (base, side) if "batch" in one.manifest]
                    hint = " and ".join(dict.fromkeys(batches)) or None
                    raise InputError(f"{' '.join(place)} is not the same work: {each}", hint=hint)
