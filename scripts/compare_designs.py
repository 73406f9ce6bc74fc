#!/usr/bin/env python3
"""Two accelerators on the same layers, from Python: copy this and change the names in capitals.

Searches each layer, phase and partitioning on both, and prints totals, ratios to the first and geometric means. The
same from the command line: `mapper compare dense_baseline procrustes --network resnet18 --layer conv1 ...`.
"""

from __future__ import annotations

import mapper
from mapper import runs
from mapper.report.comparison import compare
from mapper.report.comparison_text import comparison_text, differences
from mapper.report.results import results
from mapper.report.sides import Side, side
from mapper.sparsity.given import ZerosGiven

DESIGNS = ("dense_baseline", "procrustes")  # shipped names or files; ratios are to the first
NETWORK, BATCH = "resnet18", 16
LAYERS = ("layer2.0.conv2", "fc")  # () for all of them
PHASES = ("fw", "bw", "wu")
PARTITIONINGS = "CK,KN"  # of several, each part of a layer takes its best
METRIC = "edp"
DENSITY = {"W": 0.1, "I": 0.5}  # nonzeros / size; only a design with units for zeros gains by them


def searched(name: str) -> Side:
    """The best mappings of a design for every layer and phase."""
    network = mapper.load_network(NETWORK, batch=BATCH).only(LAYERS)
    plan = runs.Plan(
        network,
        mapper.load_arch(name),
        runs.partitionings(PARTITIONINGS, network),
        tuple(map(mapper.Phase, PHASES)),
        METRIC,
        top=1,
        zeros=ZerosGiven.of(DENSITY),
    )
    return side(results(runs.run(plan)))  # with jobs=4 on four processes, which need the last two lines below


def main() -> None:
    comparison = compare([searched(name) for name in DESIGNS])
    print(comparison_text(comparison))
    for line in differences(comparison.sides):
        print(line)
    print()
    for total in comparison.totals:  # everything is also there as numbers
        if total.phase == "all":
            print(f"{total.name}: speedup {total.ratios['speedup']:.2f}, geometric mean {total.means['speedup']:.2f}")


if __name__ == "__main__":
    main()
