"""Searches in processes of their own that are killed in the middle and resumed: what stays must be as if none was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, zip_longest
from pathlib import Path

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


def write(folder: Path) -> None:
    """`many.yaml`, what `ASKED` searches."""
    (folder / "many.yaml").write_text(NETWORK, encoding="utf-8")


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """`mapper search` in `folder`."""
    command = [sys.executable, "-c", "from mapper.cli.main import main; main()", "search", *ASKED, *arguments]
    path = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for its end; what it said on stderr."""
    _, errors = process.communicate(timeout=120)
    if process.returncode:
        raise AssertionError(f"exit code {process.returncode}: {errors}")
    return errors


def tables(folder: Path) -> dict[str, bytes]:
    """Bytes of every table."""
    return {name: (folder / name).read_bytes() for name in TABLES}


def check_same(found: dict[str, bytes], whole: dict[str, bytes]) -> None:
    """Raises `AssertionError` with the first lines that differ."""
    for name in TABLES:
        for one, other in zip_longest(found[name].splitlines(), whole[name].splitlines()):
            if one != other:
                raise AssertionError(f"{name} differs\n  resumed  {one!r}\n  whole    {other!r}")


@dataclass
class Tally:
    """What happened: kills that met a run, runs that ended, and searches that were taken from stores."""

    kills: int = 0
    ended: int = 0
    resumed: list[int] = field(default_factory=list)


def kill_and_resume(folder: Path, kills: int, rng: random.Random, *arguments: str) -> Tally:
    """Kill runs at `kills` random moments, resume them, and compare the tables of all that end with an untouched run.

    A run that ends before its moment is followed by one in a folder of its own. Raises `AssertionError`.
    """
    write(folder)
    begin = time.monotonic()
    finish(start(folder, *arguments, "--output", "whole"))
    seconds, whole, tally = time.monotonic() - begin, tables(folder / "whole"), Tally()
    for name in (f"out{number}" for number in count()):
        for errors in _until_ended(folder, name, kills, rng, seconds, tally, arguments):
            tally.resumed += [int(line.split()[1]) for line in errors.splitlines() if line.startswith(RESUMED)]
        check_same(tables(folder / name), whole)
        tally.ended += 1
        if tally.kills >= kills:
            return tally
    raise AssertionError("unreachable")


def _until_ended(
    folder: Path, name: str, kills: int, rng: random.Random, seconds: float, tally: Tally, arguments: tuple[str, ...]
) -> Iterator[str]:
    """What each run into a folder said, up to the one that is not killed."""
    again: tuple[str, ...] = ()
    while True:
        process = start(folder, *arguments, "--output", name, *again)
        again = ("--resume",)
        if tally.kills < kills:
            try:
                process.wait(rng.uniform(0.0, seconds))
            except subprocess.TimeoutExpired:
                process.kill()
                _, errors = process.communicate()
                # It may have ended by itself in between.
                if process.returncode == -signal.SIGKILL:
                    tally.kills += 1
                    yield errors
                    continue
        yield finish(process)
        return
