"""`mapper explain`: what a mapping does, and why one beats another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mapper import shipped
from mapper.cli import given, options
from mapper.cli.zeros import zeros_options
from mapper.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from mapper.cost import Evaluation
    from mapper.report.recorded import RunFolder
    from mapper.sparsity.asked import ZerosAsked
    from mapper.workload import Layer, Part


class RunOrLayer(options.Shipped):
    """A folder that a search wrote, or a layer."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = [item for item in super().shell_complete(ctx, param, incomplete) if item.type == "plain"]
        return [*names, CompletionItem(incomplete, type="dir")]


@click.command("explain")
@click.argument("target", metavar="DIR|LAYER", type=RunOrLayer("layer_zoo"))
@click.option("--layer", metavar="NAME", help="DIR: which layer.")
@given.phase_option
@click.option("--partition", metavar="XY", help="DIR: which partitioning, such as KN.")
@click.option("--rank", default=1, show_default=True, type=click.IntRange(min=1), metavar="R", help="DIR: which rank.")
@given.part_option
@click.option("--arch", metavar="A", type=options.Shipped("arch_specs"), help="LAYER: the accelerator.")
@click.option("--mapping", metavar="M", help=f"LAYER: {given.MAPPING_HELP}")
@options.batch_option
@zeros_options
@click.option("--versus", metavar="R|M", help="Why it beats another: a rank of DIR, or a mapping of LAYER.")
def command(
    target: str,
    layer: str | None,
    phase: str | None,
    partition: str | None,
    rank: int,
    part: str | None,
    arch: str | None,
    mapping: str | None,
    batch: int,
    versus: str | None,
    zeros: ZerosAsked,
) -> None:
    """What a mapping does: loops, tiles, refetches, sharing, time and energy.

    DIR is what `mapper search` wrote; --layer, --phase, --partition and --rank choose one of its mappings, and an
    option may be left out where the tables leave no choice. LAYER with --arch and --mapping explains any mapping.

    \b
    mapper explain DIR --layer conv1 --phase fw --partition KN --versus 2
    mapper explain resnet18:conv1 --arch procrustes --mapping "DRAM: ... | GLB: ..."
    """
    if shipped.is_folder(target) or (mapping is None and arch is None and not _is_layer(target)):
        own = {"--arch": arch, "--mapping": mapping, "--batch": _given("batch")}
        own |= {f"--{name.replace('_', '-')}": value for name, value in zeros.as_dict().items()}
        _refuse(own, f"the run '{target}' has its own")
        wanted = {"layer": layer, "phase": phase, "partitioning": partition, "part": part}
        _explain_run(Path(target), wanted, rank, versus)
        return
    for option, value in (("--arch", arch), ("--mapping", mapping)):
        if value is None:
            raise InputError(f"'{target}' is no folder of a run, and a layer needs {option}", where=option)
    choices = {"--layer": layer, "--partition": partition, "--rank": _given("rank")}
    _refuse(choices, f"it chooses among the mappings of a run, and '{target}' is a layer")
    _explain_given(target, phase, part, batch, str(arch), str(mapping), versus, zeros)


def _given(option: str) -> object:
    """The value of an option with a default, None where the command line does not have it."""
    context = click.get_current_context()
    default = context.get_parameter_source(option) is ParameterSource.DEFAULT
    return None if default else context.params[option]


def _refuse(options: dict[str, object], why: str) -> None:
    """No option is read in vain: those that say nothing here must not be given."""
    for option, value in options.items():
        if value is not None:
            raise InputError(why, where=option)


def _is_layer(target: str) -> bool:
    """Whether `target`, which is no folder, means a layer rather than one that is missing."""
    from mapper.workload import network_names

    return "+=" in target or ":" in target or target in network_names() or shipped.is_file(target)


def _explain_given(
    text: str,
    phase: str | None,
    part: str | None,
    batch: int,
    arch: str,
    mapping: str,
    versus: str | None,
    zeros: ZerosAsked,
) -> None:
    from mapper.arch import load_arch
    from mapper.cost import evaluate_part
    from mapper.report.evaluation import misfits
    from mapper.workload import load_layer

    layer, accelerator = load_layer(text, batch), load_arch(arch)
    chosen = given.chosen_part(layer, phase, part)
    texts = [each for each in (mapping, versus) if each is not None]
    nests = [given.read_mapping(each) for each in texts]
    sparsity = given.sparsity_of(text, batch, layer, chosen, zeros)
    found, *others = [evaluate_part(chosen.einsum, accelerator, nest, sparsity) for nest in nests]
    other = others[0] if others else None
    _print(layer, chosen, found, text, "")
    if other is not None:
        _print_versus(found, other, ("this", "other"))
    if not found.fits:
        raise InfeasibleError(misfits(found))


def _explain_run(folder: Path, wanted: dict[str, str | None], rank: int, versus: str | None) -> None:
    from mapper.report.recorded import read_run

    against = None if versus is None else given.number(versus)
    if versus is not None and against is None:
        raise InputError(f"'{versus}' is not a rank", where="--versus", hint="2")
    run = read_run(folder)
    wanted = _normal(run, wanted)
    row = run.select(**wanted, rank=str(rank))
    other = None if against is None else run.select(**wanted, rank=str(against))
    found = run.load(row)
    title = f"{run.manifest.get('network', '')}:{row['layer']}"
    _print(found.layer, found.part, found.evaluation, title, f"{row['partitioning']}, rank {row['rank']}")
    if other is not None:
        names = (f"rank {row['rank']}", f"rank {other['rank']}")
        _print_versus(found.evaluation, run.load(other).evaluation, names)


def _normal(run: RunFolder, wanted: dict[str, str | None]) -> dict[str, str | None]:
    """Phase by its own name, part as the tables write it."""
    from mapper.workload import Phase

    phase, part = wanted["phase"], wanted["part"]
    if part is not None and "/" not in part:
        part = next((row["part"] for row in run.rows if row["part"].partition("/")[0] == part), part)
    return wanted | {"phase": None if phase is None else str(Phase.parse(phase)), "part": part}


def _print(layer: Layer, part: Part, found: Evaluation, title: str, note: str) -> None:
    from mapper.report.explain import explain
    from mapper.report.explain_text import render

    click.echo(render(explain(layer, part, found, title, note)), nl=False)


def _print_versus(found: Evaluation, other: Evaluation, names: tuple[str, str]) -> None:
    from mapper.report import versus

    click.echo("\n" + versus.render(versus.compare(found, other, names)), nl=False)
