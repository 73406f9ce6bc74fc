"""Cases 32 and 33: what zeros save, and that full and empty tensors are no special cases."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mapper
from mapper.arch import Accelerator
from mapper.arch.zeros import Zeros
from mapper.cost import Evaluation
from mapper.sparsity.density import Actual
from tests.machines import level, machine

ROLES = ("W", "I")
DOT = mapper.Einsum.parse("Z[M] += A[M,K] * B[M,K]; M=1 K=16")
GEMM = mapper.Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=8 N=8 K=8")
QUARTER, HALF = 0.25, 0.5


def hardware(skip: str = "", gate: str = "") -> Accelerator:
    zeros = Zeros(skip=frozenset(skip), gate=frozenset(gate))
    return replace(machine(level("DRAM", pj=100.0), level("RF", pj=1.0)), zeros=zeros)


def dot(accelerator: Accelerator) -> Evaluation:
    return mapper.evaluate(DOT, accelerator, "DRAM: | RF: K16", density={"A": QUARTER})


def test_case_32_gating_saves_energy_and_skipping_cycles_too() -> None:
    dense, gated, skipped = (dot(hardware(**policy)) for policy in ({}, {"gate": "W"}, {"skip": "W"}))
    assert (dense.cycles, gated.cycles, skipped.cycles) == (16, 16, 4)
    assert (dense.effectual_points, gated.effectual_points, skipped.effectual_points) == (16, 4, 4)
    assert skipped.energy_pj < gated.energy_pj < dense.energy_pj


@pytest.mark.parametrize("known", [False, True])
def test_case_32_two_sided_skipping_executes_the_product_of_both_densities(known: bool) -> None:
    density: dict[str, float | Actual] = {"A": QUARTER, "B": HALF}
    if known:
        a, b = np.zeros((8, 8), dtype=bool), np.zeros((8, 8), dtype=bool)
        a[:, :2], b[:, ::2] = True, True
        density = {"A": Actual(a), "B": Actual(b)}
    found = mapper.evaluate(GEMM, hardware(skip="WI"), "DRAM: | RF: M8 N8 K8", density=density)
    assert (found.effectual_points, found.cycles) == (64, 64)


CONV = mapper.Einsum.parse("O[N,K,P,Q] += W[K,C,R,S] * I[N,C,P+R,Q+S]; N=4 K=16 C=8 P=4 Q=4 R=3 S=3")


def ranked(metric: str, density: object) -> pd.DataFrame:
    """By energy and at density 0 few mappings part from each other: on a machine without an array."""
    arch = "procrustes" if metric != "energy" and density != 0.0 else hardware(skip="W")
    spread = "KN" if arch == "procrustes" else "any"
    found = mapper.search(CONV, arch, partitioning=spread, metric=metric, density=density)  # type: ignore[arg-type]
    return found.to_frame().drop(columns="evaluated")


@pytest.mark.parametrize("metric", ["edp", "energy", "cycles"])
def test_case_33_density_one_equals_dense_to_the_last_digit(metric: str) -> None:
    dense = ranked(metric, None)
    assert dense.equals(ranked(metric, 1.0))
    assert dense.equals(ranked(metric, {"W": "100%", "I": 1}))
    assert dense.equals(ranked(metric, {"W": Actual(np.ones((16, 8, 3, 3), dtype=bool))}))


def test_case_33_density_zero_leaves_no_macs_and_finite_ratios() -> None:
    row = ranked("edp", 0.0).iloc[0]
    assert row["effectual_macs"] == 0
    numbers = row[[name for name in row.index if isinstance(row[name], float | int | np.number)]].astype(float)
    missing = {name for name, value in numbers.items() if not math.isfinite(value)}
    assert all(str(name).startswith(("reuse_", "multicast_")) for name in missing)
    assert row["energy_pj"] > 0
