"""The sparse figures of the Procrustes simulator: working sets, balancing and cycles for known masks."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapper.mapping import Nests
from mapper.sparsity.balance import cut_place, imbalance
from mapper.sparsity.known import Actual
from mapper.sparsity.sets import counted
from mapper.sparsity.work import Work, work_of
from tests.golden.cases import Golden, procrustes_cases

FILE = json.loads((Path(__file__).parent / "procrustes_sparse.json").read_text(encoding="utf-8"))
DENSE = {name: case for case in procrustes_cases() for name in case.ids}

BANDWIDTH_BOUND = ("s_fw_bandwidth", "s_fw_dramlimited")
"""Their cycles, those of a port, are divided there by the speed-up of compute; ports do not speed up that way."""


@dataclass(frozen=True)
class Sparse:
    """A case of the file: the balancing, the mask, and what was printed."""

    name: str
    tensor: str
    balance: str
    mask: Actual
    cycles: int
    half: list[int] | None
    sets: list[int]

    def __str__(self) -> str:
        return self.name

    @property
    def dense(self) -> Golden:
        return DENSE[self.name]

    @property
    def nests(self) -> Nests:
        return self.dense.evaluation.nests

    @property
    def work(self) -> Work:
        lanes = [level.fanout.lanes for level in self.dense.evaluation.accelerator.levels]
        work = work_of(self.nests, self.nests.einsum.tensor(self.tensor), lanes)
        assert work is not None
        return work


def _mask(kind: str, shape: list[int], nnz: int, density: float = 0.0, seed: int = 0, hex: str = "") -> Actual:
    if kind == "bits":
        found = np.unpackbits(np.frombuffer(bytes.fromhex(hex), dtype=np.uint8))[: math.prod(shape)].astype(bool)
        mask = found.reshape(shape)
    else:
        threshold: float | np.ndarray[Any, np.dtype[np.float64]] = density
        if kind != "uniform":
            axis = {"uneven_last": len(shape) - 1, "uneven_c": 2}[kind]
            along = density * (0.25 + 1.5 * np.arange(shape[axis]) / (shape[axis] - 1))
            threshold = along.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        mask = np.random.default_rng(seed).random(shape) < threshold
    assert np.count_nonzero(mask) == nnz
    return Actual(mask)


MASKS = {name: _mask(**mask) for name, mask in FILE["masks"].items()}

CASES = [
    Sparse(c["id"], c["tensor"], c["balance"], MASKS[c["mask"]], c["sparse_cycles"], c["half"], c["sets"])
    for c in FILE["cases"]
]

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def _lasts(case: Sparse, work: Work, place: int | None) -> list[int]:
    """Nonzeros of the busiest PE per set; the simulator too counts the rounds of the first dimension outermost."""
    lasts: list[int] = counted(case.mask, work, place).lasts.tolist()
    return lasts


def _glb_tiles(case: Sparse) -> list[int]:
    """Nonzeros of the tiles of the GLB, where it keeps the tensor in several."""
    nests = case.nests
    if case.tensor not in nests.keeps[1]:
        return []
    above = Nests(nests.einsum, nests.slots, nests.factors, (*nests.keeps[:2], frozenset()))
    work = work_of(above, nests.einsum.tensor(case.tensor), [1, 1, 1])
    assert work is not None
    return [] if work.sets == 1 else _lasts(case, work, None)


def test_every_sparse_case_of_an_operand_is_there() -> None:
    assert len(CASES) == 67
    assert {case.balance for case in CASES} == {"none", "half_tile", "global"}


@every_case
def test_busiest_pe_of_every_working_set_is_equal(case: Sparse) -> None:
    work = case.work
    sets = _lasts(case, work, cut_place(work, case.balance)) if work.tile_words > 1 else []
    assert (_glb_tiles(case) + sets)[:64] == case.sets


@every_case
def test_the_same_dimension_is_halved_or_none(case: Sparse) -> None:
    place = None if case.work.tile_words == 1 else cut_place(case.work, case.balance)
    half = [n // 2 if i == place else n for i, n in enumerate(case.work.tile)]
    assert case.half == (None if place is None else half)


@every_case
def test_sparse_cycles_are_dense_cycles_times_the_ratio(case: Sparse) -> None:
    if case.name.startswith(BANDWIDTH_BOUND):
        pytest.skip("bound by a port, whose cycles the simulator divides by the speed-up of compute")
    cycles = math.ceil(case.dense.cycles * imbalance(case.mask, case.work, case.balance).ratio)
    assert case.cycles - cycles in (0, 1), "its ceil of a float may add one"


def test_bandwidth_bound_cycles_there_are_port_cycles_divided_by_the_speed_up() -> None:
    bound = [case for case in CASES if case.name.startswith(BANDWIDTH_BOUND)]
    assert len(bound) == 4
    for case in bound:
        ratio = imbalance(case.mask, case.work, case.balance).ratio
        assert case.dense.cycles > case.dense.evaluation.bounds["compute"]
        assert case.cycles - math.ceil(case.dense.cycles * ratio) in (0, 1)
