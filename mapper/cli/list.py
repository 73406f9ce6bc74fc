"""`mapper list`: what ships, the layers of a network, and the finished searches of a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from mapper.cli import options
from mapper.cli.stored import store_of
from mapper.errors import InputError

Listing = tuple[tuple[str, ...], Sequence[tuple[str | int | float | None, ...]]]
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


def _jobs(folder: str | None) -> Listing:
    from mapper.runs import Store

    path = store_of(Path(folder or "."))
    if not path.is_file():
        raise InputError("no store of finished searches", str(path), "mapper list jobs DIR, of a search or a sweep")
    with Store(path) as store:
        try:
            rows = [(str(search), *_came(outcome)) for _, search, outcome, _ in store.rows()]
        except (ValueError, TypeError, LookupError):
            raise InputError("a search in it is damaged", str(path), "remove it, or search without --resume") from None
    return ("search", "mappings", "cycles", "energy_pj", "evaluated", "reason"), rows


def _came(text: str) -> tuple[str | int | float | None, ...]:
    """What came of a search, of what its store keeps."""
    import json

    said = json.loads(text)
    if "error" in said:
        return 0, None, None, None, said["error"]["message"]
    best = said["ranked"][0]
    return len(said["ranked"]), best["cycles"], best["energy_pj"], said["certificate"]["evaluated"], None


KINDS: dict[str, Callable[[str | None], Listing]] = {
    "archs": _archs,
    "networks": _networks,
    "layers": _layers,
    "partitionings": _partitionings,
    "formats": _formats,
    "jobs": _jobs,
}

OF = {"layers": "NETWORK", "jobs": "DIR"}
"""What some kinds are listed of."""


@click.command("list")
@click.argument("kind", metavar="|".join(KINDS), type=options.OneOf(tuple(KINDS)))
@click.argument("of", metavar="[NETWORK|DIR]", required=False, type=options.Shipped("layer_zoo"))
@options.text_format_option
def command(kind: str, of: str | None, form: str) -> None:
    """What ships: accelerators, networks, partitionings, formats; layers of a NETWORK; finished searches of DIR.

    NETWORK is a shipped name or a file. Counts are of one sample; layers count with their repeats. DIR is the folder of
    a search or a sweep, the one you are in unless given.
    """
    if of is not None and kind not in OF:
        raise InputError(f"mapper list {kind} takes no argument, found '{of}'", hint=f"mapper list layers {of}")
    header, rows = KINDS[kind](of)
    click.echo(_written(form, header, rows), nl=False)


def _written(form: str, header: Sequence[str], rows: Sequence[tuple[str | int | float | None, ...]]) -> str:
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
