#!/usr/bin/env python3
"""What zeros cost a search: CPU seconds of sparse searches over those of the dense one, in one run.

Searches of a network with no zeros, with densities, and with actual masks (made here, in a temporary folder), each in a
process of its own; then what reading the masks and counting their nonzeros takes.

\b
  scripts/bench_zeros.py
  scripts/bench_zeros.py --network mobilenet_v2 --partitionings KN
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from mapper.report.layout import table

BATCH = 64


@dataclass(frozen=True)
class Used:
    """CPU seconds of one process, and the most memory it had in MB."""

    seconds: float
    megabytes: float


def run(folder: Path, *arguments: str) -> Used:
    """One command, alone; a failure ends the script with its message."""
    process = subprocess.Popen(
        [Path(sys.executable).with_name("mapper"), *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(message)
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@click.command(help=__doc__)
@click.option("--network", default="resnet18", show_default=True)
@click.option("--partitionings", default="CK,KN,CN,PQ", show_default=True)
@click.option("--density", default="0.1", show_default=True)
def main(network: str, partitionings: str, density: str) -> None:
    search = ("search", network, "--arch", "procrustes", "--batch", str(BATCH), "--top", "5")
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "masks", "make", "--network", network, "--density", density, "--output", "masks.npz")
        ways = {"dense": (), "density": ("--density", density), "masks": ("--masks", "masks.npz")}
        dense = None
        for way, options in ways.items():
            used = run(folder, *search, "--partition", partitionings, "--output", way, *options)
            dense = dense or used
            rows.append(
                (
                    f"search, {way}",
                    f"{used.seconds:.1f}",
                    f"{used.seconds / dense.seconds:.2f}",
                    f"{used.megabytes:.0f}",
                )
            )
        used = run(folder, "masks", "stats", "masks.npz", "--network", network)
        rows.append(("masks stats", f"{used.seconds:.1f}", "", f"{used.megabytes:.0f}"))
    click.echo(f"{network}, {partitionings}, density {density}, batch {BATCH}, top 5, one process")
    click.echo("\n".join(table(("", "CPU s", "over dense", "peak MB"), rows)))


if __name__ == "__main__":
    main()
