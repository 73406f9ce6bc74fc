"""Key figures in large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mapper.report.page.html import Attribute, Html, tag
from mapper.report.page.table import Column, Row, cell_of


def tiles(every: Iterable[Html]) -> Html:
    """Tiles side by side."""
    return tag("dl", every, class_="tiles")


def tile(column: Column, row: Row, place: Mapping[str, Attribute], note: str = "") -> Html:
    """One figure under the head of its column; `place` says which cell of which table it is."""
    unit = tag("span", f" {column.unit}", class_="unit") if column.unit else None
    below = tag("dd", note, class_="of") if note else None
    return tag("div", tag("dt", column.head), tag("dd", cell_of(column, row, "span", **place), unit), below)
