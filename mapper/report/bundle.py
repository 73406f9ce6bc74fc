"""Everything that a search or a sweep writes into its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mapper.report.files import MANIFEST
from mapper.report.formats import FORMATS, SUFFIXES, Table, file_name
from mapper.report.manifest import Entry, manifest, sweep_manifest
from mapper.report.sweep_tables import failed_table, sweep_mappings_table
from mapper.report.tables import tables
from mapper.runs import Run
from mapper.runs.sweep import SweepRun


def run_files(
    run: Run, form: str, workload: str, arguments: Sequence[str], inputs: Iterable[Entry], zeros: Entry | None = None
) -> dict[str, bytes]:
    """Contents by file name: the three tables as CSV, and in the format `form` too, and the manifest.

    `zeros` are the options about zeros, which the manifest keeps.
    """
    files = in_formats(tables(run), form)
    names = [*files, MANIFEST]
    return files | {MANIFEST: manifest(run, workload, arguments, inputs, names, zeros)}


def sweep_files(
    run: SweepRun, points: Table, form: str, arguments: Sequence[str], inputs: Iterable[Entry]
) -> dict[str, bytes]:
    """The same of a sweep, of which `points` are the points."""
    files = in_formats((points, sweep_mappings_table(run), failed_table(run)), form)
    return files | {MANIFEST: sweep_manifest(run, arguments, inputs, [*files, MANIFEST])}


def in_formats(every: Sequence[Table], form: str) -> dict[str, bytes]:
    """Tables as CSV, and in the format `form` too."""
    kinds = dict.fromkeys(("csv", form))
    return {file_name(table, kind): FORMATS[kind](table) for kind in kinds for table in every}


def stale_names(files: Iterable[str]) -> list[str]:
    """What an earlier run may have left: the tables among `files` in formats that this run does not write."""
    names = set(files)
    tables = [name.removesuffix(".csv") for name in names if name.endswith(".csv")]
    every = {f"{table}.{SUFFIXES.get(form, form)}" for table in tables for form in FORMATS}
    return sorted(every - names)
