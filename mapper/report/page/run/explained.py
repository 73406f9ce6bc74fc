"""The best mappings of a run, evaluated again: what `mapper explain` says of them, and whether their figures agree."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mapper.cost import Evaluation
from mapper.errors import InputError, MapperWarning
from mapper.report.explain import explain
from mapper.report.explain_text import render
from mapper.report.figures.picks import picks
from mapper.report.page.checked import number
from mapper.report.page.run.source import Source, key
from mapper.report.page.table import Row

MOST = 150
"""Mappings that are explained; of more best ones those that weigh most."""


@dataclass(frozen=True)
class Explained:
    """Mappings that say the same but for their layer. `evaluation` is None where `text` says why there is none.

    `name` is an anchor on a page. `same`: cycles and energy came out as the tables have them.
    """

    name: str
    rows: tuple[Row, ...]
    text: str
    charges: tuple[Row, ...]
    evaluation: Evaluation | None
    same: bool


@dataclass(frozen=True)
class Explanations:
    """In the order of the network. `left_out` counts best mappings beyond `MOST`; `warnings` are for the reader."""

    found: tuple[Explained, ...]
    left_out: int
    warnings: tuple[str, ...]

    @property
    def anchors(self) -> dict[tuple[str, ...], str]:
        """Anchors by the key of every mapping that is explained."""
        return {key(row): entry.name for entry in self.found for row in entry.rows}


def best_rows(source: Source) -> tuple[Row, ...]:
    """The mapping of the best partitioning for every layer, phase and part, in the order of the tables."""
    chosen = {key(row) for pick in picks(source.results).values() for row in _texts(pick.rows)}
    return tuple(row for row in source.mappings if key(row) in chosen)


def explanations(source: Source, most: int = MOST) -> Explanations:
    """Explain the best mappings of a run, at most `most`: those with the highest metric times repeats."""
    rows = best_rows(source)
    heavy = sorted(rows, key=lambda row: (-weight(source, row), key(row)))
    kept = {key(row) for row in heavy[:most]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MapperWarning)
        found = [_explained(source, row, f"mapping-{i}") for i, row in enumerate(rows, 1) if key(row) in kept]
    said = dict.fromkeys(str(one.message) for one in caught)
    said |= dict.fromkeys(f"not evaluated again: {entry.text}" for entry in found if entry.evaluation is None)
    return Explanations(tuple(_merged(found)), len(rows) - len(kept), tuple(said))


def weight(source: Source, row: Row) -> float:
    """The metric of a mapping, for all repeats of its layer."""
    return number(row, source.metric) * number(row, "repeat")


def _explained(source: Source, row: Row, name: str) -> Explained:
    charges = tuple(source.charges.get(key(row), ()))
    try:
        again = source.run.load(dict(row))
    except InputError as error:
        return Explained(name, (row,), str(error), charges, None, same=False)
    title = f"{source.manifest.get('network', '')}:{row['layer']}"
    note = f"{row['partitioning']}, rank {row['rank']}"
    found = again.evaluation
    same = (str(found.cycles), str(found.energy_pj)) == (row["cycles"], row["energy_pj"])
    text = render(explain(again.layer, again.part, found, title, note))
    return Explained(name, (row,), text, charges, found, same)


def _merged(entries: Iterable[Explained]) -> Iterator[Explained]:
    """Entries that say the same below their heading, as one that names all layers."""
    groups: dict[object, list[Explained]] = {}
    for entry in entries:
        below = entry.text.partition("\n")[2] or entry.text
        row = entry.rows[0]
        figures = tuple((r["component"], r["tensor"], r["action"], r["energy_pj"]) for r in entry.charges)
        same = (row["phase"], row["part"], row["partitioning"], below, figures, entry.same)
        groups.setdefault(same, []).append(entry)
    for group in groups.values():
        yield replace(group[0], rows=tuple(row for entry in group for row in entry.rows))


def _texts(rows: Iterable[dict[str, object]]) -> Iterator[Row]:
    return ({name: str(value) for name, value in row.items()} for row in rows)
