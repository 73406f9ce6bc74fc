"""`mapper masks`: what actual masks are like, synthetic ones, and whether a file would load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mapper.arch.zeros import BALANCES
from mapper.cli import options
from mapper.cli.target import check_target, whole_file

if TYPE_CHECKING:
    from mapper.sparsity.masks import Masks
    from mapper.sparsity.stats import LayerStats
    from mapper.workload import Network

FIGURES = (".png", ".svg", ".pdf")
"""Endings of figures."""

network_option: options.Decorator = click.option(
    "--network",
    required=True,
    metavar="NETWORK",
    type=options.Shipped("layer_zoo"),
    help="Whose masks: a shipped name, a file, or one layer as NETWORK:LAYER.",
)
reading_options: options.Decorator = options.together(
    network_option,
    click.option(
        "--axes",
        default="KCRS",
        show_default=True,
        metavar="AXES",
        help="Order of the file's axes: K output channels, C input channels of a group, R S filter (RSCK is HWIO).",
    ),
    click.option(
        "--threshold",
        type=float,
        metavar="T",
        help="Keep floats larger than T in magnitude. Default: those that are not exactly 0.",
    ),
    click.option("--snapshot", metavar="NAME", help="Which of several in a folder: a name, a place from 0, or last."),
    click.option("--partial", is_flag=True, help="Leave layers dense that have no mask."),
)
force_option: options.Decorator = click.option("--force", is_flag=True, help="Overwrite a file that exists.")


@click.group("masks")
def command() -> None:
    """Actual weight masks.

    FILE is a .npz, a folder of .npy, or a PyTorch state (.pt, .pth), with one array per layer under the layer's name;
    or a folder of several such snapshots.
    """


@command.command("stats")
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@click.option(
    "--balance",
    default=BALANCES[0],
    show_default=True,
    type=options.OneOf(BALANCES),
    metavar="B",
    help="|".join(BALANCES) + ": how the work of PEs is evened out before their imbalance is stated.",
)
@options.text_format_option
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw densities too: .png, .svg, .pdf.")
@force_option
def stats(
    file: Path,
    network: str,
    axes: str,
    threshold: float | None,
    snapshot: str | None,
    partial: bool,
    balance: str,
    form: str,
    figure: Path | None,
    force: bool,
) -> None:
    """Density, spread over filters, dispersion and imbalance of every layer's mask.

    Imbalance is that of 16 x 16 PEs with 256 words each: busiest PE / mean PE, 1 if all work equally long.
    """
    from mapper.sparsity.stats import masks_stats

    if figure is not None:
        check_target(figure, FIGURES, force, "--figure")
    loaded, masks = _load(file, network, axes, threshold, snapshot, partial)
    found = masks_stats(loaded, masks, balance)
    title = f"{loaded.name}: masks of {masks.path}"
    click.echo(_written(form, found, [title, _summary(masks, loaded)], balance), nl=False)
    if figure is not None:
        from mapper.report.masks_figure import draw

        with whole_file(figure) as path:
            path.write_bytes(draw(found, title, figure.suffix.lower().removeprefix(".")))
        click.echo(f"written: {figure}", err=True)


@command.command("make")
@network_option
@click.option("--density", metavar="D", help="Nonzeros / weights of the whole network: 0.1, or 10%.")
@click.option("--sparsity", metavar="S", help="1 - density, in its place.")
@click.option(
    "--pattern",
    default="uniform",
    show_default=True,
    metavar="P",
    help="uniform|erk|global: equal densities of layers, those of Erdos-Renyi-Kernel, those that one magnitude "
    "threshold leaves; dispersed: in clumps; block: whole kernels; 2:4 or another N:M along input channels.",
)
@click.option("--dispersion", type=float, metavar="R", help="Correlation of words of a clump. Dispersed: 0.1.")
@click.option(
    "--clump",
    type=click.IntRange(min=1),
    metavar="WORDS",
    help="Words of a clump. Default: a kernel, or a filter of 1x1.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), metavar="N")
@click.option("--output", required=True, type=click.Path(path_type=Path), metavar="FILE.npz")
@force_option
def make(
    network: str,
    density: str | None,
    sparsity: str | None,
    pattern: str,
    dispersion: float | None,
    clump: int | None,
    seed: int,
    output: Path,
    force: bool,
) -> None:
    """Write synthetic masks of a whole network. The same options and seed give the same file."""
    from mapper.sparsity.allocate import one_density
    from mapper.sparsity.synthetic import Recipe, make_masks, write_npz
    from mapper.workload.network import load_workload

    recipe = Recipe(pattern.strip().lower(), one_density(density, sparsity), dispersion, clump, seed)
    check_target(output, (".npz",), force, "--output")
    workload = load_workload(network)
    nonzeros = weights = 0

    def counted() -> Iterator[tuple[str, Any]]:
        nonlocal nonzeros, weights
        for name, mask in make_masks(workload, recipe):
            nonzeros, weights = nonzeros + int(mask.sum()), weights + mask.size
            yield name, mask

    with whole_file(output) as path:
        write_npz(counted(), path)
    click.echo(f"written: {output}, {weights:,} weights, density {nonzeros / weights:.4g}")
    click.echo(f"next: mapper masks stats {output} --network {network}")


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
def check(file: Path, network: str, axes: str, threshold: float | None, snapshot: str | None, partial: bool) -> None:
    """Whether FILE would load: exit code 0 and what it holds, or 2 and what is wrong."""
    loaded, masks = _load(file, network, axes, threshold, snapshot, partial)
    click.echo(f"ok: {masks.path}: {_summary(masks, loaded)}, digest {masks.digest[:12]}")


def _load(
    file: Path, network: str, axes: str, threshold: float | None, snapshot: str | None, partial: bool
) -> tuple[Network, Masks]:
    from mapper.sparsity.masks import load_masks
    from mapper.workload.network import load_workload

    workload = load_workload(network)
    masks = load_masks(file, workload, axes=axes, threshold=threshold, snapshot=snapshot, partial=partial)
    return workload, masks


def _summary(masks: Masks, network: Network) -> str:
    """`21 layers, 11,678,912 weights, density 0.1`."""
    from mapper.sparsity.masks import weighted_layers

    weights = sum(mask.size * network[name].repeat for name, mask in masks.items())
    nonzeros = sum(mask.nonzeros * network[name].repeat for name, mask in masks.items())
    left = len(weighted_layers(network)) - len(masks)
    dense = f" ({left} left dense)" if left else ""
    layers = "1 layer" if len(masks) == 1 else f"{len(masks)} layers"
    return f"{layers}{dense}, {weights:,} weights, density {nonzeros / weights:.4g}"


def _written(form: str, found: Sequence[LayerStats], head: list[str], balance: str) -> str:
    from mapper.report.formats import Table, to_csv, to_json
    from mapper.sparsity.stats import rows

    if form != "table":
        write = to_csv if form == "csv" else to_json
        return write(Table("masks", tuple(rows(found)))).decode()
    from mapper.report.layout import table

    lines = rows(found)
    shown = [[_cell(row[column]) for column in COLUMNS] for row in lines]
    notes = [
        "std, min, max, empty: densities of filters (output channels); dispersion: of the tiles of KN",
        f"CK to PQ: busiest PE / mean PE, balance {balance}, on 16 x 16 PEs of 256 words",
    ]
    return "\n".join([*head, *notes, "", *table(list(COLUMNS.values()), shown, indent=0)]) + "\n"


COLUMNS = {
    "layer": "layer",
    "shape": "shape",
    "weights": "weights",
    "density": "density",
    "filter_std": "std",
    "filter_min": "min",
    "filter_max": "max",
    "zero_filters": "empty",
    "dispersion_tile": "dispersion",
    "imbalance_CK": "CK",
    "imbalance_KN": "KN",
    "imbalance_CN": "CN",
    "imbalance_PQ": "PQ",
}
"""Columns of the table for people, and their heads: spread of filter densities, dispersion of tiles, imbalance."""


def _cell(value: object) -> str | int | None:
    if isinstance(value, float):
        return f"{value:.3g}"
    return value if isinstance(value, int) or value is None else str(value)
