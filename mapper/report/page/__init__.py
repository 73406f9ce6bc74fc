"""A run or a sweep as one page of HTML that needs no other file and no network."""

from mapper.report.page.figure import can_draw
from mapper.report.page.reports import Report, read_source, report, stale_figures
from mapper.report.page.run import look, run_page

__all__ = ["Report", "can_draw", "look", "read_source", "report", "run_page", "stale_figures"]
