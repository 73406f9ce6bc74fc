#!/usr/bin/env python3
"""What many runs cost beside their searches: tables of 10,000 finished ones, the store, processes, Dask.

Modes, each by itself with --only:

- tables: 10,000 tiny searches are put into a store; then `mapper sweep --resume` reads them and writes all tables.
- store: the share of a run's time that committing its searches takes.
- processes: the same searches on one process and on two, started before the clock.
- dask: on two workers of a local Dask scheduler and on two processes, both started before the clock.

--scale 0.1 takes a tenth of the searches. Times are of the wall clock unless CPU is said: the machine must be quiet.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if TYPE_CHECKING:
    from mapper.runs.sweep import Sweep
    from mapper.search.solve import Problem

ROOT = Path(__file__).resolve().parent.parent
FINISHED = 10_000
"""Searches in the store of the tables."""
TINY = "name: tiny\nlayers: [{name: a, linear: {C: 4, K: 2}}]\n"
SHAPES = {
    "2,500 points of 4 searches": (25, 10, 10, "CK, KN, CN, PQ"),
    "10,000 points of one search": (100, 10, 10, "KN"),
}
"""Arrays, batches, densities and partitionings: all of a shape together are `FINISHED` searches."""
WORK = """\
network: resnet18
arch: procrustes
batch: 64
partition: [CK, KN, CN, PQ]
grid: {array: [8x8, 12x12, 16x16]}
"""
"""About a minute of searches on one process."""
SIZE = 2
"""Workers that are compared with one."""


@dataclass(frozen=True)
class Row:
    """A figure, and what it should be."""

    mode: str
    what: str
    figure: str
    wanted: str
    good: bool


# Tables


def tables(folder: Path, scale: float) -> Iterator[Row]:
    """CPU seconds of a command that finds everything finished."""
    (folder / "tiny.yaml").write_text(TINY, encoding="utf-8")
    for what, (arrays, batches, densities, partitionings) in SHAPES.items():
        asked = _loaded(folder, _tiny_sweep(max(1, round(arrays * scale)), batches, densities, partitionings))
        put = _filled(folder / "out", asked)
        seconds, cpu = _resumed(folder)
        searches = f"{len(asked.problems):,} finished searches, {what}"
        limit = 5 * len(asked.problems) / FINISHED
        yield Row("tables", f"{searches}: put into a store", f"{put:.2f} s CPU", "", True)
        yield Row("tables", f"{searches}: read and all tables written", f"{seconds:.2f} s", "", True)
        yield Row("tables", "  the same", f"{cpu:.2f} s CPU", f"< {max(limit, 1):.2g} s", cpu < max(limit, 1))


def _tiny_sweep(arrays: int, batches: int, densities: int, partitionings: str) -> str:
    axes: dict[str, Sequence[object]] = {
        "array": [f"{x}x2" for x in range(1, arrays + 1)],
        "batch": list(range(1, batches + 1)),
        "density": [(number + 1) / 1000 for number in range(densities)],
    }
    grid = "".join(f"  {name}: [{', '.join(map(str, values))}]\n" for name, values in axes.items())
    return f"network: tiny.yaml\narch: procrustes\nphase: fw\npartition: [{partitionings}]\ngrid:\n{grid}"


def _filled(folder: Path, asked: Sweep) -> float:
    """CPU seconds to put one and the same outcome for every search."""
    from mapper.cli.stored import STORE
    from mapper.runs import Store
    from mapper.runs.work import measure

    outcome = measure(asked.problems[0])
    assert outcome is not None
    folder.mkdir(exist_ok=True)
    with Store(folder / STORE, fresh=True) as store:
        start = time.process_time()
        for problem in asked.problems:
            store.put(problem, outcome)
        return time.process_time() - start


def _resumed(folder: Path) -> tuple[float, float]:
    """Seconds of `mapper sweep --resume`, by the wall clock and of the CPU, its start included."""
    command = [sys.executable, "-c", "from mapper.cli.main import main; main()", "sweep", "sweep.yaml", "-j", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*command, "--resume", "--output", "out", "--timeout", "60"],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if "yes, all" not in done.stdout:
        raise click.ClickException(f"not all was finished\n{done.stdout}\n{done.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# Work


def store(folder: Path, scale: float) -> Iterator[Row]:
    """Seconds in the store over those of the run."""
    from mapper.runs.executors import tuned
    from mapper.runs.solving import How
    from mapper.runs.store import Store
    from mapper.runs.sweep import sweep

    class Timed(Store):
        """Counts the seconds that it takes."""

        seconds = 0.0

        def get(self, *arguments: Any) -> Any:
            return self._timed(super().get, *arguments)

        def put(self, *arguments: Any) -> None:
            self._timed(super().put, *arguments)

        def _timed(self, do: Callable[..., Any], *arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return do(*arguments)
            finally:
                self.seconds += time.perf_counter() - start

    asked, problems = _work(folder, scale)
    timed = Timed(folder / "store.sqlite")
    with timed, tuned():
        start = time.perf_counter()
        sweep(asked, How(store=timed), problems)
        seconds = time.perf_counter() - start
    share = timed.seconds / seconds
    what = f"{len(problems):,} searches in {seconds:.1f} s, of that in the store {timed.seconds:.3f} s"
    yield Row("store", what, f"{share:.2%}", "< 3 %", share < 0.03)


def processes(folder: Path, scale: float) -> Iterator[Row]:
    """How many times as fast two processes are."""
    from mapper.runs.executors import InProcess, Processes, tuned

    asked, problems = _work(folder, scale)
    with tuned():
        alone = _seconds(asked, problems, InProcess())
    together = _seconds(asked, problems, Processes(SIZE))
    what = f"{len(problems):,} searches: {alone:.1f} s on one process, {together:.1f} s on {SIZE}"
    yield Row("processes", what, f"{alone / together:.2f} x", ">= 1.8 x", alone / together >= 1.8)


def dask(folder: Path, scale: float) -> Iterator[Row]:
    """How much longer workers of Dask take than processes."""
    from mapper.runs.dask_executor import LOCAL, dask_workers
    from mapper.runs.executors import Processes

    asked, problems = _work(folder, scale)
    together = _seconds(asked, problems, Processes(SIZE))
    with dask_workers(LOCAL, SIZE) as workers:
        by_dask = _seconds(asked, problems, workers)
    what = f"{len(problems):,} searches: {together:.1f} s on {SIZE} processes, {by_dask:.1f} s on {SIZE} Dask workers"
    longer = by_dask / together - 1
    yield Row("dask", what, f"{longer:+.1%}", "within 15 %", longer <= 0.15)


def _work(folder: Path, scale: float) -> tuple[Sweep, Sequence[Problem]]:
    """A minute of searches, or as many of them as `scale` says, evenly chosen."""
    asked = _loaded(folder, WORK)
    every = asked.problems
    number = max(1, round(scale * len(every)))
    return asked, [every[i * len(every) // number] for i in range(number)]


def _seconds(asked: Sweep, problems: Sequence[Problem], executor: Executor) -> float:
    """Of the searches alone: workers have started, and have searched something, before."""
    from mapper.runs.solving import How
    from mapper.runs.sweep import sweep
    from mapper.runs.work import measure

    with executor:
        wait([executor.submit(measure, problems[0]) for _ in range(4 * SIZE)])
        start = time.perf_counter()
        run = sweep(asked, How(executor=executor), problems)
        seconds = time.perf_counter() - start
    assert len(run.outcomes) == len(problems)
    return seconds


def _loaded(folder: Path, text: str) -> Sweep:
    """The sweep of that text; files that it names are those of the folder."""
    from mapper.runs.sweep import load_sweep

    (folder / "sweep.yaml").write_text(text, encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_sweep("sweep.yaml")
    finally:
        os.chdir(before)


MODES: dict[str, Callable[[Path, float], Iterator[Row]]] = {
    "tables": tables,
    "store": store,
    "processes": processes,
    "dask": dask,
}


def as_text(rows: Sequence[Row]) -> str:
    head = ["mode", "what", "figure", "wanted", ""]
    body = [[row.mode, row.what, row.figure, row.wanted, "" if row.good else "NOT MET"] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in (head, *body))
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--only", metavar="MODES", help=f"Of {','.join(MODES)}, separated by commas.  [default: all]")
@click.option("--scale", type=click.FloatRange(min=0, min_open=True, max=1), default=1.0, show_default=True)
def main(only: str | None, scale: float) -> None:
    modes = [name.strip() for name in only.split(",")] if only else list(MODES)
    unknown = [name for name in modes if name not in MODES]
    if unknown:
        raise click.BadParameter(f"no mode {', '.join(unknown)}; there are {', '.join(MODES)}", param_hint="--only")
    rows: list[Row] = []
    for mode in modes:
        click.echo(f"{mode} ...", err=True)
        with tempfile.TemporaryDirectory() as folder:
            rows += MODES[mode](Path(folder), scale)
    click.echo(as_text(rows))
    sys.exit(not all(row.good for row in rows))


if __name__ == "__main__":
    main()
