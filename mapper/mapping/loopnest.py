"""Loop nests: temporal loops per level, spatial loops per fan-out, kept tensors.

`LoopNest` is one mapping, as written. `Nests` is an array of mappings that share a loop structure (the same slots in
the same order), which is what the counting functions take: one mapping is a batch of one.

Chain of a dimension, innermost first: a temporal factor divides what is left exactly; `s` lanes over `m` tiles take
`ceil(m / s)` rounds, which the factors outside divide. At most one spatial factor per dimension leaves idle lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapper.workload.einsum import Einsum

Ints = NDArray[np.int64]
Loops = tuple[tuple[str, int], ...]

KINDS = ("t", "x", "y")
"""Temporal, then the X and the Y axis of the fan-out below: the order of slots inside a level."""


@dataclass(frozen=True)
class LevelLoops:
    """Loops of one level (outermost first) and of the fan-out below it.

    `keeps`: names of tensors kept where the spec leaves it open; None: what the spec keeps. Loops of one step are
    dropped and those of an axis, whose order says nothing, are sorted: equal work is an equal object.
    """

    name: str
    temporal: Loops = ()
    x: Loops = ()
    y: Loops = ()
    keeps: frozenset[str] | None = None

    def __post_init__(self) -> None:
        loops = {"temporal": self.temporal, "x": tuple(sorted(self.x)), "y": tuple(sorted(self.y))}
        for name, value in loops.items():
            object.__setattr__(self, name, tuple(loop for loop in value if loop[1] != 1))

    def loops(self, kind: str) -> Loops:
        return {"t": self.temporal, "x": self.x, "y": self.y}[kind]


@dataclass(frozen=True)
class LoopNest:
    """One mapping. Build it from text with `mapper.parse_nest`; `str()` gives the text back."""

    levels: tuple[LevelLoops, ...]

    def __str__(self) -> str:
        from mapper.mapping.notation import format_nest

        return format_nest(self)


@dataclass(frozen=True)
class Slot:
    """One loop of the shared structure: a dimension in a level (`kind` "t") or on an axis below it ("x", "y")."""

    level: int
    kind: str
    dimension: str


@dataclass(frozen=True)
class Nests:
    """`len(factors)` mappings of `einsum` that share `slots` (outermost first) and the kept tensors per level.

    `factors[b, i]` is the factor of slot `i` in mapping `b`. `keeps[l]` are the tensors kept at level `l`.
    """

    einsum: Einsum
    slots: tuple[Slot, ...]
    factors: Ints
    keeps: tuple[frozenset[str], ...]

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def level_count(self) -> int:
        return len(self.keeps)

    def take(self, rows: NDArray[np.int64] | slice) -> Nests:
        """The same structure with only those rows."""
        return Nests(self.einsum, self.slots, self.factors[rows], self.keeps)

    def without_unit_slots(self) -> Nests:
        """The same mappings without the slots that loop once in all of them."""
        used = np.asarray((self.factors > 1).any(axis=0))
        slots = tuple(slot for slot, kept in zip(self.slots, used, strict=True) if kept)
        return Nests(self.einsum, slots, self.factors[:, used], self.keeps)

    def nest(self, row: int, level_names: Sequence[str], open_levels: Iterable[int] = ()) -> LoopNest:
        """Mapping `row` as a `LoopNest`, unit loops left out; `open_levels` are those that state their keeps."""
        stated = set(open_levels)
        levels = []
        for index, name in enumerate(level_names):
            loops: dict[str, list[tuple[str, int]]] = {kind: [] for kind in KINDS}
            for slot, factor in zip(self.slots, self.factors[row].tolist(), strict=True):
                if slot.level == index and factor > 1:
                    loops[slot.kind].append((slot.dimension, factor))
            keeps = self.keeps[index] if index in stated else None
            levels.append(LevelLoops(name, tuple(loops["t"]), tuple(loops["x"]), tuple(loops["y"]), keeps))
        return LoopNest(tuple(levels))
