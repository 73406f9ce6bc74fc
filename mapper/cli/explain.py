"""`mapper explain`: what a mapping does, and why one beats another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mapper.cli import given
from mapper.cli.chosen import Asked, Chosen, chosen_mapping, is_run, mapping_options, normal
from mapper.cli.zeros import zeros_options
from mapper.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from mapper.cost import Evaluation


@click.command("explain")
@mapping_options
@zeros_options
@click.option("--versus", metavar="R|M", help="Why it beats another: a rank of DIR, or a mapping of LAYER.")
def command(versus: str | None, **options: Any) -> None:
    """What a mapping does: loops, tiles, refetches, sharing, time and energy.

    DIR is what `mapper search` wrote; --layer, --phase, --partition and --rank choose one of its mappings, and an
    option may be left out where the tables leave no choice. LAYER with --arch and --mapping explains any mapping.

    \b
    mapper explain DIR --layer conv1 --phase fw --partition KN --versus 2
    mapper explain resnet18:conv1 --arch procrustes --mapping "DRAM: ... | GLB: ..."
    """
    asked = Asked(**options)
    if versus is not None and is_run(asked) and given.number(versus) is None:
        raise InputError(f"'{versus}' is not a rank", where="--versus", hint="2")
    chosen = chosen_mapping(asked)
    other = None if versus is None else _other(asked, chosen, versus)
    _print(chosen)
    if other is not None:
        _print_versus(chosen.evaluation, other[0], other[1])
    if not chosen.evaluation.fits and not is_run(asked):
        from mapper.report.evaluation import misfits

        raise InfeasibleError(misfits(chosen.evaluation))


def _other(asked: Asked, chosen: Chosen, versus: str) -> tuple[Evaluation, tuple[str, str]]:
    """The mapping to compare with, and what both are called."""
    if not is_run(asked):
        from mapper.cost import evaluate_part

        found, nest = chosen.evaluation, given.read_mapping(versus)
        other = evaluate_part(chosen.part.einsum, found.accelerator, nest, found.sparsity)
        return other, ("this", "other")
    from mapper.report.recorded import read_run

    run = read_run(Path(asked.target))
    wanted = {"layer": asked.layer, "phase": asked.phase, "partitioning": asked.partition, "part": asked.part}
    row = run.select(**normal(run, wanted), rank=str(given.number(versus)))
    return run.load(row).evaluation, (f"rank {asked.rank}", f"rank {row['rank']}")


def _print(chosen: Chosen) -> None:
    from mapper.report.explain import explain
    from mapper.report.explain_text import render

    told = explain(chosen.layer, chosen.part, chosen.evaluation, chosen.title, chosen.note)
    click.echo(render(told), nl=False)


def _print_versus(found: Evaluation, other: Evaluation, names: tuple[str, str]) -> None:
    from mapper.report import versus

    click.echo("\n" + versus.render(versus.compare(found, other, names)), nl=False)
