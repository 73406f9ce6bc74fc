"""Widths of accumulated words on hand-computed cases: partial sums until the last reduction, results after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mapper.arch import Accelerator
from mapper.cost import Evaluation, evaluate
from mapper.workload import Conv2d, Einsum
from tests.machines import level, machine

GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4")

FINAL, PARTIAL = 16, 24
"""Bits of a finished output and of a partial sum."""


def narrow(*levels: str, x: int = 1) -> Accelerator:
    """Operands of 8 and 4 bits; the fan-out of `x` lanes lies below the last level but one."""
    spread = len(levels) - 2
    built = machine(*(level(name, x=x if index == spread else 1) for index, name in enumerate(levels)))
    return replace(built, bits=(("W", 8), ("I", 4), ("O", FINAL), ("partial_sum", PARTIAL)))


def bits(found: Evaluation, component: str, tensor: str = "Z") -> dict[str, int]:
    """Bits by action; what does not move is left out."""
    items = [item for item in found.items if (item.component, item.tensor) == (component, tensor)]
    return {item.action: int(item.bits) for item in items if item.bits}


def test_operands_have_the_bits_of_their_data_everywhere() -> None:
    found = evaluate(GEMM, narrow("DRAM", "BUF"), "DRAM: M4 K4 | BUF: N4")
    assert bits(found, "DRAM", "A") == {"reads": 16 * 8}
    assert bits(found, "DRAM", "B") == {"reads": 64 * 4}
    assert bits(found, "BUF", "A") == {"fills": 16 * 8, "reads": 64 * 8}


def test_a_reduction_inside_the_buffer_sends_results_up() -> None:
    found = evaluate(GEMM, narrow("DRAM", "BUF"), "DRAM: M4 N4 | BUF: K4")
    assert bits(found, "DRAM") == {"updates": 16 * FINAL}
    # 16 of the 64 updates complete a word, and those drain; the buffer has room for sums as wide as partial ones.
    assert bits(found, "BUF") == {"updates": 16 * FINAL + 48 * PARTIAL, "reads": 48 * PARTIAL, "drains": 16 * FINAL}
    assert [o.tensors["Z"] for o in found.occupancy if o.buffer == "BUF"] == [PARTIAL]


def test_a_reduction_above_the_buffer_sends_partial_sums_until_the_last() -> None:
    found = evaluate(GEMM, narrow("DRAM", "BUF"), "DRAM: K4 M4 | BUF: N4")
    assert bits(found, "DRAM") == {"updates": 16 * FINAL + 48 * PARTIAL, "reads": 48 * PARTIAL}
    assert bits(found, "BUF") == {
        "fills": 48 * PARTIAL,
        "updates": 64 * PARTIAL,
        "reads": 48 * PARTIAL,
        "drains": 64 * PARTIAL,
    }


def test_a_level_between_holds_results_where_the_reduction_ends_below_it() -> None:
    found = evaluate(GEMM, narrow("DRAM", "GLB", "RF"), "DRAM: M4 | GLB: N4 | RF: K4")
    assert bits(found, "GLB") == {"updates": 16 * FINAL, "drains": 16 * FINAL}
    assert bits(found, "RF")["drains"] == 16 * FINAL
    held = {occupancy.buffer: occupancy.tensors["Z"] for occupancy in found.occupancy}
    assert held == {"DRAM": 16 * FINAL, "GLB": 4 * FINAL, "RF": PARTIAL}


def test_a_level_between_holds_partial_sums_where_the_reduction_is_above_it() -> None:
    found = evaluate(GEMM, narrow("DRAM", "GLB", "RF"), "DRAM: K2 M4 | GLB: N4 | RF: K2")
    assert bits(found, "GLB") == {
        "fills": 16 * PARTIAL,
        "updates": 32 * PARTIAL,
        "reads": 16 * PARTIAL,
        "drains": 32 * PARTIAL,
    }
    held = {occupancy.buffer: occupancy.tensors["Z"] for occupancy in found.occupancy}
    assert held == {"DRAM": 16 * FINAL, "GLB": 4 * PARTIAL, "RF": PARTIAL}


def test_a_spatial_reduction_sends_partial_sums_and_stores_results() -> None:
    found = evaluate(GEMM, narrow("DRAM", "GLB", "RF", x=4), "DRAM: M4 | GLB: N4 | X: K4")
    assert bits(found, "RF") == {"updates": 64 * PARTIAL, "drains": 64 * PARTIAL}
    assert bits(found, "GLB") == {"updates": 16 * FINAL, "drains": 16 * FINAL}
    assert found.reductions["GLB", "Z"] == 48


@pytest.mark.parametrize(("phase", "tensor", "width"), [("fw", "O", FINAL), ("bw", "dI", 4), ("wu", "dW", 8)])
def test_gradients_have_the_bits_of_what_they_are_gradients_of(phase: str, tensor: str, width: int) -> None:
    layer = Conv2d(N=2, C=2, K=2, R=1, S=1, P=2, Q=2)
    einsum = layer.einsums(phase)[0]
    outer = " ".join(f"{d}{n}" for d, n in einsum.bounds if d not in einsum.reductions)
    inner = " ".join(f"{d}{n}" for d, n in einsum.bounds if d in einsum.reductions)
    found = evaluate(layer, narrow("DRAM", "BUF"), f"DRAM: {outer} | BUF: {inner}", phase=phase)
    words = found.tiles["DRAM", tensor]
    assert bits(found, "DRAM", tensor) == {"updates": words * width}
    operands = {"fw": {"W": 8, "I": 4}, "bw": {"W": 8, "dO": FINAL}, "wu": {"I": 4, "dO": FINAL}}[phase]
    for name, each in operands.items():
        assert bits(found, "BUF", name)["reads"] == found.points * each
