"""Every choice of lanes, and which of them are alike.

A choice gives each dimension its lanes on each axis it may be spread on. Choices that differ only in which axis of a
fan-out a dimension takes move the same words where both axes can do the same and no lane idles on two axes at once;
such choices are solved together, and each of their mappings is still its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mapper.counts.distinct import distinct_rows
from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.search.space import Mapspace

LARGEST = 20_000_000
"""Choices of lanes that are looked at while they are listed."""


@dataclass(frozen=True)
class Spread:
    """One dimension: `values[i]` its lanes per spatial place (`places`), `chains[i]` the chains that have them.

    `alike[i]` numbers the values that are interchangeable; `cycles[i]` is the least number of steps.
    """

    places: tuple[tuple[int, str], ...]
    values: Ints
    chains: tuple[NDArray[np.intp], ...]
    alike: NDArray[np.intp]
    cycles: Ints


class Lanes:
    """Choices of lanes of a mapspace, as rows of numbers into `Spread.values`, a column per looped dimension."""

    def __init__(self, space: Mapspace, chains: dict[str, Ints]) -> None:
        self.space = space
        self.spreads = {d: self._spread(d, rows) for d, rows in chains.items()}

    def _spread(self, dimension: str, rows: Ints) -> Spread:
        places = self.space.places(dimension)
        spatial = [i for i, (_, kind) in enumerate(places) if kind != "t"]
        temporal = [i for i, (_, kind) in enumerate(places) if kind == "t"]
        values, which = np.unique(rows[:, spatial], axis=0, return_inverse=True)
        which = which.ravel()
        chains = tuple(np.flatnonzero(which == i) for i in range(len(values)))
        steps = rows[:, temporal].prod(axis=1)
        named = tuple(places[i] for i in spatial)
        keys = [
            self._key(dimension, named, value, rows[chosen][:, temporal])
            for value, chosen in zip(values, chains, strict=True)
        ]
        number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        return Spread(
            named,
            values,
            chains,
            np.array([number[key] for key in keys], dtype=np.intp),
            np.array([steps[chosen].min() for chosen in chains], dtype=np.int64),
        )

    def _key(self, dimension: str, places: tuple[tuple[int, str], ...], value: Ints, temporal: Ints) -> object:
        """Equal for lanes that are interchangeable."""
        idle = bool((temporal.prod(axis=1) * value.prod() != self.space.einsum.extent[dimension]).any())
        out: list[object] = []
        for level in sorted({level for level, _ in places}):
            fanout = self.space.accelerator.levels[level].fanout
            lanes = {kind: int(n) for (at, kind), n in zip(places, value.tolist(), strict=True) if at == level}
            taken = {kind: n for kind, n in lanes.items() if n > 1}
            if fanout.x.multicast == fanout.y.multicast and not (idle and len(taken) > 1):
                out.append((level, int(np.prod(list(taken.values())))))
            else:
                out.append((level, tuple(sorted(taken.items()))))
        order = np.lexsort(temporal.T[::-1])
        return tuple(out), temporal[order].tobytes()

    @cached_property
    def choices(self) -> NDArray[np.int32]:
        """Every choice whose axes hold it."""
        axes = self.space.axes()
        chosen = np.zeros((1, 0), dtype=np.int32)
        taken = np.ones((1, len(axes)), dtype=np.int64)
        widths = np.array([self.space.lanes(axis) for axis in axes], dtype=np.int64)
        for spread in self.spreads.values():
            on_axes = np.ones((len(spread.values), len(axes)), dtype=np.int64)
            for i, place in enumerate(spread.places):
                on_axes[:, axes.index(place)] = spread.values[:, i]
            if len(chosen) * len(on_axes) > LARGEST:
                raise InputError(
                    f"more than {LARGEST:,} choices of lanes are too many to be compared",
                    hint="a partitioning with a dimension for each axis, such as KN, makes them fewer",
                )
            together = (taken[:, None, :] * on_axes[None]).reshape(len(taken) * len(on_axes), len(axes))
            fitting = np.flatnonzero((together <= widths).all(axis=1))
            taken = together[fitting]
            old, new = np.divmod(fitting, len(on_axes))
            chosen = np.concatenate([chosen[old], new[:, None].astype(np.int32)], axis=1)
        return chosen

    @cached_property
    def classes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(first choice of each class of interchangeable choices, class of each choice)."""
        alike = (
            np.stack([spread.alike[self.choices[:, i]] for i, spread in enumerate(self.spreads.values())], axis=1)
            if self.spreads
            else np.zeros((1, 1), dtype=np.intp)
        )
        return distinct_rows(alike)
