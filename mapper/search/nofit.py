"""Why no mapping of a mapspace fits its accelerator, how near one comes, and the least change that lets one fit.

The answers are exact, though no mapping is walked: for every mapping there is one among a few least tilings (see
`tilings.least_rows`) that takes no more of any buffer. So what exceeds the buffers least, and what needs the smallest
change, is one of these.

    nearest miss      least excess: of each buffer that is exceeded, excess / capacity, added up
    smallest change   fewest buffers to enlarge, then fewest bits to add; each gets what its file can state next to what
                      it needs

Between equals the mapping that keeps most stands, then the first text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mapper.arch import Accelerator, Buffer, Level, Unit
from mapper.cost.batch import kept_tiles, tensor_bits
from mapper.cost.precision import Precision
from mapper.cost.single import Occupancy
from mapper.counts.geometry import Geometry
from mapper.mapping.loopnest import Ints, LoopNest
from mapper.search.constraint_checks import unsatisfied
from mapper.search.space import Mapspace
from mapper.search.tilings import (
    Chains,
    Keeps,
    beyond_axis,
    beyond_buffer,
    count_tilings,
    every_chain,
    innermost,
    least_rows,
    shared_axes,
)

Held = dict[tuple[int, str], Ints]
"""Bits that each tensor takes at each level, an entry per row of chains."""


@dataclass(frozen=True)
class Reason:
    """What excludes tilings: `tilings` of them, or where that is not `exact`, as many at least."""

    where: str
    limit: str
    tilings: int
    exact: bool = True


@dataclass(frozen=True)
class Try:
    """A mapping and what it takes of every buffer."""

    mapping: LoopNest
    occupancy: tuple[Occupancy, ...]

    @property
    def excess(self) -> float:
        """Of each buffer that is exceeded, excess / capacity, added up."""
        return sum(excess(o) for o in self.occupancy)


@dataclass(frozen=True)
class Resize:
    """A buffer (`where`: its level, and its own name where that is another) and the capacity that it needs, in bits."""

    where: str
    buffer: str
    unit: Unit
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.where}: {self.unit.key} {self.unit.text(self.before)} -> {self.unit.text(self.after)}"


@dataclass(frozen=True)
class NoFit:
    """Why no mapping fits `accelerator` under `constraints` (empty where nothing is asked).

    `tilings` are all there are: a chain of factors for every dimension and a choice of kept tensors, whatever the loop
    orders. A tiling may be excluded for several `reasons`, largest first. `nearest` comes nearest to fitting; with
    `change`, `changed` fits. Where the constraints leave no tiling, `empty` says why, and nothing is near. Where
    `nearest` fits (and nothing is to be changed), it is not for the buffers that nothing was found: `min_utilization`,
    where it is asked for, excludes mappings by their cycles, which nothing here looks at.
    """

    accelerator: str
    constraints: str
    tilings: int
    reasons: tuple[Reason, ...] = ()
    nearest: Try | None = None
    change: tuple[Resize, ...] = ()
    changed: Try | None = None
    empty: str | None = None
    min_utilization: float | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Tilings excluded, by what excludes them."""
        return {reason.where: reason.tilings for reason in self.reasons}

    def __str__(self) -> str:
        if self.empty is not None:
            return self.empty
        under = f" under {self.constraints}" if self.constraints else ""
        if self.change:
            return f"no mapping fits {self.accelerator}{under} (smallest change: {', '.join(map(str, self.change))})"
        return f"no mapping was found for {self.accelerator}{under}; its buffers hold {self._near}"

    @property
    def _near(self) -> str:
        return "nothing" if self.nearest is None else str(self.nearest.mapping)


def diagnose(space: Mapspace) -> NoFit:
    """Why no mapping of `space` fits."""
    accelerator = space.accelerator
    empty = unsatisfied(space)
    if empty is not None:
        return NoFit(accelerator.name, str(space.constraints), 0, empty=empty)
    chains = every_chain(space)
    tries = Tries(space, least_rows(space, chains))
    nearest, changed = tries.nearest(), tries.easiest()
    return NoFit(
        accelerator.name,
        str(space.constraints),
        count_tilings(space, chains),
        tuple(sorted(reasons(space, chains), key=lambda reason: -reason.tilings)),
        nearest,
        tuple(_changes(accelerator, changed)),
        changed,
        min_utilization=space.constraints.min_utilization,
    )


def reasons(space: Mapspace, chains: Chains) -> Iterator[Reason]:
    """The limits that exclude any tiling, outermost first."""
    for index, kind in shared_axes(space):
        tally = beyond_axis(space, chains, (index, kind))
        where = f"{kind.upper()} below {space.accelerator.level_names[index]}"
        if tally.tilings:
            yield Reason(where, f"{space.lanes((index, kind))} lanes", tally.tilings, tally.exact)
    for index, level, buffer in limited(space.accelerator):
        tally = beyond_buffer(space, chains, index, buffer)
        if tally.tilings:
            yield Reason(place(level, buffer), capacity(buffer), tally.tilings, tally.exact)


def limited(accelerator: Accelerator) -> list[tuple[int, Level, Buffer]]:
    """The buffers that have a capacity, each with its level and the level's number."""
    return [
        (index, level, buffer)
        for index, level in enumerate(accelerator.levels)
        for buffer in level.buffers
        if buffer.capacity_bits is not None
    ]


def place(level: Level, buffer: Buffer) -> str:
    """The level, and the buffer where it has another name."""
    return level.name if buffer.name == level.name else f"{level.name}, {buffer.name}"


def capacity(buffer: Buffer) -> str:
    """As the file states it."""
    return f"{buffer.unit.key} {buffer.unit.text(buffer.capacity_bits or 0)}"


def excess(occupancy: Occupancy) -> float:
    """What a buffer is asked for beyond its capacity, as a share of that."""
    if occupancy.capacity_bits is None or occupancy.fits:
        return 0.0
    return occupancy.bits / max(occupancy.capacity_bits, 1) - 1


class Tries:
    """The least tilings of a mapspace: every row of chains with every choice of kept tensors."""

    def __init__(self, space: Mapspace, rows: Ints) -> None:
        self.space, self.rows = space, rows
        self.keeps = space.keeps()
        self.limited = limited(space.accelerator)
        self.held = self._held()
        limits = [max(buffer.capacity_bits or 0, 1) for _, _, buffer in self.limited]
        beyond = np.maximum(self._needs() - np.array(limits, dtype=np.int64), 0)
        self.buffers, self.bits = (beyond > 0).sum(axis=2), beyond.sum(axis=2)
        self.excess = (beyond / np.array(limits)).sum(axis=2)

    def nearest(self) -> Try:
        """The try of least excess."""
        return self._first(self.excess)

    def easiest(self) -> Try:
        """The try that fits with the fewest buffers enlarged, then the fewest bits added."""
        return self._first(np.where(self.buffers == self.buffers.min(), self.bits, np.inf))

    def _held(self) -> dict[int, Held]:
        """What tensors take where the sums are kept down to each level that may be their last: widths depend on it."""
        output = self.space.einsum.output.name
        anywhere = [frozenset[str]().union(*choices) for choices in zip(*self.keeps, strict=True)]
        found = {}
        for last in sorted({innermost(self.space, keeps) for keeps in self.keeps}):
            keeps = tuple(names - ({output} if level > last else set()) for level, names in enumerate(anywhere))
            geometry = Geometry(self.space.nests(_orders(self.space), keeps, self.rows))
            found[last] = tensor_bits(Precision(geometry, self.space.accelerator), kept_tiles(geometry))
        return found

    def _needs(self) -> Ints:
        """Bits that each try takes of each limited buffer: (choices of kept tensors, rows, buffers)."""
        needs = np.zeros((len(self.keeps), len(self.rows), len(self.limited)), dtype=np.int64)
        for number, keeps in enumerate(self.keeps):
            held = self.held[innermost(self.space, keeps)]
            for column, (index, _, buffer) in enumerate(self.limited):
                for name in self._tensors(keeps, index, buffer):
                    needs[number, :, column] += held[index, name]
        return needs

    def _tensors(self, keeps: Keeps, level: int, buffer: Buffer) -> list[str]:
        tensors = self.space.einsum.tensors
        return [t.name for t in tensors if t.name in keeps[level] and t.role in buffer.roles]

    def _first(self, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Try:
        """Of the tries of least value the first text of those that keep most."""
        choice, _ = np.unravel_index(int(values.argmin()), values.shape)
        rows = np.flatnonzero(values[choice] == values.min())
        return min((self._try(int(choice), int(row)) for row in rows), key=lambda each: str(each.mapping))

    def _try(self, choice: int, row: int) -> Try:
        accelerator, keeps = self.space.accelerator, self.keeps[choice]
        nests = self.space.nests(_orders(self.space), keeps, self.rows[row : row + 1])
        held = self.held[innermost(self.space, keeps)]
        occupancy = [
            Occupancy(
                buffer.name,
                {name: int(held[index, name][row]) for name in self._tensors(keeps, index, buffer)},
                buffer.capacity_bits,
            )
            for index, level in enumerate(accelerator.levels)
            for buffer in level.buffers
        ]
        return Try(nests.nest(0, accelerator.level_names, accelerator.open_levels), tuple(occupancy))


def _orders(space: Mapspace) -> tuple[tuple[str, ...], ...]:
    """An order of the loops of each level that the constraints allow."""
    prefixes = [space.prefix(level) for level in range(len(space.accelerator.levels))]
    return tuple((*first, *(d for d in space.looped if d not in first)) for first in prefixes)


def _changes(accelerator: Accelerator, changed: Try) -> Iterator[Resize]:
    """The buffers that `changed` exceeds, and the capacities that hold it."""
    needed = {occupancy.buffer: occupancy for occupancy in changed.occupancy if not occupancy.fits}
    for _, level, buffer in limited(accelerator):
        if buffer.name in needed:
            after = buffer.unit.hold(needed[buffer.name].bits)
            yield Resize(place(level, buffer), buffer.name, buffer.unit, buffer.capacity_bits or 0, after)


def resized(accelerator: Accelerator, change: Sequence[Resize]) -> Accelerator:
    """The accelerator with the capacities of `change`."""
    sizes = {resize.buffer: resize.after for resize in change}
    levels = []
    for level in accelerator.levels:
        buffers = (
            replace(buffer, capacity_bits=sizes.get(buffer.name, buffer.capacity_bits)) for buffer in level.buffers
        )
        levels.append(replace(level, buffers=tuple(buffers)))
    return replace(accelerator, levels=tuple(levels))
