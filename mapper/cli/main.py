"""The command `mapper`: a table of commands, each imported when it is called, and errors as one line."""

from __future__ import annotations

import errno
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn, TextIO

import click

from mapper import __version__
from mapper.errors import MapperError, MapperWarning, did_you_mean

COMMANDS = {
    "search": "The best mappings of every layer, phase and partitioning of a network.",
    "sweep": "The same at every point of a grid of designs, densities and batches.",
    "evaluate": "Cost of a given mapping, every count.",
    "explain": "What a mapping does: its loops, tiles, what bounds it and what refetches.",
    "compare": "Designs, partitionings, phases or runs side by side, normalised to the first.",
    "report": "A run or a sweep as one page of HTML: tables to sort and filter, figures, mappings explained.",
    "graph": "How words travel below a level: who shares them, what they load, as tables, a figure or a graph.",
    "masks": "Actual weight masks: what they are like, synthetic ones, whether they load.",
    "list": "What ships: accelerators, networks and their layers, formats; what a store of searches holds.",
    "validate": "Check accelerator, network, sweep and mapping files strictly.",
    "new": "A commented accelerator, network or sweep file to start from.",
    "completion": "The script that completes commands and names in bash, zsh or fish.",
}
"""Name of each command, which is also its module beside this one, and what `mapper --help` says of it."""

ARGUMENTS = "mapper.arguments"
"""Key in the context's `meta`: the command line behind `mapper`."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class Commands(click.Group):
    """Imports a command's module only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"mapper.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no command '{args[0]}' ({did_you_mean(args[0], COMMANDS)})", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what a user caused becomes `error: message` and its exit code."""
        try:
            with _warnings_as_lines():
                return super().invoke(ctx)
        except MapperError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except OSError as error:
            # A reader that has gone (`| head`) is no mistake: click ends quietly.
            if error.errno == errno.EPIPE:
                raise
            click.echo(f"error: {error.filename or 'the output'}: {error.strerror or error}", err=True)
            ctx.exit(MapperError.exit_code)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print each `MapperWarning` as `warning: message`, without the place in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def line(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, MapperWarning):
                click.echo(f"warning: {message}", err=True)
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = line
        warnings.simplefilter("always", MapperWarning)
        yield


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="mapper")
def cli() -> None:
    """How the training of a neural network should run on a spatial accelerator.

    \b
    Begin with    mapper search resnet18 --arch procrustes --layer conv1
    What ships    mapper list archs, mapper list networks
    """


def main() -> None:
    """Entry point of the console script. A request to end (SIGTERM) is taken like Ctrl-C: what is finished is kept."""
    signal.signal(signal.SIGTERM, _interrupt)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        # What a terminal cannot show, such as a file's name that is not UTF-8, is written as an escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    cli(prog_name="mapper")


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
