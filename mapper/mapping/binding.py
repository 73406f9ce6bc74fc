"""A loop nest meets an einsum and an accelerator: every name is known, every bound covered, every axis wide enough.

The chain of a dimension, innermost first: a temporal factor divides what is left of the bound; `s` lanes over `m`
tiles leave `ceil(m / s)` rounds. At most one spatial factor of a dimension leaves idle lanes; at the end 1 is left.
Where a dimension is spread over X and Y of one fan-out, X is outside Y.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Integral

import numpy as np

from mapper.arch.accelerator import Accelerator, Axis, Level
from mapper.errors import MappingError, did_you_mean
from mapper.mapping.loopnest import KINDS, LevelLoops, LoopNest, Loops, Nests, Slot
from mapper.mapping.notation import format_loop
from mapper.workload.einsum import Einsum, divisors

Placed = tuple[Slot, int]
"""A loop in its place: its slot and its factor."""


def bind(nest: LoopNest, einsum: Einsum, accelerator: Accelerator) -> Nests:
    """`nest` as a batch of one, checked; levels that it leaves out have no loops.

    Slots stand outermost first: the temporal loops of a level as written, then its X and its Y, each in the order of
    the einsum's dimensions. Whether the tiles fit is not asked here. Raises `MappingError`.
    """
    levels = _every_level(nest, accelerator)
    placed = [loop for index, level in enumerate(levels) for loop in _in_place(index, level, einsum)]
    for level, spec in zip(levels, accelerator.levels, strict=True):
        for kind in KINDS[1:]:
            _check_axis(level, spec, kind, einsum, accelerator)
    for dimension in einsum.dimensions:
        _check_cover(dimension, einsum.extent[dimension], placed, accelerator.level_names)
    keeps = tuple(_keeps(index, level, einsum, accelerator) for index, level in enumerate(levels))
    factors = np.array([[factor for _, factor in placed]], dtype=np.int64)
    return Nests(einsum, tuple(slot for slot, _ in placed), factors, keeps)


def _every_level(nest: LoopNest, accelerator: Accelerator) -> list[LevelLoops]:
    """One entry per level of the accelerator, in its order."""
    names = accelerator.level_names
    last = -1
    for level in nest.levels:
        if level.name not in names:
            raise MappingError(f"{accelerator.name} has no level '{level.name}'", hint=did_you_mean(level.name, names))
        index = names.index(level.name)
        if index == last:
            raise MappingError(f"level {level.name} stands twice", hint="write all its loops in one place")
        if index < last:
            raise MappingError(
                f"level {level.name} stands inside {names[last]}", hint=f"outermost first: {' | '.join(names)}"
            )
        last = index
    written = {level.name: level for level in nest.levels}
    return [written.get(name, LevelLoops(name)) for name in names]


def _in_place(index: int, level: LevelLoops, einsum: Einsum) -> Iterator[Placed]:
    order = {dimension: i for i, dimension in enumerate(einsum.dimensions)}
    for kind in KINDS:
        loops = level.loops(kind)
        for dimension, factor in loops:
            _check_loop(level.name, kind, dimension, factor, einsum)
        for dimension, factor in loops if kind == "t" else sorted(loops, key=lambda loop: order[loop[0]]):
            yield Slot(index, kind, dimension), factor


def _check_loop(level: str, kind: str, dimension: str, factor: int, einsum: Einsum) -> None:
    where = _place(level, kind)
    if dimension not in einsum.extent:
        hint = did_you_mean(dimension, einsum.dimensions)
        raise MappingError(f"{where}: {einsum.name} has no dimension '{dimension}'", hint=hint)
    if not isinstance(factor, Integral) or factor < 1:
        raise MappingError(f"{where}: factor {factor} of {dimension} is not positive", hint="1")


def _check_axis(level: LevelLoops, spec: Level, kind: str, einsum: Einsum, accelerator: Accelerator) -> None:
    """The fan-out below `level` exists, is wide enough and may carry these dimensions."""
    loops, axis = level.loops(kind), spec.fanout.axis(kind)
    if not loops:
        return
    where = _place(level.name, kind)
    if spec.fanout.lanes == 1:
        having = ", ".join(other.name for other in accelerator.levels if other.fanout.lanes > 1)
        hint = f"levels with a fan-out: {having}" if having else f"{accelerator.name} has no fan-out at all"
        raise MappingError(f"{where}: {level.name} has no fan-out", hint=hint)
    width = math.prod(factor for _, factor in loops)
    if width > axis.lanes:
        raise MappingError(
            f"{where}: spatial factors {_product(loops)} do not fit: {width} > {axis.lanes}",
            hint=f"at most {axis.lanes} lanes on this axis",
        )
    for dimension, _ in loops:
        _check_spread(where, dimension, axis, einsum)


def _check_spread(where: str, dimension: str, axis: Axis, einsum: Einsum) -> None:
    """The axis may carry this dimension."""
    able = [d for d in einsum.dimensions if obstacle(d, axis, einsum) is None]
    found = obstacle(dimension, axis, einsum)
    if found:
        hint = f"may be spread here: {', '.join(able)}" if able else "nothing may be spread here"
        raise MappingError(f"{where}: {dimension} may not be spread here: {found}", hint=hint)


def obstacle(dimension: str, axis: Axis, einsum: Einsum) -> str | None:
    """Why `dimension` may not be spread over `axis`; None where it may."""
    if axis.allowed is not None and dimension not in axis.allowed:
        return "the accelerator does not allow it"
    barred = [t.name for t in einsum.tensors if t.role in axis.irrelevant_to and dimension in t.dimensions]
    if barred:
        return f"it indexes {', '.join(barred)}"
    if dimension in einsum.reductions and not axis.reduction:
        return "it is summed over, and this axis cannot reduce"
    return None


def _check_cover(dimension: str, bound: int, placed: Sequence[Placed], names: Sequence[str]) -> None:
    """The factors of `dimension` cover its bound exactly, by the chain rule."""
    chain = [(slot, factor) for slot, factor in placed if slot.dimension == dimension]
    left, idle = bound, []
    for slot, factor in reversed(chain):
        rounds, over = divmod(left, factor)
        if over and slot.kind == "t":
            raise MappingError(
                f"{_factors(dimension, chain, bound)}: {names[slot.level]} has {factor}, which does not divide {left}",
                hint=f"nearest divisor: {_nearest_divisor(left, factor)}",
            )
        if over:
            idle.append(f"{factor} on {_place(names[slot.level], slot.kind)}")
        left = rounds + (over > 0)
    if len(idle) > 1:
        raise MappingError(
            f"{dimension}: {len(idle)} spatial factors leave idle lanes ({', '.join(reversed(idle))}); at most one may",
            hint=f"let all but one divide what is left of {bound}",
        )
    if left > 1:
        _fail_uncovered(dimension, bound, left, chain, names)


def _fail_uncovered(dimension: str, bound: int, left: int, chain: Sequence[Placed], names: Sequence[str]) -> None:
    outer = math.prod(factor for slot, factor in chain if slot.level == 0 and slot.kind == "t")
    raise MappingError(
        f"{_factors(dimension, chain, bound)} ({left} left)",
        hint=f"for example {format_loop(dimension, outer * left)} at {names[0]}",
    )


def _factors(dimension: str, chain: Sequence[Placed], bound: int) -> str:
    """`K: factors 16 x 4 = 64 do not cover its bound 128`."""
    factors = [factor for _, factor in chain]
    if not factors:
        return f"{dimension}: no factors cover its bound {bound}"
    if len(factors) == 1:
        return f"{dimension}: factor {factors[0]} does not cover its bound {bound}"
    product = f"{' x '.join(map(str, factors))} = {math.prod(factors)}"
    return f"{dimension}: factors {product} do not cover its bound {bound}"


def _nearest_divisor(number: int, wanted: int) -> int:
    """The divisor of `number` nearest to `wanted`, the smaller of two."""
    return min(divisors(number), key=lambda d: (abs(d - wanted), d))


def _keeps(index: int, level: LevelLoops, einsum: Einsum, accelerator: Accelerator) -> frozenset[str]:
    """Tensors kept at the level: what the spec keeps and what the mapping chooses of the rest."""
    open_to_choice = accelerator.kept(index, einsum, frozenset(t.name for t in einsum.tensors))
    for name in sorted(level.keeps or ()):
        if name not in {t.name for t in einsum.tensors}:
            hint = did_you_mean(name, [t.name for t in einsum.tensors])
            raise MappingError(f"level {level.name} keeps '{name}', no tensor of {einsum.name}", hint=hint)
        if name not in open_to_choice:
            hint = f"may be kept here: {', '.join(sorted(open_to_choice)) or 'nothing'}"
            raise MappingError(f"level {level.name} cannot keep {name}: the accelerator has it bypass", hint=hint)
    return accelerator.kept(index, einsum, level.keeps)


def _product(loops: Loops) -> str:
    return " x ".join(format_loop(*loop) for loop in loops)


def _place(level: str, kind: str) -> str:
    return f"level {level}" if kind == "t" else f"level {level}, axis {kind.upper()}"
