"""Where searches run: options, and the executor that they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

import click

from mapper.cli import options

scheduler_option: options.Decorator = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Search on the workers of this Dask scheduler (tcp://HOST:8786); 'local' starts one here with -j workers.",
)


@contextmanager
def workers(jobs: int, scheduler: str | None) -> Iterator[Executor | None]:
    """The workers of a Dask scheduler; None: processes of this machine."""
    if scheduler is None:
        yield None
        return
    from mapper.runs.dask_executor import dask_workers

    with dask_workers(scheduler, jobs) as found:
        yield found
