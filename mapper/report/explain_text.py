"""An explanation as a page of text, at most 110 columns wide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from mapper.cost.single import Evaluation, Occupancy
from mapper.interconnect.patterns import Lane
from mapper.mapping import format_loop
from mapper.report.explain import Culprit, Explanation, LevelView, Loop, Movement, Tile
from mapper.report.flows import Flow
from mapper.report.layout import BAR, bar, number, on_page, portion, table, times, wrapped

_REMARK = 50
"""Column where the remark beside a loop begins."""


def render(told: Explanation) -> str:
    """The whole page."""
    sections = (_head, _formula, _nest, _movements, _flows, _time, _energy)
    lines: list[str] = []
    for section in sections:
        found = list(section(told))
        if found:
            lines += ["", *found] if lines else found
    return on_page(lines)


def _head(told: Explanation) -> Iterator[str]:
    found = told.evaluation
    yield told.heading
    yield from wrapped(str(found.mapping))
    yield (
        f"  {found.cycles:,} cycles, bound by {found.bound_by}; utilization {portion(found.utilization)}; "
        f"{number(found.energy_pj)} pJ"
    )


def _formula(told: Explanation) -> Iterator[str]:
    found = told.evaluation
    yield "What is computed"
    definitions = "".join(f",  {text}" for text in told.formula.definitions)
    yield f"  {told.formula.text}{definitions}"
    rows = [
        (
            letter.name,
            letter.bound,
            letter.meaning,
            " ".join(letter.moves),
            "summed over" if letter.name in found.einsum.reductions else "",
            f"{' '.join(letter.reuses)} used again" if letter.reuses else "",
        )
        for letter in told.letters
    ]
    if rows:
        meaning = "counts" if any(row[2] for row in rows) else ""
        yield from table(("", "bound", meaning, "indexes", "", "while it steps"), rows)
    yield f"  {found.macs:,} multiply-accumulates"


def _nest(told: Explanation) -> Iterator[str]:
    yield "Loop nest, outermost first, and the tiles that each level holds"
    depth = 0
    for level in told.levels:
        yield from _level(told, level)
        for loop in level.loops:
            yield _loop_line(loop, depth)
            depth += 1
    yield f"{_indent(depth)}{told.formula.text}"


def _level(told: Explanation, level: LevelView) -> Iterator[str]:
    found = told.evaluation
    spec = found.accelerator.levels[found.accelerator.level_names.index(level.name)]
    passing = f"; bypassed by {', '.join(level.bypassing)}" if level.bypassing else ""
    many = f" ({level.instances} of them)" if level.instances > 1 else ""
    yield f"{level.name}{many}{passing}"
    named = len(spec.buffers) > 1
    rows = [(t.tensor, _extents(t), t.words, "words", _bits(found, t)) for t in level.tiles]
    yield from (line for line in table(("", "", "", "", ""), rows, indent=4)[1:])
    for occupancy in found.occupancy:
        if occupancy.buffer in {buffer.name for buffer in spec.buffers}:
            yield f"    {_fullness(occupancy, named)}"


def _extents(tile: Tile) -> str:
    return " ".join(f"{e.rank}{e.words}" + ("" if e.words == e.span else f"(of {e.span})") for e in tile.extents)


def _bits(found: Evaluation, tile: Tile) -> str:
    padding = found.einsum.tensor(tile.tensor).padding_words
    whole = tile.words == found.tiles[found.accelerator.level_names[0], tile.tensor]
    note = f", {padding:,} of the words are padding" if padding and whole else ""
    return f"{tile.bits:,} bits{note}"


def _fullness(occupancy: Occupancy, named: bool) -> str:
    name = f"{occupancy.buffer}: " if named else ""
    if occupancy.capacity_bits is None:
        return f"{name}no limit"
    share = occupancy.bits / occupancy.capacity_bits
    over = "" if occupancy.fits else ": DOES NOT FIT"
    used = f"{occupancy.bits:,} of {occupancy.capacity_bits:,} bits{over}"
    return f"{name}[{bar(share).ljust(BAR)}] {portion(share)} full, {used}"


def _loop_line(loop: Loop, depth: int) -> str:
    name, last = loop.dimension.lower(), loop.factor - 1
    if loop.kind == "t":
        head = f"{_indent(depth)}for {name} in 0..{last}"
        remark = f"{loop.dimension} in steps of {loop.step:,}" if loop.step > 1 else f"{loop.dimension} one by one"
    else:
        head = f"{_indent(depth)}parallel-for {name} in 0..{last} on {loop.kind.upper()}"
        slots = loop.rounds * loop.factor
        remark = f"{loop.dimension} {loop.step:,} apart"
        if loop.tiles < slots:
            remark = f"{loop.tiles} tiles on {loop.factor} lanes: {loop.rounds} rounds, {loop.tiles} of {slots} slots"
    return f"{head.ljust(_REMARK)}  {remark}"


def _indent(depth: int) -> str:
    return "  " * (depth + 1)


def _movements(told: Explanation) -> Iterator[str]:
    if not told.movements:
        return
    yield "What moves, and which loop moves it again"
    rows = []
    for move in told.movements:
        way = f"{move.below} to {move.above}" if move.refills is not None else f"{move.above} to {move.below}"
        moved = move.words + move.padding
        rows.append((move.tensor, way, move.distinct, moved, times(float(move.times)), move.refills))
    yield from table(("", "way", "distinct words", "words moved", "", "come back"), rows, left=2)
    for move in told.movements:
        if move.padding:
            text = f"{move.padding:,} of the words of {move.tensor} into {move.below} are padding, made up on the way"
            yield from wrapped(f"{text}: {move.above} reads {move.words:,}", 4)
        for blamed in itertools.groupby(move.culprits, key=lambda c: (c.slides and c.loop, c.level, c.inside)):
            yield from wrapped(_blame(move, list(blamed[1])), 4)


def _blame(move: Movement, culprits: list[Culprit]) -> str:
    """One sentence for neighbouring loops with the same loops inside them."""
    first, inside = culprits[0], " ".join(culprits[0].inside)
    loops = f"{' '.join(culprit.loop for culprit in culprits)} at {first.level}"
    factor = times(float(math.prod(culprit.times for culprit in culprits)))
    if first.slides:
        moved = f"overlap, with {inside} in between" if inside else "want words that left, or that another child had"
        return f"{move.tensor} is refetched {factor} into {move.below}: windows of {loops} {moved}"
    outside = f"outside {inside}" if inside else f"above {move.below}"
    if move.refills is not None:
        return f"{move.tensor} leaves {move.below} unfinished, {factor}: {loops}, summed over, {outside}"
    return f"{move.tensor} is refetched {factor} into {move.below}: {loops}, {outside}"


def _flows(told: Explanation) -> Iterator[str]:
    if not told.flows:
        return
    yield "Who shares words on the array"
    rows = []
    for flow in told.flows:
        x, y = (_lane(flow, *axis) for axis in zip((flow.x, flow.y), flow.able, strict=True))
        rows.append((flow.tensor, flow.level, flow.pattern.kind, x, y, _mean(flow), _most(flow)))
    yield from table(("", "below", "travels", "X", "Y", "on average", "at most"), rows, left=5)


def _mean(flow: Flow) -> str:
    if flow.output:
        return f"{flow.mean:,.4g} sums become one" if flow.mean > 1 else "-"
    return f"{flow.mean:,.4g} receiver{'' if flow.mean == 1 else 's'} a read"


def _most(flow: Flow) -> int | None:
    return None if flow.output else flow.most


def _lane(flow: Flow, lane: Lane, able: bool) -> str:
    if not lane.loops:
        return "-"
    kinds = []
    if lane.own > 1:
        kinds.append(f"{'neighbours overlap' if lane.overlap else 'unicast'} to {lane.own}")
    if lane.shared > 1:
        shared = "reduced from" if flow.output else "multicast to" if able else "sent again to each of"
        kinds.append(f"{shared} {lane.shared}")
    return f"{' '.join(format_loop(*loop) for loop in lane.loops)}: {', '.join(kinds)}"


def _time(told: Explanation) -> Iterator[str]:
    found = told.evaluation
    yield "Time"
    rows = [
        (name, cycles, "cycles", bar(cycles / found.cycles) + ("  <- limits" if name == found.bound_by else ""))
        for name, cycles in found.bounds.items()
    ]
    yield from table(("", "", "", ""), rows)[1:]
    yield f"  {found.fill_drain_cycles:,} cycles more to fill before the first step and to drain after the last"
    yield f"  utilization {portion(found.utilization)}{', the product of' if told.utilization else ''}"
    lines = [(portion(float(share.share)), share.what, share.why) for share in told.utilization]
    yield from table(("", "", ""), lines, indent=4)[1:]


def _energy(told: Explanation) -> Iterator[str]:
    found = told.evaluation
    total = found.energy_pj
    yield f"Energy: {number(total)} pJ"
    if total <= 0:
        return
    tensors = [t.name for t in found.einsum.tensors]
    cells: dict[tuple[str, str], float] = {}
    for item in found.items:
        column = item.tensor or "other"
        cells[item.component, column] = cells.get((item.component, column), 0.0) + item.energy_pj
    columns = [*tensors, "other"]
    rows = []
    for component, energy in found.energy_by("component").items():
        parts = [_part(cells.get((component, column)), total) for column in columns]
        rows.append((component, *parts, portion(energy / total), bar(energy / total)))
    by_tensor = found.energy_by("tensor")
    sums = [_part(by_tensor.get(name, 0.0), total) for name in [*tensors, ""]]
    rows.append(("all", *sums, portion(1), ""))
    yield from table(("", *columns, "all", ""), rows)


def _part(energy: float | None, total: float) -> str:
    return "-" if energy is None else portion(energy / total)
