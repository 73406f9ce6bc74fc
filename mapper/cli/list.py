"""`mapper list`: what ships, and the layers of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from mapper.cli import options
from mapper.errors import InputError

Listing = tuple[tuple[str, ...], list[tuple[str | int | None, ...]]]
"""Column names and rows."""


def _archs(_: str | None) -> Listing:
    from mapper import shipped
    from mapper.arch import load_arch

    rows: list[tuple[str | int | None, ...]] = []
    for name in shipped.names("arch_specs"):
        arch = load_arch(name)
        fanouts = [f"{lv.fanout.x.lanes}x{lv.fanout.y.lanes}" for lv in arch.levels if lv.fanout.lanes > 1]
        levels = " > ".join(arch.level_names)
        rows.append((name, arch.pes, " ".join(fanouts) or "1x1", levels, arch.technology_nm, arch.description))
    return ("name", "pes", "arrays", "levels", "technology_nm", "description"), rows


def _networks(_: str | None) -> Listing:
    from mapper.workload import load_network, network_names

    networks = [(name, load_network(name)) for name in network_names()]
    rows = [(name, sum(la.repeat for la in n), n.macs, n.params, n.description) for name, n in networks]
    return ("name", "layers", "macs", "params", "description"), [tuple(row) for row in rows]


def _layers(name: str | None) -> Listing:
    from mapper.workload import load_network

    if name is None:
        raise InputError("which network's layers?", where="mapper list layers", hint="mapper list layers resnet18")
    dimensions = ("N", "G", "K", "C", "P", "Q", "R", "S")
    rows: list[tuple[str | int | None, ...]] = []
    for layer in load_network(name):
        extent = layer.einsums("fw")[0].extent
        kind = type(layer).__name__.lower()
        strides = getattr(layer, "stride", (1, 1))
        rows.append(
            (
                *(layer.name, kind, layer.repeat),
                *(extent.get(dimension, 1) for dimension in dimensions),
                *(f"{strides[0]}x{strides[1]}", len(layer.einsums("bw")), layer.macs, layer.weights),
            )
        )
    return ("layer", "kind", "repeat", *dimensions, "stride", "gradient_parts", "macs", "weights"), rows


def _partitionings(_: str | None) -> Listing:
    from mapper.mapping.partitioning import STANDARD
    from mapper.report.letters import CONVOLUTION

    rows: list[tuple[str | int | None, ...]] = []
    for name in STANDARD:
        x, y = (f"{letter} ({CONVOLUTION[letter]})" for letter in name)
        rows.append((name, x, y))
    rows.append(("all", "the four above", ""))
    rows.append(("any", "the search chooses", ""))
    rows.append(("XY", "any dimension", "any other: KP, or KP/N for K and P on X"))
    return ("name", "over columns (X)", "over rows (Y)"), rows


def _formats(_: str | None) -> Listing:
    written = {"mapper search": options.FORMATS, "mapper evaluate, mapper list": options.TEXT_FORMATS}
    return ("format", "written by"), [(form, by) for by, forms in written.items() for form in forms]


KINDS: dict[str, Callable[[str | None], Listing]] = {
    "archs": _archs,
    "networks": _networks,
    "layers": _layers,
    "partitionings": _partitionings,
    "formats": _formats,
}


@click.command("list")
@click.argument("kind", metavar="|".join(KINDS), type=options.OneOf(tuple(KINDS)))
@click.argument("network", required=False, type=options.Shipped("layer_zoo"))
@options.text_format_option
def command(kind: str, network: str | None, form: str) -> None:
    """What ships: accelerators, networks, partitionings, formats; and the layers of a NETWORK.

    NETWORK is a shipped name or a file. Counts are of one sample; layers count with their repeats.
    """
    if network is not None and kind != "layers":
        raise InputError(
            f"mapper list {kind} takes no argument, found '{network}'", hint=f"mapper list layers {network}"
        )
    header, rows = KINDS[kind](network)
    click.echo(_written(form, header, rows), nl=False)


def _written(form: str, header: Sequence[str], rows: Sequence[tuple[str | int | None, ...]]) -> str:
    if form == "json":
        import json

        return json.dumps([dict(zip(header, row, strict=True)) for row in rows], indent=2) + "\n"
    if form == "csv":
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
        return out.getvalue()
    from mapper.report.layout import table

    return "\n".join(table(header, rows, indent=0)) + "\n"
