"""Columns that several tables of a page share, by their names in the files."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from mapper.report.page import shown
from mapper.report.page.checked import number
from mapper.report.page.html import Child, tag
from mapper.report.page.table import Column, Row
from mapper.report.totals import ALL
from mapper.search.rows import energy_components
from mapper.workload.phase import TITLES

LAYER = Column("layer", "Layer", choices=True, code=True)
PHASE = Column("phase", "Phase", choices=True, note="fw forward, bw backward-data, wu weight update")
PART = Column("part", "Part", note="a strided layer's bw and wu are split into parts without holes")
PARTITIONING = Column("partitioning", "Partitioning", choices=True, note="dimensions over X and over Y")
RANK = Column("rank", "Rank", form=shown.count, choices=True)
CYCLES = Column("cycles", "Cycles", form=shown.count)
UTILIZATION = Column("utilization", "Util.", "%", shown.percent, note="effectual macs / (cycles x compute units)")
EDP = Column("edp_pj_cycles", "EDP", "pJ·cycles", shown.power, note="energy x cycles")
PROVEN = Column("optimal", "Proven", minor=True, words={"True": "yes", "False": "no"})

LEAST = 0.01
"""Share of the energy below which a component gets no column of its own; the files have all."""

PHASES = {**{str(phase): title for phase, title in TITLES.items()}, ALL: "all phases"}
"""What the phases are called."""


def energy(rows: Sequence[Row], name: str = "energy_pj", head: str = "Energy", minor: bool = False) -> Column:
    """A column of energies in the unit that suits its rows."""
    unit = shown.energy_unit(number(row, name) for row in rows)
    return Column(name, head, unit.name, unit.form, minor=minor)


def component_energies(rows: Sequence[Row], minor: bool = False) -> Iterator[Column]:
    """A column per component that takes at least `LEAST` of the energy of some row, all in one unit."""
    found = energy_components(rows[0] if rows else ())
    present = {component: name for component, name in found.items() if any(_weighs(row, name) for row in rows)}
    unit = shown.energy_unit(number(row, name) for name in present.values() for row in rows)
    for component, name in present.items():
        head = component.replace("_", " ")
        yield Column(name, head, unit.name, unit.form, minor=minor, note=f"energy of {head}")


def mapping(rows: Sequence[Row]) -> Iterator[Column]:
    """Figures of mappings, the loop nest, and the energy of their components."""
    yield CYCLES
    yield energy(rows)
    yield from (EDP, UTILIZATION)
    yield Column("imbalance_mean", "Imb.", form=shown.ratio, note="busiest PE over the mean, mean over working sets")
    yield Column("bound_by", "Bound by", choices=True)
    yield Column("mapping", "Mapping", code=True)
    yield from component_energies(rows, minor=True)


def starred(column: Column, cells: Container[tuple[int, str]]) -> Column:
    """The column with a star in `cells`, as (identity of the row, column)."""

    def dress(row: Row, text: str) -> Child:
        return [text, tag("span", "*" if (id(row), column.name) in cells else "", class_="star")]

    return replace(column, dress=dress)


def _weighs(row: Row, name: str) -> bool:
    return number(row, name) > LEAST * number(row, "energy_pj")
