#!/usr/bin/env python3
"""Training convolutions on a GPU that skips zeros of activations in blocks, beside the speed-ups of Spartan.

Every convolution is the three matrix products of its training: forward (fw) with the stored activations, backward (bw)
with the gradients of the output, weight update (wu) with both. Densities of activations are published ones, none for
ResNet-18. The size of Spartan's tiles is not: blocks of several sizes are tried, with rows packed first (compaction)
and as they are. Then the activation monitor: what a sample of so many words says about a density, and what it costs.
`docs/spartan.md` says what differs and why.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mapper

if TYPE_CHECKING:
    from mapper.arch import Accelerator
    from mapper.workload import Conv2d

Row = dict[str, Any]

PAPER = {"alexnet": 3.4, "vgg16": 2.14, "resnet18": 2.02}
"""Speed-ups of the convolutions in training on ImageNet (Dong et al., TPDS 2021, abstract)."""
PROFILING = 52.5
"""How many times cheaper its monitor is than profiling, from the same abstract."""

Densities = tuple[tuple[str, float, float], ...]
"""(layer, of its input, of its output after ReLU and before pooling)."""

ALEXNET: Densities = (
    ("conv1", 1.0, 0.491494), ("conv2", 0.935929, 0.222351), ("conv3", 0.527598, 0.389361),
    ("conv4", 0.389361, 0.429179), ("conv5", 0.429179, 0.160041),
)  # fmt: skip
"""NVlabs/timeloop, src/data/cnn/cnn-densities.hpp; conv2 is the mean of its two groups there."""
ALEXNET_EYERISS: Densities = (
    ("conv1", 0.999, 0.378), ("conv2", 0.6, 0.169), ("conv3", 0.275, 0.303),
    ("conv4", 0.207, 0.304), ("conv5", 0.23, 0.1),
)  # fmt: skip
"""Sparseloop's artifact (MICRO 2022), the workloads of its table 7."""
VGG16: Densities = (
    ("conv1_1", 1.0, 0.506188), ("conv1_2", 0.506188, 0.774166), ("conv2_1", 0.896687, 0.786959),
    ("conv2_2", 0.786959, 0.596098), ("conv3_1", 0.813013, 0.638544), ("conv3_2", 0.638544, 0.688107),
    ("conv3_3", 0.688107, 0.492793), ("conv4_1", 0.706623, 0.50143), ("conv4_2", 0.50143, 0.451458),
    ("conv4_3", 0.451458, 0.218371), ("conv5_1", 0.392797, 0.330477), ("conv5_2", 0.330477, 0.305674),
    ("conv5_3", 0.305674, 0.141881),
)  # fmt: skip
"""NVlabs/timeloop, as ALEXNET."""
HALF = 0.5
"""Assumption for ResNet-18: ReLU of what batch normalization has centred is zero half of the time."""

BLOCKS = (1, 4, 8, 16, 32)
GRADIENTS = ("dense", "masked")
"""Of the output: dense, or zero where ReLU is. Where batch normalization stands between (ResNet-18) they are dense."""

SAMPLES = (64, 256, 1024, 4096, 16384)
TRIALS = 400
SEED = 0


@dataclass(frozen=True)
class Case:
    """A network, where its densities are from, and what is known about its gradients."""

    network: str
    table: str
    densities: Densities
    gradients: tuple[str, ...] = GRADIENTS

    def of(self, layer: str) -> tuple[float, float]:
        """Densities of the input and the output of a layer; both are an assumption where there is no table."""
        found = {name: (into, out) for name, into, out in self.densities}
        if found:
            return found[layer.removeprefix("f.")]
        return (1.0 if layer == "conv1" else HALF), HALF


CASES = (
    Case("alexnet", "timeloop", ALEXNET),
    Case("alexnet", "sparseloop", ALEXNET_EYERISS),
    Case("vgg16", "timeloop", VGG16),
    Case("resnet18", "0.5 assumed", ()),
)


@dataclass(frozen=True)
class Product:
    """Z[M,N] += A[M,K] * B[K,N] of one phase of a layer, with the densities of A and B."""

    phase: str
    m: int
    k: int
    n: int
    densities: tuple[float, float]

    @property
    def points(self) -> int:
        return self.m * self.k * self.n


def products(layer: Conv2d, densities: tuple[float, float], gradients: str, batch: int = 1) -> Iterator[Product]:
    """The matrix products of a convolution's training: outputs, gradients of inputs and of weights.

    Rows of activations are unrolled windows (im2col), so all three have the same points. Padding counts as nonzero.
    """
    into, out = densities[0], densities[1] if gradients == "masked" else 1.0
    outputs, taps = batch * layer.P * layer.Q, layer.C * layer.R * layer.S
    yield Product("fw", outputs, taps, layer.K, (into, 1.0))
    if layer.input_gradient:
        yield Product("bw", outputs, layer.K, taps, (out, 1.0))
    yield Product("wu", taps, outputs, layer.K, (into, out))


@lru_cache
def hardware(block: int, compaction: bool) -> Accelerator:
    """The shipped accelerator with blocks of another size."""
    from mapper.arch import load_arch

    arch = load_arch("spartan_gpu")
    assert arch.zeros is not None
    # Blocks of one word: nobody waits, as in larger ones, whose next block goes to the next free unit.
    balance = "ideal" if block == 1 else "none"
    return replace(arch, zeros=replace(arch.zeros, skip_block=block, compaction=compaction, balance=balance))


@lru_cache(maxsize=4096)
def cycles(product: Product, block: int, compaction: bool) -> float:
    """Cycles of a product, lanes all busy: evaluated for 64 rows of A, whose length is the reduction's.

    The hardware takes turns of its operands by the first, which is the sparse one: a lone sparse B stands in A's place.
    """
    into, out = product.densities
    swapped = into == 1.0 and out < 1.0
    density = {"W": out, "B": into} if swapped else {"W": into, "B": out}
    n = 64 if density["B"] == 1.0 else product.n
    einsum = mapper.Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=64, K=product.k, N=n)
    inside = max(d for d in range(1, 501) if product.k % d == 0)  # of both operands, with the sum: 4 KiB of registers
    mapping = f"SMEM: M4 N{n // 4} K{product.k // inside} | X: M16 | Y: N4 | RF: K{inside}"
    evaluation = mapper.evaluate(einsum, hardware(block, compaction), mapping, density=density)
    return evaluation.cycles * product.points / einsum.points


def speedup(case: Case, gradients: str, block: int, compaction: bool) -> Row:
    """Dense cycles over those with zeros skipped: of every phase, and of all."""
    dense: dict[str, float] = {}
    sparse: dict[str, float] = {}
    for layer in convolutions(case.network):
        for one in products(layer, case.of(layer.name), gradients):
            dense[one.phase] = dense.get(one.phase, 0.0) + one.points / hardware(1, False).pes * layer.repeat
            sparse[one.phase] = sparse.get(one.phase, 0.0) + cycles(one, block, compaction) * layer.repeat
    each = {phase: dense[phase] / sparse[phase] for phase in dense}
    return each | {"all": sum(dense.values()) / sum(sparse.values())}


@lru_cache
def convolutions(network: str) -> tuple[Conv2d, ...]:
    """The convolutions of a network."""
    from mapper.workload import Conv2d

    return tuple(layer for layer in mapper.load_network(network).layers if isinstance(layer, Conv2d))


def speedups() -> Iterator[Row]:
    """Every network, density of gradients, block and compaction."""
    for case in CASES:
        for gradients in case.gradients:
            for block in BLOCKS:
                for compaction in (False, True) if block > 1 else (False,):
                    yield {
                        "network": case.network, "densities": case.table, "gradients": gradients, "block": block,
                        "compaction": compaction, **speedup(case, gradients, block, compaction),
                        "paper": PAPER[case.network],
                    }  # fmt: skip


def needed(rows: Sequence[Row]) -> Iterator[Row]:
    """The density that all activations would need for the paper's figure, if zeros cost nothing."""
    for network, paper in PAPER.items():
        layers = convolutions(network)
        work = {layer: layer.macs * layer.repeat for layer in layers}
        first, rest = work[layers[0]], sum(work[layer] for layer in layers[1:])
        total = 2 * first + 3 * rest
        only, also = (
            (total / paper - 2 * first - dense * rest) / share for dense, share in ((1, 2 * rest), (0, 3 * rest))
        )
        best = max(row["all"] for row in rows if row["network"] == network)
        yield {
            "network": network, "paper": paper, "ours at best": best,
            "most, fw and wu skip": total / (2 * first + rest),
            "density, fw and wu skip": only if only > 0 else None,
            "density, bw skips too": also if also > 0 else None,
        }  # fmt: skip


# The monitor.


def standard_error(density: float, samples: int) -> float:
    """Of the density that so many words, drawn with replacement, say: sqrt(d (1 - d) / n)."""
    return math.sqrt(density * (1 - density) / samples)


def monitor(densities: Sequence[float] = (0.05, 0.25, 0.5)) -> Iterator[Row]:
    """Standard error by the formula and as simulated, with the picojoules of a sample of that size."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    (event,) = (e for e in hardware(16, True).zeros.events if e.kind == "sample")  # type: ignore[union-attr]
    layer = next(layer for layer in convolutions("vgg16") if layer.name == "f.conv3_2")
    words = layer.C * layer.P * layer.Q
    for density in densities:
        masks = rng.random(words) < density
        for samples in SAMPLES:
            estimates = [masks[rng.integers(0, words, samples)].mean() for _ in range(TRIALS)]
            simulated = float(np.sqrt(np.mean((np.array(estimates) - masks.mean()) ** 2)))
            formula = standard_error(float(masks.mean()), samples)
            yield {
                "density": density, "samples": samples, "formula": formula, "simulated": simulated,
                "simulated / formula": simulated / formula, "relative error, %": 100 * formula / density,
                "nJ": samples * event.energy_pj / 1e3, "words of the tensor / samples": words / samples,
            }  # fmt: skip


def monitor_cost() -> Iterator[Row]:
    """Energy of the monitor in a weight update, as the model charges it, beside all other energy."""
    layer = next(layer for layer in convolutions("alexnet") if layer.name == "conv3")
    for samples in SAMPLES:
        arch = hardware(16, True)
        assert arch.zeros is not None
        arch = replace(arch, zeros=replace(arch.zeros, monitor_samples=samples))
        mapping = "DRAM: K24 C48 | SMEM: P13 R3 S3 | X: K16 | Y: C4 | RF: Q13"
        evaluation = mapper.evaluate(layer, arch, mapping, phase="wu", density={"I": 0.527598})
        energy = evaluation.energy_by("action")["sample"]
        yield {
            "samples": samples, "monitor, pJ": energy, "all, pJ": evaluation.energy_pj,
            "share, ppm": 1e6 * energy / evaluation.energy_pj,
            "times cheaper than counting every word": layer.C * layer.P * layer.Q / samples,
        }  # fmt: skip


# Output.


def draw(rows: Sequence[Row], path: Path) -> None:
    """Speed-ups against the size of a block, per network, beside the paper's."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = {"alexnet": "AlexNet", "vgg16": "VGG16", "resnet18": "ResNet-18"}
    figure, panels = plt.subplots(1, 3, figsize=(12, 5.4), layout="constrained")
    for axes, (network, paper) in zip(panels, PAPER.items(), strict=True):
        axes.axhline(paper, color="k", lw=1, label=f"paper, {paper}")
        for index, (key, lines) in enumerate(_lines(rows, network).items()):
            for packed, style in ((True, "o-"), (False, "x--")):
                points = [(r["block"], r["all"]) for r in lines if r["compaction"] == packed or r["block"] == 1]
                label = f"{key}{', packed' if packed else ''}"
                axes.plot(*zip(*points, strict=True), style, color=f"C{index}", label=label)
        axes.set(title=names[network], xlabel="words skipped together", xscale="log", ylim=(0.9, 4.2))
        axes.set_xticks(BLOCKS, labels=[str(b) for b in BLOCKS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    panels[0].set_ylabel("speed-up of training, convolutions")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _lines(rows: Sequence[Row], network: str) -> dict[str, list[Row]]:
    """The rows of a network by their densities and gradients."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        if row["network"] == network:
            out.setdefault(f"{row['densities']}, gradients {row['gradients']}", []).append(row)
    return out


def draw_monitor(rows: Sequence[Row], path: Path) -> None:
    """Standard error against the size of the sample."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
    for index, density in enumerate(sorted({row["density"] for row in rows})):
        mine = [row for row in rows if row["density"] == density]
        samples = [row["samples"] for row in mine]
        axes.loglog(samples, [row["formula"] for row in mine], "-", color=f"C{index}", label=f"density {density}")
        axes.loglog(samples, [row["simulated"] for row in mine], "o", color=f"C{index}")
    axes.set(xlabel="words in the sample", ylabel="standard error of the density")
    axes.set_yticks([0.002, 0.005, 0.01, 0.02, 0.05], labels=["0.002", "0.005", "0.01", "0.02", "0.05"])
    axes.set_xticks(SAMPLES, labels=[str(n) for n in SAMPLES])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(title="line: sqrt(d (1 - d) / n), dots: simulated", fontsize=8, title_fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def show(title: str, rows: Sequence[Row]) -> None:
    """A table in plain text."""
    click.echo(f"\n{title}\n")
    keys = list(dict.fromkeys(key for row in rows for key in row))
    texts = [keys, *([shown(row.get(key)) for key in keys] for row in rows)]
    widths = [max(len(line[i]) for line in texts) for i in range(len(keys))]
    for line in texts:
        click.echo("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))


def shown(value: object) -> str:
    """Four digits of a fraction."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(path: Path, rows: Iterable[Row]) -> None:
    """A CSV file."""
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


@click.command(help=__doc__)
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=Path("results/spartan"))
def main(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    rows, sampled = list(speedups()), list(monitor())
    tables = {
        "speedups": ("Speed-up of training, convolutions only, against dense", rows),
        "needed": ("Densities of activations that the paper's figures need, perfect skipping", list(needed(rows))),
        "monitor": ("Activation monitor: standard error of the density", sampled),
        "monitor_cost": ("Activation monitor: energy in the weight update of AlexNet conv3", list(monitor_cost())),
    }
    for name, (title, table) in tables.items():
        show(title, table)
        write(output / f"{name}.csv", table)
    draw(rows, output / "spartan_speedups.png")
    draw_monitor(sampled, output / "spartan_monitor.png")
    click.echo(f"\nThe monitor of the paper costs 1 / {PROFILING} of profiling; its sample is not published.")
    click.echo(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
