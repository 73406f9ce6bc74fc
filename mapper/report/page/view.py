"""Everything that the sections of a run's page read, found once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from mapper.report.figures import mapping_figures, run_figures
from mapper.report.page import captions
from mapper.report.page.explained import Explained, Explanations, explanations
from mapper.report.page.source import Source, number

FORMS = ("svg", "png")
"""A figure for a page or a vector program, and one for everything else."""
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
    return View(source, told, heaviest, *drawings(source, heaviest, "svg"))


def drawings(source: Source, heaviest: Explained | None, form: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The figures of the run and those of its heaviest mapping, as `svg` or `png`."""
    if find_spec("matplotlib") is None:
        return {}, {}
    evaluation = None if heaviest is None else heaviest.evaluation
    return run_figures(source.results, form), {} if evaluation is None else mapping_figures(evaluation, form)


def figure_files(view: View) -> dict[str, bytes]:
    """Every figure of a page as files: `energy.svg`, `energy.png`; those of the heaviest mapping as `mapping_*`."""
    found = {"svg": (view.figures, view.mapping_figures), "png": drawings(view.source, view.heaviest, "png")}
    return {
        f"{prefix}{name}.{form}": data
        for form, both in found.items()
        for prefix, drawn in zip(("", OF_MAPPING), both, strict=True)
        for name, data in drawn.items()
    }


def stale_figures(files: Mapping[str, bytes]) -> list[str]:
    """Names that an earlier page's figures may have and `files` do not."""
    names = (*captions.OF_RUN, *(f"{OF_MAPPING}{name}" for name in captions.OF_MAPPING))
    return [f"{name}.{form}" for name in names for form in FORMS if f"{name}.{form}" not in files]


def _heaviest(source: Source, told: Explanations) -> Explained | None:
    found = [entry for entry in told.found if entry.evaluation is not None]
    return max(found, key=lambda entry: max(_weight(source, row) for row in entry.rows), default=None)


def _weight(source: Source, row: Mapping[str, str]) -> float:
    return number(row, source.metric) * number(row, "repeat")
