"""The tables of a run, read with the exact texts of their cells and checked before anything is made of them."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mapper.errors import InputError
from mapper.report.page.table import Row
from mapper.report.recorded import KEYS, MAPPINGS
from mapper.report.results import BREAKDOWN, TOTALS
from mapper.search.rows import Row as Typed
from mapper.workload import Phase

_PLACE = ("arch", "network", "layer", "phase", "part", "partitioning")
_COSTS = ("macs", "effectual_macs", "cycles", "energy_pj", "edp_pj_cycles")
TEXTS = {
    MAPPINGS: (*_PLACE, "mapping", "bound_by", "optimal", "interconnect_pattern"),
    BREAKDOWN: (*_PLACE, "component", "tensor", "action"),
    TOTALS: ("arch", "network", "phase", "partitioning"),
}
"""Columns of text that a page needs, by table."""
NUMBERS = {
    MAPPINGS: (
        *("repeat", "rank", *_COSTS, "utilization", "imbalance_mean", "imbalance_max"),
        *("gap", "mapspace_size", "evaluated"),
    ),
    BREAKDOWN: ("rank", "count", "bits", "energy_pj"),
    TOTALS: ("layers", "layers_without_mapping", *_COSTS, "utilization"),
}
"""Columns of numbers that a page needs."""
_MAY_BE_EMPTY = frozenset(("utilization",))
"""A phase without any mapping has no utilization."""
_ENERGY = re.compile(r"energy_(?!role_)(.+)_pj")
_PART = re.compile(r"[1-9]\d*/[1-9]\d*")
_PHASES = tuple(str(phase) for phase in Phase)


def components(columns: Iterable[str]) -> dict[str, str]:
    """Columns with the energy of a component, by its name, in the order of the table."""
    return {match[1]: name for name in columns if (match := _ENERGY.fullmatch(name))}


def read_rows(path: Path) -> tuple[Row, ...]:
    """Rows of a table. Raises `InputError` where it is missing, empty or ragged."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = tuple(csv.DictReader(file, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {reason}", str(path), f"mapper search writes it beside {MAPPINGS}") from None
    if not rows:
        raise InputError("no row in it", str(path))
    for index, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise InputError(f"row {index} has not as many columns as the header", str(path))
    return rows


def check_columns(path: Path, columns: Iterable[str]) -> None:
    """Raises `InputError` where a page needs a column that is not there."""
    found = set(columns)
    for name in (*TEXTS[path.name], *NUMBERS[path.name]):
        if name not in found:
            raise InputError(f"no column {name}: this is no table of mapper search", str(path))


def check_rows(path: Path, rows: Sequence[Typed]) -> None:
    """Raises `InputError` where a number is none, or a place cannot be. `rows` have the columns of `check_columns`."""
    needed = (*NUMBERS[path.name], *components(rows[0]).values())
    for row in rows:
        for name, why in _wrong(row, needed):
            raise InputError(f"{name} {_shown(row[name])} {why}, in {_place(row)}", str(path))


def _wrong(row: Typed, numbers: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in numbers:
        if not (_is_number(row[name]) or (row[name] is None and name in _MAY_BE_EMPTY)):
            yield name, "is not a number that it can be"
    if row["phase"] not in (_PHASES if "part" in row else (*_PHASES, "all")):
        yield "phase", f"is none of {', '.join(_PHASES)}"
    if "part" in row and not _PART.fullmatch(str(row["part"])):
        yield "part", "is not one such as 1/4"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _place(row: Mapping[str, object]) -> str:
    """Whose row it is: `conv1 fw 1/1 KN 1`."""
    return " ".join(str(row[name]) for name in KEYS if name in row)


def _shown(value: object) -> str:
    text = "" if value is None else str(value)
    return repr(text if len(text) <= 40 else f"{text[:38]}..")
