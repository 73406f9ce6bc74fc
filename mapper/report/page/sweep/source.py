"""What a sweep's page is made from: its tables with their exact texts, checked before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mapper.errors import InputError
from mapper.report.figures.points import work_axes, works
from mapper.report.files import MANIFEST
from mapper.report.manifest import SWEEP
from mapper.report.page.checked import Schema, number, read_table
from mapper.report.page.manifests import check_manifest
from mapper.report.page.table import Row
from mapper.report.recorded import MAPPINGS
from mapper.report.results import typed_rows
from mapper.report.sweep_tables import DESIGN, FRONT
from mapper.report.totals import ALL, BEST
from mapper.search.rows import Row as Typed

POINTS, FAILED = "points.csv", "failed.csv"
_WRITER = f"mapper {SWEEP}"
_TOTALS = ("layers_without_mapping", "cycles", "energy_pj", "edp_pj_cycles", "utilization", "area_um2")
_RANKING = ("layer", "phase", "part", "partitioning")
_FIGURES = ("rank", "cycles", "energy_pj", "edp_pj_cycles", "utilization", "imbalance_mean", "gap")


def schemas(axes: tuple[str, ...]) -> dict[str, Schema]:
    """What a page needs of each table."""
    point, ranking = (*axes, "phase", "partitioning"), (*axes, *_RANKING)
    unknown = frozenset(("utilization", "area_um2"))
    return {
        POINTS: Schema(_WRITER, point, (*point, *DESIGN, FRONT), _TOTALS, unknown, alike=False),
        MAPPINGS: Schema(
            *(_WRITER, ranking, (*ranking, "mapping", "bound_by", "optimal"), _FIGURES), alike=False, least=0
        ),
        FAILED: Schema(_WRITER, ranking, (*ranking, "reason"), least=0),
    }


@dataclass(frozen=True)
class Source:
    """A sweep. `points` are totals, `mappings` the first of each ranking, `failed` rankings without one, as texts.

    `manifest` is that of the folder, `name` what the sweep is called, `axes` what varies.
    """

    manifest: Mapping[str, Any]
    points: tuple[Row, ...]
    mappings: tuple[Row, ...]
    failed: tuple[Row, ...]

    @property
    def name(self) -> str:
        return str(self.manifest["sweep"])

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(self.manifest["axes"])

    @cached_property
    def totals(self) -> tuple[Row, ...]:
        """Sums over all phases of points that lack no mapping."""
        return tuple(row for row in self.points if row["phase"] == ALL and not number(row, "layers_without_mapping"))

    @cached_property
    def typed_totals(self) -> tuple[Typed, ...]:
        """The same with numbers as numbers."""
        return tuple(typed_rows(self.totals))

    @cached_property
    def work(self) -> tuple[str, ...]:
        """What varies of the work."""
        return work_axes(self.axes, [row for row in self.typed_totals if row["partitioning"] != BEST])

    @cached_property
    def works(self) -> dict[str, list[Row]]:
        """Totals of fixed partitionings by the piece of work."""
        return works(self.work, [row for row in self.totals if row["partitioning"] != BEST])


def read_sweep(folder: Path, manifest: Mapping[str, Any]) -> Source:
    """The tables beside a manifest. Raises `InputError` for what is missing, unreadable or not what a sweep writes."""
    check_manifest(manifest, folder / MANIFEST, SWEEP)
    wanted = schemas(tuple(manifest["axes"]))
    tables = (read_table(folder / name, wanted[name], rank="1") for name in (POINTS, MAPPINGS, FAILED))
    source = Source(manifest, *tables)
    for row in source.points:
        if row[FRONT] not in ("", "True", "False"):
            raise InputError(f"{FRONT} is neither True nor False, in {point(row, source.axes)}", str(folder / POINTS))
    return source


def point(row: Row, axes: tuple[str, ...]) -> str:
    """A point as its sweep calls it: `array=8x8 density=0.1`."""
    return " ".join(f"{axis}={row[axis]}" for axis in axes if row[axis])


def ranking(row: Row, axes: tuple[str, ...]) -> str:
    """A ranking of a point: `array=8x8: conv1 fw 1/1 KN`."""
    return f"{point(row, axes)}: {' '.join(row[name] for name in _RANKING)}"
