"""`mapper graph`: how the words of a mapping travel below a level, as tables, a figure or a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mapper.cli import options
from mapper.cli.chosen import Asked, chosen_mapping, mapping_options
from mapper.cli.target import check_folder_of, check_target, write_target
from mapper.cli.zeros import zeros_options
from mapper.errors import InfeasibleError

if TYPE_CHECKING:
    from mapper.report.network_view import NetworkView

TOPOLOGIES = ("bus", "mesh", "tree", "crossbar", "benes")
ENDINGS = (".png", ".svg", ".pdf", ".graphml", ".json")
"""As in `mapper.arch.network` and `mapper.report.network_files`, which are not imported here so that `--help` stays
quick; a test compares them."""


@click.command("graph")
@mapping_options
@click.option("--level", metavar="NAME", help="Below which level. Default: the innermost with a network.")
@click.option(
    "--topology",
    type=options.OneOf(TOPOLOGIES),
    metavar="T",
    help="|".join(TOPOLOGIES) + ", in place of the one that the accelerator gives.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write it too: a figure (.png, .svg, .pdf), or the graph (.graphml, .json).",
)
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
@options.text_format_option
@zeros_options
def command(level: str | None, topology: str | None, output: Path | None, force: bool, form: str, **asked: Any) -> None:
    """How words travel from a level to its children: who shares them, and what they load.

    DIR is what `mapper search` wrote; --layer, --phase, --partition and --rank choose one of its mappings, and an
    option may be left out where the tables leave no choice. LAYER with --arch and --mapping draws any mapping.

    \b
    mapper graph DIR --layer conv1 --phase fw --partition KN -o kn.png
    mapper graph resnet18:conv1 --arch procrustes --mapping "DRAM: ... | GLB: ..." --topology mesh

    Exit code: 0 done, 1 the tiles do not fit (everything is printed all the same), 2 wrong input.
    """
    if output is not None:
        check_target(output, ENDINGS, force, "-o")
        check_folder_of(output, "-o")
    chosen = chosen_mapping(Asked(**asked))
    from mapper.report.network_view import network_view

    view = network_view(chosen.evaluation, level, topology)
    if output is not None:
        from mapper.report.network_files import as_file

        write_target(output, as_file(view, chosen.heading, output.suffix.lower()), "-o")
    click.echo(_shown(view, chosen.heading, form), nl=False)
    if output is not None:
        click.echo(f"written: {output}", err=True)
    if not chosen.evaluation.fits:
        from mapper.report.evaluation import misfits

        raise InfeasibleError(misfits(chosen.evaluation))


def _shown(view: NetworkView, heading: str, form: str) -> str:
    if form == "table":
        from mapper.report.network_text import render

        return render(view, heading)
    from mapper.report.formats import Table, to_csv, to_json

    table = Table("flows", tuple(dict[str, object](travel.row()) for travel in view.travels))
    return (to_csv if form == "csv" else to_json)(table).decode()
