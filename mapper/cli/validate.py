"""`mapper validate`: strict check of accelerators, networks, mappings, constraints and sweeps, told apart by keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapper.errors import InputError, MapperError, did_you_mean

if TYPE_CHECKING:
    from mapper.yamlfile import Node

_ARCH_KEYS = ("compute", "bits", "technology_nm", "clock_ghz")
_LAYER_KEYS = ("conv", "linear", "matmul")
_CONSTRAINT_KEYS = ("constraints", "min_utilization")
_SWEEP_KEYS = ("network", "arch", "grid", "points")
_KEYS = ("name", "levels", "layers", *_ARCH_KEYS, *_LAYER_KEYS, *_CONSTRAINT_KEYS, *_SWEEP_KEYS)

_PLURAL = {"search": "es"}


@click.command("validate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Check accelerator, network, mapping, constraint and sweep files.

    All files are checked. Each gives a line: `ok: ...`, or an error with file:line, the value and the nearest valid
    one. Exit code: 0 all are fine, 2 otherwise.
    """
    wrong = 0
    for file in files:
        try:
            click.echo(f"ok: {file}: {_checked(Path(file))}")
        except MapperError as error:
            click.echo(f"error: {error}", err=True)
            wrong = error.exit_code
    ctx.exit(wrong)


def _checked(path: Path) -> str:
    """What a valid file describes, in a line."""
    from mapper.yamlfile import read

    node = read(path)
    kind = _kind(node, path)
    return {
        "accelerator": _arch,
        "network": _network,
        "layer": _layer,
        "mapping": _mapping,
        "constraints": _constraints,
        "sweep": _sweep,
    }[kind](path)


def _kind(node: Node, path: Path) -> str:
    """Accelerator, network, layer, mapping, constraints or sweep, by the keys on top."""
    keys = set(node.value) if isinstance(node.value, dict) else set()
    if keys & set(_SWEEP_KEYS):
        return "sweep"
    if "layers" in keys and "levels" not in keys:
        return "network"
    if keys == {"levels"}:
        return "mapping"
    if keys & {"levels", *_ARCH_KEYS}:
        return "accelerator"
    if keys & set(_LAYER_KEYS):
        return "layer"
    if keys & set(_CONSTRAINT_KEYS):
        return "constraints"
    near = [hint for key in sorted(keys) if (hint := did_you_mean(key, _KEYS)) and hint.startswith("did")]
    hint = near[0] if near else "levels: and compute:, or layers:, or levels: alone"
    raise InputError("neither accelerator, network, layer, mapping, constraints nor sweep", str(path), hint)


def _arch(path: Path) -> str:
    from mapper.arch import load_arch

    arch = load_arch(path)
    return f"accelerator {arch.name}, {' > '.join(arch.level_names)}, {_count(arch.pes, 'compute unit')}"


def _network(path: Path) -> str:
    from mapper.workload import load_network

    network = load_network(path)
    layers = _count(sum(layer.repeat for layer in network), "layer")
    return f"network {network.name}, {layers}, {network.macs:,} macs, {network.params:,} params"


def _layer(path: Path) -> str:
    from mapper.workload.zoofile import read_layer

    layer = read_layer(path)
    return f"layer {layer.name}, {layer.macs:,} macs, {layer.weights:,} weights"


def _mapping(path: Path) -> str:
    from mapper.mapping import nest_from_yaml

    return f"mapping {nest_from_yaml(path)}"


def _constraints(path: Path) -> str:
    from mapper.search.constraint_file import load_constraints

    return f"constraints {load_constraints(path)}".rstrip()


def _sweep(path: Path) -> str:
    from mapper.report import check_axes
    from mapper.runs.sweep import load_sweep

    sweep = load_sweep(path)
    check_axes(sweep)
    return f"sweep of {_count(len(sweep.points), 'point')}, {_count(len(sweep.problems), 'search')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{_PLURAL.get(noun, 's') * (number != 1)}"
