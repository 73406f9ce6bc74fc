"""What a mapping does, as data: its loops and tiles, what each loop moves again, who shares words, what limits it.

`explain` takes an evaluation apart; `explain_text.render` puts the parts on a page. Every count is the evaluation's or
comes from the same counting functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from mapper.cost import Evaluation
from mapper.cost.latency import sharing_of
from mapper.counts.footprint import RankAxis, closed_form, count_rows
from mapper.counts.geometry import Geometry, idle_lanes
from mapper.counts.refetch import Moves, moves
from mapper.counts.tiles import tile_extents
from mapper.counts.traffic import kept_levels
from mapper.mapping import Nests, format_loop
from mapper.report.flows import Flow, flows
from mapper.report.letters import Formula, Letter, formula, letters
from mapper.report.utilization import Share, shares
from mapper.workload import Layer, Part, Rank, Tensor


@dataclass(frozen=True)
class Extent:
    """A rank of a tile: `span` positions from the first to the last, of which `words` are touched."""

    rank: str
    span: int
    words: int


@dataclass(frozen=True)
class Tile:
    """The largest tile of a tensor at a level; `bits` is what it takes of `buffer`, double buffering included."""

    tensor: str
    extents: tuple[Extent, ...]
    words: int
    bits: int
    buffer: str


@dataclass(frozen=True)
class Loop:
    """One loop. `kind` is t, x or y; `step`: how far one iteration moves the dimension.

    `tiles` and `rounds` of a spatial loop: what is spread, and how often the lanes are filled with it.
    """

    kind: str
    dimension: str
    factor: int
    step: int
    tiles: int
    rounds: int

    @property
    def text(self) -> str:
        return format_loop(self.dimension, self.factor)


@dataclass(frozen=True)
class LevelView:
    """A level: instances in all, the tiles it keeps, the tensors that pass it, its loops and those of its fan-out."""

    name: str
    instances: int
    tiles: tuple[Tile, ...]
    bypassing: tuple[str, ...]
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Culprit:
    """A loop that moves words again: `times` over, because the loops `inside` it move the tile in between.

    `slides`: it indexes the tensor, so that what moves again is the overlap of windows.
    """

    loop: str
    level: str
    inside: tuple[str, ...]
    times: Fraction
    slides: bool


@dataclass(frozen=True)
class Movement:
    """Words of a tensor between two levels that keep it: `words` move, `distinct` would if each moved once.

    Operands go down. Partial sums and results go up, and `refills` of them come back down. `padding` zeros move
    besides the words, made up on the way because no memory stores them; `distinct` and `times` count them.
    """

    tensor: str
    above: str
    below: str
    words: int
    distinct: int
    padding: int
    refills: int | None
    culprits: tuple[Culprit, ...]

    @property
    def times(self) -> Fraction:
        return Fraction(self.words + self.padding, self.distinct)


@dataclass(frozen=True)
class Explanation:
    """One mapping, explained. `heading` says whose it is; `evaluation` has the cycles, the energy and the buffers."""

    heading: str
    formula: Formula
    letters: tuple[Letter, ...]
    levels: tuple[LevelView, ...]
    movements: tuple[Movement, ...]
    flows: tuple[Flow, ...]
    utilization: tuple[Share, ...]
    evaluation: Evaluation


def explain(layer: Layer, part: Part, evaluation: Evaluation, title: str = "", note: str = "") -> Explanation:
    """Take `evaluation`, a mapping of `part` of `layer`, apart.

    The heading calls the layer `title` and ends in `note`, such as `KN, rank 1`.
    """
    nests = evaluation.nests.without_unit_slots()
    geometry, told = Geometry(nests), formula(part.einsum)
    heading = f"{title or layer.label}, {part.phase} {part.label}, on {evaluation.accelerator.name}"
    return Explanation(
        heading=f"{heading}: {note}" if note else heading,
        formula=told,
        letters=letters(layer, part),
        levels=tuple(_level(evaluation, geometry, told, index) for index in range(nests.level_count)),
        movements=tuple(_movements(evaluation, nests)),
        flows=flows(evaluation, geometry),
        utilization=shares(evaluation, geometry),
        evaluation=evaluation,
    )


def _level(evaluation: Evaluation, geometry: Geometry, told: Formula, index: int) -> LevelView:
    accelerator, nests = evaluation.accelerator, geometry.nests
    tensors = nests.einsum.tensors
    kept = [t for t in tensors if index == 0 or t.name in nests.keeps[index]]
    return LevelView(
        accelerator.level_names[index],
        accelerator.instances[index],
        tuple(_tile(evaluation, geometry, told, index, tensor) for tensor in kept),
        tuple(t.name for t in tensors if t not in kept),
        tuple(_loops(geometry, index)),
    )


def _tile(evaluation: Evaluation, geometry: Geometry, told: Formula, index: int, tensor: Tensor) -> Tile:
    level = evaluation.accelerator.levels[index]
    buffer = level.buffer(tensor).name
    held = next(o.tensors for o in evaluation.occupancy if o.buffer == buffer)
    extents = tuple(_extent(geometry, name, rank, index) for name, rank in told.ranks[tensor.name])
    return Tile(tensor.name, extents, evaluation.tiles[level.name, tensor.name], held[tensor.name], buffer)


def _extent(geometry: Geometry, name: str, rank: Rank, level: int) -> Extent:
    extents = tile_extents(geometry, level)
    axes = [RankAxis(t.coefficient, extents[t.dimension], ()) for t in rank]
    if len(axes) == 1:
        return Extent(name, int(axes[0].tile[0]), int(axes[0].tile[0]))
    usable, length, _, _ = closed_form(axes)
    counted, _ = count_rows(axes, [None] * len(axes), geometry.ones * 0, ~usable)
    span = sum(axis.coefficient * (int(axis.tile[0]) - 1) for axis in axes) + 1
    return Extent(name, span, int(length[0] if usable[0] else counted[0]))


def _loops(geometry: Geometry, level: int) -> Iterator[Loop]:
    missing = {i: int(n[0]) for slots in geometry.of.values() for i, n in idle_lanes(geometry.nests, slots)}
    for index, slot in enumerate(geometry.nests.slots):
        if slot.level == level:
            factor = int(geometry.factors[index, 0])
            rounds = _rounds(geometry, index)
            step = int(geometry.strides[index, 0])
            yield Loop(slot.kind, slot.dimension, factor, step, rounds * factor - missing.get(index, 0), rounds)


def _rounds(geometry: Geometry, index: int) -> int:
    """Iterations of all loops of the same dimension outside a slot."""
    outer = [i for i in geometry.of[geometry.nests.slots[index].dimension] if i < index]
    return math.prod(int(geometry.factors[i, 0]) for i in outer)


def _movements(evaluation: Evaluation, nests: Nests) -> Iterator[Movement]:
    """Between neighbouring keepers, by level below and then by tensor."""
    sharing, names = sharing_of(evaluation.accelerator), evaluation.accelerator.level_names
    reads = {(edge.level, edge.tensor): edge.reads for edge in evaluation.edges}
    found = []
    for tensor in nests.einsum.tensors:
        output = tensor == nests.einsum.output
        for above, below in itertools.pairwise(kept_levels(nests, tensor)):
            moved = moves(nests, tensor, above, below, sharing)
            read = reads[names[above], tensor.name]
            words, refills = (moved.words, read) if output else (read, None)
            culprits = tuple(_culprits(nests, names, tensor, moved))
            way = (tensor.name, names[above], names[below])
            line = Movement(*way, words, moved.distinct, moved.words - words, refills, culprits)
            found.append((below, line))
    yield from (line for _, line in sorted(found, key=lambda entry: entry[0]))


def _culprits(nests: Nests, names: tuple[str, ...], tensor: Tensor, moved: Moves) -> Iterator[Culprit]:
    """The loops that waste something, outermost first."""

    def text(slot: int) -> str:
        return format_loop(nests.slots[slot].dimension, int(nests.factors[0, slot]))

    for cause in moved.causes:
        if cause.times > 1:
            slot = nests.slots[cause.slot]
            slides = slot.dimension in tensor.dimensions
            inner = [other.slot for other in moved.causes if other.slot > cause.slot]
            inside = tuple(text(i) for i in inner if nests.slots[i].dimension in tensor.dimensions)
            yield Culprit(text(cause.slot), names[slot.level], inside, cause.times, slides)
