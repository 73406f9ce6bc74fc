"""Compressed formats: how many bits of metadata go with the stored words of a tensor.

Moving `w` positions of which `z` words are stored, of `width` bits each, costs

    z * width + w * per_position + z * per_nonzero    bits

and both rates depend on the whole tensor only, not on how a mapping cuts it: a pointer counts as its share per
position. What is stored is the nonzeros; in N:M exactly N of every M positions, zeros among them too. With spans
e1, e2, ... of the tensor's ranks (padding and holes of strides included: indices count along the tensor):

    format      per position                 per stored word
    dense       0                            0              (every word is stored)
    bitmask     1                            0
    csb         1 + pointer / block          0              (block: a kernel, the last two spans; 64 if it is a word)
    rle         0                            run            (a run longer than its bits can count is not modelled)
    coordinate  0                            sum of ceil(log2 e)
    csr         pointer / row                ceil(log2 row)     (row: the last span above 1; one pointer per row)
    csc         pointer / column             ceil(log2 column)  (column: the first span above 1)
    n_m         0                            ceil(log2 M)

Sources: CSB as in Procrustes (Yang et al., MICRO 2020) and its authors' simulator; N:M as in Mishra et al. (2021,
arXiv 2104.08378); run lengths as in SCNN (Parashar et al., ISCA 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from mapper.arch.zeros import Format
from mapper.workload.einsum import Einsum, Tensor

FORMATS: tuple[tuple[str, str], ...] = (
    ("dense", "every word"),
    ("bitmask", "nonzeros, one bit per position"),
    ("csb", "nonzeros, one bit per position and one pointer per block (a filter kernel unless given)"),
    ("rle", "nonzeros, each with the length of the run of zeros before it"),
    ("coordinate", "nonzeros, each with its index in every rank"),
    ("csr", "nonzeros, each with its index in its row (the last rank), one pointer per row"),
    ("csc", "nonzeros, each with its index in its column (the first rank), one pointer per column"),
    ("n_m", "N of every M words, each with its place among the M (N:M, such as 2:4)"),
)
"""Kinds of format and what each stores."""

DENSE = Format("dense")
ROUNDING = 1e-9
"""Relative error that a density may have as a float: n of every m words must not pass for more."""

CSB_FLEXIBLE_BLOCK = 64
"""Positions of a block where a kernel has one: the paper's blocks are flexible there (1x1 filters, linear layers)."""


@dataclass(frozen=True)
class Metadata:
    """Bits of metadata per position, and per stored word."""

    per_position: Fraction = Fraction(0)
    per_nonzero: int = 0


@dataclass(frozen=True)
class _Layout:
    """What a format writes beside the stored words: so many bits each, and a pointer per `block` positions."""

    per_position: int = 0
    per_nonzero: int = 0
    pointer_bits: int = 0
    block: int = 1


def bits_per_word(fmt: Format, tensor: Tensor, einsum: Einsum) -> Metadata:
    """Metadata of a tensor stored in `fmt`: bits per position, exact, and bits per stored word."""
    layout = _layout(fmt, tensor, einsum)
    return Metadata(layout.per_position + Fraction(layout.pointer_bits, layout.block), layout.per_nonzero)


def tile_bits(fmt: Format, tile_words: int, nonzeros: int, width: int, tensor: Tensor, einsum: Einsum) -> int:
    """Bits that a tile of `tile_words` positions with `nonzeros` takes in a buffer, words of `width` bits.

    Pointers are whole: ceil(positions / block) of them. A tile with more nonzeros than N:M keeps is stored densely.
    """
    layout = _layout(fmt, tensor, einsum)
    stored = stored_words(fmt, tile_words, nonzeros)
    if stored < nonzeros:
        return tile_words * width
    pointers = -(-tile_words // layout.block) * layout.pointer_bits
    return stored * (width + layout.per_nonzero) + tile_words * layout.per_position + pointers


def stored_words(fmt: Format, positions: int, nonzeros: int) -> int:
    """Words of `positions` that are stored: every one, the nonzeros, or N of every M and the first N of a rest."""
    if fmt.kind == "dense":
        return positions
    if fmt.kind == "n_m":
        groups, rest = divmod(positions, fmt.m)
        return groups * fmt.n + min(rest, fmt.n)
    return nonzeros


def used(fmt: Format, density: float) -> Format:
    """The format that a tensor of this density is really stored in: `fmt`, or dense where it saves or holds nothing.

    A tensor without zeros stays dense, and so does one with more nonzeros than N:M keeps.
    """
    if density >= 1.0 or (fmt.kind == "n_m" and density * fmt.m > fmt.n * (1 + ROUNDING)):
        return DENSE
    return fmt


def stored_density(fmt: Format, density: float) -> float:
    """Stored words / positions of a tensor of this density in the format that it is `used` in."""
    kind = used(fmt, density).kind
    if kind == "n_m":
        return fmt.n / fmt.m
    return 1.0 if kind == "dense" else density


def stored_share(n: int, m: int, width: int) -> Fraction:
    """Bits of an N:M tensor / bits of a dense one: N (b + ceil(log2 M)) / (M b), words of b = `width` bits.

    >>> stored_share(2, 4, 16), stored_share(2, 4, 8)
    (Fraction(9, 16), Fraction(5, 8))
    """
    return Fraction(n * (width + index_bits(m)), m * width)


def index_bits(extent: int) -> int:
    """Bits that tell `extent` positions apart, ceil(log2 extent), in integers."""
    return (extent - 1).bit_length()


def spans(tensor: Tensor, einsum: Einsum) -> tuple[int, ...]:
    """Positions along each rank of the whole tensor, from its first to its last."""
    return tuple(1 + sum(t.coefficient * (einsum.extent[t.dimension] - 1) for t in rank) for rank in tensor.ranks)


def _layout(fmt: Format, tensor: Tensor, einsum: Einsum) -> _Layout:
    extents = spans(tensor, einsum)
    match fmt.kind:
        case "bitmask":
            return _Layout(per_position=1)
        case "csb":
            kernel = math.prod(extents[-2:])
            block = fmt.block or (kernel if kernel > 1 else CSB_FLEXIBLE_BLOCK)
            return _Layout(per_position=1, pointer_bits=fmt.pointer_bits, block=block)
        case "rle":
            return _Layout(per_nonzero=fmt.run_bits)
        case "coordinate":
            return _Layout(per_nonzero=sum(map(index_bits, extents)))
        case "csr":
            return _lines(fmt, extents[::-1])
        case "csc":
            return _lines(fmt, extents)
        case "n_m":
            return _Layout(per_nonzero=index_bits(fmt.m))
    return _Layout()


def _lines(fmt: Format, extents: tuple[int, ...]) -> _Layout:
    """A pointer per line along the first rank that is longer than one; it counts up to the words of the tensor."""
    line = next((extent for extent in extents if extent > 1), 1)
    pointer = fmt.pointer_bits or math.prod(extents).bit_length()
    return _Layout(per_nonzero=fmt.index_bits or index_bits(line), pointer_bits=pointer, block=line)
