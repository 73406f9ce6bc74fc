"""The converter, on a case small enough to count by hand; and where it has nothing to do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from mapper.arch.accelerator import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level
from mapper.cost import Evaluation, evaluate
from mapper.mapping import parse_nest
from mapper.workload.einsum import ROLES, Einsum
from tests.golden.cases import BITS, Golden, procrustes_cases, timeloop_cases
from tests.golden.convert import (
    PROCRUSTES,
    TIMELOOP,
    TIMELOOP_RMW,
    Convention,
    converted,
    timeloop_nest,
    used_instances,
    zero_starts,
)


@pytest.fixture(name="evaluation")
def _evaluation() -> Evaluation:
    """Two words of Z, four products each: two of three PEs halve the products, and see each word twice."""
    einsum = Einsum.parse("Z[M] += A[M,K] * B[K]; M=2 K=4")
    return evaluate(einsum, _three_levels(), "DRAM: | GLB: K2 M2 | X: K2")


def _three_levels() -> Accelerator:
    roles, free = frozenset(ROLES), Energies(0.0, 0.0, 0.0, "none")
    fanouts = {"DRAM": Fanout(), "GLB": Fanout(Axis(3)), "RF": Fanout()}
    levels = (Level(name, (Buffer(name, roles, free),), roles, fanout=fanout) for name, fanout in fanouts.items())
    return Accelerator("three levels", tuple(levels), Compute(0.0, "none"), BITS)


def _z(evaluation: Evaluation, convention: Convention) -> dict[str, Fraction]:
    """What is counted of Z, zeros left out."""
    counts = converted(evaluation, convention)
    return {f"{level} {action}": n for (level, tensor, action), n in counts.items() if tensor == "Z" and n}


def test_our_own_counts_refill_one_reducing_child(evaluation: Evaluation) -> None:
    ours = {f"{i.component} {i.action}": i.count for i in evaluation.items if i.tensor == "Z" and i.count}
    assert ours == {
        "DRAM updates": 2,
        "GLB updates": 4,
        "GLB reads": 2,
        "GLB drains": 2,
        "RF fills": 2,
        "RF updates": 8,
        "RF reads": 2,
        "RF drains": 8,
    }


def test_timeloop_refills_every_reducing_child_but_not_the_first_time(evaluation: Evaluation) -> None:
    assert _z(evaluation, TIMELOOP) == {
        "DRAM updates": 2,
        "GLB updates": 4,
        "GLB reads": 2,
        "GLB temporal_reductions": 2,
        "RF fills": 2,
        "RF updates": 4,
        "RF reads": 2,
        "RF temporal_reductions": 2,
    }


def test_procrustes_counts_the_zero_fill_as_well(evaluation: Evaluation) -> None:
    changed = _z(evaluation, PROCRUSTES).items() - _z(evaluation, TIMELOOP).items()
    assert dict(changed) == {"GLB fills": 2, "RF fills": 4}


def test_read_modify_write_reads_what_is_not_there_yet(evaluation: Evaluation) -> None:
    changed = _z(evaluation, TIMELOOP_RMW).items() - _z(evaluation, PROCRUSTES).items()
    reads = {"DRAM": 2, "GLB": 4, "RF": 4}
    assert dict(changed) == {
        f"{level} {action}": n for level, n in reads.items() for action in ("reads", "temporal_reductions")
    }


def test_operands_are_only_shared_out_over_the_used_instances(evaluation: Evaluation) -> None:
    counts = converted(evaluation, TIMELOOP)
    assert {key: n for key, n in counts.items() if key[1] == "A"} == {
        ("DRAM", "A", "reads"): 8,
        ("GLB", "A", "fills"): 8,
        ("GLB", "A", "reads"): 8,
        ("RF", "A", "fills"): 4,
        ("RF", "A", "reads"): 4,
    }


def test_idle_instances_are_not_used_and_only_reducing_lanes_start_from_zero(evaluation: Evaluation) -> None:
    assert [used_instances(evaluation.nests, level) for level in range(4)] == [1, 1, 2, 2]
    assert [zero_starts(evaluation.nests, level) for level in range(4)] == [2, 2, 4, 4]


@pytest.mark.parametrize("case", [*procrustes_cases(), *timeloop_cases()], ids=str)
def test_only_reducing_lanes_make_refills_differ_from_ours(case: Golden) -> None:
    evaluation, output = case.evaluation, case.einsum.output.name
    theirs = converted(evaluation, TIMELOOP)
    for level, name in enumerate(evaluation.accelerator.level_names):
        ours = {i.action: i.count for i in evaluation.items if (i.component, i.tensor) == (name, output)}
        reduces = zero_starts(evaluation.nests, level) > zero_starts(evaluation.nests, 0)
        for action in ours.keys() & {"reads", "fills"}:
            converted_total = theirs[name, output, action] * used_instances(evaluation.nests, level)
            assert ours[action] == converted_total or (reduces and ours[action] < converted_total)


def test_timeloop_permutations_are_read_from_the_inside_and_split_between_the_axes() -> None:
    directives: list[dict[str, Any]] = [
        {"target": "RF", "type": "temporal", "factors": "R3 S=2", "permutation": "SRKC"},
        {"target": "GLB", "type": "spatial", "factors": "M=4,2 N=2 K2", "permutation": "KMN", "split": 2},
        {"target": "RF", "type": "datatype", "keep": ["Z"]},
        {"target": "DRAM", "type": "temporal", "factors": "", "permutation": "KMN"},
    ]
    expected = parse_nest("DRAM: | GLB: | X: K2 M4 | Y: N2 | RF[Z]: R3 S2")
    assert timeloop_nest(directives, ["DRAM", "GLB", "RF"]) == expected


def test_a_factor_that_timeloop_would_compute_is_refused() -> None:
    directive = {"target": "DRAM", "type": "temporal", "factors": "M=", "permutation": "M"}
    with pytest.raises(ValueError, match="not a factor: 'M='"):
        timeloop_nest([directive], ["DRAM"])
