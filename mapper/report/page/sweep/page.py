"""The page of a sweep: its sections in order."""

from __future__ import annotations

from mapper.report.page import provenance
from mapper.report.page.document import document
from mapper.report.page.sweep import accelerators, failures, fronts, grid, mappings, points, summary
from mapper.report.page.sweep.heading import heading, title
from mapper.report.page.sweep.view import View


def sweep_page(view: View) -> bytes:
    """One file of HTML, in UTF-8, the same for the same sweep: from the answer to where it comes from."""
    sections = [
        summary.section(view),
        fronts.section(view),
        *grid.sections(view),
        points.section(view),
        *failures.sections(view),
        mappings.section(view),
        accelerators.section(view),
        provenance.section(view.source.manifest),
    ]
    return document(title(view.source), heading(view.source), sections, view.source.manifest)
