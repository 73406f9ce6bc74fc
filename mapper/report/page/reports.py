"""The report of a folder, whatever it holds: a page, and its figures as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mapper.report.manifest import SWEEP
from mapper.report.page import run, sweep
from mapper.report.page.manifests import manifest_kind

FORMS = ("svg", "png")
"""A figure for a page or a vector program, and one for everything else."""
_FIGURE = re.compile(rf"({'|'.join((*run.FIGURES, *sweep.FIGURES))})\.({'|'.join(FORMS)})")


@dataclass(frozen=True)
class Report:
    """A page, what its reader should know, and what draws its figures: by name, as `svg` or `png`."""

    html: bytes
    warnings: tuple[str, ...]
    draw: Callable[[str], Mapping[str, bytes]]

    def figures(self) -> dict[str, bytes]:
        """Every figure of the page as files: `energy.svg`, `energy.png`."""
        return {f"{name}.{form}": data for form in FORMS for name, data in self.draw(form).items()}


def read_source(folder: Path) -> run.Source | sweep.Source:
    """What a page is made from. Raises `InputError` for what is missing, unreadable or of another kind."""
    kind, manifest = manifest_kind(folder)
    return sweep.read_sweep(folder, manifest) if kind == SWEEP else run.read_search(folder)


def report(source: run.Source | sweep.Source) -> Report:
    """The same for the same tables."""
    if isinstance(source, sweep.Source):
        seen = sweep.look(source)
        return Report(sweep.sweep_page(seen), (), partial(sweep.drawings, seen))
    view = run.look(source)
    return Report(run.run_page(view), view.told.warnings, partial(run.drawings, view))


def stale_figures(folder: Path, files: Iterable[str]) -> list[str]:
    """Figures of an earlier page in `folder` that are not among `files`."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted({name for name in names if _FIGURE.fullmatch(name)} - set(files))
