"""Columns that the tables of a sweep share: what varies, and the figures in which points compete."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mapper.report.page import columns, shown
from mapper.report.page.html import Attribute
from mapper.report.page.sweep.source import POINTS, Source
from mapper.report.page.table import Column, Row
from mapper.report.results import typed
from mapper.report.sweep_tables import DESIGN

_HEADS = {"arch": "Accelerator", "network": "Network"}
COMPARED = ("cycles", "energy_pj", "edp_pj_cycles", "area_um2")
"""Figures of which less is better."""


def of_points(source: Source, rows: Sequence[Row]) -> tuple[Column, ...]:
    """What tells points apart: what varies, and networks or accelerators that differ under no such name."""
    unnamed = [name for name in DESIGN if name not in source.axes and len({row[name] for row in source.points}) > 1]
    return tuple(_axis(name, rows) for name in (*source.axes, *unnamed))


def _axis(name: str, rows: Sequence[Row]) -> Column:
    """What varies, as the sweep's file gives it; numbers sort as numbers."""
    values = [typed(text) for text in {row[name] for row in rows}]
    numbers = all(value is None or _is_number(value) for value in values)
    return Column(name, _HEADS.get(name, name), form=str if numbers else None, choices=True)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def figures(rows: Sequence[Row]) -> Iterator[Column]:
    """Cycles, energy, edp, utilization, and the area where any is known."""
    yield from (columns.CYCLES, columns.energy(rows), columns.EDP, columns.UTILIZATION)
    if any(row["area_um2"] for row in rows):
        yield Column("area_um2", "Area", "mm²", lambda value: shown.measure(value / 1e6), note="of the whole chip")


def place(row: Row, source: Source, column: str) -> dict[str, Attribute]:
    """Where a figure outside the tables comes from."""
    where = " ".join(row[name] for name in (*source.axes, "phase", "partitioning"))
    return {"data_file": POINTS.removesuffix(".csv"), "data_row": where, "data_column": column}
