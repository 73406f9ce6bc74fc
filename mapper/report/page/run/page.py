"""The page of a run: its sections in order."""

from __future__ import annotations

from collections.abc import Callable

from mapper.report.page import energies, provenance
from mapper.report.page.document import Section, document
from mapper.report.page.run import mappings, network, rankings, summary
from mapper.report.page.run.heading import heading, title
from mapper.report.page.run.view import View

SECTIONS: tuple[Callable[[View], Section], ...] = (
    summary.section,
    network.section,
    rankings.mappings_section,
    mappings.section,
    rankings.certificates_section,
    lambda view: energies.section({"": view.source.results.limits}),
    lambda view: provenance.section(view.source.manifest),
)
"""From the answer to where it comes from."""


def run_page(view: View) -> bytes:
    """One file of HTML, in UTF-8, the same for the same run."""
    sections = [section(view) for section in SECTIONS]
    return document(title(view.source), heading(view.source), sections, view.source.manifest)
