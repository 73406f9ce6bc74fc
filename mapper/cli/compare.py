"""`mapper compare`: designs, partitionings, phases or runs side by side; what a training step loses by one choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from mapper import shipped
from mapper.cli import options
from mapper.cli.chosen import if_given, refuse
from mapper.cli.progress import progress
from mapper.cli.zeros import zeros_options
from mapper.errors import InfeasibleError, InputError, did_you_mean

if TYPE_CHECKING:
    from mapper.report.comparison import Comparison
    from mapper.report.formats import Table
    from mapper.report.results import Results
    from mapper.report.sides import Piece, Side
    from mapper.runs import Plan, Run
    from mapper.sparsity.asked import ZerosAsked
    from mapper.workload import Network

BY = ("design", "partitioning", "phase")
"""As in `mapper.report.comparison`, which is not imported here so that `--help` stays quick; a test compares them."""
BEST, EVERY = "best", ("best", "all")
"""What `--partition` may say for no restriction."""
FIGURES = ("svg", "png")
_KINDS = {"limits": dict, "zeros": dict, "constraints": list, "problems": dict, "layers": list}
"""What entries of a manifest are that are read here."""


class RunOrDesign(options.Shipped):
    """A folder that a search wrote, or an accelerator."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = [item for item in super().shell_complete(ctx, param, incomplete) if item.type == "plain"]
        return [*names, CompletionItem(incomplete, type="file")]


@dataclass(frozen=True)
class Asked:
    """The options; what a search is told counts for accelerators alone."""

    operands: tuple[str, ...]
    network: str | None
    batch: int
    layers: tuple[str, ...]
    phases: str | None
    partitionings: str | None
    metric: str
    constraint_texts: tuple[str, ...]
    constraint_file: str | None
    jobs: int | None
    input_gradients: bool
    zeros: ZerosAsked

    @property
    def partitions(self) -> list[str] | None:
        """Names that `--partition` gives; None where it does not narrow."""
        if self.partitionings is None or self.partitionings.strip().lower() in EVERY:
            return None
        return self.partitionings.replace(",", " ").split()


@dataclass(frozen=True)
class Operand:
    """An operand with its tables and what its manifest says, or would say."""

    results: Results
    manifest: Mapping[str, Any]


@click.command("compare")
@click.argument("operands", metavar="A [B...]", nargs=-1, required=True, type=RunOrDesign("arch_specs"))
@click.option(
    "--by",
    type=options.OneOf(BY),
    metavar="B",
    help="|".join(BY) + ": what stands side by side. Default: design; the last two take one operand.",
)
@click.option("--training-step", is_flag=True, help="What a step of one operand loses where partitionings are fixed.")
@click.option("--baseline", metavar="NAME", help="What the others are divided by. Default: the first.")
@click.option(
    "--partition",
    "partitionings",
    metavar="KN,...",
    help="Only these partitionings; of several each part of a layer takes its best. Default: best, of all that there "
    "are; accelerators search CK,KN,CN,PQ.",
)
@options.together(options.layer_option, options.phase_option)
@click.option("--layers", "each", is_flag=True, help="The layers one by one, too.")
@click.option("--output", type=options.Folder(), metavar="DIR", help="Write the tables, and a figure with matplotlib.")
@options.format_option
@click.option(
    "--network",
    metavar="NETWORK",
    type=options.Shipped("layer_zoo"),
    help="Accelerators: what runs on them, a shipped name, a file, or NETWORK:LAYER.",
)
@options.together(
    options.batch_option,
    options.constrain_option,
    options.constraints_option,
    options.metric_option,
    options.jobs_option,
)
@click.option("--input-gradients", is_flag=True, help="Search bw also for layers whose input needs no gradient.")
@zeros_options
def command(
    by: str | None,
    training_step: bool,
    baseline: str | None,
    each: bool,
    output: Path | None,
    form: str,
    **given: Any,
) -> None:
    """Put designs, partitionings, phases or finished runs side by side, each against the first.

    A folder is a run that mapper search wrote. Anything else is an accelerator, a shipped name or a file: --network is
    searched on each, with the options of mapper search below. Ratios above 1 are better than the baseline.

    \b
    mapper compare results/one results/other
    mapper compare dense_baseline procrustes --network resnet18 --layer conv1
    mapper compare results/one --by partitioning
    mapper compare results/one --training-step
    """
    from mapper import report

    asked = Asked(**given)
    _check_count(asked, by, training_step, baseline)
    report.check_format(form)
    if output is not None:
        report.check_folder(output)
    operands = _operands(asked)
    if training_step:
        tables, text, figures = _step(operands[0], asked, each)
    else:
        tables, text, figures = _compared(operands, asked, by or BY[0], baseline, each)
    click.echo(text)
    if output is not None:
        files = report.in_formats(tables, form)
        # A figure of an earlier comparison would contradict the tables of this one.
        old = set() if training_step else {f"speedup.{kind}" for kind in FIGURES} - set(figures)
        report.write_files(output, files | figures, [*report.stale_names(files), *sorted(old)])
        click.echo(f"written to {output}: {', '.join([*files, *figures])}")


def _check_count(asked: Asked, by: str | None, training_step: bool, baseline: str | None) -> None:
    """Refuse options that contradict each other or the number of operands. Raises `InputError`."""
    count = len(asked.operands)
    if training_step:
        refuse({"--by": by, "--baseline": baseline}, "a training step is compared with its own best choice")
    if count > 1 and (training_step or by in BY[1:]):
        option = "--training-step" if training_step else f"--by {by}"
        raise InputError(f"it takes one operand, and there are {count}", option, "one run, or one accelerator")
    if count == 1 and not training_step and by in (None, BY[0]):
        lever = "give another, or --by partitioning, --by phase, --training-step"
        raise InputError(f"'{asked.operands[0]}' alone has nothing to be compared with", hint=lever)


def _operands(asked: Asked) -> list[Operand]:
    """Each of them, read or searched. Raises `InputError`."""
    from mapper.arch import load_arch

    runs = [text for text in asked.operands if shipped.is_folder(text)]
    designs = [text for text in asked.operands if text not in runs]
    for text in designs:
        _check_design(text)
    if designs and asked.network is None:
        raise InputError(f"'{designs[0]}' is an accelerator: say which network", "--network", "resnet18")
    if not designs:
        _refuse_search(asked)
    found = {text: _read(text) for text in runs}
    accelerators = {text: load_arch(text) for text in dict.fromkeys(designs)}
    if designs:
        network = _network(asked)
        for text in found:
            _check_agrees(text, found[text], network, asked)
        names = [accelerator.name for accelerator in accelerators.values()]
        for text, accelerator in accelerators.items():
            name = accelerator.name if names.count(accelerator.name) == 1 else text
            found[text] = _searched(network, accelerator, name, asked)
    return [found[text] for text in asked.operands]


def _check_design(text: str) -> None:
    """Refuse what is neither a folder nor an accelerator, with the nearest of both."""
    try:
        if shipped.is_file(shipped.locate("arch_specs", text)):
            return
    except InputError:
        pass
    path = Path(text)
    beside = [str(path.parent / each.name) for each in path.parent.iterdir()] if shipped.is_folder(path.parent) else []
    near = did_you_mean(text, [*shipped.names("arch_specs"), *sorted(filter(shipped.is_folder, beside))])
    hint = near if near and near.startswith("did") else "mapper list archs"
    raise InputError(f"no folder of a run, no accelerator and no file '{text}'", hint=hint)


def _refuse_search(asked: Asked) -> None:
    """Runs have been searched: options of a search would be read in vain."""
    own: dict[str, object] = {"--network": asked.network, "--constraints": asked.constraint_file}
    own |= {f"--{name}": if_given(name) for name in ("batch", "metric", "jobs")}
    own |= {"--constrain": asked.constraint_texts or None, "--input-gradients": asked.input_gradients or None}
    own |= {f"--{name.replace('_', '-')}": value for name, value in asked.zeros.as_dict().items()}
    refuse(own, "a run has its own; the option is for accelerators")


def _read(text: str) -> Operand:
    from mapper.report.recorded import read_run
    from mapper.report.results import results_of

    folder = Path(text)
    run = read_run(folder)
    manifest = run.manifest
    for key, kind in _KINDS.items():
        if not isinstance(manifest.get(key, kind()), kind):
            raise InputError(f"'{key}' is wrong: this is no manifest of mapper search", str(folder / "manifest.json"))
    # A name that is not UTF-8 is written as a terminal shows it.
    name = folder.resolve().name.encode(errors="backslashreplace").decode()
    return Operand(results_of(run, name), manifest)


def _network(asked: Asked) -> Network:
    from mapper.workload.network import load_workload

    return load_workload(str(asked.network), asked.batch).only(asked.layers)


def _check_agrees(text: str, run: Operand, network: Network, asked: Asked) -> None:
    """Refuse a run beside designs that are given another batch or other layers. Raises `InputError`."""
    batch = run.manifest["batch"]
    if batch != asked.batch:
        raise InputError(f"the run '{text}' has batch {batch}, the accelerators {asked.batch}", "--batch", f"{batch}")
    there = list(dict.fromkeys(str(row["layer"]) for row in run.results.mappings))
    theirs = list(run.manifest.get("layers") or there)
    odd = [name for name in network.layer_names if name not in theirs]
    odd += [] if asked.layers else [name for name in theirs if name not in network.layer_names]
    if odd:
        raise InputError(f"'{odd[0]}' is not a layer of both '{text}' and {network.name}", "--network", "--layer")


def _searched(network: Network, accelerator: Any, name: str, asked: Asked) -> Operand:
    """The design's first mappings, as `mapper search` finds them."""
    from mapper import report, runs
    from mapper.report.results import results
    from mapper.workload.network import whole_network

    text = None if asked.partitions is None else asked.partitionings
    plan = runs.Plan(
        network,
        accelerator,
        runs.partitionings(text, network),
        options.chosen_phases(asked.phases),
        asked.metric,
        1,
        asked.input_gradients,
        options.chosen_constraints(asked.constraint_texts, asked.constraint_file),
        asked.zeros.given(whole_network(str(asked.network), asked.batch)),
    )
    for line in report.obstacles(plan):
        click.echo(f"warning: {line}", err=True)
    run = _run(plan, name, asked)
    told = {
        "batch": network.batch,
        "zeros": asked.zeros.as_dict(),
        "constraints": list(plan.constraints.lines),
        "problems": {"failed": [str(task) for task, _ in run.failures]},
    }
    return Operand(results(run, name), told)


def _run(plan: Plan, name: str, asked: Asked) -> Run:
    from mapper.runs import Stop, WorkersLostError, run

    with progress(plan.names, quiet=False, verbose=False) as on_done:
        found = run(plan, options.processes(asked.jobs), on_done=on_done)
    if found.stopped is Stop.workers:
        raise WorkersLostError(str(found.stopped))
    if found.stopped is not None:
        raise KeyboardInterrupt
    if not found.rankings:
        task, error = found.failures[0]
        raise InfeasibleError(f"{name}: nothing fits; {task}: {error}")
    return found


def _compared(
    operands: Sequence[Operand], asked: Asked, by: str, baseline: str | None, each: bool
) -> tuple[list[Table], str, dict[str, bytes]]:
    from mapper.report import comparison, comparison_text
    from mapper.report import sides as sided

    names, first = asked.partitions, operands[0]
    if by == "partitioning":
        sides = sided.by_partitioning(first.results, names, first.manifest)
    else:
        sides = tuple(sided.side(one.results, names, manifest=one.manifest) for one in operands)
    sides = _narrowed(sides, asked)
    if by == "phase":
        sides = sided.by_phase(sides[0])
    found = comparison.compare(sides, baseline, by)
    for line in comparison_text.differences(found.sides):
        click.echo(f"warning: {line}", err=True)
    heading = comparison_text.title(found, asked.partitionings if names else None)
    tables = [comparison_text.comparison_table(found), comparison_text.layers_table(found)]
    return tables, f"{heading}\n\n{comparison_text.comparison_text(found, each)}", _figures(found)


def _narrowed(sides: Sequence[Side], asked: Asked) -> tuple[Side, ...]:
    """Only the layers and phases that are asked for; a layer must be in one of the sides."""
    layers, phases = _wanted(asked, [layer for side in sides for layer, _ in side.known])

    def kept(side: Side) -> Side:
        places = [place for place in side.known if place[0] in layers and place[1] in phases]
        found = {place: side.pieces[place] for place in places if place in side.pieces}
        return replace(side, pieces=found, known=tuple(places))

    return tuple(map(kept, sides))


def _wanted(asked: Asked, known: Iterable[str]) -> tuple[set[str], set[str]]:
    """Layers, of those that are known, and phases that are asked for."""
    from mapper.report.sides import matching

    phases = {str(phase) for phase in options.chosen_phases(asked.phases)}
    return set(matching(asked.layers or None, dict.fromkeys(known), "layer", "--layer")), phases


def _figures(found: Comparison) -> dict[str, bytes]:
    """The speedups as a figure, where there is matplotlib; phases are no bars of their own."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None or found.by == "phase":
        return {}
    from mapper.report.figures.speedup import draw_speedup

    others = [side for side in found.sides if side is not found.baseline]
    costs = {(line.name, line.phase): (line.cost.cycles, line.cost.energy_pj) for line in found.totals}
    entries = [
        (side.name, {phase: costs[side.name, phase] for phase in found.phases[:-1]})
        for side in (found.baseline, *others)
    ]
    network = found.baseline.found.mappings[0].get("network")
    heading = f"{network}: {found.by}s against {found.baseline.name}"
    drawn = {form: draw_speedup(entries, heading, form) for form in FIGURES}
    return {f"speedup.{form}": data for form, data in drawn.items() if data is not None}


def _step(operand: Operand, asked: Asked, each: bool) -> tuple[list[Table], str, dict[str, bytes]]:
    from mapper.report import training_step

    layers, phases = _wanted(asked, [str(row["layer"]) for row in operand.results.mappings])

    def keeps(piece: Piece) -> bool:
        return piece.layer in layers and piece.phase in phases

    found = training_step.training_step(operand.results, asked.partitions, keeps)
    tables = [training_step.step_table(found), training_step.step_layers_table(found)]
    return tables, training_step.step_text(found, each), {}
