"""Runs in processes of their own that are killed in the middle and resumed: what stays must be as if none was."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, zip_longest
from pathlib import Path

from mapper.cli.stored import STORE

ROOT = Path(__file__).parents[2]
TABLES = ("mappings.csv", "breakdown.csv", "totals.csv")
RESUMED = "resumed: "

NETWORK = "name: many\nlayers:\n" + "".join(
    f"  - {{name: l{number}, linear: {{C: {channels}, K: {kernels}}}}}\n"
    for number, (channels, kernels) in enumerate(
        ((16, 12), (24, 9), (15, 20), (64, 5), (10, 21), (32, 18), (14, 14), (40, 6), (18, 30), (7, 16))
    )
)
"""Ten layers of different sizes: twenty searches of some hundredths of a second each."""
ASKED = ("many.yaml", "--arch", "eyeriss", "--batch", "4", "--phase", "fw", "--partition", "KN,CN")

GRID = """\
network: many.yaml
arch: eyeriss
phase: fw
partition: [KN, CN]
grid:
  array: [ARRAYS]
  batch: [1, 4]
"""
"""Forty searches for each array."""


@dataclass(frozen=True)
class Kind:
    """A command that is killed: its arguments and the tables that it writes."""

    arguments: tuple[str, ...]
    tables: tuple[str, ...]


SEARCH = Kind(("search", *ASKED), TABLES)
SMALL_SWEEP = Kind(("sweep", "small.yaml"), ("points.csv", "mappings.csv", "failed.csv"))
"""Forty searches."""
SWEEP = Kind(("sweep", "sweep.yaml"), SMALL_SWEEP.tables)
"""Two hundred."""
KINDS = {"search": SEARCH, "sweep": SWEEP}


def write(folder: Path) -> None:
    """The files that the kinds name."""
    (folder / "many.yaml").write_text(NETWORK, encoding="utf-8")
    (folder / "small.yaml").write_text(GRID.replace("ARRAYS", "4x4"), encoding="utf-8")
    (folder / "sweep.yaml").write_text(GRID.replace("ARRAYS", "2x4, 4x4, 4x8, 8x8, 12x14"), encoding="utf-8")


def start(folder: Path, *arguments: str, kind: Kind = SEARCH) -> subprocess.Popen[str]:
    """`mapper search`, or a command of another kind, in `folder`."""
    command = [sys.executable, "-c", "from mapper.cli.main import main; main()", *kind.arguments, *arguments]
    path = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for its end; what it said on stderr."""
    _, errors = process.communicate(timeout=120)
    if process.returncode:
        raise AssertionError(f"exit code {process.returncode}: {errors}")
    return errors


def tables(folder: Path, kind: Kind = SEARCH) -> dict[str, bytes]:
    """Bytes of every table."""
    return {name: (folder / name).read_bytes() for name in kind.tables}


def check_same(found: dict[str, bytes], whole: dict[str, bytes]) -> None:
    """Raises `AssertionError` with the first lines that differ."""
    for name in whole:
        for one, other in zip_longest(found[name].splitlines(), whole[name].splitlines()):
            if one != other:
                raise AssertionError(f"{name} differs\n  resumed  {one!r}\n  whole    {other!r}")


@dataclass
class Tally:
    """What happened: kills that met a run, runs that ended, searches that each resumed run took from its store.

    `solved` counts all searches of runs that were killed and of those that ended, `problems` those of one whole run.
    """

    kills: int = 0
    ended: int = 0
    problems: int = 0
    solved: int = 0
    resumed: list[int] = field(default_factory=list)


def kill_and_resume(folder: Path, kills: int, rng: random.Random, *arguments: str, kind: Kind = SEARCH) -> Tally:
    """Kill runs at `kills` random moments, resume them, and compare the tables of all that end with an untouched run.

    Every search must be committed once, and none that was may be searched again. A run that ends before its moment is
    followed by one in a folder of its own. Raises `AssertionError`.
    """
    write(folder)
    begin = time.monotonic()
    finish(start(folder, *arguments, "--output", "whole", kind=kind))
    seconds, whole = time.monotonic() - begin, tables(folder / "whole", kind)
    tally = Tally(problems=len(committed(folder / "whole")))
    for name in (f"out{number}" for number in count()):
        _check_runs(list(_until_ended(folder, name, kills, rng, seconds, tally, arguments, kind)), tally)
        check_same(tables(folder / name, kind), whole)
        tally.ended += 1
        if tally.kills >= kills:
            return tally
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class Ran:
    """One run: what the store had before and after it, and its log, of which a kill may have cut the last line."""

    before: frozenset[str]
    after: frozenset[str]
    log: Path

    @property
    def lines(self) -> list[dict[str, object]]:
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def committed(folder: Path) -> frozenset[str]:
    """Keys of the searches in a store. Raises `AssertionError` where one is there twice."""
    if not (folder / STORE).exists():
        return frozenset()
    connection = sqlite3.connect(folder / STORE)
    laid_out = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'jobs'").fetchone()[0]
    keys = [str(key) for (key,) in connection.execute("SELECT key FROM jobs")] if laid_out else []
    connection.close()
    if len(set(keys)) < len(keys):
        raise AssertionError(f"{len(keys) - len(set(keys))} searches are committed twice")
    return frozenset(keys)


def _check_runs(runs: list[Ran], tally: Tally) -> None:
    """The runs into one folder, the last of which ended: nothing is lost, nothing is searched again."""
    searched = Counter[str]()
    for ran in runs:
        if not ran.before <= ran.after:
            raise AssertionError(f"{len(ran.before - ran.after)} committed searches are lost")
        lines = ran.lines
        taken = [line for line in lines if line["resumed"]]
        if len(taken) not in (len(ran.before), len(lines)) or len(taken) > len(ran.before):
            raise AssertionError(f"{len(taken)} of {len(ran.before)} committed searches were taken")
        searched.update(str(line["search"]) for line in lines if not line["resumed"])
        tally.solved += len(lines) - len(taken)
    twice = [name for name, times in searched.items() if times > 1]
    if twice:
        raise AssertionError(f"{len(twice)} searches that were committed are searched again: {twice[0]}")
    last = runs[-1]
    if not len(last.lines) == len(last.after) == tally.problems:
        raise AssertionError(f"{len(last.after)} searches are committed, {tally.problems} of a whole run")
    tally.resumed += [len(ran.before) for ran in runs[1:]]


def _until_ended(
    folder: Path,
    name: str,
    kills: int,
    rng: random.Random,
    seconds: float,
    tally: Tally,
    arguments: tuple[str, ...],
    kind: Kind,
) -> Iterator[Ran]:
    """The runs into a folder, up to the one that is not killed."""
    again: tuple[str, ...] = ()
    for number in count():
        before, log = committed(folder / name), folder / f"{name}.{number}.log"
        process = start(folder, *arguments, "--output", name, "--log-json", log.name, *again, kind=kind)
        again = ("--resume",)
        killed = tally.kills < kills and _is_killed(process, rng.uniform(0.0, seconds))
        if killed:
            tally.kills += 1
        else:
            finish(process)
        yield Ran(before, committed(folder / name), log)
        if not killed:
            return


def _is_killed(process: subprocess.Popen[str], after: float) -> bool:
    """Kill a process in so many seconds; whether it had not ended by itself."""
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.kill()
    # Workers hold its standard error too, and end with it.
    process.communicate()
    return process.returncode == -signal.SIGKILL
