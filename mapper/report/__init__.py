"""Runs as tables, files and text."""

from mapper.report.bundle import in_formats, run_files, stale_names, sweep_files
from mapper.report.files import check_folder, write_files
from mapper.report.formats import FORMATS, Table, check_format
from mapper.report.manifest import inputs
from mapper.report.nofit import diagnosis_text, failures_text
from mapper.report.obstacles import obstacles
from mapper.report.summary import dry_run, next_step, summary
from mapper.report.sweep_tables import check_axes, points_table
from mapper.report.sweep_text import sweep_dry_run, sweep_summary
from mapper.report.tables import breakdown_table, mappings_table
from mapper.report.totals import Total, totals, totals_table

__all__ = [
    "FORMATS",
    "Table",
    "Total",
    "breakdown_table",
    "check_axes",
    "check_folder",
    "check_format",
    "diagnosis_text",
    "dry_run",
    "failures_text",
    "in_formats",
    "inputs",
    "mappings_table",
    "next_step",
    "obstacles",
    "points_table",
    "run_files",
    "stale_names",
    "summary",
    "sweep_dry_run",
    "sweep_files",
    "sweep_summary",
    "totals",
    "totals_table",
    "write_files",
]
