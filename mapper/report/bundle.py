"""Everything that a search writes into its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mapper.report.files import MANIFEST
from mapper.report.formats import FORMATS, SUFFIXES, file_name
from mapper.report.manifest import Entry, manifest
from mapper.report.tables import tables
from mapper.runs import Run


def run_files(
    run: Run, form: str, workload: str, arguments: Sequence[str], inputs: Iterable[Entry], zeros: Entry | None = None
) -> dict[str, bytes]:
    """Contents by file name: the three tables as CSV, and in the format `form` too, and the manifest.

    `zeros` are the options about zeros, which the manifest keeps.
    """
    files: dict[str, bytes] = {}
    every = tables(run)
    for kind in dict.fromkeys(("csv", form)):
        files |= {file_name(table, kind): FORMATS[kind](table) for table in every}
    names = [*files, MANIFEST]
    return files | {MANIFEST: manifest(run, workload, arguments, inputs, names, zeros)}


def stale_names(files: Iterable[str]) -> list[str]:
    """What an earlier run may have left: the tables among `files` in formats that this run does not write."""
    names = set(files)
    tables = [name.removesuffix(".csv") for name in names if name.endswith(".csv")]
    every = {f"{table}.{SUFFIXES.get(form, form)}" for table in tables for form in FORMATS}
    return sorted(every - names)
