"""Constraints in a YAML file: one entry per level, shaped like those of a mapping's file.

constraints:
  - name: GLB
    temporal: [C<=8, P=7]      # a list of factors is quoted: "C=1,2,4"
    x: [K=16]
    order: [N, K]
    keeps: [W]
    bypasses: [I]
min_utilization: 0.85
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from mapper.errors import InputError
from mapper.search.constraint_text import check_level, read_body, read_factors, read_share
from mapper.search.constraints import Constraints, Limit, Rule
from mapper.yamlfile import Node, StrictModel, dotted, read, shown, validate

_KINDS = {"temporal": "t", "x": "x", "y": "y"}


class _LevelEntry(StrictModel):
    """What is asked of one level and of the fan-out below it."""

    name: str = Field(description="the level's name in the accelerator's spec")
    temporal: list[str] = Field([], description="factors of temporal loops, such as [C<=8, P=7]")
    x: list[str] = Field([], description="lanes on the columns of the fan-out below, such as [K=16]")
    y: list[str] = Field([], description="lanes on the rows of the fan-out below")
    order: list[str] | None = Field(None, min_length=1, description="outermost temporal loops, such as [N, K]")
    keeps: list[str] | None = Field(None, min_length=1, description="tensors that are kept, such as [W]")
    bypasses: list[str] | None = Field(None, min_length=1, description="tensors that are not kept")


class _ConstraintsFile(StrictModel):
    """A file of constraints."""

    constraints: list[_LevelEntry] = Field([], description="one entry per level")
    min_utilization: float | None = Field(None, description="the least utilization of a mapping, from 0 to 1")


def load_constraints(path: Path | str) -> Constraints:
    """Read constraints from a YAML file. Raises `InputError` with `file:line`."""
    return Constraints(tuple(file_rules(path)))


def file_rules(path: Path | str) -> Iterator[Rule]:
    """The rules of a YAML file, each with its line."""
    node = read(path)
    _refuse_bare_numbers(node)
    found = validate(_ConstraintsFile, node)
    for index, entry in enumerate(found.constraints):
        yield from _entry_rules(entry, node.at("constraints", index))
    if found.min_utilization is not None:
        yield read_share(found.min_utilization, node.at("min_utilization").where)


def _entry_rules(entry: _LevelEntry, node: Node) -> Iterator[Rule]:
    check_level(entry.name, node.at("name").where)
    for key, kind in _KINDS.items():
        for index, text in enumerate(getattr(entry, key)):
            source = node.at(key, index).where
            factors = list(read_factors(text, source))
            if len(factors) != 1:
                raise InputError(f"'{text}' is not the factor of one dimension", source, "an entry for each")
            yield Limit(entry.name, kind, *factors[0], (source,))
    if entry.order is not None:
        yield from read_body(entry.name, "order", " ".join(entry.order), node.at("order").where)
    for word in ("keeps", "bypasses"):
        for index, tensor in enumerate(getattr(entry, word) or ()):
            yield from read_body(entry.name, word, tensor, node.at(word, index).where)


def _refuse_bare_numbers(node: Node) -> None:
    """`[C=1,2,4]` is three entries to YAML: say so, before 2 is only called no text."""
    entries = node.child("constraints")
    for index, entry in enumerate(entries.value if entries and isinstance(entries.value, list) else []):
        for key in _KINDS:
            listed = entry.child(key)
            for value in listed.value if listed and isinstance(listed.value, list) else []:
                if isinstance(value.value, int) and not isinstance(value.value, bool):
                    path = dotted(node, ("constraints", index, key))
                    message = f"{path}: {shown(value.value)} is not a factor of a dimension"
                    raise value.error(message, 'a list of factors is quoted: "C=1,2,4"')
