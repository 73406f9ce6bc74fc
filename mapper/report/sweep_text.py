"""What a sweep prints: before it begins its points and how long it will take, at its end the front."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mapper.report import units
from mapper.report.formats import Table
from mapper.report.grid import clip, grid
from mapper.report.sweep_tables import FRONT, OBJECTIVES, objectives
from mapper.report.totals import ALL, BEST
from mapper.runs.sweep import Sweep, SweepRun
from mapper.search.rows import Row

MOST = 30
"""Points that are listed."""
NAME = 24
"""Characters of a value."""
AREA, MISSING = "area (mm2)", "layers without a mapping"
"""Columns that are there only where they say something."""


def sweep_title(sweep: Sweep) -> str:
    """How much is asked."""
    points = f"{sweep.name}: {len(sweep.points):,} point{'s' * (len(sweep.points) != 1)}"
    over = f" over {', '.join(sweep.axes)}" if sweep.axes else ""
    return f"{points}{over}; {len(sweep.tasks):,} rankings from {len(sweep.problems):,} searches"


def sweep_dry_run(sweep: Sweep, finished: int, left: int, seconds: float, sampled: int, jobs: int) -> str:
    """The points, and what the sampled searches say about the time of those that are left."""
    rows = [[*sweep.axes, "arch", "layers", "partitionings", "searches"]]
    for point in sweep.points[:MOST]:
        plan = point.plan
        names = [partitioning.name for partitioning in plan.partitionings]
        figures = [plan.accelerator.name, f"{len(plan.network)}", ",".join(names), f"{len(plan.problems):,}"]
        rows.append([*_values(dict(point.names), sweep), *figures])
    more = [f"and {len(sweep.points) - MOST:,} more points"] if len(sweep.points) > MOST else []
    done = [f"{finished:,} searches are finished"] if finished else []
    return "\n".join(
        [
            sweep_title(sweep),
            "",
            *grid(rows, left=len(sweep.axes) + 1),
            *more,
            "",
            *done,
            _estimate(left, seconds, sampled, jobs),
            "dry run: nothing is written",
        ]
    )


def _estimate(left: int, seconds: float, sampled: int, jobs: int) -> str:
    if not left:
        return "nothing is left to search"
    if not sampled:
        return f"{left:,} searches are left; none of the sampled ones ended within the time of a dry run"
    each = seconds / sampled
    whole = f"about {duration(left * each / jobs)} on {jobs} process{'es' * (jobs > 1)} (-j {jobs})"
    return f"{left:,} searches are left; {sampled} of them took {each:.2g} s each: {whole}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def sweep_summary(run: SweepRun, points: Table) -> str:
    """The front, or all points where they are few, and how far to trust them."""
    rows = [row for row in points.rows if row["phase"] == ALL and row["partitioning"] != BEST]
    on = [row for row in rows if row[FRONT]]
    few = len(rows) <= MOST
    shown = rows if few else on[:MOST]
    what = "Points" if few else "Pareto front"
    area = "energy, cycles and area" if len(objectives(rows)) == len(OBJECTIVES) else "energy and cycles"
    title = f"{what}, totals of all phases. *: on the Pareto front of {area} among points of the same work."
    more = [f"and {len(on) - MOST:,} more on the front"] if not few and len(on) > MOST else []
    return "\n".join([sweep_title(run.sweep), "", title, *_points(run, shown), *more, "", *_notes(run)])


def _points(run: SweepRun, rows: list[Row]) -> list[str]:
    head = [*run.sweep.axes, "partitioning", "cycles", "energy", "edp (pJ x cycles)", "utilization", AREA, "", MISSING]
    lines = [[*_values(row, run.sweep), str(row["partitioning"]), *_figures(row)] for row in rows]
    empty = {
        AREA: all(row["area_um2"] is None for row in rows),
        MISSING: not any(row["layers_without_mapping"] for row in rows),
    }
    kept = [i for i, name in enumerate(head) if not empty.get(name)]
    return grid([[line[i] for i in kept] for line in (head, *lines)], left=len(run.sweep.axes) + 1)


def _values(row: Row, sweep: Sweep) -> list[str]:
    return [clip("" if row.get(name) is None else str(row[name]), NAME) for name in sweep.axes]


def _figures(row: Any) -> list[str]:
    """Sums that lack a layer say so: they are of less work."""
    area = "-" if row["area_um2"] is None else f"{row['area_um2'] / 1e6:.4g}"
    figures = [units.count(row["cycles"]), units.energy(row["energy_pj"]), f"{row['edp_pj_cycles']:.3e}"]
    lacking = f"{row['layers_without_mapping']} of {row['layers']}" if row["layers_without_mapping"] else ""
    shown = figures if row["cycles"] else ["-"] * len(figures)
    return [*shown, units.percent(row["utilization"]), area, "*" if row[FRONT] else "", lacking]


def _notes(run: SweepRun) -> Iterator[str]:
    proven = [rows[0]["optimal"] for point in run.points for _, rows in point.rows]
    share = "yes, all" if all(proven) else f"no, {sum(map(bool, proven)):,} of"
    yield f"optimal: {share} {len(proven):,} rankings are proven"
    failed = sum(len(point.failures) for point in run.points)
    if failed:
        yield f"{failed:,} rankings have no mapping: see failed.csv"
