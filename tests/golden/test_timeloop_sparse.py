"""The sparse figures of Timeloop v4 for the mapping given: what is skipped, gated, compressed, and what differs.

There every access to a tensor has its own policy, here every operand has one: its zeros are skipped or gated, with all
that hangs on them. So each case is expressed twice: by what its accesses do about zeros, and by what its multiplier
does. Its figures are expectations per instance that holds a nonempty tile, rounded up.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from mapper.arch.zeros import Format, Zeros
from mapper.cost import Evaluation, evaluate_one
from mapper.sparsity.density import Banded, Density, Exactly, Uniform
from mapper.sparsity.zeros import Sparsity
from tests.golden.cases import Golden, _timeloop, slides
from tests.golden.convert import used_instances

FILE = json.loads((Path(__file__).parent / "timeloop_sparse.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Policy:
    """What a case does about zeros, in our words.

    `skip` and `gate`: operands by role. `sums`: whether accesses to partial sums there follow too. `multiplier`: what
    it skips or gates beyond the accesses, as (skip, gate).
    """

    skip: str = ""
    gate: str = ""
    sums: bool = False
    multiplier: tuple[str, str] = ("", "")
    block: int = 1


POLICIES = {
    "s_dense_baseline": Policy(multiplier=("", "W")),
    "s_gate_B_on_A": Policy(gate="W"),
    "s_skip_B_on_A_CP": Policy(skip="W", sums=True),
    "s_skip_BZ_on_A_RLE": Policy(skip="W", sums=True),
    "s_skip_BZ_on_A_COO": Policy(skip="W", sums=True),
    "s_compress_only_CP": Policy(),
    "s_uncompressed_bitmask": Policy(gate="W"),
    "s_double_sided_skip": Policy(skip="WI", sums=True),
    "s_both_skip": Policy(skip="WI", sums=True),
    "s_fixed_both_gate": Policy(multiplier=("", "WI")),
    "s_banded_gate": Policy(gate="W"),
    "s_bw": Policy(skip="W", sums=True),
    "s_block2": Policy(skip="W", block=2),
    "s_3lvl_gate": Policy(gate="W", multiplier=("", "I")),
    "s_3lvl_fixed": Policy(skip="W"),
    "s_conv_gate_W_on_I": Policy(gate="I", sums=True),
    "s_conv_RLE_dram": Policy(gate="I"),
    "s_conv_skip_CSF": Policy(skip="W", sums=True, multiplier=("", "I")),
    "s_dense_AB_gate_compute_only": Policy(multiplier=("", "WI")),
    "s_skip_compute_align": Policy(multiplier=("WI", "")),
    "s_gate_vs_skip_gate": Policy(gate="W", sums=True),
    "s_output_compressed": Policy(),
}

NOT_EXPRESSED = {
    "s_tile_skip_DRAM": "a tile of B is not moved where the tile of A is empty: here zeros are skipped word by word",
    "s_3lvl_spatial_skip": "empty words are given no PE: the PEs of a mapping here are those of its dense loops",
}

NO_CYCLE_FOR_GATED = {
    "s_gate_B_on_A": 512,
    "s_uncompressed_bitmask": 512,
    "s_banded_gate": 512,
    "s_3lvl_gate": 288,
    "s_conv_gate_W_on_I": 1152,
    "s_conv_RLE_dram": 1152,
    "s_gate_vs_skip_gate": 512,
}
"""Cycles here. There gating at the innermost memory takes the point away, so that gated points take no cycle."""

OTHER_CYCLES = {
    "s_fixed_both_gate": (512, 320, "a pair that neither operand stores takes no cycle there: 1 - 1/2 * 3/4 of 512"),
    "s_bw": (128, 487, "bandwidth takes metadata, whose pointers differ; compute takes 128 cycles there too"),
}
"""Ours, theirs, why."""

OTHER_WORDS = {
    ("s_double_sided_skip", "BUF", "A", "reads"): (64, 128, "A leads there: all its nonzeros are read, matched or not"),
    ("s_block2", "BUF", "A", "reads"): (226, 128, "a zero beside a nonzero is read here: the pair is one block"),
}
"""Ours, theirs, why."""

HALOS = dict.fromkeys(("s_conv_gate_W_on_I", "s_conv_RLE_dram", "s_conv_skip_CSF"), ("GLB", "Inputs", "reads"))
"""Over-counted: neighbours share their halos (see `test_timeloop`); 1,152 here, 4,608 there."""

FORMATS = {
    "UOP CP": Format("csr", index_bits=4),
    "CP": Format("coordinate"),
    "RLE": Format("rle"),
    "UOP RLE": Format("rle"),
    "B": Format("bitmask"),
    "UB": Format("bitmask"),
}
"""By the kinds of rank there; a list of ranks has as many as loops were tiled."""


@dataclass(frozen=True)
class Sparse:
    """A case of the file beside our evaluations of it."""

    case: dict[str, Any]

    def __str__(self) -> str:
        return str(self.case["name"])

    @property
    def policy(self) -> Policy:
        return POLICIES[str(self)]

    @cached_property
    def dense(self) -> Golden:
        levels = [{k: v for k, v in level.items() if "bandwidth" not in k} for level in self.case["levels"]]
        return _timeloop({**self.case, "levels": levels, "figures": {}, "computes": None, "instances": None})

    @cached_property
    def densities(self) -> dict[str, Density]:
        return {name: self._density(name, **spec) for name, spec in self.case["densities"].items()}

    def _density(self, name: str, distribution: str, density: float = 0.0, band_width: int = 0) -> Density:
        einsum = self.dense.einsum
        shape = tuple(1 + sum(einsum.extent[t.dimension] - 1 for t in rank) for rank in einsum.tensor(name).ranks)
        size = math.prod(shape)
        if distribution == "hypergeometric":
            return Exactly(math.ceil(density * size) / size, size)
        return Banded(band_width, shape) if distribution == "banded" else Uniform(density)

    def _evaluate(self, skip: str, gate: str) -> Evaluation:
        einsum, accelerator = self.dense.einsum, self.dense.evaluation.accelerator
        formats = [
            ((entry["at"], einsum.tensor(tensor).role), _format(ranks))
            for entry in self.case["sparse"]
            for tensor, ranks in entry.get("formats", {}).items()
        ]
        # There all PEs take the mean.
        zeros = Zeros(
            frozenset(skip), frozenset(gate), "ideal", tuple(formats), skip_block=self.policy.block if skip else 1
        )
        sparsity = Sparsity(tuple(self.densities.items()))
        return evaluate_one(self.dense.evaluation.nests, replace(accelerator, zeros=zeros), sparsity)

    @cached_property
    def accesses(self) -> Evaluation:
        return self._evaluate(self.policy.skip, self.policy.gate)

    @cached_property
    def computes(self) -> Evaluation:
        skip, gate = self.policy.multiplier
        return self._evaluate(self.policy.skip + skip, self.policy.gate + gate)

    def instances(self, level: str, tensor: str, printed: float) -> float:
        """Instances that hold a nonempty tile, of which the file has two decimals."""
        nests, names = self.dense.evaluation.nests, self.dense.evaluation.accelerator.level_names
        used, density = float(used_instances(nests, names.index(level))), self.densities.get(tensor)
        tile = self.dense.evaluation.tiles.get((level, tensor), 0)
        if isinstance(density, Exactly) and printed < used and tensor != self.dense.einsum.output.name:
            used = used * (1 - density.empty((tile,)))
        assert used == pytest.approx(printed, abs=0.07)
        return used


def _format(ranks: str) -> Format:
    return FORMATS[" ".join(dict.fromkeys(ranks.split()))]


def words(evaluation: Evaluation) -> dict[tuple[str, str, str], float]:
    """Words over all instances."""
    return {(i.component, i.tensor, i.action): i.count for i in evaluation.items}


CASES = [Sparse(case) for case in FILE["cases"] if case["name"] in POLICIES]

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def test_every_sparse_case_is_expressed_or_has_a_reason() -> None:
    assert {case["name"] for case in FILE["cases"]} == {*POLICIES, *NOT_EXPRESSED}
    assert len(FILE["cases"]) == 24


@every_case
def test_points_are_equal(case: Sparse) -> None:
    theirs = case.case["computes"]
    assert theirs["algorithmic"] == case.computes.points
    assert theirs["actual"] == pytest.approx(case.computes.effectual_points, abs=0.5)


@every_case
def test_cycles_are_equal_but_where_gated_points_take_none_there(case: Sparse) -> None:
    name, theirs = str(case), case.case["cycles"]
    if name in NO_CYCLE_FOR_GATED:
        assert case.accesses.cycles == NO_CYCLE_FOR_GATED[name] == case.dense.evaluation.cycles
        assert theirs == math.ceil(case.accesses.effectual_points / case.accesses.accelerator.pes)
    elif name in OTHER_CYCLES:
        assert (case.computes.cycles, theirs) == OTHER_CYCLES[name][:2]
    else:
        assert case.computes.cycles == theirs


def _compared(case: Sparse) -> list[tuple[tuple[str, str, str], float, float, float]]:
    """(figure, ours, theirs, a word per instance) of all that are expressed."""
    ours, dense = words(case.accesses), words(case.dense.evaluation)
    output, found = case.dense.einsum.output.name, []
    for level, held in case.case["figures"].items():
        for tensor, figures in held.items():
            if tensor == "cycles":
                continue
            instances = case.instances(level, tensor, figures["average_instances"])
            for action in {"reads", "fills", "updates"} & figures.keys():
                key = (level, tensor, action)
                innermost = level == case.accesses.accelerator.level_names[-1]
                mine = dense if tensor == output and innermost and not case.policy.sums else ours
                found.append((key, float(mine[key]), figures[action] * instances, instances))
    return found


@every_case
def test_words_are_equal_to_one_per_instance(case: Sparse) -> None:
    for key, mine, theirs, word in _compared(case):
        if HALOS.get(str(case)) == key:
            assert (mine, theirs) == (1152, 4608)
        elif (str(case), *key) in OTHER_WORDS:
            assert (round(mine), round(theirs)) == OTHER_WORDS[str(case), *key][:2]
        else:
            assert mine == pytest.approx(theirs, abs=word), key


def test_halos_are_of_tensors_that_slide() -> None:
    assert all(slides(case.dense.einsum, HALOS[str(case)][1]) for case in CASES if str(case) in HALOS)


# Metadata. Formats there are trees of one kind per rank; the lowest rank alone is comparable.

METADATA_DIFFERS = {
    "UOP": "pointers per nonempty fiber and one more; here a share per position of a tensor's rows",
    "upper CP": "one coordinate per nonempty row; here every nonzero has all its coordinates",
    "RLE": "conditional on nonempty fibers twice over: 59 runs for 70 nonzeros of a nonempty tile",
    "CP in DRAM": "of eight ranks: 45 coordinates for 64 nonzeros that are read",
}


def test_a_bitmask_has_one_bit_per_position_that_moves() -> None:
    case = next(case for case in CASES if str(case) == "s_fixed_both_gate")
    bits = {(i.component, i.tensor, i.action): i.bits - i.count for i in case.accesses.items}
    for tensor in "AB":
        assert bits["DRAM", tensor, "reads"] == case.case["figures"]["DRAM"][tensor]["format_reads"]["rank0"][0] == 256
        assert bits["BUF", tensor, "reads"] == case.case["figures"]["BUF"][tensor]["format_reads"]["rank0"][0] == 512
        assert bits["BUF", tensor, "fills"] == case.case["figures"]["BUF"][tensor]["format_fills"]["rank0"][0] == 256


@pytest.mark.parametrize("name", ["s_skip_B_on_A_CP", "s_compress_only_CP", "s_skip_BZ_on_A_COO"])
def test_the_lowest_rank_of_coordinates_has_one_per_nonzero(name: str) -> None:
    case = next(case for case in CASES if str(case) == name)
    figures = case.case["figures"]["BUF"]["A"]
    instances = case.instances("BUF", "A", figures["average_instances"])
    for action in ("reads", "fills"):
        theirs = figures[f"format_{action}"]["rank0"][0] * instances
        assert words(case.accesses)["BUF", "A", action] == pytest.approx(theirs, rel=0.02)
