"""Everything that the sections of a run's page read, found once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mapper.report.figures import mapping_figures, run_figures
from mapper.report.page.figure import can_draw
from mapper.report.page.run.explained import Explained, Explanations, explanations, weight
from mapper.report.page.run.source import Source

OF_MAPPING = "mapping_"
"""What the files of a mapping's figures begin with."""


@dataclass(frozen=True)
class View:
    """A run, its best mappings explained, and its drawings by name; none where matplotlib is not installed.

    `heaviest` is the explained mapping with the highest metric times repeats, None where none could be evaluated.
    """

    source: Source
    told: Explanations
    heaviest: Explained | None
    figures: Mapping[str, bytes]
    mapping_figures: Mapping[str, bytes]


def look(source: Source) -> View:
    """Explain and draw a run."""
    told = explanations(source)
    heaviest = _heaviest(source, told)
    return View(source, told, heaviest, *_drawn(source, heaviest, "svg"))


def drawings(view: View, form: str) -> dict[str, bytes]:
    """All figures of a page as `svg` or `png`; the names of those of the heaviest mapping begin with `OF_MAPPING`."""
    both = (view.figures, view.mapping_figures) if form == "svg" else _drawn(view.source, view.heaviest, form)
    return {
        f"{start}{name}": data
        for start, found in zip(("", OF_MAPPING), both, strict=True)
        for name, data in found.items()
    }


def _drawn(source: Source, heaviest: Explained | None, form: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    if not can_draw():
        return {}, {}
    evaluation = None if heaviest is None else heaviest.evaluation
    return run_figures(source.results, form), {} if evaluation is None else mapping_figures(evaluation, form)


def _heaviest(source: Source, told: Explanations) -> Explained | None:
    found = [entry for entry in told.found if entry.evaluation is not None]
    return max(found, key=lambda entry: max(weight(source, row) for row in entry.rows), default=None)
