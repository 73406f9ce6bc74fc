"""How far to trust a page: statements that are good, ask for attention or only inform, in a panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mapper.report.page.checked import number
from mapper.report.page.html import Html, tag
from mapper.report.page.shown import counted
from mapper.report.page.table import Row

NAMED = 8
"""Rankings, layers or mappings that one statement names."""


@dataclass(frozen=True)
class Line:
    """One statement; `good` False asks for attention, None only informs."""

    text: str
    good: bool | None
    details: tuple[str, ...] = ()


def trust_panel(lines: Iterable[Line]) -> Html:
    """The panel."""
    return tag("div", tag("h3", "How far to trust it"), tag("ul", map(_item, lines), class_="trust"), class_="panel")


def _item(line: Line) -> Html:
    kind, mark = {True: ("good", "✓"), False: ("bad", "!"), None: ("", "·")}[line.good]
    more = tag("ul", (tag("li", text) for text in line.details)) if line.details else None
    return tag(
        "li", tag("span", mark, class_="sign", aria_hidden="true"), tag("div", line.text, more), class_=kind or None
    )


def certificate(first: Sequence[Row]) -> Iterator[Line]:
    """Whether all rankings are proven, of which `first` are the first mappings."""
    proven = [row for row in first if row["optimal"] == "True"]
    every = counted(len(first), "ranking")
    if not first:
        yield Line("No ranking has a mapping.", False)
    elif len(proven) == len(first):
        yield Line(f"Optimal: {every}, all proven; no mapping is better.", True)
    else:
        gap = max(number(row, "gap") for row in first)
        text = f"Not all optimal: {len(proven):,} of {every} are proven; the others are the best mappings found"
        yield Line(f"{text}, at most {100 * gap:.2g} % from the optimum.", False)


def without_mapping(failed: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """Rankings without a mapping, as (ranking, reason)."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in failed:
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        text = counted(len(names), "ranking has", "rankings have")
        yield Line(f"{text} no mapping: {reason}.", False, few(names))


def ended_early(problems: Mapping[str, Any]) -> Iterator[Line]:
    """What a manifest says of a search or sweep that was stopped."""
    if problems.get("stopped"):
        done = f"{problems.get('finished', 0):,} of {problems.get('searches', 0):,} searches were finished"
        yield Line(f"The search ended early ({problems['stopped']}): {done}.", False)


def few(names: Sequence[str]) -> tuple[str, ...]:
    """The first of many names, and how many more there are."""
    more = (f"and {len(names) - NAMED:,} more",) if len(names) > NAMED else ()
    return (*names[:NAMED], *more)
