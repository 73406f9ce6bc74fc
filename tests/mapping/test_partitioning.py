"""Partitionings: names, pairs, several dimensions on an axis, letters that bring the groups along."""

import pytest

from mapper.errors import InputError
from mapper.mapping import Partitioning, parse_partitioning, parse_partitionings, spread
from mapper.workload import Einsum

LAYER = tuple("NGKCPQRS")
NAMED = ("M1", "N", "K", "AB")


def conv(**bounds: int) -> Einsum:
    sizes = {"N": 4, "G": 1, "K": 8, "C": 8, "P": 7, "R": 3} | bounds
    return Einsum.parse("O[N,G,K,P] += W[G,K,C,R] * I[N,G,C,P+R]", sizes)


@pytest.mark.parametrize(
    ("text", "name", "x", "y"),
    [
        ("CK", "CK", "C", "K"),
        ("KN", "KN", "K", "N"),
        (" P,Q ", "PQ", "P", "Q"),
        ("K / N", "KN", "K", "N"),
        ("RS", "RS", "R", "S"),
        ("KK", "KK", "K", "K"),
        ("KP/N", "KP/N", "KP", "N"),
        ("K.P/N", "KP/N", "KP", "N"),
        ("K/PQ", "K/PQ", "K", "PQ"),
        ("K/", "K/", "K", ""),
        ("/N", "/N", "", "N"),
    ],
)
def test_letters_go_to_x_then_y(text: str, name: str, x: str, y: str) -> None:
    assert parse_partitioning(text, LAYER) == Partitioning(name, tuple(x), tuple(y))


@pytest.mark.parametrize(
    ("text", "name", "x", "y"),
    [
        ("M1,N", "M1/N", ("M1",), ("N",)),
        ("M1/AB", "M1/AB", ("M1",), ("AB",)),
        ("M1.K/N", "M1.K/N", ("M1", "K"), ("N",)),
        ("CK", "CK", ("C",), ("K",)),
        ("AB/K", "AB/K", ("AB",), ("K",)),
    ],
)
def test_names_of_any_length_may_be_spread(text: str, name: str, x: tuple[str, ...], y: tuple[str, ...]) -> None:
    parsed = parse_partitioning(text, NAMED)
    assert parsed == Partitioning(name, x, y)
    assert parse_partitioning(parsed.name, NAMED) == parsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CK,KN,CN,PQ", ["CK", "KN", "CN", "PQ"]),
        ("all", ["CK", "KN", "CN", "PQ"]),
        ("PQ all PQ", ["PQ", "CK", "KN", "CN"]),
        ("any", ["any"]),
        ("P,Q", ["PQ"]),
        ("KN,P/Q", ["KN", "PQ"]),
    ],
)
def test_a_list_keeps_its_order_and_names_each_once(text: str, expected: list[str]) -> None:
    assert [str(p) for p in parse_partitionings(text, LAYER)] == expected


def test_a_pair_of_the_einsum_may_be_written_with_a_comma() -> None:
    assert [p.name for p in parse_partitionings("M1,N", NAMED)] == ["M1/N"]


def test_any_leaves_the_choice_to_the_search() -> None:
    assert parse_partitioning("any", LAYER).is_any
    assert not parse_partitioning("CK", LAYER).is_any


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "no partitioning is given", "CK, KN, CN, PQ"),
        ("kn", "no dimension 'k'", "did you mean 'K'?"),
        ("ZK", "no dimension 'Z'", "one of: N, G, K"),
        ("M,N", "no dimension 'M'", "one of: N, G, K"),
        ("K.foo/N", "no dimension 'foo'", "one of: N, G, K"),
        ("KM/N", "no dimension 'KM'", "did you mean 'K'?"),
        ("KNM", "'KNM' is not a partitioning", "did you mean 'KN'?"),
        ("K/N/C", "'K/N/C' is not a partitioning", "N/S, all, any"),
        ("/", "'/' is not a partitioning", "CK, KN, CN, PQ"),
        ("KK/N", "spreads K twice over one axis", "name it once"),
        ("CK,KX", "no dimension 'X'", "one of: N, G, K"),
        ("alll", "'alll' is not a partitioning", "did you mean 'all'?"),
    ],
)
def test_bad_partitionings_are_refused_with_the_nearest_valid(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_partitionings(text, LAYER)
    assert message in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("text", "x", "y"),
    [
        ("KN", "KG", "N"),
        ("CK", "CG", "K"),
        ("NK", "N", "KG"),
        ("KC/N", "KGC", "N"),
        ("KG", "K", "G"),
        ("GK", "G", "K"),
        ("KK", "KG", "K"),
        ("PN", "P", "N"),
    ],
)
def test_k_and_c_bring_the_groups_to_one_axis(text: str, x: str, y: str) -> None:
    assert spread(parse_partitioning(text, LAYER), conv(G=10)) == (tuple(x), tuple(y))


def test_depthwise_layers_spread_their_groups_for_k() -> None:
    assert spread(parse_partitioning("KN", LAYER), conv(G=24, K=1, C=1)) == (("G",), ("N",))


def test_without_groups_k_is_k() -> None:
    assert spread(parse_partitioning("CK", LAYER), conv()) == (("C",), ("K",))


def test_letters_that_the_einsum_lacks_have_no_lanes() -> None:
    gemm = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=64 N=64 K=64")
    assert spread(parse_partitioning("PQ", gemm.dimensions), gemm) == ((), ())
    assert spread(parse_partitioning("CK", gemm.dimensions), gemm) == ((), ("K",))
    assert spread(parse_partitioning("M,N", gemm.dimensions), gemm) == (("M",), ("N",))
