"""One mapping of one layer, as `evaluate` and `explain` take it on the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from mapper import shipped
from mapper.cli.options import Decorator
from mapper.errors import InputError

if TYPE_CHECKING:
    from mapper.mapping import LoopNest
    from mapper.sparsity.asked import ZerosAsked
    from mapper.sparsity.zeros import Sparsity
    from mapper.workload import Layer, Part

MAPPING_HELP = "The mapping: one line of text, or a YAML file."

phase_option: Decorator = click.option(
    "--phase", metavar="P", help="Training phase: fw, bw or wu, also by other names (forward, dgrad, wgrad ...)."
)
part_option: Decorator = click.option(
    "--part", metavar="I", help="Which part of a phase that has several: 2, or 2/4 as the tables say."
)


def read_mapping(text: str) -> LoopNest:
    """The mapping that `text` is, or that the YAML file of that name holds. Raises `MappingError` or `InputError`."""
    from mapper.mapping import nest_from_yaml, parse_nest

    if text.lower().endswith((".yaml", ".yml")) or shipped.is_file(text):
        return nest_from_yaml(text)
    return parse_nest(text)


def number(text: str) -> int | None:
    """The whole number that `text` is, None where it is none, or has more digits than anything here counts to."""
    return int(text) if re.fullmatch(r"\s*[0-9]{1,9}\s*", text) else None


def chosen_part(layer: Layer, phase: str | None, part: str | None) -> Part:
    """The part of a phase that the options name; forward, and its only part, where they are not given."""
    parts = layer.parts(phase or "fw")
    if part is None and len(parts) > 1:
        having = f"{layer.label} has {len(parts)} parts in phase {parts[0].phase}, each with a mapping of its own"
        raise InputError(having, where="--part", hint=f"1 to {len(parts)}")
    text, _, of = (part or "1").partition("/")
    index, count = number(text), number(of) if of else len(parts)
    if index is None or count is None:
        raise InputError(f"'{part}' is not a part", where="--part", hint="2, or 2/4")
    if not 1 <= index <= len(parts) or count != len(parts):
        having = f"{layer.label} has {len(parts)} part{'s' * (len(parts) > 1)} in phase {parts[0].phase}"
        raise InputError(f"no part '{part}': {having}", where="--part", hint=f"1 to {len(parts)}")
    return parts[index - 1]


def sparsity_of(text: str, batch: int, layer: Layer, part: Part, zeros: ZerosAsked) -> Sparsity:
    """What the command line says about zeros, for one part of the layer that `text` names."""
    from mapper.workload.network import whole_network

    return zeros.given(whole_network(text, batch)).sparsity(layer, part)
