#!/usr/bin/env python3
"""Structured sparsity on tensor cores: what 2:4 stores and saves, beside published figures.

Prints its tables and writes them as CSV, with a figure of the speed-up against the size of a GEMM: N:M storage and
speed; tensor cores against the case study of Sparseloop (MICRO 2022); a dual-side sparse tensor core against the same
study, and against measurements of it; one PE of Eyeriss v2; 2:4 on a whole A100 with its bandwidths.
`docs/structured.md` says what differs and why. Every GEMM is evaluated for a mapping that is written here.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mapper

if TYPE_CHECKING:
    from mapper.arch import Accelerator
    from mapper.cost import Evaluation

Row = dict[str, Any]

PATTERNS = ((2, 4), (1, 4), (4, 8), (2, 8))
WIDTHS = (16, 8)

LAYERS = ((128, 1152, 1024, 0.44), (512, 1024, 256, 0.27), (512, 128, 1024, 0.56), (512, 256, 1024, 0.82))
"""(M, K, N, density of activations) of the case study."""
CASE_STUDY: dict[str, dict[str, tuple[int, int, int, int]]] = {
    "TC": dict.fromkeys(("0.25", "0.3333", "0.5", "1.0"), (147456, 131072, 65536, 131072)),
    "STC": {
        **dict.fromkeys(("0.25", "0.3333", "0.5"), (73728, 65536, 32768, 65536)),
        "1.0": (147456, 131072, 65536, 131072),
    },
    "DSTC": {
        "0.25": (37083, 28699, 17980, 44257),
        "0.3333": (41823, 32294, 25852, 69102),
        "0.5": (51197, 35482, 30226, 78640),
        "1.0": (78059, 48875, 45340, 131072),
    },
}
"""Cycles per design and density of weights, one per layer. Sparseloop's artifact (MICRO 2022), case study of STC."""

MEASURED = {
    (1.0, 1.0): 4600, (0.9, 1.0): 4160, (0.7, 1.0): 3300, (0.5, 1.0): 2690, (0.3, 1.0): 1930,
    (1.0, 0.4): 2500, (0.9, 0.4): 2300, (0.7, 0.4): 1820, (0.5, 0.4): 1480, (0.3, 0.4): 1100,
}  # fmt: skip
"""Time of a GEMM per (density of A, of B), unit not stated: Wang et al., ISCA 2021, figure 21, as in that artifact."""
SPARSELOOP_READ = {
    (0.9, 1.0): 0.9, (0.7, 1.0): 0.72, (0.5, 1.0): 0.54, (0.3, 1.0): 0.36,
    (0.9, 0.4): 0.48, (0.7, 0.4): 0.38, (0.5, 0.4): 0.29, (0.3, 0.4): 0.19,
}  # fmt: skip
"""The same relative to dense as Sparseloop models it, read from its plot."""

EYERISS_V2 = (
    ("L07", 64, 64, 32, 0.7281, 0.5203, 1702140, 1592158),
    ("L09", 128, 64, 16, 0.8641, 0.8184, 1499682, 1478912),
    ("L13", 256, 128, 8, 0.8329, 0.6443, 1144158, 1114008),
    ("L19", 256, 256, 8, 0.6077, 0.5499, 1457458, 1407190),
    ("L21", 256, 256, 8, 0.6412, 0.5997, 1677684, 1610614),
    ("L23", 256, 256, 8, 0.6084, 0.6988, 1821557, 1790969),
    ("L25", 512, 256, 4, 0.6772, 0.6495, 948572, 926942),
    ("L27", 512, 512, 4, 0.5829, 0.2999, 775316, 729810),
)
"""(layer, K, C, P = Q, densities of activations and weights, cycles of the RTL, of Sparseloop)."""
DENSE_THERE = (
    ("L01", 16, 3, 64, 3, 1769472), ("L12", 128, 1, 8, 3, 73728), ("L14", 256, 1, 8, 3, 147456),
    ("L16", 256, 1, 8, 3, 147456), ("L20", 256, 1, 8, 3, 147456), ("L22", 256, 1, 8, 3, 147456),
    ("L24", 256, 1, 4, 3, 36864), ("L26", 512, 1, 4, 3, 73728),
)  # fmt: skip
"""(layer, K, C per group, P = Q, R = S, cycles of the RTL) of the layers whose cycles are those of dense work."""
DENSITIES_UNKNOWN = (
    ("L02", "3x3", 16 * 9 * 64**2, 544768), ("L03", "1x1", 32 * 16 * 64**2, 461302),
    ("L04", "3x3", 32 * 9 * 32**2, 278528), ("L05", "1x1", 64 * 32 * 32**2, 873643),
    ("L06", "3x3", 64 * 9 * 32**2, 513024), ("L08", "3x3", 64 * 9 * 16**2, 145920),
    ("L10", "3x3", 128 * 9 * 16**2, 270848), ("L11", "1x1", 128 * 128 * 16**2, 2491491),
    ("L15", "1x1", 256 * 256 * 8**2, 2238663), ("L17", "1x1", 256 * 256 * 8**2, 2173758),
    ("L18", "3x3", 256 * 9 * 8**2, 124096), ("L28", "linear", 512 * 1000, 95443),
)  # fmt: skip
"""(layer, kind, multiplications of MobileNet 0.5 for 128 x 128 pixels, cycles of the RTL)."""

SIZES = (192, 288, 576, 864, 1152, 1728, 2304, 3456, 4608, 6912, 9216, 13824)
"""M = N = K, multiples of 16; those of 576 busy all 12 x 9 multiprocessors."""


# Storage and speed of N:M.


def with_pattern(arch: Accelerator, n: int, m: int, bits: int = 16) -> Accelerator:
    """The accelerator with weights of n of every m words, operands of so many bits."""
    from mapper.arch.zeros import Format

    assert arch.zeros is not None
    formats = tuple((key, Format("n_m", n=n, m=m)) for key, _ in arch.zeros.formats)
    widths = tuple((name, 32 if name == "partial_sum" else bits) for name, _ in arch.bits)
    return replace(arch, zeros=replace(arch.zeros, formats=formats), bits=widths)


def gemm(m: int, k: int, n: int) -> mapper.Einsum:
    """Z[M,N] of weights A and activations B."""
    return mapper.Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=m, K=k, N=n)


def largest_divisor(number: int, most: int) -> int:
    """The largest divisor that is not above `most`."""
    return max(d for d in range(1, min(number, most) + 1) if number % d == 0)


def on_tensor_cores(m: int, k: int, n: int, arch: Accelerator, density: str | None) -> Evaluation:
    """A GEMM on one multiprocessor: 64 x 64 outputs at a time, all lanes busy."""
    steps = k // 32
    inside = largest_divisor(steps, 16)
    mapping = (
        f"DRAM: M{m // 64} N{n // 64} K{steps // inside} | SMEM: K{inside} | X: M4 "
        "| RF: K2 N4 | X: M16 | Y: N16 | Lane: K16"
    )
    return mapper.evaluate(gemm(m, k, n), arch, mapping, density=density)


def moved_bits(evaluation: Evaluation, level: str, tensor: str) -> float:
    """Bits of a tensor that are read at a level."""
    return sum(i.bits for i in evaluation.items if (i.component, i.tensor, i.action) == (level, tensor, "reads"))


def patterns() -> Iterator[Row]:
    """What N:M stores (measured as bits of weights that leave DRAM) and how much faster it is."""
    from mapper.arch import load_arch
    from mapper.sparsity.formats import stored_share

    for n, m in PATTERNS:
        row: Row = {"pattern": f"{n}:{m}"}
        for bits in WIDTHS:
            arch = with_pattern(load_arch("ampere_stc"), n, m, bits)
            dense, sparse = (on_tensor_cores(*LAYERS[0][:3], arch, d) for d in (None, f"{n}:{m}"))
            share = Fraction(moved_bits(sparse, "DRAM", "A")) / Fraction(moved_bits(dense, "DRAM", "A"))
            row |= {
                f"stored at {bits} bit, %": float(100 * share),
                f"formula at {bits} bit, %": float(100 * stored_share(n, m, bits)),
            }
        yield row | {"cycles dense": dense.cycles, "cycles": sparse.cycles, "speed-up": dense.cycles / sparse.cycles}


# The case study: TC, STC, DSTC.


def tensor_cores() -> Iterator[Row]:
    """Tensor cores, dense and for 2:4. Weights of at most 0.5 are given as 2:4, as the study does."""
    from mapper.arch import load_arch

    arch = load_arch("ampere_stc")
    for design in ("TC", "STC"):
        for weights, cycles in CASE_STUDY[design].items():
            for (m, k, n, activations), theirs in zip(LAYERS, cycles, strict=True):
                density = "2:4" if design == "STC" and float(weights) <= 0.5 else None
                ours = on_tensor_cores(m, k, n, arch, density).cycles
                yield {
                    "design": design, "M": m, "K": k, "N": n, "activations": activations, "weights": weights,
                    "theirs": theirs, "ours": ours, "ours / theirs": ours / theirs,
                }  # fmt: skip


def dual_side(m: int, k: int, n: int, densities: tuple[float, float]) -> Evaluation:
    """A GEMM on a dual-side sparse tensor core, in warp tiles of 32 x 32. If one operand is dense, it is the second."""
    einsum = mapper.Einsum.parse("Z[M,U,N,V] += A[M,K,U] * B[N,K,V]", M=m // 32, K=k, N=n // 32, U=32, V=32)
    inside = largest_divisor(k // 4, 96)
    mapping = (
        f"DRAM: M{m // 128} N{n // 32} K{k // 4 // inside} | SMEM: K{inside} | X: M4 "
        "| RF: K4 | X: U16 | Y: V16 | Accumulator: U2 V2"
    )
    return mapper.evaluate(einsum, "dstc_like", mapping, density={"W": densities[0], "B": densities[1]})


def dstc() -> list[Row]:
    """The 16 rows of the dual-side core: nonzeros alone, in groups of 8, and with the overhead that fits all rows."""
    rows: list[Row] = []
    for weights, cycles in CASE_STUDY["DSTC"].items():
        for (m, k, n, activations), theirs in zip(LAYERS, cycles, strict=True):
            dense, pair = m * k * n // 1024, (activations, float(weights))
            rows.append({
                "M": m, "K": k, "N": n, "activations": activations, "weights": weights, "theirs": theirs,
                "theirs / dense": theirs / dense, "nonzero pairs": activations * float(weights),
                "ours": dual_side(m, k, n, pair).cycles,
            })  # fmt: skip
            rows[-1]["ours / theirs"] = rows[-1]["ours"] / theirs
    return with_fit(rows, "theirs")


def with_fit(rows: list[Row], whose: str) -> list[Row]:
    """The rows with what the line through all of them gives, overhead + slope * pairs of nonzeros."""
    overhead, slope = line(rows, whose)
    for row in rows:
        row[f"fit / {whose}"] = (overhead + slope * row["nonzero pairs"]) / row[f"{whose} / dense"]
    return rows


def line(rows: Sequence[Row], whose: str) -> tuple[float, float]:
    """Overhead and slope, relative to dense cycles."""
    return fitted([(row["nonzero pairs"], row[f"{whose} / dense"]) for row in rows])


def fitted(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope of the line with the least squared relative errors."""
    import numpy as np

    x, y = np.array(points).T
    (intercept, slope), *_ = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(y)), rcond=None)
    return float(intercept), float(slope)


def measured() -> list[Row]:
    """Measurements of the dual-side core relative to dense, with what Sparseloop and we make of them."""
    return with_fit(list(_measured()), "measured")


def _measured() -> Iterator[Row]:
    for pair, time in MEASURED.items():
        a, b = sorted(pair)
        ours = dual_side(4096, 4096, 4096, (a, b)).cycles / (4096**3 // 1024)
        yield {
            "A": pair[0], "B": pair[1], "measured": time, "measured / dense": time / MEASURED[1.0, 1.0],
            "Sparseloop": SPARSELOOP_READ.get(pair), "nonzero pairs": a * b, "ours": ours,
            "ours / measured": ours * MEASURED[1.0, 1.0] / time,
        }  # fmt: skip


# Eyeriss v2.


def eyeriss_v2() -> Iterator[Row]:
    """Pointwise layers of MobileNet 0.5 with published densities, and layers of dense cycles there."""
    for name, k, c, p, activations, weights, rtl, sparseloop in EYERISS_V2:
        einsum = mapper.Einsum.parse("O[K,P,Q] += W[K,C] * I[C,P,Q]", K=k, C=c, P=p, Q=p)
        mapping = f"DRAM: K{k // 16} C{c // 4} P{p} Q{p} | PE: C4 K16"
        ours = mapper.evaluate(einsum, "eyeriss_v2_pe", mapping, density={"W": weights, "I": activations}).cycles
        yield {
            "layer": name, "kind": "1x1", "macs": einsum.macs, "activations": activations, "weights": weights,
            "RTL": rtl, "Sparseloop": sparseloop, "ours": ours, "ours / RTL": ours / rtl,
        }  # fmt: skip
    for name, k, c, p, r, rtl in DENSE_THERE:
        einsum = mapper.Einsum.parse("O[K,P,Q] += W[K,C,R,S] * I[K,C,P,Q,R,S]", K=k, C=c, P=p, Q=p, R=r, S=r)
        ours = mapper.evaluate(einsum, "eyeriss_v2_pe", f"DRAM: K{k} C{c} P{p} Q{p} | PE: R{r} S{r}").cycles
        yield {
            "layer": name, "kind": "3x3", "macs": einsum.macs, "activations": 1.0, "weights": 1.0,
            "RTL": rtl, "Sparseloop": rtl, "ours": ours, "ours / RTL": ours / rtl,
        }  # fmt: skip


def implied() -> Iterator[Row]:
    """Layers without published densities: the share of their multiplications that the RTL takes cycles for."""
    for name, kind, macs, rtl in DENSITIES_UNKNOWN:
        yield {"layer": name, "kind": kind, "macs": macs, "RTL": rtl, "RTL / macs": rtl / macs}


# 2:4 on a whole A100.


@dataclass(frozen=True)
class Best:
    """The fastest of the tilings that are tried."""

    cycles: int
    bound_by: str
    mapping: str


def grid(size: int) -> tuple[int, int]:
    """Columns and rows of multiprocessors that are busy, evenly."""
    return largest_divisor(size // 16, 12), largest_divisor(size // 16, 9)


def tilings(size: int) -> Iterator[str]:
    """Mappings of a square GEMM on the A100: outputs stay in registers while the reduction passes.

    Tiles of the grid follow each other in DRAM order, or in L2 where operands fit it.
    """
    lanes = size // 16
    x, y = grid(size)
    for (m, n), (cores_m, cores_n) in product([(lanes // x, lanes // y)], ((2, 2), (4, 1), (1, 4), (1, 1))):
        if m % cores_m or n % cores_n:
            continue
        tile_m, tile_n = largest_tile(m // cores_m, n // cores_n)
        tiles = f"M{m // cores_m // tile_m} N{n // cores_n // tile_n}"
        cores = " ".join(f"{d}{f}" for d, f in (("M", cores_m), ("N", cores_n)) if f > 1)
        inner = (f" | X: {cores}" if cores else "") + f" | RF: M{tile_m} N{tile_n} | X: M16 | Y: N16 | Lane: K16"
        for k in {largest_divisor(lanes, most) for most in (2, 4, 8)}:
            shared = f" | X: M{x} | Y: N{y} | SMEM: K{k}{inner}"
            yield f"L2: {tiles} K{lanes // k}{shared}"
            inside = largest_divisor(lanes // k, 8)
            yield f"DRAM: {tiles} K{lanes // k // inside} | L2: K{inside}{shared}"


def largest_tile(m: int, n: int, most: int = 40) -> tuple[int, int]:
    """The tile of up to `most` squares of 16 x 16 outputs that moves the fewest words for each of them."""
    pairs = ((a, b) for a, b in product(divisors(m, most), divisors(n, most)) if a * b <= most)
    return min(pairs, key=lambda pair: (1 / pair[0] + 1 / pair[1], pair))


def divisors(number: int, most: int) -> list[int]:
    """All that are not above `most`."""
    return [d for d in range(1, min(number, most) + 1) if number % d == 0]


def best(size: int, density: str | None, arch: Accelerator) -> Best:
    """The fastest tiling of a square GEMM whose tiles fit."""
    found = None
    for mapping in tilings(size):
        evaluation = mapper.evaluate(gemm(size, size, size), arch, mapping, density=density)
        if evaluation.fits and (found is None or evaluation.cycles < found.cycles):
            found = Best(evaluation.cycles, evaluation.bound_by, mapping)
            if evaluation.bound_by == "compute" and evaluation.utilization == 1.0:
                break
    assert found is not None, f"no tiling of {size} fits"
    return found


def sweep(sizes: Sequence[int] = SIZES) -> Iterator[Row]:
    """2:4 against dense for square GEMMs: cycles, what binds them, and the least that memory and compute allow."""
    from mapper.arch import load_arch

    arch = load_arch("a100_stc")
    bandwidth = arch.levels[0].buffers[0].shared_bandwidth
    assert bandwidth is not None
    for size in sizes:
        dense, sparse = best(size, None, arch), best(size, "2:4", arch)
        words = 16 * size**2
        roof = [
            max(size**3 / peak, words * moved / bandwidth) for peak, moved in ((arch.pes, 3), (2 * arch.pes, 2.5625))
        ]
        yield {
            "size": size, "multiprocessors": math.prod(grid(size)),
            "dense": dense.cycles, "bound by": dense.bound_by, "2:4": sparse.cycles,
            "2:4 bound by": sparse.bound_by, "speed-up": dense.cycles / sparse.cycles,
            "speed-up of the roof": float(roof[0] / roof[1]), "dense TFLOPS": tflops(size, dense.cycles, arch),
            "2:4 TFLOPS": tflops(size, sparse.cycles, arch), "flop per byte": size / 3,
        }  # fmt: skip


def tflops(size: int, cycles: int, arch: Accelerator) -> float:
    """10**12 operations a second, zeros included."""
    assert arch.clock_ghz is not None
    return float(2 * size**3 / cycles * float(arch.clock_ghz) / 1e3)


# Output.


def draw(rows: Sequence[Row], path: Path) -> None:
    """Speed-up against size, and what is reached beside the roofs."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sizes = [row["size"] for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.axhline(2, color="0.6", lw=1)
    left.plot(sizes, [row["speed-up of the roof"] for row in rows], "--", color="0.4", label="DRAM and compute alone")
    for busy, color, label in ((True, "C0", "model, all multiprocessors busy"), (False, "w", "model, some idle")):
        some = [(r["size"], r["speed-up"]) for r in rows if (r["multiprocessors"] == 108) == busy]
        left.plot(*zip(*some, strict=True), "o-" if busy else "o", color="C0", mfc=color, label=label)
    left.set(xscale="log", xlabel="M = N = K", ylabel="speed-up of 2:4 over dense", ylim=(0.9, 2.1))
    left.legend(loc="lower right")
    right.loglog(sizes, [row["dense TFLOPS"] for row in rows], "o-", color="C0", label="dense")
    right.loglog(sizes, [row["2:4 TFLOPS"] for row in rows], "s-", color="C1", label="2:4")
    for key, peak, moved, color in (("dense", 312, 3, "C0"), ("2:4", 624, 2.5625, "C1")):
        roof = [min(peak, 1.555 * 2 * s / (2 * moved)) for s in sizes]
        right.loglog(sizes, roof, "--", color=color, lw=1, label=f"roof {key}: DRAM 1555 GB/s, {peak} TFLOPS")
    right.set(xlabel="M = N = K", ylabel="TFLOPS, zeros included")
    right.set_yticks([50, 100, 200, 312, 624], labels=["50", "100", "200", "312", "624"])
    right.legend(loc="lower right", fontsize=8)
    for axes in (left, right):
        axes.set_xticks([192, 576, 1152, 2304, 4608, 13824], labels=["192", "576", "1152", "2304", "4608", "13824"])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def show(title: str, rows: Sequence[Row]) -> None:
    """A table in plain text."""
    click.echo(f"\n{title}\n")
    texts = [list(rows[0]), *([shown(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[i]) for line in texts) for i in range(len(texts[0]))]
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
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def within(rows: Sequence[Row], key: str, tolerance: float) -> str:
    """How many rows are that near 1."""
    return f"{sum(abs(row[key] - 1) <= tolerance for row in rows)} of {len(rows)} rows within {tolerance:.0%}"


@click.command(help=__doc__)
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=Path("results/structured"))
def main(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    tables = {
        "patterns": ("N:M weights: share of dense bits stored, speed-up bound by compute", list(patterns())),
        "tensor_cores": ("TC and STC of the case study, cycles", list(tensor_cores())),
        "dstc": ("DSTC of the case study, cycles", dstc()),
        "dstc_measured": ("DSTC as measured (ISCA 2021, figure 21), relative to dense", measured()),
        "eyeriss_v2": ("One PE of Eyeriss v2, cycles", list(eyeriss_v2())),
        "eyeriss_v2_implied": ("Eyeriss v2, layers without published densities", list(implied())),
        "a100": ("2:4 on an A100, square GEMMs, cycles", list(sweep())),
    }
    for name, (title, rows) in tables.items():
        show(title, rows)
        write(output / f"{name}.csv", rows)
    click.echo(f"\nTC and STC: {within(tables['tensor_cores'][1], 'ours / theirs', 0.01)}")
    for name, whose in (("dstc", "theirs"), ("dstc_measured", "measured")):
        rows = tables[name][1]
        overhead, slope = line(rows, whose)
        click.echo(f"{name}, groups of 8: {within(rows, f'ours / {whose}', 0.1)}")
        click.echo(f"{name}, {overhead:.3f} + {slope:.3f} x nonzero pairs: {within(rows, f'fit / {whose}', 0.1)}")
    draw(tables["a100"][1], output / "structured_gemm.png")
    click.echo(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
