"""The page of a sweep: the folder that a sweep wrote."""

from mapper.report.page.sweep.page import sweep_page
from mapper.report.page.sweep.source import Source, read_sweep
from mapper.report.page.sweep.view import View, drawings, look

FIGURES = ("pareto", "pareto_.+", "buffers_.+")
"""Names of the figures, as regular expressions."""

__all__ = ["FIGURES", "Source", "View", "drawings", "look", "read_sweep", "sweep_page"]
