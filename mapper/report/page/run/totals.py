"""The table of totals: a row per phase and choice of partitionings, the best fixed ones starred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mapper.report import units
from mapper.report.page import columns, shown
from mapper.report.page.checked import number
from mapper.report.page.html import Attribute, Child, Html, tag
from mapper.report.page.table import Column, Row, Table, render
from mapper.report.totals import ALL, BEST

_COMPARED = {
    "cycles": (min, units.count),
    "energy_pj": (min, units.energy),
    "edp_pj_cycles": (min, "{:.3e}".format),
    "utilization": (max, units.percent),
}
"""Columns that are compared: which end is best, and the digits in which two read the same.

They are the digits that a search prints, so that the stars of both are the same.
"""
_CAPTION = (
    "Totals: every layer times its repeats. A star marks the best fixed partitioning of a phase; "
    "best takes the best one for each layer."
)


def whole(rows: Sequence[Row]) -> Row | None:
    """The total of all phases with the best partitioning of each layer."""
    return next((row for row in rows if (row["phase"], row["partitioning"]) == (ALL, BEST)), None)


def totals_table(rows: Sequence[Row]) -> Html:
    """All rows of the totals."""
    cells = stars(rows)
    holes = any(number(row, "layers_without_mapping") for row in rows)
    missing = Column("layers_without_mapping", "Layers without a mapping", form=shown.count)
    return render(
        Table(
            "totals",
            _CAPTION,
            [
                Column("phase", "Phase", dress=_phase),
                Column("partitioning", "Partitioning"),
                *(
                    columns.starred(c, cells)
                    for c in (columns.CYCLES, columns.energy(rows), columns.EDP, columns.UTILIZATION)
                ),
                *([missing] if holes else []),
                *columns.component_energies(rows),
            ],
            rows,
            "totals",
            mark=lambda row: _mark(row, rows),
            sortable=False,
        )
    )


def stars(rows: Sequence[Row]) -> set[tuple[int, str]]:
    """Cells (identity of the row, column) that no other fixed partitioning of the phase reads better than.

    Sums that lack a layer are not compared: they are not of the same work.
    """
    found: set[tuple[int, str]] = set()
    for phase in dict.fromkeys(row["phase"] for row in rows):
        fixed = [row for row in rows if row["phase"] == phase and _competes(row)]
        for name, (best, text) in _COMPARED.items() if len(fixed) > 1 else ():
            winner = text(best(number(row, name) for row in fixed))
            found |= {(id(row), name) for row in fixed if text(number(row, name)) == winner}
    return found


def _competes(row: Row) -> bool:
    return row["partitioning"] != BEST and not number(row, "layers_without_mapping") and number(row, "cycles") > 0


def _phase(row: Row, text: str) -> Child:
    return tag("abbr", text, title=columns.PHASES[row["phase"]])


def _mark(row: Row, rows: Sequence[Row]) -> Mapping[str, Attribute]:
    """A rule above each phase, and the choice that the summary speaks of."""
    first = next(other for other in rows if other["phase"] == row["phase"])
    names = [name for name, given in (("first", row is first), ("chosen", row["partitioning"] == BEST)) if given]
    return {"class_": " ".join(names) or None}
