"""The page of a run: its sections in order."""

from __future__ import annotations

from collections.abc import Callable

from mapper.report.page import energies, mappings, network, provenance, rankings, summary
from mapper.report.page.document import Section, document
from mapper.report.page.heading import heading, title
from mapper.report.page.view import View

SECTIONS: tuple[Callable[[View], Section], ...] = (
    summary.section,
    network.section,
    rankings.mappings_section,
    mappings.section,
    rankings.certificates_section,
    energies.section,
    lambda view: provenance.section(view.source.manifest),
)
"""From the answer to where it comes from."""

_FOOTER = "Figures stand rounded; point at one for its exact value, the one of the run's tables."


def run_page(view: View) -> bytes:
    """One file of HTML, in UTF-8, the same for the same run."""
    sections = [section(view) for section in SECTIONS]
    version = view.source.manifest.get("version", "")
    return document(title(view.source), heading(view.source), sections, f"{_FOOTER} Made by mapper {version}.")
