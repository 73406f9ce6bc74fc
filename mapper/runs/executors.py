"""Where problems are solved: here, in processes of this machine, or on the workers of a Dask scheduler.

Each is an executor of `concurrent.futures`, so any other executor can take its place. `window` is how many jobs it
wants to have at a time: enough that no worker waits, few enough that little is lost with a worker.

Workers are started anew (`spawn`), the same on every system. Ctrl-C belongs to the main process alone: workers never
see it, and are ended when the executor is left. Where the main process is killed they end by themselves.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from types import TracebackType
from typing import Any

LOOK_FOR_GARBAGE = (100_000, 20, 20)
"""A search makes many small objects and few cycles of them: looking for those often takes 7 % of its time."""


class InProcess(Executor):
    """Solves a job as it is submitted; Ctrl-C comes through."""

    window = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Executor):
    """`size` worker processes; `renew` replaces them after one has been lost."""

    def __init__(self, size: int) -> None:
        self.window = 2 * size
        self._size = size
        self._others = set(active_children())
        self._pool: ProcessPoolExecutor | None = None
        self._futures: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As in `concurrent.futures`."""
        with interrupts_held():
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._size, get_context("spawn"), start_worker)
            future = self._pool.submit(fn, *args, **kwargs)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def renew(self) -> None:
        """Take new processes for the next jobs."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As in `concurrent.futures`."""
        if self._pool is not None:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nobody waits for what is still running: its workers are ended."""
        if self._futures:
            for worker in set(active_children()) - self._others:
                worker.terminate()
        self.shutdown(cancel_futures=True)


def start_worker() -> None:
    """Prepare a worker process."""
    _end_with_parent()
    tune()


def tune() -> None:
    """Set the process up for searches."""
    gc.freeze()
    gc.set_threshold(*LOOK_FOR_GARBAGE)


@contextmanager
def tuned() -> Iterator[None]:
    """The process set up so, for as long as it is left to mapper."""
    before = gc.get_threshold()
    tune()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _end_with_parent() -> None:
    """In a worker: end when the process that started it does, however it does."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while workers are started: they inherit that, and this process gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Its start would let Ctrl-C through again, in the middle.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
