"""Tables of a folder, read with the exact texts of their cells and checked before anything is made of them."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mapper.errors import InputError
from mapper.report.page.table import Row
from mapper.report.results import typed
from mapper.search.rows import energy_components
from mapper.workload import Phase

_PART = re.compile(r"[1-9]\d*/[1-9]\d*")
_PHASES = tuple(str(phase) for phase in Phase)


@dataclass(frozen=True)
class Schema:
    """What a page needs of a table of `writer`, a command: columns of `texts` and of `numbers`.

    A number is finite and not negative. Those in `may_be_empty` need not be there; nor, unless designs are `alike`, the
    energy of a component that some designs do not have. `place` are columns that say whose row it is, `least` is how
    many rows there must be.
    """

    writer: str
    place: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    may_be_empty: frozenset[str] = frozenset()
    alike: bool = True
    least: int = 1


def number(row: Row, column: str) -> int | float:
    """A cell that `check` found to be a number; an empty one is 0."""
    value = typed(row[column])
    return value if isinstance(value, int | float) else 0


def read_table(path: Path, schema: Schema, rank: str | None = None) -> tuple[Row, ...]:
    """The rows of a table, or those of a rank. Raises `InputError` where it is missing, damaged or of another kind."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = (line for line in csv.reader(file, strict=True) if line)
            columns = next(lines, [])
            rows = tuple(_rows(path, columns, lines, rank))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {reason}", str(path), f"{schema.writer} writes it") from None
    check_table(path, columns, rows, schema)
    return rows


def _rows(path: Path, columns: Sequence[str], lines: Iterable[Sequence[str]], rank: str | None) -> Iterator[Row]:
    place = columns.index("rank") if rank is not None and "rank" in columns else None
    for index, line in enumerate(lines, 1):
        if len(line) != len(columns):
            raise InputError(f"row {index} has not as many columns as the header", str(path))
        if place is None or line[place] == rank:
            yield dict(zip(columns, line, strict=True))


def check_table(path: Path, columns: Sequence[str], rows: Sequence[Row], schema: Schema) -> None:
    """Raises `InputError` where rows or a column are missing, a number is none, or a place cannot be."""
    if len(rows) < schema.least:
        raise InputError("no row in it", str(path))
    for name in (*schema.texts, *schema.numbers) if columns else ():
        if name not in columns:
            raise InputError(f"no column {name}: this is no table of {schema.writer}", str(path))
    numbers = [(name, name in schema.may_be_empty) for name in schema.numbers]
    numbers += [(name, not schema.alike) for name in energy_components(columns).values()]
    for row in rows:
        for name, why in _wrong(row, numbers):
            place = " ".join(row[key] for key in schema.place if key in row)
            raise InputError(f"{name} {_shown(row[name])} {why}, in {place}", str(path))


def _wrong(row: Row, numbers: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    for name, may_be_empty in numbers:
        if not (_is_number(row[name]) or (may_be_empty and not row[name])):
            yield name, "is not a number that it can be"
    if row["phase"] not in (_PHASES if "part" in row else (*_PHASES, "all")):
        yield "phase", f"is none of {', '.join(_PHASES)}"
    if "part" in row and not _PART.fullmatch(row["part"]):
        yield "part", "is not one such as 1/4"


def _is_number(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:38]}..")
