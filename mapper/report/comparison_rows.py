"""Whether the mappings of a run are rows that a search wrote, before anything is compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mapper.errors import InputError
from mapper.search.rows import Row
from mapper.workload import Phase

_PLACE = ("layer", "phase", "part", "partitioning")
_COUNTS = ("repeat", "macs", "cycles")
_MEASURED = ("effectual_macs", "energy_pj", "edp_pj_cycles")
_PHASES = tuple(str(phase) for phase in Phase)
_PART = re.compile(r"([1-9]\d{0,8})/([1-9]\d{0,8})")
_MOST = 1e60
"""More than any figure of a search, and little enough that no product of sums leaves the range of floats."""


def check_rows(rows: Iterable[Row], run: str) -> None:
    """Raises `InputError` for the first of the mappings of `run` that no search wrote, or that is there twice."""
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        place = (*(row.get(key) for key in _PLACE), row["rank"])
        wrong = next(_wrong(row), "it is there twice" if place in seen else None)
        if wrong is not None:
            name = " ".join(map(str, place[:-1]))
            raise InputError(f"{name}: {wrong}: this is no table of mapper search", run)
        seen.add(place)


def _wrong(row: Row) -> Iterator[str]:
    """What is wrong with a row; but for its rank only the first of a ranking is compared."""
    if not _is_figure(row["rank"], "repeat"):
        yield f"rank is {_shown(row['rank'])}"
    if row["rank"] != 1:
        return
    for column in (*_COUNTS, *_MEASURED):
        if not _is_figure(row.get(column), column):
            yield f"{column} is {_shown(row.get(column))}"
    if not isinstance(row.get("optimal"), bool):
        yield f"optimal is {_shown(row.get('optimal'))}"
    if row["phase"] not in _PHASES:
        yield f"'{row['phase']}' is no phase"
    part = _PART.fullmatch(str(row["part"]))
    if not part or int(part[1]) > int(part[2]):
        yield f"'{row['part']}' is no part"


def _is_figure(value: object, column: str) -> bool:
    """A count or a measured number; a layer is there at least once."""
    if not isinstance(value, int if column in _COUNTS else int | float) or isinstance(value, bool):
        return False
    return (column == "repeat") <= value < _MOST


def _shown(value: object) -> str:
    text = "not there" if value is None else f"{value!r}"
    return text if len(text) <= 40 else f"{text[:38]}.."
