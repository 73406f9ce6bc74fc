"""The head of a sweep's page: its title, what varies and what does not, and the command that did it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mapper.report.page.columns import PHASES
from mapper.report.page.heading import hardware, head, on
from mapper.report.page.html import Html, tag
from mapper.report.page.shown import counted
from mapper.report.page.sweep.source import Source
from mapper.report.totals import ALL, BEST

MOST = 12
"""Values of an axis that are listed in full."""


def title(source: Source) -> str:
    """`big: resnet18 on procrustes`."""
    return f"{source.name}: {_several(source, 'network')} on {_several(source, 'arch')}"


def heading(source: Source) -> Html:
    """Title, a list of facts, the command line."""
    what = on(_several(source, "network"), _several(source, "arch"))
    return head([source.name, tag("span", ": ", class_="on"), what], _facts(source), source.manifest)


def phases(source: Source) -> tuple[str, ...]:
    """Phases that were asked for, in the order of training."""
    found = {row["phase"] for row in source.points}
    return tuple(phase for phase in PHASES if phase in found and phase != ALL)


def _facts(source: Source) -> Iterator[tuple[str, str]]:
    problems = source.manifest.get("problems") or {}
    searches = f"; {counted(problems['searches'], 'search', 'searches')}" if "searches" in problems else ""
    over = f" over {', '.join(source.axes)}" if source.axes else ""
    yield "Points", f"{counted(len(source.manifest['points']), 'point')}{over}{searches}"
    for axis in source.axes:
        yield axis, _listed(row[axis] for row in source.points if row[axis])
    limits = list(source.manifest["limits"].values())
    variants = f"{len(limits):,}; the first has {hardware(limits[0])}" if limits[1:] else ""
    yield "Accelerators" if limits[1:] else "Accelerator", variants or (hardware(limits[0]) if limits else "")
    yield "Phases", ", ".join(f"{phase} ({PHASES[phase]})" for phase in phases(source))
    yield "Partitionings", _listed(row["partitioning"] for row in source.points if row["partitioning"] != BEST)


def _several(source: Source, column: str) -> str:
    """`resnet18`, or how many: `3 networks`."""
    names = list(dict.fromkeys(row[column] for row in source.points))
    what = {"arch": "accelerators", "network": "networks"}[column]
    return names[0] if len(names) == 1 else f"{len(names):,} {what}"


def _listed(texts: Iterable[str]) -> str:
    """`8x8, 8x16`; of many values the first and the last."""
    values = list(dict.fromkeys(texts))
    if len(values) > MOST:
        return f"{', '.join(values[: MOST // 2])}, ... {values[-1]} ({len(values):,} values)"
    return ", ".join(values)
