"""The network at a glance: a row per layer with what its best partitioning takes in each phase, and figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from mapper.report.figures.picks import Pick, picks
from mapper.report.figures.picks import number as value
from mapper.report.page import columns, shown
from mapper.report.page.checked import number
from mapper.report.page.document import Section
from mapper.report.page.figure import drawings
from mapper.report.page.html import Child, Html, tag
from mapper.report.page.run import captions
from mapper.report.page.run.heading import phases
from mapper.report.page.run.source import Source
from mapper.report.page.run.view import View
from mapper.report.page.table import Column, Row, Table, render

_CAPTION = (
    "Layers under their best partitioning, figures of one execution; parts of a strided layer added. "
    "A partitioning links to its explanation."
)

_REPEAT = "how often the network has the layer"
_IMBALANCE = "work of the busiest PE over the mean, mean over the working sets; parts weighted by their cycles"


def section(view: View) -> Section:
    """Table and figures."""
    return Section("network", "Network", [_table(view), drawings(view.figures, captions.OF_RUN)])


def _table(view: View) -> Html:
    source = view.source
    found = phases(source)
    rows = list(_rows(source))
    unit = shown.energy_unit(number(row, f"energy {phase}") for row in rows for phase in found)
    heads = [Column("layer", "Layer", code=True), Column("repeat", "Repeat", form=shown.count, note=_REPEAT)]
    heads += [column for phase in found for column in _phase_columns(phase, unit, _link(view, phase))]
    groups = [("", 2), *((f"{phase} · {columns.PHASES[phase]}", len(NAMES)) for phase in found)]
    return render(Table("layers", _CAPTION, heads, rows, groups=groups))


def _phase_columns(phase: str, unit: shown.Unit, link: Callable[[Row, str], Child]) -> Iterator[Column]:
    yield Column(f"partitioning {phase}", "Best", note="best partitioning: dimensions over X and over Y", dress=link)
    yield Column(f"cycles {phase}", "Cycles", form=shown.count)
    yield Column(f"energy {phase}", "Energy", unit.name, unit.form)
    yield Column(f"utilization {phase}", "Util.", "%", shown.percent, note=columns.UTILIZATION.note)
    yield Column(f"imbalance {phase}", "Imb.", form=shown.ratio, note=_IMBALANCE)


def _link(view: View, phase: str) -> Callable[[Row, str], Child]:
    """A partitioning as a link to where its mapping is explained."""
    anchors: dict[str, str] = {}
    for (layer, of, *_), name in view.told.anchors.items():
        if of == phase:
            anchors.setdefault(layer, name)
    return lambda row, text: tag("a", text, href=f"#{anchors[row['layer']]}") if row["layer"] in anchors else text


def _rows(source: Source) -> Iterator[Row]:
    """Texts of a row per layer; empty where a phase has no complete mapping."""
    found = picks(source.results)
    pes = source.results.limits["compute"]["units"]
    first = {row["layer"]: row for row in reversed(source.mappings)}
    for layer in dict.fromkeys(row["layer"] for row in source.mappings):
        line = {"layer": layer, "repeat": first[layer]["repeat"]}
        for phase in phases(source):
            pick = found.get((layer, phase))
            cells = {} if pick is None else _cells(pick, pes)
            line |= {f"{name} {phase}": cells.get(name, "") for name in NAMES}
        yield line


NAMES = ("partitioning", "cycles", "energy", "utilization", "imbalance")
"""What is said of a layer in a phase."""


def _cells(pick: Pick, pes: int) -> dict[str, str]:
    """Texts of `NAMES`: those of the tables where the phase has one part."""
    row, *others = pick.rows
    cycles, utilization, imbalance = row["cycles"], row["utilization"], row["imbalance_mean"]
    if others:
        cycles = int(pick.sum("cycles"))
        utilization = pick.sum("effectual_macs") / (cycles * pes) if cycles else 0.0
        weighted = math.fsum(value(one, "imbalance_mean") * value(one, "cycles") for one in pick.rows)
        imbalance = weighted / cycles if cycles else 1.0
    return {
        "partitioning": "+".join(dict.fromkeys(str(one["partitioning"]) for one in pick.rows)),
        "cycles": str(cycles),
        "energy": str(pick.sum("energy_pj")),
        "utilization": str(utilization),
        "imbalance": str(imbalance),
    }
