"""The store of finished searches that a search or a sweep keeps in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mapper.runs import Store
    from mapper.search.solve import Problem

STORE = "jobs.sqlite"
"""Finished searches, in the folder of the tables."""


def store_of(place: Path) -> Path:
    """The file of a store that is given by itself or by its folder."""
    return place / STORE if place.is_dir() else place


def resumed_text(store: Store, problems: Sequence[Problem]) -> str:
    """How many of `problems` need no search."""
    return f"resumed: {store.finished(problems):,} of {len(problems):,} searches are in {store.path}"
