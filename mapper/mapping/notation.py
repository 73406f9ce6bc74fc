"""One line of text for a mapping, and the same in YAML; both round-trip.

    DRAM: N4 K8 | GLB[W,O]: C4 P7 | X: K16 | Y: N16 | RF: C2 R3 S3 Q7

Levels outermost first, loops outermost first; `X:` and `Y:` are the fan-out of the level on their left. A dimension
whose name ends in a digit takes `=` (`K1=16`). Tensors in brackets are kept where the accelerator leaves it open; no
brackets: what it keeps by itself. The canonical text names every level, leaves out loops of one step and empty axes,
and sorts the loops of an axis by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from pydantic import Field

from mapper.errors import MappingError, expect
from mapper.mapping.loopnest import LevelLoops, LoopNest, Loops
from mapper.workload.einsum import ROLES
from mapper.yamlfile import Node, StrictModel, read, resolve, validate

_NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_DIMENSION = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LOOP = re.compile(r"([A-Za-z_]\w*?)(?:\s*=\s*(\d+)|(\d+))(?!\S|\s*=)", re.ASCII)
_HEAD = re.compile(r"\s*([^\[\]:]*?)\s*(?:\[([^\[\]:]*)\]\s*)?", re.ASCII)
_WORD = re.compile(r"\S+")
_AXES = {"X": "x", "Y": "y"}
_DIGITS = 18
"""A factor of more digits leaves 64 bits, and no dimension is that large."""

_WIDTH = 100
"""Characters of the text that an error shows."""

_LEVEL_HINT = "write a level as NAME: loops, such as GLB: K4 C2"
_LOOP_HINT = "write a dimension and its factor, such as K4 or K1=4"
_BAR_HINT = "a level or an axis starts behind a bar: '|'"


@dataclass(frozen=True)
class _Source:
    """The text that is read, so that an error can point into it: by column, unless `where` is the line of a file."""

    text: str
    where: str
    in_file: bool = False

    def fail(self, position: int, message: str, hint: str) -> NoReturn:
        """Raise `MappingError` with the text, a caret under `position` and the nearest valid thing."""
        first = max(0, position - _WIDTH // 2)
        line = re.sub(r"\s", " ", self.text[first : first + _WIDTH])
        caret = " " * (position - first)
        where = self.where if self.in_file else f"{self.where}:{position + 1}"
        raise MappingError(f"{message}\n    {line}\n    {caret}^ {hint}", where)


def parse_nest(text: str, where: str = "mapping") -> LoopNest:
    """Read one line of text. `where` is named in errors, which are `MappingError` and point at the column."""
    expect(text, str, "a mapping", "text such as 'DRAM: K4 C2 | GLB: ...'")
    source = _Source(text, where)
    if not text.strip():
        source.fail(0, "the mapping is empty", _LEVEL_HINT)
    levels: list[LevelLoops] = []
    start = 0
    for piece in text.split("|"):
        _read_piece(source, start, start + len(piece), levels)
        start += len(piece) + 1
    return LoopNest(tuple(levels))


def format_nest(nest: LoopNest) -> str:
    """The canonical text: `parse_nest` gives the same nest back."""
    return " | ".join(piece for level in nest.levels for piece in _pieces(level))


def format_loop(dimension: str, factor: int) -> str:
    """`K16`, or `K1=16` where the name ends in a digit."""
    return f"{dimension}{'=' if dimension[-1].isdigit() else ''}{factor}"


def _pieces(level: LevelLoops) -> Iterator[str]:
    keeps = f"[{','.join(_in_order(level.keeps))}]" if level.keeps is not None else ""
    yield _join(f"{level.name}{keeps}", level.temporal)
    for title, kind in _AXES.items():
        if level.loops(kind):
            yield _join(title, level.loops(kind))


def _join(title: str, loops: Loops) -> str:
    return " ".join([f"{title}:", *(format_loop(*loop) for loop in loops)])


def _in_order(tensors: frozenset[str]) -> list[str]:
    """W, I, O first, as everybody says them; then by name."""
    return sorted(tensors, key=lambda t: (ROLES.index(t) if t in ROLES else len(ROLES), t))


def _read_piece(source: _Source, start: int, end: int, levels: list[LevelLoops]) -> None:
    """Read `text[start:end]`, what stands between two bars, into a new level or an axis of the last one."""
    piece = source.text[start:end]
    if not piece.strip():
        source.fail(start, "nothing stands between the bars", _LEVEL_HINT)
    head, colon, body = piece.partition(":")
    match = _HEAD.fullmatch(head)
    at = start + len(piece) - len(piece.lstrip())
    if not colon or not match:
        source.fail(at, f"'{piece.strip()}' is not a level", _LEVEL_HINT)
    name, keeps = match[1], match[2]
    loops = _read_loops(source, start + len(head) + 1, body)
    if name in _AXES:
        if keeps is not None:
            source.fail(at, f"{name} is an axis and keeps nothing", "put the brackets behind the level's name")
        _add_axis(source, at, name, loops, levels)
    else:
        _check_level(source, at, name, levels)
        kept = None if keeps is None else _read_keeps(source, start + match.start(2), keeps)
        levels.append(LevelLoops(name, loops, keeps=kept))


def _check_level(source: _Source, at: int, name: str, levels: list[LevelLoops]) -> None:
    if name.upper() in _AXES:
        source.fail(at, f"'{name}' is not a level", f"did you mean '{name.upper()}:'?")
    if not _NAME.fullmatch(name):
        source.fail(at, f"'{name}' is not the name of a level", _LEVEL_HINT)
    if name in {level.name for level in levels}:
        source.fail(at, f"level {name} stands twice", "write all its loops in one place")


def _add_axis(source: _Source, at: int, name: str, loops: Loops, levels: list[LevelLoops]) -> None:
    if not levels:
        source.fail(at, f"{name} has no level on its left", "a level's fan-out follows it, as in GLB: K4 | X: N8")
    level, kind = levels[-1], _AXES[name]
    if level.loops(kind):
        source.fail(at, f"{name} of level {level.name} stands twice", f"write all loops of {name} in one place")
    _check_axis(source, at, name, loops)
    levels[-1] = replace(level, x=loops) if kind == "x" else replace(level, y=loops)


def _check_axis(source: _Source, at: int, name: str, loops: Loops) -> None:
    dimensions = [dimension for dimension, _ in loops]
    for dimension in dimensions:
        if dimensions.count(dimension) > 1:
            source.fail(at, f"{dimension} stands twice on {name}", "multiply its factors")


def _read_loops(source: _Source, start: int, body: str) -> Loops:
    loops, position = [], 0
    while word := _WORD.search(body, position):
        match = _LOOP.match(body, word.start())
        if not match:
            hint = _BAR_HINT if ":" in word[0] else _LOOP_HINT
            source.fail(start + word.start(), f"'{word[0]}' is not a loop", hint)
        loops.append((match[1], _read_factor(source, start + word.start(), match)))
        position = match.end()
    return tuple(loops)


def _read_factor(source: _Source, at: int, match: re.Match[str]) -> int:
    digits = match[2] or match[3]
    if len(digits) > _DIGITS:
        source.fail(at, f"the factor of {match[1]} has {len(digits)} digits", f"at most {_DIGITS}")
    factor = int(digits)
    if factor < 1:
        source.fail(at, f"factor {factor} of {match[1]} is not positive", "leave the loop out, or write 1")
    return factor


def _read_keeps(source: _Source, start: int, text: str) -> frozenset[str]:
    names: list[str] = []
    if not text.strip():
        return frozenset()
    for part in text.split(","):
        name = part.strip()
        if not _DIMENSION.fullmatch(name) or name in names:
            problem = "stands twice" if name in names else "is not the name of a tensor"
            source.fail(start, f"'{name}' {problem}", "write the tensors that are kept, such as [W,O]")
        names.append(name)
        start += len(part) + 1
    return frozenset(names)


class _LevelEntry(StrictModel):
    """One level in a YAML mapping."""

    name: str = Field(description="the level's name in the accelerator's spec")
    keeps: list[str] | None = Field(None, description="tensors kept where the accelerator leaves it open")
    temporal: list[str] = Field([], description="temporal loops, outermost first, such as [N4, K8]")
    x: list[str] = Field([], description="loops spread over the columns of the fan-out below")
    y: list[str] = Field([], description="loops spread over the rows of the fan-out below")


class _NestFile(StrictModel):
    """A mapping in YAML."""

    levels: list[_LevelEntry] = Field(min_length=1, description="storage levels, outermost first")


def nest_from_yaml(path: Path | str) -> LoopNest:
    """Read a mapping from a YAML file of the form `nest_to_yaml` writes; errors give `file:line`."""
    node = read(path)
    levels: list[LevelLoops] = []
    for index, entry in enumerate(validate(_NestFile, node).levels):
        levels.append(_read_entry(entry, node.at("levels", index), levels))
    return LoopNest(tuple(levels))


def nest_to_yaml(nest: LoopNest) -> str:
    """The mapping as a YAML document, one key per kind of loop that the level has."""
    lines = ["# A mapping: levels outermost first, loops outermost first.", "levels:"]
    for level in nest.levels:
        lines.append(f"  - name: {_scalar(level.name)}")
        if level.keeps is not None:
            lines.append(f"    keeps: [{', '.join(map(_scalar, _in_order(level.keeps)))}]")
        for key, loops in {"temporal": level.temporal, "x": level.x, "y": level.y}.items():
            if loops:
                lines.append(f"    {key}: [{', '.join(format_loop(*loop) for loop in loops)}]")
    return "\n".join(lines) + "\n"


def _read_entry(entry: _LevelEntry, node: Node, outer: list[LevelLoops]) -> LevelLoops:
    _check_level(_Source(entry.name, node.at("name").where, True), 0, entry.name, outer)
    keeps = None
    if entry.keeps is not None:
        listed = ",".join(entry.keeps)
        keeps = _read_keeps(_Source(listed, node.at("keeps").where, True), 0, listed)
    axes = {kind: _read_list(getattr(entry, kind), node.at(kind)) for kind in ("temporal", "x", "y")}
    for title, kind in _AXES.items():
        _check_axis(_Source(" ".join(getattr(entry, kind)), node.at(kind).where, True), 0, title, axes[kind])
    return LevelLoops(entry.name, axes["temporal"], axes["x"], axes["y"], keeps)


def _read_list(texts: list[str], node: Node) -> Loops:
    """One loop per list entry."""
    loops: list[tuple[str, int]] = []
    for index, text in enumerate(texts):
        source = _Source(text, node.at(index).where, True)
        found = _read_loops(source, 0, text)
        if len(found) != 1:
            source.fail(0, f"'{text}' is not one loop", _LOOP_HINT)
        loops += found
    return tuple(loops)


def _scalar(text: str) -> str:
    """`text` as YAML, quoted where it would be read as something else."""
    return text if resolve(text) == text else f'"{text}"'
