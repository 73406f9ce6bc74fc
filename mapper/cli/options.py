"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from mapper import shipped
from mapper.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from mapper.search.constraints import Constraints
    from mapper.workload import Phase

    Parameter = click.ParamType[str]
else:
    Parameter = click.ParamType

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FORMATS = ("csv", "json", "md", "latex", "parquet")
"""What tables are written in."""
TEXT_FORMATS = ("table", "json", "csv")
"""What `evaluate` and `list` print in."""
METRICS, TOP = ("edp", "energy", "cycles", "pareto"), 5
"""As in `mapper.search`, which is not imported here so that `--help` stays quick; a test compares them."""
MOST = 1000
"""Mappings of one ranking: each is costed in full and written."""


class OneOf(Parameter):
    """One of a few words; the nearest is named where another is given."""

    name = "choice"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = str(value).strip().lower()
        if word not in self.words:
            self.fail(f"'{value}' is none of {', '.join(self.words)}{_suggestion(word, self.words)}", param, ctx)
        return word

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


class Shipped(Parameter):
    """The name of a shipped file, or a path; only completion looks at it, the loaders explain what is wrong."""

    name = "text"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        found = [CompletionItem(name) for name in shipped.names(self.folder) if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class Seconds(click.FloatRange):
    """A time of more than 0 seconds; a click range takes NaN for one."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail(f"{value} is no time.", param, ctx)
        return seconds


class Folder(click.Path):
    """A folder to write into; an empty name, as of a variable that is not set, is none."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("the name is empty ('.' is the folder you are in).", param, ctx)
        return super().convert(value, param, ctx)


def _suggestion(word: str, words: Sequence[str]) -> str:
    near = did_you_mean(word, words) or ""
    return f" ({near})" if near.startswith("did") else ""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(jobs: int | None) -> int:
    """What `-j` asks for, the cores where it is not given; many more than those only take memory."""
    return min(jobs or cores(), 4 * cores())


arch_option: Decorator = click.option(
    "--arch", required=True, metavar="A", type=Shipped("arch_specs"), help="Accelerator: a shipped name or a file."
)
batch_option: Decorator = click.option(
    "--batch", default=1, show_default=True, type=click.IntRange(min=1), metavar="N", help="Samples per step."
)
layer_option: Decorator = click.option(
    "--layer", "layers", multiple=True, metavar="NAME", help="Only this layer; may be given several times."
)
phase_option: Decorator = click.option(
    "--phase",
    "phases",
    metavar="fw,bw,wu",
    help="Training phases, also by other names (forward, dgrad, wgrad ...). Default: all that training needs.",
)
partition_option: Decorator = click.option(
    "--partition",
    "partitionings",
    metavar="CK,KN,...",
    help="What is spread over columns and rows: pairs of dimensions, 'all' (CK,KN,CN,PQ) or 'any' (the search "
    "chooses). Default: all; 'any' for an einsum that has not those dimensions.",
)
constrain_option: Decorator = click.option(
    "--constrain",
    "constraint_texts",
    multiple=True,
    metavar="TEXT",
    help="Only such mappings: 'GLB: C<=8 P=7' (factors of loops), 'GLB X: K=16' (lanes), 'GLB order: N K' (outermost "
    "loops), 'GLB keeps: W', 'GLB bypasses: I', 'min_utilization: 0.85'. May be given several times.",
)
constraints_option: Decorator = click.option(
    "--constraints", "constraint_file", metavar="FILE", type=click.Path(), help="Such constraints in a YAML file."
)
metric_option: Decorator = click.option(
    "--metric",
    default=METRICS[0],
    show_default=True,
    type=OneOf(METRICS),
    metavar="M",
    help="|".join(METRICS) + ": pareto is the whole front of energy and cycles.",
)
top_option: Decorator = click.option(
    "--top", default=TOP, show_default=True, type=click.IntRange(1, MOST), metavar="K", help="Mappings in each ranking."
)
jobs_option: Decorator = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes; the tables are the same for any number. Default: the cores.",
)
format_option: Decorator = click.option(
    "--format",
    "form",
    default="csv",
    show_default=True,
    type=OneOf(FORMATS),
    metavar="F",
    help="|".join(FORMATS) + ": the tables in this format too; CSV is always written.",
)
text_format_option: Decorator = click.option(
    "--format",
    "form",
    default=TEXT_FORMATS[0],
    show_default=True,
    type=OneOf(TEXT_FORMATS),
    metavar="F",
    help="|".join(TEXT_FORMATS) + ": a table for people, or the figures in full.",
)
quiet_option: Decorator = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
verbose_option: Decorator = click.option("-v", "--verbose", is_flag=True, help="Print each search as it finishes.")


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, listed by `--help` in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def chosen_phases(text: str | None) -> tuple[Phase, ...]:
    """The phases of `--phase`, in the order of training; all where the option is not given."""
    from mapper.workload.phase import parse_phases

    return parse_phases(text, "--phase")


def chosen_constraints(texts: Sequence[str], file: str | None) -> Constraints:
    """The constraints of `--constraints` and `--constrain`, together."""
    from mapper.search.constraint_file import load_constraints
    from mapper.search.constraint_text import parse_constraints
    from mapper.search.constraints import UNCONSTRAINED

    if file is not None and ":" in file and not shipped.is_file(file):
        raise InputError(f"no file '{file}'", where="--constraints", hint="for constraints as text: --constrain")
    from_file = UNCONSTRAINED if file is None else load_constraints(file)
    return from_file + parse_constraints(*texts, option="--constrain")
