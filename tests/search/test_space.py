"""The mapspace: its size is the number of texts that brute force finds, and its chains cover their bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from mapper.arch import Accelerator, Axis
from mapper.errors import InputError, MappingError
from mapper.mapping import bind, parse_nest, parse_partitioning
from mapper.search.space import Mapspace, lane_choices
from mapper.workload import Einsum
from mapper.workload.einsum import divisors
from tests.machines import level, machine
from tests.search import brute

GEMM = "Z[M,N] += A[M,K] * B[K,N]; "
CONV = "O[K,P] += W[K,C,R] * I[C,P+R]; "

TWO = machine(level("DRAM"), level("BUF"))
ROW = machine(level("DRAM", x=4), level("BUF"))
GRID = machine(level("DRAM", x=2, y=3), level("BUF"))
BYPASS = machine(level("DRAM"), level("GLB", may_keep="WO", x=2), level("RF", may_keep="I"))
STACK = machine(level("DRAM", x=2), level("GLB", y=2), level("RF"))
NO_REDUCTION = machine(level("DRAM", x=Axis(4, reduction=False), y=4), level("BUF"))
ALLOWED = machine(level("DRAM", x=Axis(4, allowed=frozenset("MK")), y=Axis(2, allowed=frozenset("N"))), level("BUF"))

PROBLEMS: list[tuple[str, Accelerator, str]] = [
    (GEMM + "M=4 N=2 K=2", machine(level("DRAM")), "any"),
    (GEMM + "M=4 N=2 K=3", TWO, "any"),
    (GEMM + "M=3 N=2 K=1", ROW, "M/"),
    (GEMM + "M=3 N=2 K=2", ROW, "any"),
    (GEMM + "M=5 N=3 K=1", GRID, "MN"),
    (GEMM + "M=4 N=3 K=2", GRID, "MM"),
    (GEMM + "M=4 N=3 K=2", GRID, "any"),
    (GEMM + "M=2 N=2 K=1", BYPASS, "MN"),
    (GEMM + "M=7 N=2 K=1", STACK, "M/M"),
    (GEMM + "M=3 N=1 K=4", NO_REDUCTION, "any"),
    (GEMM + "M=4 N=2 K=3", ALLOWED, "any"),
    (CONV + "K=2 C=1 P=4 R=3", ROW, "PK"),
    (GEMM + "M=3 N=3 K=2", STACK, "MN/K"),
    (GEMM + "M=3 N=1 K=3", BYPASS, "any"),
    ("Z[M] += A[M,G] * B[G]; M=6 G=4", GRID, "GM/G"),
    (GEMM + "M=1 N=1 K=1", GRID, "any"),
]


def space(text: str, arch: Accelerator, partitioning: str) -> Mapspace:
    einsum = Einsum.parse(text)
    return Mapspace(einsum, arch, parse_partitioning(partitioning, einsum.dimensions))


@pytest.mark.parametrize(("text", "arch", "partitioning"), PROBLEMS)
def test_size_is_the_number_of_distinct_texts(text: str, arch: Accelerator, partitioning: str) -> None:
    found = space(text, arch, partitioning)
    texts = brute.texts(found.einsum, arch, found.partitioning)
    assert found.size == len(texts)


@pytest.mark.parametrize(("text", "arch", "partitioning"), PROBLEMS)
def test_every_mapping_of_the_space_is_an_execution(text: str, arch: Accelerator, partitioning: str) -> None:
    found = space(text, arch, partitioning)
    for one in sorted(brute.texts(found.einsum, arch, found.partitioning))[:200]:
        assert str(parse_nest(one)) == one
        bind(parse_nest(one), found.einsum, arch)


@pytest.mark.parametrize(("text", "arch", "partitioning"), PROBLEMS)
def test_every_chain_covers_its_bound(text: str, arch: Accelerator, partitioning: str) -> None:
    found = space(text, arch, partitioning)
    for dimension in found.looped:
        places = found.places(dimension)
        rows = [tuple(row) for row in found.chains(dimension).tolist()]
        assert len(set(rows)) == len(rows)
        for row in rows:
            assert brute.covers(dict(zip(places, row, strict=True)), found.einsum.extent[dimension]), row


def one_by_one(found: Mapspace, dimension: str) -> list[tuple[int, ...]]:
    """Chains by recursion, the innermost place chosen first: what `Mapspace.chains` does for all at once."""
    places = found.places(dimension)

    def extend(at: int, left: int, uneven: bool) -> Iterator[tuple[int, ...]]:
        if at == 0:
            yield (left,)
        elif places[at][1] == "t":
            for factor in divisors(left):
                yield from ((*rest, factor) for rest in extend(at - 1, left // factor, uneven))
        else:
            for count in lane_choices(left, found.lanes(places[at])):
                idle = left % count != 0
                if not (idle and uneven):
                    yield from ((*rest, count) for rest in extend(at - 1, -(-left // count), uneven or idle))

    return list(extend(len(places) - 1, found.einsum.extent[dimension], False))


FIVE = machine(level("A"), level("B", x=16), level("C"), level("D", y=12), level("E"))

DEEP_PROBLEM = ("O[K,P] += W[K,C,R] * I[C,P+R]; K=360 C=97 P=28 R=3", FIVE, "any")


@pytest.mark.parametrize(("text", "arch", "partitioning"), [*PROBLEMS, DEEP_PROBLEM])
def test_chains_are_those_of_a_recursion_in_its_order(text: str, arch: Accelerator, partitioning: str) -> None:
    found = space(text, arch, partitioning)
    for dimension in found.looped:
        rows = found.chains(dimension)
        assert [tuple(row) for row in rows.tolist()] == one_by_one(found, dimension)
        assert (str(rows.dtype), rows.shape[1]) == ("int64", len(found.places(dimension)))


def test_no_dimension_takes_more_lanes_than_it_has_tiles() -> None:
    assert lane_choices(7, 16) == list(range(1, 8))
    assert lane_choices(1000, 16) == list(range(1, 17))
    assert lane_choices(1, 16) == [1]


def test_divisors_are_all_of_them_in_order() -> None:
    for number in range(1, 200):
        assert divisors(number) == [n for n in range(1, number + 1) if number % n == 0]


def test_sizes_of_large_spaces_are_exact_integers() -> None:
    text = "O[N,K,P,Q] += W[K,C,R,S] * I[N,C,P+R,Q+S]; N=64 K=512 C=512 P=56 Q=56 R=3 S=3"
    large = space(text, machine(level("DRAM"), level("GLB", x=16, y=16, may_keep="WIO"), level("RF")), "any")
    assert isinstance(large.size, int)
    assert large.size > 2**63


@pytest.mark.parametrize("problem", [(GEMM + "M=3 N=1 K=4", NO_REDUCTION), (GEMM + "M=4 N=2 K=3", ALLOWED)])
def test_what_an_axis_cannot_do_is_no_place(problem: tuple[str, Accelerator]) -> None:
    found = space(*problem, "any")
    for dimension, axis in itertools.product(found.looped, found.axes()):
        assert (axis in found.places(dimension)) is not refused(found, dimension, axis[1])


def refused(found: Mapspace, dimension: str, kind: str) -> bool:
    """Whether a mapping that spreads the dimension below the outermost level is refused for that."""
    one = parse_nest(f"DRAM: | {kind.upper()}: {dimension}2")
    with pytest.raises(MappingError) as caught:  # other dimensions are not covered
        bind(one, found.einsum, found.accelerator)
    return "may not be spread" in str(caught.value)


DIMENSIONS = [f"D{i}" for i in range(40)]
MANY = f"Z[{','.join(DIMENSIONS)}] += A[D0] * B[D1]; {' '.join(f'{d}=4096' for d in DIMENSIONS)}"
DEEP = machine(level("A", x=999, y=999), *(level(name) for name in "BCDEF"))


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        (GEMM + "M=4 N=4 K=4", DEEP, r"3 dimensions, 6 levels and axes of 999 and 999 lanes .* too large"),
        (MANY, machine(level("A", x=99), level("B"), level("C")), r"40 dimensions, 3 levels and .* too large"),
        (
            GEMM + "M=4 N=4 K=4",
            machine(level("A"), *(level(name, may_keep="WIO") for name in "BCDEFG")),
            "7 levels leave 262,144 choices of which tensors they keep",
        ),
    ],
)
def test_a_mapspace_that_memory_cannot_hold_is_refused_at_once(text: str, arch: Accelerator, message: str) -> None:
    with pytest.raises(InputError, match=message):
        print(space(text, arch, "any").size)


def test_a_mapspace_of_a_deep_machine_is_counted_where_no_axis_is_shared() -> None:
    assert space(GEMM + "M=4 N=4 K=4", DEEP, "MN").size > 0
