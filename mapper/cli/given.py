"""One mapping of one layer, as `evaluate` and `explain` take it on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapper.cli.options import Decorator
from mapper.errors import InputError

if TYPE_CHECKING:
    from mapper.mapping import LoopNest
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

    if text.lower().endswith((".yaml", ".yml")) or _is_file(text):
        return nest_from_yaml(text)
    return parse_nest(text)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:
        return False


def chosen_part(layer: Layer, phase: str | None, part: str | None) -> Part:
    """The part of a phase that the options name; forward and 1 where they are not given."""
    parts = layer.parts(phase or "fw")
    text, _, of = (part or "1").partition("/")
    if not text.strip().isdigit() or (of and not of.strip().isdigit()):
        raise InputError(f"'{part}' is not a part", where="--part", hint="2, or 2/4")
    index = int(text)
    if not 1 <= index <= len(parts) or (of and int(of) != len(parts)):
        having = f"{layer.label} has {len(parts)} part{'s' * (len(parts) > 1)} in phase {parts[0].phase}"
        raise InputError(f"no part '{part}': {having}", where="--part", hint=f"1 to {len(parts)}")
    return parts[index - 1]
