"""How a result came about: its inputs with their hashes, and its manifest in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mapper.report.page.document import Section
from mapper.report.page.html import tag
from mapper.report.page.table import Column, Table, render

_COLUMNS = (
    Column("option", "Option"),
    Column("given", "Given", code=True),
    Column("path", "File", code=True),
    Column("sha256", "SHA-256", code=True),
)


def section(manifest: Mapping[str, Any]) -> Section:
    """The table of inputs and the manifest, folded away."""
    rows = [{column.name: str(entry.get(column.name, "")) for column in _COLUMNS} for entry in manifest["inputs"]]
    caption = f"Inputs, made with mapper {manifest.get('version', '')}."
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    fold = tag("details", tag("summary", "manifest.json"), tag("pre", text, tabindex=0), id="manifest-json")
    return Section("manifest", "Manifest", [render(Table("inputs", caption, _COLUMNS, rows, sortable=False)), fold])
