"""A nest meets an einsum and an accelerator: what covers is bound, everything else is named."""

import math
import random

import pytest

from mapper.arch import Accelerator, Axis
from mapper.errors import MappingError
from mapper.mapping import Nests, Slot, bind, parse_nest
from mapper.workload import Einsum
from tests.mapping.toys import CONV, GEMM, TOY, accelerator, level

COVERS = "DRAM: K8 N4 | GLB: R3 | X: P4 | Y: K16 | RF: C8"


def bound(text: str, einsum: Einsum = CONV, arch: Accelerator = TOY) -> Nests:
    return bind(parse_nest(text), einsum, arch)


def refusal(text: str, einsum: Einsum = CONV, arch: Accelerator = TOY) -> str:
    with pytest.raises(MappingError) as caught:
        bound(text, einsum, arch)
    return str(caught.value)


def test_a_mapping_is_a_batch_of_one() -> None:
    nests = bound("DRAM: K8 N4 P2 | GLB: R3 | X: P4 | Y: K16 | RF: C8")
    assert len(nests) == 1
    assert nests.factors.dtype == "int64"
    assert list(zip(nests.slots, nests.factors[0].tolist(), strict=True)) == [
        (Slot(0, "t", "K"), 8),
        (Slot(0, "t", "N"), 4),
        (Slot(0, "t", "P"), 2),
        (Slot(1, "t", "R"), 3),
        (Slot(1, "x", "P"), 4),
        (Slot(1, "y", "K"), 16),
        (Slot(2, "t", "C"), 8),
    ]


def test_axes_stand_in_the_order_of_the_einsum_and_x_before_y() -> None:
    nests = bound("DRAM: K8 P7 | GLB: R3 | Y: C4 K2 | X: C2 K8 | RF: N4")
    spatial = [(slot.kind, slot.dimension) for slot in nests.slots if slot.kind != "t"]
    assert spatial == [("x", "K"), ("x", "C"), ("y", "K"), ("y", "C")]


def test_x_is_outside_y_in_the_chain_of_a_dimension() -> None:
    einsum = Einsum.parse("Z[M] += A[M,K] * B[K]; M=6 K=1")
    assert len(bound("GLB: | X: M3 | Y: M2", einsum)) == 1
    assert len(bound("GLB: | X: M2 | Y: M4", einsum)) == 1  # 6 on 4 lanes: 2 rounds, side by side
    assert "(2 left)" in refusal("GLB: | X: M2 | Y: M2", einsum)


def test_levels_without_loops_may_be_left_out() -> None:
    assert bound("RF: N4 K128 C8 P7 R3").level_count == 3
    assert bound("RF: N4 K128 C8 P7 R3").slots == bound("DRAM: | GLB: | RF: N4 K128 C8 P7 R3").slots


def test_an_einsum_of_one_point_needs_no_loops() -> None:
    nests = bound("DRAM:", Einsum.parse("Z[M] += A[M] * B[M]; M=1"))
    assert nests.factors.shape == (1, 0)


def test_the_text_comes_back_from_the_array() -> None:
    text = "DRAM: K8 N4 P2 | GLB[W,I]: R3 | X: C2 P4 | Y: K16 | RF: C4"
    assert str(bound(text).nest(0, TOY.level_names, open_levels=[1])) == text
    nest = bound("GLB: R3 P7 | X: N4 C2 | Y: K16 | RF: C4 K8").nest(0, TOY.level_names)
    assert parse_nest(str(nest)) == nest


def test_idle_lanes_round_up() -> None:
    assert bound("DRAM: K128 N4 C8 R3 P2 | GLB: | X: P4").factors[0, -1] == 4
    assert len(bound("DRAM: K128 N4 C8 R3 | GLB: | X: P16")) == 1
    thousand = Einsum.parse("Z[M] += A[M,K] * B[K]; M=1000 K=2")
    assert len(bound("DRAM: M63 K2 | GLB: | X: M16", thousand)) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("K8", "K4", "K: factors 4 x 16 = 64 do not cover its bound 128 (2 left) (for example K8 at DRAM)"),
        ("K8 ", "", "K: factor 16 does not cover its bound 128 (8 left) (for example K8 at DRAM)"),
        ("N4 ", "", "N: no factors cover its bound 4 (4 left) (for example N4 at DRAM)"),
        ("C8", "C16", "C: factor 16 does not cover its bound 8: RF has 16, which does not divide 8"),
        ("K8", "K3", "DRAM has 3, which does not divide 8 (nearest divisor: 2)"),
        ("R3", "R3 K2", "K: factors 8 x 2 x 16 = 256 do not cover its bound 128: DRAM has 8, which does not divide 4"),
    ],
)
def test_factors_cover_each_bound_exactly(old: str, new: str, message: str) -> None:
    text = COVERS.replace("N4", "N4 P2").replace(old, new).replace("| GLB", " | GLB").replace("  ", " ")
    if old == "N4 ":
        text = COVERS.replace("N4", "P2")
    assert message in refusal(text)


def test_one_spatial_factor_of_a_dimension_may_leave_idle_lanes() -> None:
    message = refusal("DRAM: K128 N4 C8 R3 | GLB: | X: P3 | Y: P5")
    assert message.startswith("P: 2 spatial factors leave idle lanes (3 on level GLB, axis X, 5 on level GLB, axis Y)")


def test_case_13_a_spatial_factor_wider_than_the_axis_is_refused() -> None:
    message = refusal("DRAM: K128 N4 C8 R3 | GLB: | X: P28")
    assert message.startswith("level GLB, axis X: spatial factors P28 do not fit: 28 > 16")
    message = refusal("DRAM: K32 N4 R3 | GLB: P7 | Y: K4 C8")
    assert message.startswith("level GLB, axis Y: spatial factors C8 x K4 do not fit: 32 > 16")


def test_a_level_without_fanout_spreads_nothing() -> None:
    message = refusal("RF: | X: K4")
    assert message == "level RF, axis X: RF has no fan-out (levels with a fan-out: GLB)"
    assert "toy has no fan-out at all" in refusal("DRAM: | X: K4", arch=accelerator(level("DRAM")))


def test_names_are_checked_against_the_einsum_and_the_accelerator() -> None:
    assert refusal("DRAM: K4 | GBL: C2") == "toy has no level 'GBL' (did you mean 'GLB'?)"
    assert refusal("DRAM: k4") == "level DRAM: einsum has no dimension 'k' (did you mean 'K'?)"
    assert refusal("GLB: | X: Z4") == "level GLB, axis X: einsum has no dimension 'Z' (one of: N, K, C, P, R)"
    assert refusal("RF: | GLB:") == "level GLB stands inside RF (outermost first: DRAM | GLB | RF)"


@pytest.mark.parametrize(
    ("axis", "reason", "able"),
    [
        (Axis(16, allowed=frozenset("NK")), "C may not be spread here: the accelerator does not allow it", "N, K"),
        (Axis(16, reduction=False), "C may not be spread here: it is summed over, and this axis cannot", "N, K, P"),
        (Axis(16, irrelevant_to=frozenset("W")), "C may not be spread here: it indexes W", "N, P"),
        (Axis(16, allowed=frozenset("X")), "C may not be spread here", "nothing may be spread here"),
    ],
)
def test_an_axis_carries_what_its_hardware_can(axis: Axis, reason: str, able: str) -> None:
    arch = accelerator(level("GLB", x=axis), level("RF"))
    message = refusal("GLB: N4 K128 P7 R3 | X: C8", arch=arch)
    assert message.startswith(f"level GLB, axis X: {reason}")
    assert able in message


def test_keeps_choose_among_what_the_spec_leaves_open() -> None:
    loops = "| RF: N4 K128 C8 P7 R3"
    assert bound(f"GLB: {loops}").keeps == (frozenset("WIO"), frozenset("I"), frozenset("WO"))
    assert bound(f"GLB[W]: {loops}").keeps[1] == frozenset("WI")
    assert bound(f"GLB[W,I]: {loops}").keeps[1] == frozenset("WI")
    assert bound(f"GLB[]: {loops}").keeps[1] == frozenset("I")
    assert bound(f"DRAM[W]: {loops}").keeps[0] == frozenset("WIO")
    assert refusal(f"GLB[O]: {loops}").endswith("has it bypass (may be kept here: I, W)")
    assert refusal(f"GLB[w]: {loops}") == "level GLB keeps 'w', no tensor of einsum (did you mean 'W'?)"


def test_keeps_go_by_the_names_of_tensors_not_by_roles() -> None:
    nests = bound("GLB[A]: | RF: M64 N64 K64", GEMM)
    assert nests.keeps == (frozenset("ABZ"), frozenset("AB"), frozenset("AZ"))


def random_chain(rng: random.Random, number: int) -> tuple[list[int], bool]:
    """Factors at DRAM, X, Y and RF, drawn so that they often cover `number`, and whether they do by the definition."""
    factors = [rng.choice([1, 1, 2, 3, 4]) for _ in range(3)]
    dram, x, y, rf = rng.choice([1, 2, 3, max(1, math.ceil(number / math.prod(factors)))]), *factors
    tiles, exact = divmod(number, rf)
    rounds_y, rounds = math.ceil(tiles / y), math.ceil(math.ceil(tiles / y) / x)
    idle = (tiles % y > 0) + (rounds_y % x > 0)
    return [dram, x, y, rf], exact == 0 and idle <= 1 and rounds == dram


def test_random_chains_bind_exactly_when_they_cover() -> None:
    rng = random.Random(0)
    seen = {True: 0, False: 0}
    for _ in range(600):
        number = rng.randint(1, 24)
        (dram, x, y, rf), covers = random_chain(rng, number)
        einsum = Einsum.parse(f"Z[M] += A[M,K] * B[K]; M={number} K=1")
        nest = parse_nest(f"DRAM: M{dram} | GLB: | X: M{x} | Y: M{y} | RF: M{rf}")
        try:
            bind(nest, einsum, TOY)
            found = True
        except MappingError:
            found = False
        assert found == covers, (number, str(nest))
        seen[covers] += 1
    assert min(seen.values()) > 100
