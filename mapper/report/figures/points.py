"""The figures of a sweep: energy against cycles for each piece of work, and energy against the size of a buffer."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from mapper.report.figures.buffers import draw_buffers
from mapper.report.figures.pareto import Design, draw_pareto
from mapper.report.files import safe_name
from mapper.report.sweep_tables import FRONT, front, objectives
from mapper.report.totals import ALL, BEST
from mapper.runs.sweep_file import SETTINGS, WORKLOAD
from mapper.search.rows import Row, energy_components

KIB = {"capacity_kib": 1.0, "capacity_bytes": 1 / 1024, "capacity_bits": 1 / 8192}
"""KiB of the units of a capacity whose size does not depend on a word's."""
MOST_SERIES = 6
"""Panels of the figure of a buffer."""
MOST_SIZES = 24
"""Bars of a panel."""
MOST_WORKS = 6
"""Pieces of work that have a figure."""
MOST_DESIGNS = 1000
"""Points of a figure that are drawn although others cover them."""
CELLS = 250
"""Points in one of so many parts of the range of both axes cover each other."""
LETTERS = 80
"""Of the name of a file."""

AnyRow = TypeVar("AnyRow", bound=Mapping[str, object])


def sweep_figures(name: str, axes: Sequence[str], points: Sequence[Row], form: str = "svg") -> dict[str, bytes]:
    """Files by the name of the figure; `points` are the rows of a sweep's table of points.

    Of many pieces of work the first `MOST_WORKS` are drawn. Raises `InputError` without matplotlib.
    """
    totals = [row for row in points if row["phase"] == ALL and not row["layers_without_mapping"]]
    fixed = [row for row in totals if row["partitioning"] != BEST]
    drawn = {f"pareto_{told}" if told else "pareto": content for told, content in _paretos(name, axes, fixed, form)}
    for axis in axes:
        series = _sizes(axis, axes, totals)
        if series:
            level = axis.rpartition(".")[0]
            drawn[f"buffers_{level}"] = draw_buffers(series, level, f"{name}: energy of all phases", form)
    return _named({told: content for told, content in drawn.items() if content is not None})


def works(work: Sequence[str], rows: Sequence[AnyRow]) -> dict[str, list[AnyRow]]:
    """Rows by the piece of work, which the axes `work` tell: points of one compete with each other alone."""
    groups: dict[str, list[AnyRow]] = defaultdict(list)
    for row in rows:
        groups[_told(row, work)].append(row)
    return groups


def work_axes(axes: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    """What varies of the work, not of the design; `rows` are the complete ones of fixed partitionings.

    Several settings under one name may be either. The fronts of the table tell: they are those of the right groups.
    """
    named = [axis for axis in axes if axis not in SETTINGS and axis != "array" and "." not in axis]
    sure = [axis for axis in axes if axis in WORKLOAD]
    for more in ((), *((one,) for one in named), named):
        found = tuple(axis for axis in axes if axis in sure or axis in more)
        if not named or all(map(_has_its_front, works(found, rows).values())):
            break
    return found


def _has_its_front(rows: Sequence[Row]) -> bool:
    figures = [[cast(float, row[one]) for one in objectives(rows)] for row in rows]
    return front(figures) == [bool(row[FRONT]) for row in rows]


def _paretos(name: str, axes: Sequence[str], rows: Sequence[Row], form: str) -> Iterator[tuple[str, bytes | None]]:
    """A figure for each of the first pieces of work, with what it is of."""
    work = work_axes(axes, rows)
    design = [axis for axis in axes if axis not in work]
    for told, group in itertools.islice(works(work, rows).items(), MOST_WORKS):
        designs = _apart([_design(row, design) for row in group])
        yield told, draw_pareto(designs, f"{name}{f', {told}' if told else ''}: all phases", form)


def _apart(designs: Sequence[Design]) -> list[Design]:
    """Designs without those that others cover, where they are many; of the front only equal ones cover each other."""
    if len(designs) <= MOST_DESIGNS:
        return list(designs)
    steps = [_step([one.cycles for one in designs]), _step([one.energy_pj for one in designs])]
    seen = dict[tuple[float | None, ...], Design]()
    for one in designs:
        exact = (one.cycles, one.energy_pj, one.area_um2)
        places = zip(exact, steps, strict=False)
        cell = tuple(int(math.log(value) / step) if value else None for value, step in places)
        seen.setdefault(exact if one.on_front else cell, one)
    return list(seen.values())


def _step(values: Sequence[float]) -> float:
    """The part of the range of logarithms in which values look the same."""
    positive = [value for value in values if value > 0]
    return math.log(max(positive) / min(positive)) / CELLS or 1.0 if positive else 1.0


def _design(row: Row, axes: Sequence[str]) -> Design:
    label = " ".join([*(str(row[axis]) for axis in axes if row[axis] is not None), str(row["partitioning"])])
    figures = cast(Mapping[str, Any], row)
    return Design(label, figures["cycles"], figures["energy_pj"], figures["area_um2"], bool(row[FRONT]))


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
    several = {told: sorted(sizes, key=lambda size: size[0]) for told, sizes in series.items()}
    several = {told: sizes for told, sizes in several.items() if 1 < len(sizes) <= MOST_SIZES}
    return dict(list(several.items())[:MOST_SERIES])


def _by_component(row: Row) -> dict[str, float]:
    found = {name: row[column] for name, column in energy_components(row).items()}
    return {name: float(cast(float, value)) for name, value in found.items() if value is not None}


def _told(row: Mapping[str, object], axes: Sequence[str]) -> str:
    return ", ".join(f"{axis} {row[axis]}" for axis in axes if row[axis] not in (None, ""))


def _named(drawn: Mapping[str, bytes]) -> dict[str, bytes]:
    """Under names that files can have, no two alike."""
    found: dict[str, bytes] = {}
    for told, content in drawn.items():
        name = safe_name(told)[:LETTERS]
        copies = (f"{name}_{number}" for number in itertools.count(2))
        found[next(one for one in itertools.chain([name], copies) if one not in found)] = content
    return found
