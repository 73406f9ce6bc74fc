"""How a run gets on: a bar with rate and time left on a terminal, a line per search, or a log for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from mapper.cli import options
from mapper.errors import InputError, MapperError

if TYPE_CHECKING:
    from mapper.search.solve import Problem

log_option: options.Decorator = click.option(
    "--log-json",
    "log",
    metavar="FILE",
    help="Write a line of JSON for each search as it ends; '-' is standard error.",
)

WRITTEN = ("jobs", "manifest", "mappings", "breakdown", "totals", "points", "failed", "report")
"""Names of what a search, a sweep or a report writes into its folder, whatever their endings."""

Tell = Callable[["Problem", Any, bool], None]
"""Is told of a search, what came of it, and whether a store had it."""


def check_log(log: str | None, inputs: Iterable[Mapping[str, object]], folder: Path) -> None:
    """Refuse a log in place of a file that the command reads or writes. Raises `InputError`."""
    if log is None or log == "-":
        return
    path = Path(log).resolve()
    if str(path) in {entry["path"] for entry in inputs}:
        raise InputError(f"'{log}' is an input of this command", "--log-json", "another file")
    stem = path.name.partition(".")[0]
    if path.parent == folder.resolve() and stem in WRITTEN:
        raise InputError(f"'{log}' is a file that this command writes", "--log-json", "another file")
    if path.is_fifo():
        # Opening it would wait for a reader.
        raise InputError(f"'{log}' is a pipe", "--log-json", "give a file, or '-' for standard error")


@dataclass(frozen=True)
class Told:
    """Everybody who is told of searches: of one that has ended by calling it."""

    listeners: tuple[Tell, ...]

    def __call__(self, problem: Problem, outcome: Any) -> None:
        for each in self.listeners:
            each(problem, outcome, False)

    def known(self, problem: Problem, outcome: Any) -> None:
        """Tell of a search that a store had."""
        for each in self.listeners:
            each(problem, outcome, True)


@contextmanager
def progress(names: Mapping[Problem, str], quiet: bool, verbose: bool, log: str | None = None) -> Iterator[Told]:
    """What is told of each finished search; all but a log file goes to standard error.

    `names` has every search that is to come. Raises `InputError` for a log that cannot be written.
    """
    with ExitStack() as stack:
        told: list[Tell] = []
        if log is not None:
            told.append(_logged(stack.enter_context(_opened(log)), names))
        if verbose and not quiet:
            told.append(lambda problem, outcome, _: click.echo(f"{names[problem]}: {_outcome(outcome)}", err=True))
        elif not quiet and log != "-" and sys.stderr.isatty():
            told.append(stack.enter_context(_bar(len(names))))
        yield Told(tuple(told))


@contextmanager
def _bar(length: int) -> Iterator[Tell]:
    start, searched = time.monotonic(), 0
    with click.progressbar(
        length=length, label="searching", show_pos=True, file=sys.stderr, item_show_func=lambda rate: rate
    ) as bar:

        def update(_problem: Problem, _outcome: Any, known: bool) -> None:
            nonlocal searched
            searched += not known
            rate = searched / max(time.monotonic() - start, 1e-9)
            each = f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each" if rate else ""
            bar.update(1, each)

        yield update


@contextmanager
def _opened(log: str) -> Iterator[TextIO]:
    if log == "-":
        yield sys.stderr
        return
    try:
        file = open(log, "w", encoding="utf-8", buffering=1)  # noqa: SIM115 (only what opening raises is meant)
    except OSError as error:
        raise _unwritable(log, error, "give a file") from None
    try:
        yield file
    finally:
        # What cannot be written has been told line by line.
        with suppress(OSError):
            file.close()


def _unwritable(log: str, error: OSError, hint: str) -> InputError:
    return InputError(f"cannot write '{log}': {error.strerror}", "--log-json", hint)


def _logged(file: TextIO, names: Mapping[Problem, str]) -> Tell:
    start, finished = time.monotonic(), 0

    def line(problem: Problem, outcome: Any, known: bool) -> None:
        nonlocal finished
        finished += 1
        said = {
            "search": names[problem],
            "finished": finished,
            "of": len(names),
            "elapsed_s": round(time.monotonic() - start, 3),
            "resumed": known,
        }
        try:
            file.write(json.dumps(said | _said(outcome)) + "\n")
        except OSError as error:
            raise _unwritable(file.name, error, "give another file; --resume continues") from None

    return line


def _said(outcome: Any) -> dict[str, object]:
    """What came of a search, for a program."""
    if isinstance(outcome, MapperError):
        return {"failed": str(outcome)}
    figures = {name: _first(outcome)[name] for name in ("cycles", "energy_pj", "utilization", "mapping")}
    certificate = outcome.certificate
    return figures | {"optimal": certificate.optimal, "gap": certificate.gap, "evaluated": certificate.evaluated}


def _outcome(outcome: Any) -> str:
    """What came of a search, for people."""
    from mapper.report import units

    if isinstance(outcome, MapperError):
        return str(outcome)
    best = _first(outcome)
    figures = f"{units.count(best['cycles'])} cycles, {units.energy(best['energy_pj'])}"
    return f"{figures}, {outcome.certificate.evaluated:,} mappings evaluated"


def _first(outcome: Any) -> dict[str, Any]:
    """Figures of the best mapping of a solution or of a measurement."""
    from mapper.runs.work import Measured

    if isinstance(outcome, Measured):
        return dict(outcome.rows[0])
    best = outcome.ranked[0].evaluation
    names = ("cycles", "energy_pj", "utilization")
    return {name: getattr(best, name) for name in names} | {"mapping": str(best.mapping)}
