"""Workers of a Dask scheduler as an executor: one that runs somewhere, or one that is started here.

Dask itself replaces workers that are lost, and blames all that they had been given: each of that is done again by
itself. Workers must run the same mapper: what they find is kept under its version.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mapper.errors import InputError, did_you_mean
from mapper.runs.executors import interrupts_held, tune
from mapper.runs.job import release
from mapper.runs.solving import WorkersLostError

if TYPE_CHECKING:
    from distributed import Client

LOCAL = "local"
"""Instead of an address: a scheduler of its own on loopback."""
OPTION = "--scheduler"
EXAMPLE = "tcp://HOST:8786"
CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer."""


class DaskWorkers(Executor):
    """What a scheduler's workers are given; `window` is right for those that it has when it is made."""

    def __init__(self, client: Client) -> None:
        threads = client.nthreads()
        if not threads:
            raise InputError("the scheduler has no workers", OPTION, "dask worker ADDRESS")
        _check_releases(client)
        client.run(tune)
        self.window = 2 * sum(threads.values())
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As in `concurrent.futures`."""
        future: Future[Any] = Future()
        self._executor.submit(fn, *args, **kwargs).add_done_callback(partial(_hand_on, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As in `concurrent.futures`."""
        self._executor.shutdown(wait=wait and not cancel_futures)


@contextmanager
def dask_workers(address: str, size: int) -> Iterator[DaskWorkers]:
    """The workers of the scheduler at `address`, or `size` of them here where it is `local`.

    Raises `InputError` without Dask, and where there is no scheduler or none of its workers can be used.
    """
    if find_spec("distributed") is None:
        raise InputError("it needs Dask", OPTION, "pip install 'mapper[dask]'")
    if address != LOCAL:
        _check_address(address)
    import dask
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        # It looks at what workers do a hundred times a second.
        "distributed.worker.profile.enabled": False,
        # Of its own it has memory given back at once, and the next array waits for it to be mapped again.
        "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS:g}s",
    }
    with (
        dask.config.set(settings),
        _scheduler(address, size) as place,
        Client(place, timeout=CONNECT_SECONDS, set_as_default=False) as client,
    ):
        workers = DaskWorkers(client)
        try:
            yield workers
        finally:
            workers.shutdown(cancel_futures=True)


def _check_address(address: str) -> None:
    """Refuse what is no address, and where no scheduler answers: a client would wait, or say it at length."""
    if not re.fullmatch(r"tcp://[^\s/:]+:\d{1,5}", address):
        near = did_you_mean(address.strip(), (LOCAL,)) or ""
        hint = near if near.startswith("did") else f"{LOCAL}, or {EXAMPLE}"
        raise InputError(f"'{address}' is no address of a scheduler", OPTION, hint)
    try:
        said = asyncio.run(asyncio.wait_for(_identity(address), CONNECT_SECONDS))
    except Exception as error:
        # Whatever listens there may answer with anything.
        why = str(error) or type(error).__name__
        raise InputError(f"no scheduler answers at '{address}': {why}", OPTION, EXAMPLE) from None
    if not isinstance(said, dict) or said.get("type") != "Scheduler":
        raise InputError(f"what answers at '{address}' is no scheduler", OPTION, EXAMPLE)


async def _identity(address: str) -> Any:
    from distributed.core import connect

    comm = await connect(address, timeout=CONNECT_SECONDS)
    try:
        await comm.write({"op": "identity", "reply": True})
        return await comm.read()
    finally:
        comm.abort()


@contextmanager
def _scheduler(address: str, size: int) -> Iterator[Any]:
    if address != LOCAL:
        yield address
        return
    from distributed import LocalCluster

    with interrupts_held():
        cluster = LocalCluster(
            n_workers=size,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    with cluster:
        yield cluster


def _hand_on(future: Future[Any], done: Future[Any]) -> None:
    """Let `future` end as `done` did, lost with its worker where that is what happened."""
    from distributed import KilledWorker

    if done.cancelled():
        future.cancel()
        future.set_running_or_notify_cancel()
        return
    error = done.exception()
    if isinstance(error, KilledWorker):
        future.set_exception(WorkersLostError("its worker ended by itself"))
    elif error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())


def _check_releases(client: Client) -> None:
    for worker, found in client.run(release).items():
        if found != release():
            raise InputError(f"worker {worker} has another mapper: {found}", OPTION, f"install {release()} there")
