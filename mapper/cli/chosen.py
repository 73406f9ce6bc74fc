"""A mapping named on the command line: one that a search wrote, or one of a layer, given as text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mapper import shipped
from mapper.cli import given, options
from mapper.errors import InputError

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


mapping_options: options.Decorator = options.together(
    click.argument("target", metavar="DIR|LAYER", type=RunOrLayer("layer_zoo")),
    click.option("--layer", metavar="NAME", help="DIR: which layer."),
    given.phase_option,
    click.option("--partition", metavar="XY", help="DIR: which partitioning, such as KN."),
    click.option(
        "--rank", default=1, show_default=True, type=click.IntRange(min=1), metavar="R", help="DIR: which rank."
    ),
    given.part_option,
    click.option("--arch", metavar="A", type=options.Shipped("arch_specs"), help="LAYER: the accelerator."),
    click.option("--mapping", metavar="M", help=f"LAYER: {given.MAPPING_HELP}"),
    options.batch_option,
)
"""What chooses a mapping; `Asked` holds their values."""


@dataclass(frozen=True)
class Asked:
    """The values of `mapping_options` and of the options about zeros."""

    target: str
    layer: str | None
    phase: str | None
    partition: str | None
    rank: int
    part: str | None
    arch: str | None
    mapping: str | None
    batch: int
    zeros: ZerosAsked


@dataclass(frozen=True)
class Chosen:
    """The mapping, evaluated. `title` names its layer, `note` the partitioning and the rank of one of a run."""

    layer: Layer
    part: Part
    evaluation: Evaluation
    title: str
    note: str

    @property
    def heading(self) -> str:
        """`resnet18:conv1, fw 1/1, on procrustes: KN, rank 1`."""
        note = f": {self.note}" if self.note else ""
        return f"{self.title}, {self.part.phase} {self.part.label}, on {self.evaluation.accelerator.name}{note}"


def chosen_mapping(asked: Asked) -> Chosen:
    """The mapping that the command line names. Raises `InputError` where it does not say which, or says too much."""
    if is_run(asked):
        own = {"--arch": asked.arch, "--mapping": asked.mapping, "--batch": if_given("batch")}
        own |= {f"--{name.replace('_', '-')}": value for name, value in asked.zeros.as_dict().items()}
        refuse(own, f"the run '{asked.target}' has its own")
        return _of_run(asked)
    for option, value in (("--arch", asked.arch), ("--mapping", asked.mapping)):
        if value is None:
            raise InputError(f"'{asked.target}' is no folder of a run, and a layer needs {option}", where=option)
    choices = {"--layer": asked.layer, "--partition": asked.partition, "--rank": if_given("rank")}
    refuse(choices, f"it chooses among the mappings of a run, and '{asked.target}' is a layer")
    return _of_layer(asked)


def is_run(asked: Asked) -> bool:
    """Whether the target means a folder of a run, be it one that is missing."""
    if shipped.is_folder(asked.target):
        return True
    return asked.mapping is None and asked.arch is None and not _is_layer(asked.target)


def if_given(option: str) -> object:
    """The value of an option with a default, None where the command line does not have it."""
    context = click.get_current_context()
    default = context.get_parameter_source(option) is ParameterSource.DEFAULT
    return None if default else context.params[option]


def refuse(given_options: dict[str, object], why: str) -> None:
    """No option is read in vain: those that say nothing here must not be given."""
    for option, value in given_options.items():
        if value is not None:
            raise InputError(why, where=option)


def normal(run: RunFolder, wanted: dict[str, str | None]) -> dict[str, str | None]:
    """Phase by its own name, part as the tables write it."""
    from mapper.workload import Phase

    phase, part = wanted["phase"], wanted["part"]
    if part is not None and "/" not in part:
        part = next((row["part"] for row in run.rows if row["part"].partition("/")[0] == part), part)
    return wanted | {"phase": None if phase is None else str(Phase.parse(phase)), "part": part}


def _of_run(asked: Asked) -> Chosen:
    from mapper.report.recorded import read_run

    if not shipped.is_folder(asked.target):
        raise InputError("no such folder, and no layer is called so", asked.target, "what mapper search wrote")
    run = read_run(Path(asked.target))
    wanted = {"layer": asked.layer, "phase": asked.phase, "partitioning": asked.partition, "part": asked.part}
    row = run.select(**normal(run, wanted), rank=str(asked.rank))
    found = run.load(row)
    title = f"{run.manifest.get('network', '')}:{row['layer']}"
    return Chosen(found.layer, found.part, found.evaluation, title, f"{row['partitioning']}, rank {row['rank']}")


def _of_layer(asked: Asked) -> Chosen:
    from mapper.arch import load_arch
    from mapper.cost import evaluate_part
    from mapper.workload import load_layer

    layer, accelerator = load_layer(asked.target, asked.batch), load_arch(str(asked.arch))
    part = given.chosen_part(layer, asked.phase, asked.part)
    nest = given.read_mapping(str(asked.mapping))
    sparsity = given.sparsity_of(asked.target, asked.batch, layer, part, asked.zeros)
    return Chosen(layer, part, evaluate_part(part.einsum, accelerator, nest, sparsity), asked.target, "")


def _is_layer(target: str) -> bool:
    """Whether `target`, which is no folder, means a layer rather than one that is missing."""
    from mapper.workload import network_names

    return "+=" in target or ":" in target or target in network_names() or shipped.is_file(target)
