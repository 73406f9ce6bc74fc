"""Metadata of compressed formats, each against a small case worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mapper.arch.zeros import FORMAT_KINDS, Format
from mapper.errors import InputError
from mapper.sparsity.formats import (
    FORMATS,
    bits_per_word,
    index_bits,
    spans,
    stored_density,
    stored_share,
    stored_words,
    tile_bits,
    used,
)
from mapper.workload import Conv2d, Phase
from mapper.workload.einsum import Einsum, Tensor

CONV = Einsum.parse("O[N,K,P,Q] += W[K,C,R,S] * I[N,C,2*P+R,2*Q+S]; N=1 K=8 C=5 P=7 Q=7 R=3 S=3")
W, I = CONV.operands  # noqa: E741
"""8 x 5 x 3 x 3 = 360 words, and 1 x 5 x 15 x 15 = 1125."""
GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=6 N=1 K=16")
A, B = GEMM.operands


@pytest.mark.parametrize(
    ("fmt", "tensor", "einsum", "per_position", "per_stored"),
    [
        (Format("dense"), W, CONV, 0, 0),
        (Format("bitmask"), W, CONV, 1, 0),
        (Format("csb"), W, CONV, 1 + Fraction(20, 9), 0),
        (Format("csb", block=9, pointer_bits=18), W, CONV, 3, 0),
        (Format("csb", block=20), A, GEMM, 2, 0),
        (Format("csb"), A, GEMM, 1 + Fraction(20, 96), 0),
        (Format("rle"), W, CONV, 0, 4),
        (Format("rle", run_bits=5), W, CONV, 0, 5),
        (Format("coordinate"), W, CONV, 0, 3 + 3 + 2 + 2),
        (Format("coordinate"), I, CONV, 0, 0 + 3 + 4 + 4),
        (Format("csr", pointer_bits=30), W, CONV, 10, 2),
        (Format("csr"), W, CONV, Fraction(9, 3), 2),  # a pointer counts up to 360
        (Format("csc"), W, CONV, Fraction(9, 8), 3),
        (Format("csc"), I, CONV, Fraction(11, 5), 3),  # the first rank has one position: channels are the columns
        (Format("csc", pointer_bits=7, index_bits=4), W, CONV, Fraction(7, 8), 4),
        (Format("csr"), A, GEMM, Fraction(7, 16), 4),
        (Format("csr"), B, GEMM, Fraction(5, 16), 4),  # 16 x 1: rows of one position are none
        (Format("n_m", n=2, m=4), W, CONV, 0, 2),
        (Format("n_m", n=1, m=1), W, CONV, 0, 0),
        (Format("n_m", n=3, m=5), W, CONV, 0, 3),
    ],
)
def test_metadata_of_each_format(
    fmt: Format, tensor: Tensor, einsum: Einsum, per_position: Fraction | int, per_stored: int
) -> None:
    metadata = bits_per_word(fmt, tensor, einsum)
    assert (metadata.per_position, metadata.per_nonzero) == (per_position, per_stored)
    assert isinstance(metadata.per_position, Fraction), "exact, however often it is multiplied"


@pytest.mark.parametrize(
    ("fmt", "words", "nonzeros", "bits"),
    [
        (Format("dense"), 10, 3, 160),
        (Format("bitmask"), 10, 3, 3 * 16 + 10),
        (Format("bitmask"), 10, 0, 10),
        (Format("csb"), 10, 3, 3 * 16 + 10 + 2 * 20),  # ten positions begin a second kernel
        (Format("csb"), 9, 3, 3 * 16 + 9 + 20),
        (Format("csb", block=4, pointer_bits=6), 10, 3, 3 * 16 + 10 + 3 * 6),
        (Format("rle"), 10, 3, 3 * (16 + 4)),
        (Format("coordinate"), 10, 3, 3 * (16 + 10)),
        (Format("csr"), 10, 3, 3 * (16 + 2) + 4 * 9),
        (Format("csc"), 10, 3, 3 * (16 + 3) + 2 * 9),
        (Format("n_m", n=2, m=4), 8, 4, 4 * (16 + 2)),
        (Format("n_m", n=2, m=4), 8, 1, 4 * (16 + 2)),  # zeros are kept too
        (Format("n_m", n=2, m=4), 9, 4, 5 * (16 + 2)),
        (Format("n_m", n=2, m=4), 11, 4, 6 * (16 + 2)),
        (Format("n_m", n=2, m=4), 8, 5, 8 * 16),  # one too many: dense
    ],
)
def test_a_tile_takes_whole_pointers(fmt: Format, words: int, nonzeros: int, bits: int) -> None:
    assert tile_bits(fmt, words, nonzeros, 16, W, CONV) == bits


@pytest.mark.parametrize("kind", ["bitmask", "csb", "rle", "coordinate", "csr", "csc"])
def test_the_rate_per_word_is_exact_for_the_whole_tensor(kind: str) -> None:
    size, nonzeros = math.prod(spans(W, CONV)), 37
    rate = bits_per_word(Format(kind), W, CONV)
    moved = nonzeros * 32 + size * rate.per_position + nonzeros * rate.per_nonzero
    assert moved == tile_bits(Format(kind), size, nonzeros, 32, W, CONV)


@pytest.mark.parametrize("kind", FORMAT_KINDS)
def test_a_tile_never_shrinks_with_its_nonzeros_or_words(kind: str) -> None:
    fmt = Format(kind, n=2, m=4) if kind == "n_m" else Format(kind)
    by_nonzeros = [tile_bits(fmt, 20, n, 8, W, CONV) for n in range(21)]
    by_words = [tile_bits(fmt, n, 0, 8, W, CONV) for n in range(40)]
    assert by_nonzeros == sorted(by_nonzeros)
    assert by_words == sorted(by_words)


def test_2_of_4_stores_56_25_percent_at_16_bits_and_62_5_at_8() -> None:
    assert stored_share(2, 4, 16) == 0.5625
    assert stored_share(2, 4, 8) == 0.625
    assert stored_share(1, 1, 8) == 1
    tensor = tile_bits(Format("n_m", n=2, m=4), 360, 180, 16, W, CONV)
    assert Fraction(tensor, 360 * 16) == stored_share(2, 4, 16)


def test_a_kernel_of_a_gradient_is_the_plane_of_the_stored_activation() -> None:
    (part,) = Conv2d(C=4, K=8, R=3, S=3, P=6, Q=5, padding=1).parts(Phase.wu)
    stored = part.einsum.operands[0]
    assert bits_per_word(Format("csb"), stored, part.einsum).per_position == 1 + Fraction(20, 30)


def test_what_is_stored_are_nonzeros_or_n_of_every_m() -> None:
    assert stored_words(Format("dense"), 10, 3) == 10
    assert stored_words(Format("csb"), 10, 3) == 3
    assert stored_words(Format("n_m", n=2, m=4), 10, 3) == 6
    assert stored_density(Format("n_m", n=1, m=4), 0.1) == 0.25
    assert stored_density(Format("rle"), 0.1) == 0.1


def test_a_tensor_that_a_format_does_not_suit_stays_dense() -> None:
    pattern = Format("n_m", n=2, m=4)
    assert used(pattern, 0.5) == used(pattern, 0.1) == pattern
    assert used(pattern, 0.51) == used(Format("csb"), 1.0) == Format("dense")
    assert used(Format("csb"), 0.99) == Format("csb")
    assert stored_density(pattern, 0.51) == stored_density(Format("bitmask"), 1.0) == 1.0


def test_an_index_takes_ceil_log2_bits_in_exact_integers() -> None:
    assert [index_bits(n) for n in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
    assert index_bits(2**60 + 1) == 61


def test_every_kind_says_what_it_stores() -> None:
    assert tuple(name for name, _ in FORMATS) == FORMAT_KINDS
    assert all(text for _, text in FORMATS)


def test_defaults_are_part_of_a_format() -> None:
    assert Format("csb") == Format("csb", pointer_bits=20)
    assert Format("rle") == Format("rle", run_bits=4)


@pytest.mark.parametrize(
    ("kind", "n", "m", "message"),
    [
        ("csx", 0, 0, r"no format 'csx' \(did you mean 'cs[brc]'\?\)"),
        ("n_m", 5, 4, r"format n_m keeps 5 of every 4 positions \(n: 2, m: 4\)"),
        ("n_m", 0, 0, r"format n_m keeps 0 of every 0 positions \(n: 2, m: 4\)"),
    ],
)
def test_a_format_that_cannot_be_is_refused(kind: str, n: int, m: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Format(kind, n=n, m=m)
