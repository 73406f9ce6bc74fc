"""The cases of `timeloop_sparse.json`: the figures of a simulator beside our evaluations of its mapping and policies.

There every access to a tensor has its own policy, here every operand has one: its zeros are skipped or gated, with all
that hangs on them. So each case is expressed twice: by what its accesses do about zeros, and by what its multiplier
does. Words have as many bits as there, so that metadata takes its part of a port.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from mapper.arch.accelerator import Accelerator, Buffer
from mapper.arch.zeros import Format, Zeros
from mapper.cost import Evaluation, evaluate_one
from mapper.sparsity.density import Banded, Density, Exactly, Uniform
from mapper.sparsity.zeros import Sparsity
from tests.golden.cases import Golden, _timeloop
from tests.golden.convert import TIMELOOP, Key, converted, used_instances

FILE = json.loads((Path(__file__).parent / "timeloop_sparse.json").read_text(encoding="utf-8"))

WORD_BITS = 16
"""Of a word, where a case does not say."""

Figures = dict[Key, float]
"""Words over all instances."""


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
    "ref_sparseloop_01.2.2-SUDU-dot-product": Policy(gate="W", sums=True),
    "ref_sparseloop_01.2.3-SCDU-dot-product": Policy(skip="W", sums=True),
    "ref_sparseloop_02.2.1-spMspM": Policy(skip="WI", sums=True),
    "ref_sparseloop_03.2.1-conv1d": Policy(skip="W", sums=True),
    "ref_sparseloop_03.2.2-conv1d+oc": Policy(skip="W"),  # sums bypass the buffer that would skip theirs
    "ref_sparseloop_03.2.3-conv1d+oc-spatial": Policy(skip="W", sums=True),
    "ref_sparseloop_04.2.1-eyeriss-like-gating": Policy(gate="I"),
    "ref_sparseloop_04.2.2-eyeriss-like-gating-mapspace-search": Policy(gate="I"),
    "ref_sparseloop_04.2.3-eyeriss-like-onchip-compression": Policy(skip="I"),
}

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

    @property
    def compute_cycles(self) -> int:
        """Cycles of compute alone, there."""
        return int(self.case.get("compute_cycles", self.case["cycles"]))

    @property
    def word_bits(self) -> int:
        return int(self.case.get("word_bits", WORD_BITS))

    @cached_property
    def dense(self) -> Golden:
        """The mapping without zeros; a bit stands for a word."""
        return _timeloop({**self.case, "figures": {}, "computes": None, "instances": None})

    @property
    def used_pes(self) -> int:
        nests = self.dense.evaluation.nests
        return used_instances(nests, nests.level_count)

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

    def evaluate(self, skip: str, gate: str) -> Evaluation:
        """The mapping where zeros of the operands of those roles are skipped and gated."""
        einsum = self.dense.einsum
        formats = [
            ((entry["at"], einsum.tensor(tensor).role), _format(ranks))
            for entry in self.case["sparse"]
            for tensor, ranks in entry.get("formats", {}).items()
        ]
        # There all PEs take the mean.
        zeros = Zeros(
            frozenset(skip), frozenset(gate), "ideal", tuple(formats), skip_block=self.policy.block if skip else 1
        )
        accelerator = replace(_in_bits(self.dense.evaluation.accelerator, self.word_bits), zeros=zeros)
        return evaluate_one(self.dense.evaluation.nests, accelerator, Sparsity(tuple(self.densities.items())))

    @cached_property
    def accesses(self) -> Evaluation:
        return self.evaluate(self.policy.skip, self.policy.gate)

    @cached_property
    def computes(self) -> Evaluation:
        skip, gate = self.policy.multiplier
        return self.evaluate(self.policy.skip + skip, self.policy.gate + gate)

    def instances(self, level: str, tensor: str, printed: float) -> float:
        """Instances that hold a nonempty tile, of which the file has two decimals."""
        nests, names = self.dense.evaluation.nests, self.dense.evaluation.accelerator.level_names
        used, density = float(used_instances(nests, names.index(level))), self.densities.get(tensor)
        tile = self.dense.evaluation.tiles.get((level, tensor), 0)
        if isinstance(density, Exactly) and printed < used and tensor != self.dense.einsum.output.name:
            used = used * (1 - density.empty((tile,)))
        assert used == pytest.approx(printed, abs=0.07)
        return used

    @cached_property
    def figures(self) -> Figures:
        """Our words as they would be printed there.

        That is the share that moves of the dense ones of `converted`. Partial sums that compute exchanges move in full
        where no access to them follows the zeros.
        """
        evaluation, mine = self.dense.evaluation, words(self.accesses)
        nests, names, output = evaluation.nests, evaluation.accelerator.level_names, evaluation.einsum.output.name
        innermost = [name for name in names if (name, output) in evaluation.tiles][-1]
        figures = {}
        for key, each in converted(evaluation, TIMELOOP).items():
            there, ours = float(each * used_instances(nests, names.index(key[0]))), words(evaluation).get(key, 0)
            in_full = ours == 0 or (key[:2] == (innermost, output) and not self.policy.sums)
            figures[key] = there if in_full else there * mine[key] / ours
        return figures


def _format(ranks: str) -> Format:
    return FORMATS[" ".join(dict.fromkeys(ranks.split()))]


def _in_bits(accelerator: Accelerator, bits: int) -> Accelerator:
    """An accelerator whose words have one bit, with words of `bits`."""

    def wide(buffer: Buffer) -> Buffer:
        return replace(
            buffer,
            capacity_bits=buffer.capacity_bits and buffer.capacity_bits * bits,
            read_bandwidth=buffer.read_bandwidth and buffer.read_bandwidth * bits,
            write_bandwidth=buffer.write_bandwidth and buffer.write_bandwidth * bits,
            shared_bandwidth=buffer.shared_bandwidth and buffer.shared_bandwidth * bits,
        )

    levels = tuple(replace(level, buffers=tuple(map(wide, level.buffers))) for level in accelerator.levels)
    return replace(accelerator, levels=levels, bits=tuple((role, bits) for role, _ in accelerator.bits))


def words(evaluation: Evaluation) -> Figures:
    return {(i.component, i.tensor, i.action): i.count for i in evaluation.items}


CASES = {case["name"]: Sparse(case) for case in FILE["cases"]}
