"""`mapper search`: rank the mappings of a whole network, or of one layer, into tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapper.cli import options
from mapper.cli.main import ARGUMENTS, INTERRUPTED
from mapper.cli.progress import check_log, log_option, progress
from mapper.cli.stored import STORE, resumed_text
from mapper.cli.workers import scheduler_option, workers
from mapper.cli.zeros import zeros_options

if TYPE_CHECKING:
    from mapper.runs import Plan, Run
    from mapper.sparsity.asked import ZerosAsked


@click.command("search")
@click.argument("workload", metavar="NETWORK|LAYER", type=options.Shipped("layer_zoo"))
@options.together(
    options.arch_option,
    options.layer_option,
    options.phase_option,
    options.partition_option,
    options.batch_option,
    options.constrain_option,
    options.constraints_option,
    options.metric_option,
    options.top_option,
    options.jobs_option,
    scheduler_option,
)
@zeros_options
@click.option(
    "--timeout",
    type=options.Seconds(),
    metavar="S",
    help="Stop after S seconds; what was found is kept, with its gap.",
)
@click.option("--input-gradients", is_flag=True, help="Search bw also for layers whose input needs no gradient.")
@click.option("--output", type=options.Folder(), metavar="DIR", help="Default: results/NETWORK-ARCH.")
@click.option("--resume", is_flag=True, help="Take finished searches from DIR/jobs.sqlite, as after a kill or Ctrl-C.")
@options.format_option
@click.option("--dry-run", is_flag=True, help="List the searches and their mapspaces; search and write nothing.")
@options.quiet_option
@options.verbose_option
@log_option
@click.pass_context
def command(
    ctx: click.Context,
    workload: str,
    arch: str,
    layers: tuple[str, ...],
    phases: str | None,
    partitionings: str | None,
    batch: int,
    constraint_texts: tuple[str, ...],
    constraint_file: str | None,
    metric: str,
    top: int,
    jobs: int | None,
    scheduler: str | None,
    timeout: float | None,
    input_gradients: bool,
    output: Path | None,
    resume: bool,
    form: str,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    zeros: ZerosAsked,
) -> None:
    """Rank the mappings of every layer, phase and partitioning.

    NETWORK is a shipped name or a file. LAYER is NETWORK:LAYER, a file with one layer, or an einsum in quotes with its
    bounds: "Z[M,N] += A[M,K] * B[K,N]; M=64 N=64 K=64".

    Writes mappings, breakdown and totals as tables and manifest.json into DIR. Exit code: 0 done, 1 no mapping fits
    somewhere (the tables hold the rest), 2 wrong input, 130 interrupted (the tables hold what was finished).

    Each search is also kept in DIR/jobs.sqlite as it ends, so that --resume need not repeat it, even after a kill. The
    file stays until the next search into DIR without --resume, which replaces it. The tables are the same either way.
    """
    from mapper import report, runs
    from mapper.arch import load_arch
    from mapper.runs.executors import tuned
    from mapper.workload.network import load_workload, whole_network

    ctx.with_resource(tuned())
    network = load_workload(workload, batch).only(layers)
    plan = runs.Plan(
        network,
        load_arch(arch),
        runs.partitionings(partitionings, network),
        options.chosen_phases(phases),
        metric,
        top,
        input_gradients,
        options.chosen_constraints(constraint_texts, constraint_file),
        zeros.given(whole_network(workload, batch)),
    )
    for line in [] if quiet else report.obstacles(plan):
        click.echo(f"warning: {line}", err=True)
    if dry_run:
        click.echo(report.dry_run(plan))
        return
    report.check_format(form)
    folder = output or _default_folder(workload, plan)
    inputs = report.inputs(workload, arch, zeros, constraint_file)
    check_log(log, inputs, folder)
    report.check_folder(folder)
    with runs.Store(folder / STORE, fresh=not resume) as store:
        if resume and not quiet:
            click.echo(resumed_text(store, plan.problems), err=True)
        count = options.processes(jobs)
        with progress(plan.names, quiet, verbose, log) as told, workers(count, scheduler) as executor:
            run = runs.run(plan, count, timeout, told, store, executor, told.known)
        if not run.rankings and not resume and (run.stopped is None or not run.outcomes):
            # Nothing is written, and nothing would be resumed.
            store.discard()
    if run.rankings:
        files = report.run_files(run, form, workload, ctx.meta[ARGUMENTS], inputs, zeros.as_dict())
        report.write_files(folder, files, report.stale_names(files))
        if not quiet:
            click.echo(_closing(run, folder, list(files)))
    _say_what_is_missing(run, arch, quiet)
    ctx.exit(_exit_code(run))


def _default_folder(workload: str, plan: Plan) -> Path:
    """`results/NETWORK-ARCH`; one layer given as NETWORK:LAYER does not take the place of its network."""
    from mapper.report.files import safe_name

    name = plan.network.name
    layer = plan.network.layers[0].label
    parts = [name, layer] if workload.endswith(f":{layer}") else [name]
    return Path("results", safe_name("-".join([*parts, plan.accelerator.name])))


def _closing(run: Run, folder: Path, names: list[str]) -> str:
    from mapper import report

    written = f"written to {folder}: {', '.join(names)}"
    return f"{report.summary(run)}\n{written}\nnext: {report.next_step(run, folder)}"


def _say_what_is_missing(run: Run, arch: str, quiet: bool) -> None:
    """Rankings that failed, with their reasons, and those that were not finished, on stderr."""
    from mapper import report
    from mapper.arch.load import arch_file
    from mapper.runs import Stop

    file = arch if arch_file(arch) == Path(arch) else None
    if run.failures:
        click.echo(report.failures_text(run, file, brief=quiet).rstrip("\n"), err=True)
    if run.stopped is not None:
        done, every = len(run.outcomes), len(run.plan.problems)
        kept = "their tables are written" if run.rankings else "nothing is written"
        # A search that took all of its time would do so again: there a longer limit helps.
        goes_on = "; --resume continues" if run.outcomes and run.stopped is not Stop.timeout else ""
        click.echo(f"{run.stopped}: {done:,} of {every:,} searches are finished; {kept}{goes_on}", err=True)


def _exit_code(run: Run) -> int:
    from mapper.runs import Stop

    if run.stopped is Stop.interrupted:
        return INTERRUPTED
    failed = max((error.exit_code for _, error in run.failures), default=0)
    return max(failed, int(run.stopped is Stop.workers or not run.rankings))
