"""`mapper sweep`: search a network at every point of a grid or list of designs and densities, into tables of points."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mapper.cli import options
from mapper.cli.main import ARGUMENTS, INTERRUPTED
from mapper.cli.progress import check_log, log_option, progress
from mapper.cli.stored import STORE, resumed_text, store_of
from mapper.cli.workers import scheduler_option, workers
from mapper.errors import MapperError
from mapper.shipped import is_file

if TYPE_CHECKING:
    from mapper.report.manifest import Entry
    from mapper.runs import Store
    from mapper.runs.sweep import Sweep, SweepRun
    from mapper.search.solve import Problem

SAMPLED, SAMPLE_SECONDS = 12, 8.0
"""Searches that a dry run tries, and the time it takes for them at most."""


class Shard(click.ParamType[Any]):
    """`2/4`: the second of four shares."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(value))
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            self.fail(f"'{value}' is no share; 1/4 is the first of four", param, ctx)
        return number, of


@click.command("sweep")
@click.argument("spec", metavar="SPEC.yaml", type=click.Path())
@options.together(options.jobs_option, scheduler_option)
@click.option("--timeout", type=options.Seconds(), metavar="S", help="Stop after S seconds; --resume continues.")
@click.option("--output", type=options.Folder(), metavar="DIR", help="Default: results/SPEC.")
@click.option("--resume", is_flag=True, help="Take finished searches from DIR/jobs.sqlite, as after a kill or Ctrl-C.")
@click.option("--shard", type=Shard(), metavar="I/N", help="Only the I-th of N shares of the searches, and no tables.")
@click.option(
    "--merge",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Take what a shard has finished into DIR; may be given several times.",
)
@options.format_option
@click.option("--dry-run", is_flag=True, help="List the points, and try a few searches to say how long all will take.")
@options.quiet_option
@options.verbose_option
@log_option
@click.pass_context
def command(
    ctx: click.Context,
    spec: str,
    jobs: int | None,
    scheduler: str | None,
    timeout: float | None,
    output: Path | None,
    resume: bool,
    shard: tuple[int, int] | None,
    merge: tuple[Path, ...],
    form: str,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
) -> None:
    """Search every point of SPEC.yaml: `mapper new sweep NAME` writes one to start from.

    Writes points (totals of every point, with the Pareto front of energy, cycles and area), mappings and failed as
    tables, and manifest.json into DIR. Searches that points share are done once, and each is kept in DIR/jobs.sqlite as
    it ends: --resume goes on after a kill. On several machines: --shard 1/2 --output A here, --shard 2/2 --output B
    there, then --merge A --merge B.

    Exit codes as of mapper search.
    """
    from mapper import report, runs
    from mapper.runs.executors import tuned
    from mapper.runs.solving import How
    from mapper.runs.sweep import load_sweep, sweep

    ctx.with_resource(tuned())
    asked, count = load_sweep(spec), options.processes(jobs)
    report.check_axes(asked)
    problems = asked.problems if shard is None else asked.shard(*shard)
    folder = output or Path("results", asked.name)
    if dry_run:
        click.echo(_dry_run(asked, problems, folder / STORE if resume else None, count))
        return
    report.check_format(form)
    inputs = _inputs(spec, asked)
    check_log(log, inputs, folder)
    report.check_folder(folder)
    # What a shard or a merge finds there is never thrown away: it may be another shard's.
    kept = resume or bool(merge) or shard is not None
    with runs.Store(folder / STORE, fresh=not kept) as store:
        taken = [(each, store.merge(store_of(each))) for each in merge]
        if not quiet:
            _say_what_is_there(store, asked, taken, kept)
        names = asked.names if shard is None else {problem: asked.names[problem] for problem in problems}
        with progress(names, quiet, verbose, log) as told, workers(count, scheduler) as executor:
            run = sweep(asked, How(count, timeout, told, store, executor, told.known), problems)
    if shard is not None:
        _close_shard(run, len(problems), spec, folder, quiet)
    elif run.outcomes:
        points = report.points_table(run)
        files = report.sweep_files(run, points, form, ctx.meta[ARGUMENTS], inputs)
        report.write_files(folder, files, report.stale_names(files))
        if not quiet:
            click.echo(f"{report.sweep_summary(run, points)}\nwritten to {folder}: {', '.join(files)}")
            click.echo(f"next: mapper report {folder}")
    ctx.exit(_exit_code(run, len(problems)))


def _dry_run(asked: Sweep, problems: Sequence[Problem], stored: Path | None, jobs: int) -> str:
    """Points and an estimate, from a few searches spread over those of `problems` that are left."""
    from mapper import report, runs
    from mapper.runs.solving import MEASURE
    from mapper.runs.work import clock, measure

    left = list(problems)
    if stored is not None and stored.exists():
        with runs.Store(stored) as store:
            left = [problem for problem in left if store.get(problem, MEASURE.read) is None]
    sample = left[:: max(1, len(left) // SAMPLED)][:SAMPLED]
    start, sampled, seconds = clock(), 0, 0.0
    for problem in sample:
        began = time.perf_counter()
        found = measure(problem, start + SAMPLE_SECONDS)
        if found is None or clock() > start + SAMPLE_SECONDS:
            break
        sampled, seconds = sampled + 1, seconds + time.perf_counter() - began
    return report.sweep_dry_run(asked, len(problems) - len(left), len(left), seconds, sampled, jobs)


def _inputs(spec: str, asked: Sweep) -> list[Entry]:
    """The file of the sweep and those that it names."""
    from mapper.arch.load import arch_file
    from mapper.report.manifest import input_file
    from mapper.workload.network import workload_file

    found = [input_file("SPEC", spec, spec)]
    finders = {"network": workload_file, "arch": arch_file}
    for key, text in asked.given:
        path = finders[key](text) if key in finders else text if is_file(text) else None
        if path is not None:
            found.append(input_file(key, text, path))
    return found


def _say_what_is_there(store: Store, asked: Sweep, taken: Iterable[tuple[Path, int]], kept: bool) -> None:
    for place, number in taken:
        click.echo(f"merged: {number:,} finished searches of {place}", err=True)
    if kept:
        click.echo(resumed_text(store, asked.problems), err=True)


def _close_shard(run: SweepRun, asked: int, spec: str, folder: Path, quiet: bool) -> None:
    if not quiet:
        click.echo(f"{len(run.outcomes):,} of the shard's {asked:,} searches are finished and in {folder / STORE}")
        click.echo(f"when all shards are: mapper sweep {spec} --merge {folder} ...")


def _exit_code(run: SweepRun, asked: int) -> int:
    from mapper.runs import Stop

    if run.stopped is not None:
        done = len(run.outcomes)
        click.echo(f"{run.stopped}: {done:,} of {asked:,} searches are finished; --resume continues", err=True)
    if run.stopped is Stop.interrupted:
        return INTERRUPTED
    codes = (outcome.exit_code for outcome in run.outcomes.values() if isinstance(outcome, MapperError))
    # A share of few searches may be none.
    return max([*codes, int(run.stopped is Stop.workers or (asked > 0 and not run.outcomes))])
