"""Everything that a search writes into its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mapper.report.files import MANIFEST
from mapper.report.formats import FORMATS, file_name
from mapper.report.manifest import Entry, manifest
from mapper.report.tables import tables
from mapper.runs import Run


def run_files(
    run: Run, form: str, workload: str, arguments: Sequence[str], inputs: Iterable[Entry]
) -> dict[str, bytes]:
    """Contents by file name: the three tables as CSV, and in the format `form` too, and the manifest."""
    files: dict[str, bytes] = {}
    every = tables(run)
    for kind in dict.fromkeys(("csv", form)):
        files |= {file_name(table, kind): FORMATS[kind](table) for table in every}
    names = [*files, MANIFEST]
    return files | {MANIFEST: manifest(run, workload, arguments, inputs, names)}
