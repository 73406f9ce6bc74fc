#!/usr/bin/env python3
"""How fast the cost model is: full evaluations per second and core, in batch and singly, and the time to import.

Every figure is CPU seconds of this process, medians of several runs. Evaluations are full: every count, capacity,
cycles by bound and energy by component, tensor and action. Nothing is skipped for mappings that do not fit.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import mapper
from mapper.cost.batch import CHUNK, evaluate_nests
from mapper.counts.geometry import groups
from mapper.mapping import Nests, parse_partitioning
from mapper.search.space import Mapspace

TIMELOOP_PER_SECOND = 21
"""Valid mappings per CPU second of Timeloop v4 (random-pruned) on one ResNet-18 convolution, on a 2-core machine."""

LAYERS = (("layer1.0.conv1", "fw"), ("layer2.0.conv1", "fw"), ("layer3.0.conv2", "wu"), ("layer4.0.down.0", "fw"))


def random_mappings(layer: str, phase: str, partitioning: str, count: int) -> Nests:
    """`count` mappings of a ResNet-18 layer at batch 64 on Procrustes: chains drawn at random, idle lanes included."""
    einsum = mapper.load_network("resnet18", batch=64)[layer].einsums(phase)[0]
    space = Mapspace(einsum, mapper.load_arch("procrustes"), parse_partitioning(partitioning, einsum.dimensions))
    rng = np.random.default_rng(0)
    columns = space.columns()
    rows = np.ones((count, len(columns)), dtype=np.int64)
    for dimension in space.looped:
        chains = space.chains(dimension)
        mine = [i for i, (_, d) in enumerate(columns) if d == dimension]
        rows[:, mine] = chains[rng.integers(len(chains), size=count)]
    orders = list(space.looped)
    random.Random(0).shuffle(orders)
    return space.nests((tuple(orders),) * 3, space.keeps()[0], rows)


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median CPU seconds of `work`, after one run to warm up."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def in_batch(nests: Nests) -> None:
    """Evaluate every mapping of `nests`."""
    accelerator = mapper.load_arch("procrustes")
    for start in range(0, len(nests), CHUNK):
        for _, geometry in groups(nests.take(slice(start, start + CHUNK)).without_unit_slots()):
            evaluate_nests(geometry.nests, accelerator)


def singly(nests: Nests, texts: list[str]) -> None:
    """Evaluate one mapping at a time, from its text: parse, check, cost, plain numbers."""
    accelerator = mapper.load_arch("procrustes")
    for text in texts:
        mapper.evaluate(nests.einsum, accelerator, text)


def import_seconds() -> float:
    """Median wall seconds of `import mapper` in a fresh interpreter, start of the interpreter taken off."""

    def wall(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return statistics.median(wall("import mapper") - wall("pass") for _ in range(5))


def large_gemm() -> None:
    """Seconds and memory of a search of one large product in a fresh process, so that the peak is its own."""
    code = (
        "import resource, time, mapper; start = time.process_time();"
        "gemm = mapper.Einsum.parse('Z[M,N] += A[M,K] * B[K,N]', M=1080, N=1920, K=32);"
        "best = mapper.search(gemm, 'procrustes', partitioning='M,N')[0].evaluation;"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024;"
        "seconds = time.process_time() - start;"
        "print(f'GEMM 1080x1920x32: {best.macs:,} MACs, searched in {seconds:.2f} s, {peak:.0f} MB')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="mappings per batch (default 20000)")
    options = parser.parse_args()
    names = mapper.load_arch("procrustes").level_names
    print(f"{'layer':<18}{'phase':<7}{'in batch /s':>13}{'x Timeloop':>12}{'singly /s':>11}{'x Timeloop':>12}")
    for layer, phase in LAYERS:
        nests = random_mappings(layer, phase, "KN", options.count)
        texts = [str(nests.nest(row, names)) for row in range(200)]
        batch = len(nests) / cpu_seconds(lambda nests=nests: in_batch(nests), 3)  # type: ignore[misc]
        single = len(texts) / cpu_seconds(lambda nests=nests, texts=texts: singly(nests, texts), 3)  # type: ignore[misc]
        ratios = [f"{rate / TIMELOOP_PER_SECOND:,.0f}" for rate in (batch, single)]
        print(f"{layer:<18}{phase:<7}{batch:>13,.0f}{ratios[0]:>12}{single:>11,.0f}{ratios[1]:>12}")
    print(f"import mapper: {import_seconds() * 1000:.0f} ms")
    large_gemm()


if __name__ == "__main__":
    main()
