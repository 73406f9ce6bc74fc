"""`mapper evaluate`: what one given mapping costs, every count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mapper.cli import given, options
from mapper.cli.zeros import zeros_options
from mapper.errors import InfeasibleError

if TYPE_CHECKING:
    from mapper.sparsity.asked import ZerosAsked


@click.command("evaluate")
@click.argument("layer", metavar="LAYER", type=options.Shipped("layer_zoo"))
@options.arch_option
@click.option("--mapping", required=True, metavar="M", help=given.MAPPING_HELP)
@options.together(given.phase_option, given.part_option, options.batch_option)
@zeros_options
@options.text_format_option
def command(
    layer: str,
    arch: str,
    mapping: str,
    phase: str | None,
    part: str | None,
    batch: int,
    form: str,
    zeros: ZerosAsked,
) -> None:
    """Cost of a given mapping: words, cycles, energy, occupancy, area.

    LAYER is NETWORK:LAYER, a file with one layer, or an einsum in quotes with its bounds. A mapping reads
    "DRAM: N4 K8 | GLB: C4 P7 | X: K16 | Y: N16 | RF: C2 R3 S3 Q7": levels outermost first, X and Y the fan-out of the
    level on their left.

    Exit code: 0 done, 1 the tiles do not fit (everything is printed all the same), 2 wrong input.
    """
    from mapper.arch import load_arch
    from mapper.cost import evaluate_part
    from mapper.report import evaluation as shown
    from mapper.workload import load_layer

    whole = load_layer(layer, batch)
    chosen = given.chosen_part(whole, phase, part)
    sparsity = given.sparsity_of(layer, batch, whole, chosen, zeros)
    found = evaluate_part(chosen.einsum, load_arch(arch), given.read_mapping(mapping), sparsity)
    if form == "json":
        text = shown.as_json(found)
    elif form == "csv":
        text = shown.as_csv(found)
    else:
        text = shown.as_text(found, f"{layer}, {chosen.phase} {chosen.label}, on {found.accelerator.name}")
    click.echo(text, nl=False)
    if not found.fits:
        raise InfeasibleError(shown.misfits(found))
