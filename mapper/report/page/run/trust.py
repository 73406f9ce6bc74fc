"""How far to trust a run: its certificate, what came out when mappings were evaluated again, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mapper.report.page.html import Html
from mapper.report.page.run.source import Source, place
from mapper.report.page.run.view import View
from mapper.report.page.shown import counted
from mapper.report.page.statements import Line, certificate, ended_early, few, trust_panel, without_mapping


def trust(view: View) -> Html:
    """The panel."""
    first = [row for row in view.source.mappings if row["rank"] == "1"]
    return trust_panel([*certificate(first), *_again(view), *_problems(view.source), *_skipped(view.source)])


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
        yield Line(f"{text} out differently when evaluated again; the tables hold what was found.", False, few(differ))
    yield from (Line(f"{text[:1].upper()}{text[1:]}.", False) for text in told.warnings)


def _problems(source: Source) -> Iterator[Line]:
    """What the search could not do."""
    problems: dict[str, Any] = source.manifest.get("problems") or {}
    yield from without_mapping((entry["ranking"], entry["reason"]) for entry in problems.get("failed") or [])
    yield from ended_early(problems)
    unfinished = [str(name) for name in problems.get("unfinished") or []]
    if unfinished:
        text = counted(len(unfinished), "ranking was", "rankings were")
        yield Line(f"{text} not finished.", False, few(unfinished))


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
        yield Line(f"bw is not searched for {', '.join(few(skipped))}: training does not need it.", None)
