"""The page of a run: the folder that a search wrote."""

from mapper.report.page.run.captions import OF_MAPPING, OF_RUN
from mapper.report.page.run.page import run_page
from mapper.report.page.run.source import Source, read_search
from mapper.report.page.run.view import OF_MAPPING as PREFIX
from mapper.report.page.run.view import View, drawings, look

FIGURES = (*OF_RUN, *(f"{PREFIX}{name}" for name in OF_MAPPING))
"""Names of the figures."""

__all__ = ["FIGURES", "Source", "View", "drawings", "look", "read_search", "run_page"]
