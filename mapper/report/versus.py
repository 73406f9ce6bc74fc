"""Why one mapping beats another: where their loops, cycles, energies and counts differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mapper.cost import Evaluation
from mapper.mapping import LoopNest, format_loop
from mapper.report.layout import Cell, number, on_page, portion, table, wrapped

MOST = 8
"""Counts that are listed, those that change the energy most."""


@dataclass(frozen=True)
class Place:
    """Loops of one place (a level, or an axis of its fan-out) in both mappings."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class Difference:
    """A number in both mappings, what it is of, and how much the energy differs for it."""

    what: str
    first: int | float
    second: int | float
    energy_pj: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """Two mappings of one einsum on one accelerator. Only what differs is listed; counts by what they cost."""

    names: tuple[str, str]
    places: tuple[Place, ...]
    cycles: tuple[Difference, ...]
    energies: tuple[Difference, ...]
    counts: tuple[Difference, ...]
    first: Evaluation
    second: Evaluation


def compare(first: Evaluation, second: Evaluation, names: tuple[str, str]) -> Comparison:
    """What differs between two mappings, called by `names`."""
    return Comparison(
        names,
        tuple(_places(first.mapping, second.mapping)),
        tuple(_differences(first.bounds, second.bounds)),
        tuple(_differences(first.energy_by("component"), second.energy_by("component"))),
        tuple(sorted(_counts(first, second), key=lambda d: -abs(d.energy_pj))),
        first,
        second,
    )


def _places(first: LoopNest, second: LoopNest) -> Iterator[Place]:
    for one, other in zip(first.levels, second.levels, strict=True):
        for kind in ("t", "x", "y"):
            texts = [" ".join(format_loop(*loop) for loop in level.loops(kind)) for level in (one, other)]
            if kind == "t" and one.keeps != other.keeps:
                texts = [
                    f"[{','.join(sorted(level.keeps or ()))}] {text}"
                    for level, text in zip((one, other), texts, strict=True)
                ]
            if texts[0] != texts[1]:
                yield Place(one.name if kind == "t" else f"{one.name} {kind.upper()}", texts[0], texts[1])


def _differences(
    first: dict[str, int] | dict[str, float], second: dict[str, int] | dict[str, float]
) -> list[Difference]:
    names = [*first, *(name for name in second if name not in first)]
    pairs = [(name, first.get(name, 0), second.get(name, 0)) for name in names]
    return [Difference(*pair, energy_pj=pair[2] - pair[1]) for pair in pairs if pair[1] != pair[2]]


def _counts(first: Evaluation, second: Evaluation) -> Iterator[Difference]:
    sides = [{(i.component, i.tensor, i.action): i for i in found.items} for found in (first, second)]
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        counts = [side[key].count if key in side else 0 for side in sides]
        energies = [side[key].energy_pj if key in side else 0.0 for side in sides]
        if energies[0] != energies[1]:
            component, tensor, action = key
            what = f"{component} {action} of {tensor}" if tensor else f"{component} {action}"
            yield Difference(what, counts[0], counts[1], energies[1] - energies[0])


def render(found: Comparison) -> str:
    """The comparison as text."""
    header = ("", *found.names)
    lines = [_verdict(found), ""]
    if found.places:
        places = [(place.name, place.first or "-", place.second or "-") for place in found.places]
        lines += ["Loops that differ", *table(header, places), ""]
    if found.cycles:
        rows = [(d.what, d.first, d.second, _change(d.first, d.second)) for d in found.cycles]
        lines += ["Cycles that differ", *table((*header, "change"), rows), ""]
    if found.energies:
        energies: list[tuple[Cell, ...]] = [(d.what, d.first, d.second, _signed(d.energy_pj)) for d in found.energies]
        lines += ["Energy that differs, pJ", *table((*header, "more"), energies), ""]
    if found.counts:
        counts = [(d.what, d.first, d.second, _signed(d.energy_pj)) for d in found.counts[:MOST]]
        lines += ["Counts that make the difference", *table((*header, "more pJ"), counts)]
        if len(found.counts) > MOST:
            rest = sum(d.energy_pj for d in found.counts[MOST:])
            lines.append(f"  and {len(found.counts) - MOST} smaller ones, {_signed(rest)} pJ together")
        lines.append("")
    return on_page(lines[:-1])


def _verdict(found: Comparison) -> str:
    """One sentence: cycles, energy, and what tips the scales."""
    one, other = found.first, found.second
    pieces = [_compared("cycles", one.cycles, other.cycles), _compared("energy", one.energy_pj, other.energy_pj)]
    text = f"{found.names[0]} against {found.names[1]}: {pieces[0]}, {pieces[1]}"
    text += f", {_compared('energy-delay product', one.edp_pj_cycles, other.edp_pj_cycles)}"
    if found.counts:
        top = found.counts[0]
        text += f"; most of it from {top.what}, {top.first:,} against {top.second:,}"
    elif one.cycles == other.cycles:
        text += ": they tie, and the order of their texts decides"
    return "\n".join(wrapped(text, 0))


def _compared(what: str, first: float, second: float) -> str:
    if first == second:
        return f"the same {what}"
    share = abs(second - first) / second if second else 1.0
    return f"{portion(share)} {'less' if first < second else 'more'} {what}"


def _change(first: float, second: float) -> str:
    return f"{100 * (second - first) / first:+.1f} %" if first else "new"


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '-'}{number(abs(value))}"
