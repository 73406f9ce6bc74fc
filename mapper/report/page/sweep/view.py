"""Everything that the sections of a sweep's page read, found once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mapper.report.figures import sweep_figures
from mapper.report.page.figure import can_draw
from mapper.report.page.sweep.source import Source


@dataclass(frozen=True)
class View:
    """A sweep, and its drawings by name; none where matplotlib is not installed."""

    source: Source
    figures: Mapping[str, bytes]


def look(source: Source) -> View:
    """Draw a sweep."""
    return View(source, _drawn(source, "svg"))


def drawings(view: View, form: str) -> Mapping[str, bytes]:
    """All figures of a page, as `svg` or `png`."""
    return view.figures if form == "svg" else _drawn(view.source, form)


def _drawn(source: Source, form: str) -> dict[str, bytes]:
    return sweep_figures(source.name, source.axes, source.typed_totals, form) if can_draw() else {}
