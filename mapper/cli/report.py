"""`mapper report`: a run or a sweep as one page of HTML, and its figures."""

from __future__ import annotations

from pathlib import Path

import click

from mapper.cli.target import check_folder_of, check_target, write_target

PAGE, FIGURES = "report.html", "figures"
"""What is written into the folder, unless `-o` names another page."""


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"The page (.html). Default: RUN/{PAGE}, written anew each time.",
)
@click.option("--force", is_flag=True, help="Overwrite the FILE of -o where it exists.")
@click.option(
    "--figures/--no-figures",
    default=True,
    help=f"Write each figure as .svg and .png too, into RUN/{FIGURES}, or FILE_{FIGURES} with -o. Default: yes.",
)
def command(run: Path, output: Path | None, force: bool, figures: bool) -> None:
    """A run or a sweep as one page of HTML: summary, tables to sort and filter, figures, where it all comes from.

    RUN is the folder that `mapper search` or `mapper sweep` wrote. The page is one file that needs no other and no
    network.

    \b
    mapper report results/resnet18-procrustes
    mapper report results/resnet18-procrustes -o page.html --no-figures
    """
    from mapper.report.files import check_folder, write_files
    from mapper.report.page import can_draw, read_source, report, stale_figures

    if output is not None:
        check_target(output, (".html",), force, "-o")
        check_folder_of(output, "-o")
    source = read_source(run)
    page = output or run / PAGE
    folder = run / FIGURES if output is None else output.with_name(f"{output.stem}_{FIGURES}")
    check_folder(page.parent, "RUN" if output is None else "-o")
    made = report(source)
    for text in made.warnings:
        click.echo(f"warning: {text}", err=True)
    if not can_draw():
        click.echo("warning: the page has no figures, they need matplotlib (pip install 'mapper[plot]')", err=True)
    files = made.figures() if figures else {}
    if files:
        check_folder(folder, "--figures")
    write_target(page, made.html, "-o")
    click.echo(f"written: {page}")
    if files:
        write_files(folder, files, stale_figures(folder, files), where="--figures")
        names = dict.fromkeys(name.rpartition(".")[0] for name in files)
        click.echo(f"written: {folder}: {', '.join(names)}, each as .svg and .png")
