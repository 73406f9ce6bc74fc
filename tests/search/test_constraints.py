"""Constraints mean what they say: chains, orders, kept tensors and the size of the mapspace, against brute force."""

from __future__ import annotations

import itertools
import pickle
import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import mapper
from mapper.arch import Accelerator, Axis
from mapper.errors import InfeasibleError, InputError
from mapper.mapping import LoopNest, parse_nest, parse_partitioning
from mapper.search.constraint_checks import check, unsatisfied
from mapper.search.constraint_text import parse_constraints
from mapper.search.constraints import EVERY, UNCONSTRAINED, Constraints, Factors, Limit
from mapper.search.solve import Problem, mapspace
from mapper.search.space import Mapspace
from mapper.workload import Einsum, Tensor
from tests.machines import level, machine
from tests.search import brute
from tests.search.problems import random_constraints
from tests.search.test_space import BYPASS, CONV, GEMM, GRID, ROW, STACK

Case = tuple[str, Accelerator, str]

CASES: list[Case] = [
    (GEMM + "M=4 N=3 K=2", GRID, "any"),
    (GEMM + "M=3 N=3 K=2", STACK, "MN/K"),
    (GEMM + "M=3 N=1 K=3", BYPASS, "any"),
    (GEMM + "M=2 N=2 K=1", BYPASS, "MN"),
    (CONV + "K=2 C=1 P=4 R=3", ROW, "PK"),
    ("Z[M] += A[M,G] * B[G]; M=6 G=4", GRID, "GM/G"),
    ("Z[A,B,C,D] += X[A,B,C,D]; A=2 B=2 C=2 D=2", machine(level("DRAM"), level("BUF")), "any"),
]

SEEDS = range(12)


@cache
def texts(case: Case) -> tuple[tuple[str, LoopNest], ...]:
    """Every mapping of a case without constraints."""
    text, arch, partitioning = case
    einsum = Einsum.parse(text)
    found = brute.texts(einsum, arch, parse_partitioning(partitioning, einsum.dimensions))
    return tuple((one, parse_nest(one)) for one in sorted(found))


def space(case: Case, constraints: Constraints | str = UNCONSTRAINED) -> Mapspace:
    text, arch, partitioning = case
    einsum = Einsum.parse(text)
    asked = parse_constraints(constraints) if isinstance(constraints, str) else constraints
    return Mapspace(einsum, arch, parse_partitioning(partitioning, einsum.dimensions), asked)


def some_constraints(found: Mapspace, seed: int) -> Constraints:
    return random_constraints(random.Random(f"{found.einsum.text} {seed}"), found.einsum, found.accelerator)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_size_is_the_number_of_mappings_that_obey(case: Case, seed: int) -> None:
    asked = some_constraints(space(case), seed)
    found = space(case, asked)
    expected = sum(brute.obeys(nest, found.einsum, asked) for _, nest in texts(case))
    assert found.size == expected, str(asked)
    assert (unsatisfied(found) is None) is (expected > 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_chains_are_those_that_the_mask_leaves(case: Case, seed: int) -> None:
    free = space(case)
    asked = some_constraints(free, seed)
    found = space(case, asked)
    for dimension in free.looped:
        places = free.places(dimension)
        rows = free.chains(dimension)
        mask = asked.chain_mask(free.accelerator.level_names, dimension, places, rows)
        for row, allowed in zip(rows.tolist(), mask.tolist(), strict=True):
            factors = {(free.accelerator.level_names[i], kind): n for (i, kind), n in zip(places, row, strict=True)}
            mine = [limit for limit in asked.limits if limit.dimension == dimension]
            assert allowed is all(factors.get((o.level, o.kind), 1) in o.factors for o in mine)
        assert found.chains(dimension).tolist() == rows[mask].tolist()


def test_lanes_that_are_asked_for_are_taken_though_fewer_would_do() -> None:
    wide = (GEMM + "M=24 N=1 K=1", machine(level("DRAM", x=16), level("BUF")), "M/")
    assert space(wide, "DRAM X: M=16").chains("M").tolist() == [[2, 16, 1]]
    assert space(wide, "DRAM X: M>=13").chains("M")[:, 1].tolist() == [13, 14, 15, 16]


def test_a_prefix_leaves_the_orders_of_the_other_loops() -> None:
    case = CASES[-1]
    fixed = "BUF: A=1 B=1 C=1 D=1"
    assert space(case, fixed).size == 24
    assert space(case, f"{fixed} | DRAM order: B").size == 6
    assert space(case, f"{fixed} | DRAM order: B D").size == 2
    assert space(case, f"{fixed} | DRAM order: B R D A C").size == 1
    assert space(case, f"{fixed} | BUF order: B D").size == 24
    assert space(case, "DRAM order: B R").prefix(0) == ("B",), "R does not loop here"


def test_a_utilization_does_not_change_the_size() -> None:
    assert space(CASES[0], "min_utilization: 0.9").size == space(CASES[0]).size
    assert parse_constraints("min_utilization: 0.9").min_utilization == 0.9
    assert Constraints().min_utilization is None


def test_kept_tensors_are_named_by_role_or_by_name() -> None:
    case = (GEMM + "M=2 N=2 K=1", BYPASS, "MN")  # GLB leaves W (A) and O (Z) open, RF leaves I (B)
    kept = [tuple(sorted(names)) for names in (keeps[1] for keeps in space(case, "GLB keeps: W").keeps())]
    assert kept == [("A", "B", "Z")] * 2 + [("A", "B")] * 2
    assert space(case, "GLB keeps: A").keeps() == space(case, "GLB keeps: W").keeps()
    assert space(case, "GLB bypasses: W O").keeps() == space(case, "GLB bypasses: A,Z").keeps()
    assert [keeps[1] for keeps in space(case, "GLB bypasses: W O | RF keeps: I").keeps()] == [frozenset("B")]
    assert space(case, "GLB keeps: dO").keeps() == space(case).keeps(), "an einsum without that tensor is left alone"


def test_w_i_and_o_are_roles_whatever_the_tensors_are_called() -> None:
    gradient = Tensor("I", (), role="W")
    asked = parse_constraints("GLB keeps: W | RF bypasses: I")
    assert asked.keeps("GLB", gradient) is True
    assert asked.keeps("RF", gradient) is None


@pytest.mark.parametrize("values", [(4,), (1, 2, 3), (1, 2, 4), (5, 3, 9), (2, 3)])
def test_factors_hold_what_they_are_made_of(values: tuple[int, ...]) -> None:
    factors = Factors.of(*values)
    assert [n for n in range(1, 12) if n in factors] == sorted(values)
    assert np.flatnonzero(factors.mask(np.arange(12))).tolist() == sorted(values)


def test_factors_of_two_constraints_are_those_of_both() -> None:
    sets = [EVERY, Factors(2), Factors(1, 4), Factors(3, 5), Factors.of(2), Factors.of(1, 2, 4), Factors.of(4, 7)]
    for one, other in itertools.product(sets, sets):
        both = one & other
        assert [n in one and n in other for n in range(1, 12)] == [both is not None and n in both for n in range(1, 12)]
        assert both == other & one
        assert both is None or parse_constraints(f"A: C{both}").limits[0].factors == both


def test_equality_looks_at_what_is_asked_not_at_where_or_in_which_order() -> None:
    one = parse_constraints("GLB: C<=8 P=7 | order: N K | X: K=16", "RF keeps: W I", "min_utilization: 0.5")
    other = parse_constraints(
        "min_utilization: .5", "RF keeps: I", "RF keeps: W", "GLB X: K16", "GLB order: N, K", "GLB: P=7 C=1..8"
    )
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == str(other)
    assert {limit.sources for limit in one.limits} != {limit.sources for limit in other.limits}
    assert one.lines == (
        "GLB: C<=8 P=7",
        "GLB X: K=16",
        "GLB order: N K",
        "RF keeps: I W",
        "min_utilization: 0.5",
    )
    assert parse_constraints(str(one)) == parse_constraints(*one.lines) == pickle.loads(pickle.dumps(one)) == one
    assert one != parse_constraints("GLB: C<=8")


def test_constraints_add_up() -> None:
    one, other = parse_constraints("GLB: C<=8"), parse_constraints("GLB: C>=2 | RF: K=1,2,4")
    assert one + other == other + one == parse_constraints("GLB: C=2..8", "RF: K=1,2,4")
    assert (one + other).limits[0].sources == ("constraints 'GLB: C<=8'", "constraints 'GLB: C>=2 | RF: K=1,2,4'")
    assert one + one == one
    assert Constraints().is_empty
    assert not one.is_empty
    assert Constraints((Limit("GLB", "t", "C", Factors(1, 8)),)) == one


ARRAY = machine(level("DRAM"), level("GLB", x=16, y=Axis(16, reduction=False), may_keep="WO"), level("RF"))


@pytest.mark.parametrize(
    ("asked", "partitioning", "reason"),
    [
        ("RF: K=5", "any", "no chain of K=64 satisfies: RF: K=5 (constraints 'RF: K=5')"),
        (
            "DRAM: K=4 M<=8 | GLB: K=4,8 | X: K<=8 | RF: K=8",
            "any",
            "no chain of K=64 satisfies: DRAM: K=4 (HERE), GLB: K=4,8 (HERE), RF: K=8 (HERE)",
        ),
        ("GLB: R=3", "any", "no chain of R=1 satisfies: GLB: R=3 (HERE)"),
        (
            "GLB X: M=16",
            "NM",
            "no chain of M=32 satisfies: GLB X: M=16 (HERE); partitioning NM does not spread M over X below GLB",
        ),
        (
            "GLB Y: K=16",
            "any",
            "no chain of K=64 satisfies: GLB Y: K=16 (HERE); toy cannot spread K over Y below GLB: "
            "it is summed over, and this axis cannot reduce",
        ),
        (
            "GLB Y: M=1 | X: N=1 | DRAM: M=4 K=4 | GLB: M=1 K=1 | RF: M=1 K=4",
            "any",
            "no mapping within the lanes of toy satisfies: DRAM: K=4 (HERE), DRAM: M=4 (HERE), GLB: K=1 (HERE), "
            "GLB: M=1 (HERE), GLB Y: M=1 (HERE), RF: K=4 (HERE), RF: M=1 (HERE)",
        ),
    ],
)
def test_where_nothing_satisfies_the_constraints_those_involved_are_named(
    asked: str, partitioning: str, reason: str
) -> None:
    case = (GEMM + "M=32 N=8 K=64", ARRAY, partitioning)
    found = space(case, asked)
    check(found.constraints, ARRAY, [found.einsum])
    assert unsatisfied(found) == reason.replace("HERE", f"constraints '{asked}'")
    assert found.size == 0
    problem = Problem(found.einsum, ARRAY, found.partitioning, constraints=found.constraints)
    with pytest.raises(InfeasibleError) as caught:
        mapspace(problem)
    assert (str(caught.value), caught.value.exit_code) == (unsatisfied(found), 1)


@pytest.mark.parametrize("asked", ["GLB: R<=3", "GLB: R=1,3", "GLB X: S=1", "GLB order: R S"])
def test_a_dimension_that_the_einsum_lacks_loops_once(asked: str) -> None:
    case = (GEMM + "M=32 N=8 K=64", ARRAY, "any")
    assert space(case, asked).size == space(case).size
    assert unsatisfied(space(case, asked)) is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("GBL: M=4", "toy has no level 'GBL' (did you mean 'GLB'?)"),
        ("GLB: m=4", "GLB: m=4: no dimension 'm' (did you mean 'M'?)"),
        ("GLB order: N Z", "GLB order: N Z: no dimension 'Z' (one of: M, N, K)"),
        ("GLB keeps: AA", "GLB keeps: AA: no tensor 'AA' (did you mean 'A'?)"),
        ("GLB X: M=17", "GLB X: M=17: 17 lanes, where toy has 16 on X below GLB (at most 16)"),
        ("GLB X: M=20,24", "GLB X: M=20,24: 20 lanes, where toy has 16 on X below GLB (at most 16)"),
        ("RF X: M=2", "RF X: M=2: 2 lanes, where toy has 1 on X below RF (X has lanes below GLB)"),
        (
            "GLB X: M>=3 K=8",
            "GLB X: K=8 and GLB X: M>=3: 24 lanes, where toy has 16 on X below GLB (at most 16)",
        ),
        ("GLB bypasses: I", "GLB bypasses: I: toy always keeps B (role I) in GLB (left open there by may_keep: W, O)"),
        ("DRAM bypasses: A", "DRAM bypasses: A: toy always keeps A in DRAM (left open there by may_keep: nothing)"),
        ("GLB keeps: W | bypasses: A", "GLB bypasses: A contradicts GLB keeps: W (HERE): both are about A"),
    ],
)
def test_what_suits_neither_accelerator_nor_einsum_is_refused(asked: str, message: str) -> None:
    source = f"constraints '{asked}'"
    with pytest.raises(InputError) as caught:
        check(parse_constraints(asked), ARRAY, [Einsum.parse(GEMM + "M=32 N=8 K=64")])
    assert str(caught.value) == f"{source}: {message.replace('HERE', source)}"


def test_a_place_that_a_dimension_does_not_have_counts_as_a_factor_of_1() -> None:
    case = (GEMM + "M=32 N=8 K=64", ARRAY, "NM")
    free = space(case)
    rows = free.chains("M")
    for asked, allowed in {"GLB X: M=16": False, "GLB X: M<=16": True, "GLB X: N=8": True}.items():
        constraints = parse_constraints(asked)
        mask = constraints.chain_mask(ARRAY.level_names, "M", free.places("M"), rows)
        assert set(mask.tolist()) == {allowed}
        assert space(case, asked).chains("M").shape == (len(rows) if allowed else 0, len(free.places("M")))


def test_the_outermost_level_keeps_everything() -> None:
    loose = machine(level("DRAM", may_keep="W"), level("GLB"))
    einsum = Einsum.parse("O[M] += W[M]; M=2")
    check(parse_constraints("DRAM keeps: W"), loose, [einsum])
    with pytest.raises(InputError, match="toy always keeps W in DRAM"):
        check(parse_constraints("DRAM bypasses: W"), loose, [einsum])


def test_what_the_spec_lets_bypass_for_good_cannot_be_kept() -> None:
    never = machine(level("DRAM"), replace(level("GLB", may_keep="W"), may_keep=frozenset(), name="GLB"))
    with pytest.raises(InputError, match="toy never keeps W"):
        check(parse_constraints("GLB keeps: W"), never, [Einsum.parse("O[M] += W[M]; M=2")])
    check(parse_constraints("GLB bypasses: W | keeps: I"), never, [Einsum.parse("O[M] += W[M]; M=2")])


def test_a_name_that_one_of_several_einsums_has_may_be_constrained() -> None:
    one, other = Einsum.parse("Z[M] += A[M]; M=2"), Einsum.parse("Y[J] += B[J]; J=2")
    check(parse_constraints("GLB: M=2 J=2 | keeps: A B"), ARRAY, [one, other])
    with pytest.raises(InputError, match="no dimension 'J'"):
        check(parse_constraints("GLB: M=2 J=2"), ARRAY, [one])


@pytest.mark.parametrize(
    "asked",
    ["GLB X: M=4", ["GLB X: M=4"], parse_constraints("GLB X: M=4"), (parse_constraints("GLB X: M=4"), "GLB: R=1")],
)
def test_a_search_from_python_takes_constraints_in_several_forms(asked: Any) -> None:
    einsum = Einsum.parse(GEMM + "M=8 N=2 K=2")
    found = mapper.search(einsum, ARRAY, partitioning="MN", top=3, constraints=asked)
    assert {ranked.mapping.levels[1].x for ranked in found} == {(("M", 4),)}


def test_a_search_from_python_says_which_layer_has_no_mapping() -> None:
    einsum = Einsum.parse(GEMM + "M=8 N=2 K=2")
    with pytest.raises(
        InfeasibleError, match=r"fw 1/1 MN: no chain of M=8 satisfies: RF: M=3 \(constraints 'RF: M=3'\)"
    ):
        mapper.search(einsum, ARRAY, partitioning="MN", constraints="RF: M=3")
    with pytest.raises(InputError, match="toy has no level 'GBL'"):
        mapper.search(einsum, ARRAY, partitioning="MN", constraints="GBL: M=3")
    wrong: Any = 3
    with pytest.raises(InputError, match=r"3 is not constraints \(text such as"):
        mapper.search(einsum, ARRAY, partitioning="MN", constraints=wrong)
