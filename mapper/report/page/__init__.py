"""A run as one page of HTML that needs no other file and no network."""

from mapper.report.page.run_page import run_page
from mapper.report.page.source import Source, read_source
from mapper.report.page.view import View, figure_files, look, stale_figures

__all__ = ["Source", "View", "figure_files", "look", "read_source", "run_page", "stale_figures"]
