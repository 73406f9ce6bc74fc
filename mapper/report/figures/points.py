"""The figures of a sweep: energy against cycles for each piece of work, and energy against the size of a buffer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mapper.report.figures.buffers import draw_buffers
from mapper.report.figures.pareto import Design, draw_pareto
from mapper.report.totals import ALL, BEST
from mapper.runs.sweep_file import WORKLOAD
from mapper.search.rows import Row, is_energy_column

KIB = {"capacity_kib": 1.0, "capacity_bytes": 1 / 1024, "capacity_bits": 1 / 8192}
"""KiB of the units of a capacity whose size does not depend on a word's."""
MOST_SERIES = 6
"""Panels of the figure of a buffer."""
_ROLE = "energy_role_"


def sweep_figures(name: str, axes: Sequence[str], points: Sequence[Row], form: str = "svg") -> dict[str, bytes]:
    """Files by the name of the figure; `points` are the rows of a sweep's table of points.

    Raises `InputError` without matplotlib.
    """
    totals = [row for row in points if row["phase"] == ALL and not row["layers_without_mapping"]]
    found = _paretos(name, axes, [row for row in totals if row["partitioning"] != BEST], form)
    for axis in axes:
        series = _sizes(axis, axes, totals)
        if series:
            level = axis.rpartition(".")[0]
            found[f"buffers_{_file(level)}"] = draw_buffers(series, level, f"{name}: energy of all phases", form)
    return {name: content for name, content in found.items() if content is not None}


def _paretos(name: str, axes: Sequence[str], rows: Sequence[Row], form: str) -> dict[str, bytes | None]:
    """A figure for each piece of work: points of one compete with each other alone."""
    work = [axis for axis in axes if axis in WORKLOAD]
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[_told(row, work)].append(row)
    design = [axis for axis in axes if axis not in work]
    return {
        f"pareto_{_file(told)}" if told else "pareto": draw_pareto(
            [_design(row, design) for row in group], f"{name}{f', {told}' if told else ''}: all phases", form
        )
        for told, group in groups.items()
    }


def _design(row: Row, axes: Sequence[str]) -> Design:
    label = " ".join([*(str(row[axis]) for axis in axes if row[axis] is not None), str(row["partitioning"])])
    figures = cast(Mapping[str, Any], row)
    return Design(label, figures["cycles"], figures["energy_pj"], figures["area_um2"], bool(row["pareto"]))


def _sizes(axis: str, axes: Sequence[str], rows: Sequence[Row]) -> dict[str, list[tuple[float, dict[str, float]]]]:
    """Energy by component at each size of a buffer, for every setting of the other axes; empty for other axes."""
    unit = KIB.get(axis.rpartition(".")[2])
    if unit is None or "." not in axis:
        return {}
    series: dict[str, list[tuple[float, dict[str, float]]]] = defaultdict(list)
    for row in rows:
        if row["partitioning"] == BEST and isinstance(row[axis], int | float):
            told = _told(row, [other for other in axes if other != axis]) or "best partitioning of each layer"
            series[told].append((cast(float, row[axis]) * unit, _by_component(row)))
    several = {told: sorted(sizes, key=lambda size: size[0]) for told, sizes in series.items() if len(sizes) > 1}
    return dict(list(several.items())[:MOST_SERIES])


def _by_component(row: Row) -> dict[str, float]:
    return {
        column.removeprefix("energy_").removesuffix("_pj"): float(cast(float, value))
        for column, value in row.items()
        if is_energy_column(column) and not column.startswith(_ROLE) and value is not None
    }


def _told(row: Row, axes: Sequence[str]) -> str:
    return ", ".join(f"{axis} {row[axis]}" for axis in axes if row[axis] is not None)


def _file(text: str) -> str:
    """A name that a file can have."""
    return re.sub(r"[^\w.\-]+", "_", text)
