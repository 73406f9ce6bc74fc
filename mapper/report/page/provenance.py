"""How a result came about: its inputs with their hashes, and its manifest, in full unless it is very long."""

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


MOST = 200_000
"""Characters of a manifest that a page shows."""


def section(manifest: Mapping[str, Any]) -> Section:
    """The table of inputs and the manifest, folded away."""
    rows = [{column.name: str(entry.get(column.name, "")) for column in _COLUMNS} for entry in manifest["inputs"]]
    caption = f"Inputs, made with mapper {manifest.get('version', '')}."
    table = render(Table("inputs", caption, _COLUMNS, rows, sortable=False))
    fold = tag("details", tag("summary", "manifest.json"), tag("pre", _text(manifest), tabindex=0), id="manifest-json")
    return Section("manifest", "Manifest", [table, fold])


def _text(manifest: Mapping[str, Any]) -> str:
    """The manifest; of one that is longer than `MOST`, what is long of it is only counted."""
    texts = {key: json.dumps(value) for key, value in manifest.items()}
    if sum(map(len, texts.values())) > MOST:
        share = MOST // len(texts)
        long = {key: f"... {len(manifest[key]):,} entries: see the file" for key in texts if len(texts[key]) > share}
        return json.dumps(dict(manifest) | long, indent=2, ensure_ascii=False)
    return json.dumps(manifest, indent=2, ensure_ascii=False)
