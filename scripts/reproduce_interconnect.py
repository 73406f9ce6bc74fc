#!/usr/bin/env python3
"""Who talks to whom on the array of `procrustes`, and what balancing adds to it.

For one layer, every phase and partitioning takes its best dense mapping by edp. The first table says how each tensor
passes the array, the second in how many rows and columns the words lie before halves of work tiles are exchanged and
after. Writes both as CSV, with a figure of one working set. `docs/interconnect.md` explains them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import mapper
from mapper.errors import MapperError
from mapper.report.formats import Table, to_csv
from mapper.report.layout import table

if TYPE_CHECKING:
    from mapper.cost import Evaluation

Row = dict[str, str | int | float | bool]

ARCH, BATCH = "procrustes", 64
DENSITIES = {"W": 0.1, "I": 0.5}
PHASES, PARTITIONINGS = ("fw", "bw", "wu"), ("CK", "KN", "CN", "PQ")

DRAWN = (
    ("K,N: halves stay in their row", "DRAM: K2 N4 P4 Q7 C128 | GLB: | X: K16 | Y: N16 | RF: K4 P7 Q4 R3 S3"),
    ("C,K: halves cross the whole array", "DRAM: N64 P4 Q4 K2 C4 | GLB: P7 | X: C16 | Y: K16 | RF: C2 K4 Q7 R3 S3"),
)
"""Mappings of `layer2.0.conv2` of ResNet-18, forward, that cut their tiles along K."""


def evaluated(layer: mapper.workload.Layer, phase: str, partitioning: str) -> Evaluation:
    """The best dense mapping of a phase, with zeros and balancing."""
    best = mapper.search(layer, ARCH, phase=phase, partitioning=partitioning, top=1)[0]
    return mapper.evaluate(layer, ARCH, str(best.mapping), phase=phase, density=DENSITIES, balance="global")


def flow(found: Evaluation) -> Row:
    """How every tensor passes the array."""
    kinds: Row = {f"tensor {i}": f"{one.tensor} {one.pattern.kind}" for i, one in enumerate(found.passages, 1)}
    return kinds | {"one-dimensional": all(one.pattern.one_dimensional for one in found.passages)}


def exchanged(found: Evaluation) -> Iterator[Row]:
    """A row per tensor; none where nothing is exchanged."""
    from mapper.interconnect.exchange import exchange_of
    from mapper.interconnect.reach import extras

    exchange = exchange_of(found)
    if exchange is None:
        return
    for extra in extras(exchange):
        yield {
            "cut": exchange.dimension,
            "along": " ".join(exchange.axes),
            "tensor": extra.tensor,
            **{
                f"{line} {when}": getattr(extra, f"{line}_{when}").mean
                for line in ("rows", "columns")
                for when in ("before", "after")
            },
            "words": extra.deliveries_after / extra.deliveries_before,
            "held": extra.held_after.most / extra.held_before.most,
            "one-dimensional": extra.one_dimensional_after,
        }


def drawn() -> bytes:
    """The figure, as PNG."""
    from mapper.interconnect.exchange import exchange_of
    from mapper.report.exchange_figure import Panel, draw

    layer = mapper.load_network("resnet18", BATCH)["layer2.0.conv2"]
    panels = []
    for title, mapping in DRAWN:
        found = mapper.evaluate(layer, ARCH, mapping, density={"W": DENSITIES["W"]}, balance="global")
        exchange = exchange_of(found)
        assert exchange is not None
        panels.append(Panel(title, exchange, "I"))
    return draw(panels)


def columns(rows: list[Row]) -> list[str]:
    """Of all rows: some have tensors that others do not."""
    return list(dict.fromkeys(name for row in rows for name in row))


def printed(title: str, rows: list[Row]) -> str:
    """Aligned columns."""
    if not rows:
        return f"\n{title}: none"
    names = columns(rows)
    lines = table(names, ([shown(row[name]) if name in row else None for name in names] for row in rows))
    return "\n".join((f"\n{title}", *lines))


def shown(value: object) -> str:
    """As a table prints it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def studied(layer: str) -> tuple[list[Row], list[Row]]:
    """Flows and exchanges of every phase and partitioning."""
    loaded = mapper.load_layer(layer, BATCH)
    flows, exchanges = list[Row](), list[Row]()
    for phase in PHASES:
        for partitioning in PARTITIONINGS:
            found = evaluated(loaded, phase, partitioning)
            key: Row = {"phase": phase, "partitioning": partitioning}
            flows.append(key | flow(found))
            exchanges += [key | row for row in exchanged(found)]
    return flows, exchanges


@click.command(help=__doc__)
@click.option("--layer", default="resnet18:layer2.0.conv2", show_default=True, help="NETWORK:LAYER")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=Path("results/interconnect"))
def main(layer: str, output: Path) -> None:
    try:
        flows, exchanges = studied(layer)
    except MapperError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    output.mkdir(parents=True, exist_ok=True)
    for name, title, rows in (
        ("flows", f"How tensors of {layer} pass the array", flows),
        ("exchange", "Rows and columns of a word before and after balancing; words and room against before", exchanges),
    ):
        click.echo(printed(title, rows))
        full = tuple({column: row.get(column) for column in columns(rows)} for row in rows)
        (output / f"{name}.csv").write_bytes(to_csv(Table(name, full)))
    (output / "interconnect_exchange.png").write_bytes(drawn())
    click.echo(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
