"""Runs as tables, files and text."""

from mapper.report.bundle import run_files, stale_names
from mapper.report.files import check_folder, write_files
from mapper.report.formats import FORMATS, Table, check_format
from mapper.report.nofit import diagnosis_text, failures_text
from mapper.report.obstacles import obstacles
from mapper.report.summary import dry_run, next_step, summary
from mapper.report.tables import breakdown_table, mappings_table
from mapper.report.totals import Total, totals, totals_table

__all__ = [
    "FORMATS",
    "Table",
    "Total",
    "breakdown_table",
    "check_folder",
    "check_format",
    "diagnosis_text",
    "dry_run",
    "failures_text",
    "mappings_table",
    "next_step",
    "obstacles",
    "run_files",
    "stale_names",
    "summary",
    "totals",
    "totals_table",
    "write_files",
]
