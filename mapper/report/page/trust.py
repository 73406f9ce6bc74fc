"""How far to trust a run: its certificate, what came out when mappings were evaluated again, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mapper.report.page.html import Html, tag
from mapper.report.page.shown import counted
from mapper.report.page.source import Source, number, place
from mapper.report.page.view import View

NAMED = 8
"""Rankings, layers or mappings that one line names."""


@dataclass(frozen=True)
class Line:
    """One statement; `good` False asks for attention, None only informs."""

    text: str
    good: bool | None
    details: tuple[str, ...] = ()


def trust(view: View) -> Html:
    """The panel."""
    lines = [*_certificate(view.source), *_again(view), *_problems(view.source), *_skipped(view.source)]
    return tag("div", tag("h3", "How far to trust it"), tag("ul", map(_item, lines), class_="trust"), class_="panel")


def _item(line: Line) -> Html:
    kind, mark = {True: ("good", "✓"), False: ("bad", "!"), None: ("", "·")}[line.good]
    more = tag("ul", (tag("li", text) for text in line.details)) if line.details else None
    return tag(
        "li", tag("span", mark, class_="sign", aria_hidden="true"), tag("div", line.text, more), class_=kind or None
    )


def _certificate(source: Source) -> Iterator[Line]:
    first = [row for row in source.mappings if row["rank"] == "1"]
    proven = [row for row in first if row["optimal"] == "True"]
    every = counted(len(first), "ranking")
    if len(proven) == len(first):
        yield Line(f"Optimal: {every}, all proven; no mapping is better.", True)
    else:
        gap = max(number(row, "gap") for row in first)
        text = f"Not all optimal: {len(proven):,} of {every} are proven; the others are the best mappings found"
        yield Line(f"{text}, at most {100 * gap:.2g} % from the optimum.", False)


def _again(view: View) -> Iterator[Line]:
    """Whether the tables say what the model says now."""
    told = view.told
    mappings = [(entry, row) for entry in told.found for row in entry.rows]
    differ = [place(row) for entry, row in mappings if entry.evaluation is not None and not entry.same]
    same = sum(entry.same for entry, _ in mappings)
    if same:
        text = counted(same, "mapping was", "mappings were")
        yield Line(f"{text} evaluated again: cycles and energy are those of the tables.", True)
    if differ:
        text = counted(len(differ), "mapping comes", "mappings come")
        yield Line(f"{text} out differently when evaluated again; the tables hold what was found.", False, _few(differ))
    yield from (Line(f"{text[:1].upper()}{text[1:]}.", False) for text in told.warnings)


def _problems(source: Source) -> Iterator[Line]:
    """What the search could not do."""
    problems: dict[str, Any] = source.manifest.get("problems") or {}
    failed: dict[str, list[str]] = {}
    for entry in problems.get("failed") or []:
        failed.setdefault(str(entry["reason"]), []).append(str(entry["ranking"]))
    for reason, names in failed.items():
        text = counted(len(names), "ranking has", "rankings have")
        yield Line(f"{text} no mapping: {reason}.", False, _few(names))
    if problems.get("stopped"):
        done = f"{problems.get('finished', 0):,} of {problems.get('searches', 0):,} searches were finished"
        yield Line(f"The search ended early ({problems['stopped']}): {done}.", False)
    unfinished = [str(name) for name in problems.get("unfinished") or []]
    if unfinished:
        text = counted(len(unfinished), "ranking was", "rankings were")
        yield Line(f"{text} not finished.", False, _few(unfinished))


def _skipped(source: Source) -> Iterator[Line]:
    """Layers without backward-data, because training does not need it."""
    if "bw" not in {row["phase"] for row in source.mappings} or source.manifest.get("input_gradients"):
        return
    problems = source.manifest.get("problems") or {}
    missing = {str(entry["ranking"]).split()[0] for entry in problems.get("failed") or []}
    missing |= {str(name).split()[0] for name in problems.get("unfinished") or []}
    has = {row["layer"] for row in source.mappings if row["phase"] == "bw"}
    layers = dict.fromkeys(row["layer"] for row in source.mappings)
    skipped = [layer for layer in layers if layer not in has and layer not in missing]
    if skipped:
        yield Line(f"bw is not searched for {', '.join(_few(skipped))}: training does not need it.", None)


def _few(names: list[str]) -> tuple[str, ...]:
    more = (f"and {len(names) - NAMED:,} more",) if len(names) > NAMED else ()
    return (*names[:NAMED], *more)
