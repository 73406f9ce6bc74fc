#!/usr/bin/env python3
"""Several networks on one accelerator, each with its tables and its page: copy this and change the names in capitals.

What is finished is kept beside the tables as it ends, so a second start takes it from there. The same from the command
line: `mapper search NETWORK --arch ARCH ... --resume`, then `mapper report DIR`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mapper
from mapper import report, runs
from mapper.report.page import read_source
from mapper.report.page import report as page_of
from mapper.sparsity.asked import ZerosAsked

NETWORKS = ("resnet18", "mobilenet_v2", "bert_base")  # shipped names or files
LAYERS = {"resnet18": ("layer4.0.down.0", "fc")}  # only these of a network; all of those that are not here
ARCH, BATCH = "procrustes", 16
PARTITIONINGS, TOP = "CK,KN", 3
ZEROS = ZerosAsked(density="0.1", activation_density="0.5")  # the options of mapper search about zeros
PROCESSES = 2


def searched(name: str, folder: Path) -> runs.Run:
    """The best mappings of a network; finished searches are in the folder's store."""
    network = mapper.load_network(name, batch=BATCH)
    plan = runs.Plan(
        network.only(LAYERS.get(name, ())),
        mapper.load_arch(ARCH),
        runs.partitionings(PARTITIONINGS, network),
        top=TOP,
        zeros=ZEROS.given(network),
    )
    report.check_folder(folder)
    with runs.Store(folder / "jobs.sqlite") as store:
        return runs.run(plan, jobs=PROCESSES, store=store)


def command(name: str) -> list[str]:
    """The same search as a command line: a page says how its tables came about."""
    words = ["search", name, "--arch", ARCH, "--batch", f"{BATCH}", "--partition", PARTITIONINGS, "--top", f"{TOP}"]
    words += [word for layer in LAYERS.get(name, ()) for word in ("--layer", layer)]
    return words + [word for key, text in ZEROS.as_dict().items() for word in (f"--{key.replace('_', '-')}", text)]


def main() -> None:
    output, *names = sys.argv[1:] or ["results"]  # scripts/batch_report.py [FOLDER [NETWORK ...]]
    for name in names or NETWORKS:
        folder = Path(output, f"{name}-{ARCH}")
        found = searched(name, folder)
        inputs = report.inputs(name, ARCH, ZEROS)
        files = report.run_files(found, "csv", name, command(name), inputs, ZEROS.as_dict())
        report.write_files(folder, files)
        report.write_files(folder, {"report.html": page_of(read_source(folder)).html})
        (total,) = (t for t in report.totals(found) if (t.phase, t.partitioning) == ("all", "best"))
        print(f"{name}: {total.cycles:,} cycles, {total.energy_pj / 1e9:,.2f} mJ a step; {folder / 'report.html'}")


if __name__ == "__main__":  # worker processes import this file
    main()
