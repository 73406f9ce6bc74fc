"""Work per PE: against stepping through the loops point by point, and by hand where only densities are known."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from mapper.arch import Accelerator, Axis, Fanout
from mapper.arch.zeros import Zeros
from mapper.sparsity.density import Actual, Uniform, Vector
from mapper.sparsity.model import Density
from mapper.sparsity.placement import Numbers, lane_places, work_per_pe
from mapper.sparsity.zeros import Moves, Sparsity
from tests.oracle_zeros import Hardware
from tests.strategies_zeros import ZeroCase, dense_twin, make_zero_case, random_zero_case

SKIP = Zeros(skip=frozenset("W"))
BOTH = Zeros(skip=frozenset("WI"))


def moves_of(case: ZeroCase, **densities: Density) -> Moves:
    """What the package makes of a case, with its masks or with densities in their place."""
    known: dict[str, Density] = {name: Actual(mask) for name, mask in case.masks.items()}
    accelerator = replace(case.accelerator, zeros=case.zeros)
    sparsity = Sparsity(tuple((known | densities).items()), case.balance)
    return Moves(case.einsum, accelerator, sparsity, case.nests.keeps)


def placed(case: ZeroCase, **densities: Density) -> Numbers:
    return work_per_pe(case.nests, moves_of(case, **densities))


def executed(case: ZeroCase) -> Numbers:
    """Effectual points of each PE, one after the other; `unit` names a lane of X and one of Y per level."""
    hardware = Hardware.of(case)
    lanes = [(level.fanout.x.lanes, level.fanout.y.lanes) for level in case.accelerator.levels]
    out = np.zeros([np.prod([pair[axis] for pair in lanes]) for axis in (0, 1)], dtype=np.int64)
    for point in hardware.points:
        x = y = 0
        for level, (columns, rows) in enumerate(lanes):
            x, y = x * columns + point.unit[2 * level], y * rows + point.unit[2 * level + 1]
        out[x, y] += hardware.nonzero_in(hardware.minded, point)
    return out


@pytest.mark.parametrize("seed", range(150))
def test_work_is_what_stepping_through_the_loops_gives(seed: int) -> None:
    case = random_zero_case(random.Random(seed))
    for one in (case, dense_twin(case)):
        found = placed(one)
        assert found.dtype == np.int64, str(one)
        assert (found == executed(one)).all(), str(one)
        assert found.sum() == moves_of(one).effectual_points, str(one)


def test_random_cases_have_what_matters() -> None:
    cases = [random_zero_case(random.Random(seed)) for seed in range(150)]
    arrays = [executed(case) for case in cases]
    assert sum(min(array.shape) > 1 for array in arrays) > 20
    assert sum(len(Hardware.of(case).minded) > 1 for case in cases) > 20
    assert sum(array.min() == 0 < array.max() for array in arrays) > 20
    several = [[i for i, level in enumerate(c.accelerator.levels) if level.fanout.lanes > 1] for c in cases]
    assert sum(len(levels) > 1 for levels in several) > 10


def test_a_ragged_edge_has_less_and_a_lane_without_loops_nothing() -> None:
    """Five outputs on three lanes take two rounds, the last of which has two; X is one lane wider than its loop."""
    case = make_zero_case("O[K,N] += W[K,C] * I[C,N]; K=5 N=2 C=3", "L0: K2 | X: N2 | Y: K3 | L1: C3", {})
    first = case.accelerator.levels[0]
    wider = replace(first, fanout=Fanout(replace(first.fanout.x, lanes=3), first.fanout.y))
    spare = replace(case.accelerator, levels=(wider, *case.accelerator.levels[1:]))
    found = placed(replace(case, dense=replace(case.dense, accelerator=spare)))
    assert found.tolist() == [[6, 6, 3], [6, 6, 3], [0, 0, 0]]


def test_known_zeros_are_missing_where_they_lie() -> None:
    mask = np.array([[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 1, 1]])
    case = make_zero_case(
        "O[K,N] += W[K,C] * I[C,N]; K=4 N=4 C=3", "L0: K2 N2 | X: N2 | Y: K2 | L1: C3", {"W": mask}, SKIP
    )
    assert placed(case).tolist() == [[2, 10], [2, 10]]


def test_lanes_of_an_inner_array_lie_inside_those_of_the_outer() -> None:
    text = "L0: | X: K2 | L1: | X: N2 | Y: C2 | L2: "
    case = make_zero_case("O[K,N] += W[K,C] * I[C,N]; K=2 N=2 C=2", text, {"W": [[1, 0], [1, 1]]}, SKIP)
    accelerator = widened(case.accelerator, 1, x=3)
    case = replace(case, dense=replace(case.dense, accelerator=accelerator))
    assert placed(case).tolist() == [[1, 0], [1, 0], [0, 0], [1, 1], [1, 1], [0, 0]]
    assert lane_places(case.nests, accelerator, "x").tolist() == [0, 1, 3, 4]
    assert lane_places(case.nests, accelerator, "y").tolist() == [0, 1]


def widened(accelerator: Accelerator, level: int, x: int) -> Accelerator:
    levels = list(accelerator.levels)
    levels[level] = replace(levels[level], fanout=Fanout(Axis(x), levels[level].fanout.y))
    return replace(accelerator, levels=tuple(levels))


FORMULA, MAPPING = "O[K,N] += W[K,C] * I[C,N]; K=4 N=6 C=3", "L0: K2 N2 | X: N3 | Y: K2 | L1: C3"


def test_of_a_density_the_expected_work_is_shown() -> None:
    found = placed(make_zero_case(FORMULA, MAPPING, {}, SKIP), W=Uniform(0.25))
    assert found == pytest.approx(np.full((3, 2), 12 * 0.25))
    both = placed(make_zero_case(FORMULA, MAPPING, {}, BOTH), W=Uniform(0.25), I=Uniform(0.5))
    assert both == pytest.approx(np.full((3, 2), 12 * 0.125))


def test_a_density_per_filter_differs_between_the_pes_of_the_filters() -> None:
    """Row 0 has filters 0 and 2, row 1 filters 1 and 3; each filter has three weights, each used for two samples."""
    found = placed(make_zero_case(FORMULA, MAPPING, {}, SKIP), W=Vector(0, (0.1, 0.2, 0.3, 1.0)))
    assert found == pytest.approx(np.array([[2.4, 7.2]] * 3))


def test_a_mask_beside_a_density_keeps_its_places() -> None:
    mask = np.array([[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 1, 1]])
    case = make_zero_case(FORMULA, MAPPING, {"W": mask}, BOTH)
    found = placed(case, I=Uniform(0.5))
    assert found == pytest.approx(np.array([[1, 5]] * 3))
    assert found.sum() == pytest.approx(moves_of(case, I=Uniform(0.5)).effectual_points)


def test_zeros_in_blocks_are_spread_as_evenly_as_the_model_takes_them() -> None:
    blocks = replace(SKIP, skip_block=3)
    mask = np.array([[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]])
    case = make_zero_case(FORMULA, MAPPING, {"W": mask}, blocks)
    assert placed(case) == pytest.approx(np.full((3, 2), 6.0))
    assert moves_of(case).effectual_points == 36


def test_hardware_that_minds_no_zeros_executes_every_point() -> None:
    case = make_zero_case(FORMULA, MAPPING, {"W": np.zeros((4, 3))}, Zeros())
    assert placed(case).tolist() == [[12, 12]] * 3


def test_only_the_first_of_several_mappings_is_looked_at() -> None:
    case = make_zero_case(FORMULA, MAPPING, {}, SKIP)
    other = case.nests.factors.copy()
    other[0, [1, 2]] = other[0, [2, 1]]
    both = replace(case.nests, factors=np.concatenate([case.nests.factors, other]))
    assert work_per_pe(both, moves_of(case)).tolist() == [[12, 12]] * 3
