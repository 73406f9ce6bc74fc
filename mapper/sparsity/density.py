"""Density models, and how a user writes them.

| model | nonzeros of a tile | a mask of it |
|---|---|---|
| `Uniform` | binomial | independent words |
| `Exactly` | hypergeometric | a fixed number of nonzeros, anywhere |
| `Dispersed` | beta-binomial | blocks of words, each with its own density |
| `Structured` (`groups.py`) | whole groups are certain, cut ones hypergeometric | n of every m words |
| `Blocks` (`groups.py`) | binomial, in whole blocks | blocks, independent of each other |
| `Vector` (`known.py`) | sums of binomials, as the position says | independent words, a density per index |
| `Banded`, `Actual` (`known.py`) | counted | the known one |

Tiles of the first five are alike, and closed forms hold; those of the others differ by position.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real

import numpy as np

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.chances import Distribution, beta_binomial, binomial, hypergeometric
from mapper.sparsity.dispersion import fit_dispersion
from mapper.sparsity.groups import Blocks, Structured
from mapper.sparsity.known import Actual, Banded, Vector, block_sums
from mapper.sparsity.model import DRAWN_AT_ONCE, Bools, Density, Floats, Shape, bernoulli, check_share

__all__ = [
    "Actual",
    "Banded",
    "Blocks",
    "Density",
    "Dispersed",
    "Exactly",
    "Structured",
    "Uniform",
    "Vector",
    "block_sums",
    "fit_dispersion",
    "parse_density",
]

MEANING = (
    "a density is nonzeros / size, from 0 to 1, such as 0.1 or 10%, N:M as 2:4, or 0.1~0.05 with a dispersion; "
    "sparsity 0.9 is density 0.1"
)
MOST_COLORS = 10**9
"""The largest tensor that NumPy deals out to tiles without replacement."""


@dataclass(frozen=True)
class Uniform(Density):
    """Independent words, each nonzero with probability `density`: tiles are binomial."""

    density: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", check_share(self.density))

    @property
    def mean(self) -> float:
        return self.density

    def distribution(self, tile: Shape) -> Distribution:
        return binomial(math.prod(tile), self.density)

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        return bernoulli(math.prod(shape), self.density, rng).reshape(shape)


@dataclass(frozen=True)
class Exactly(Density):
    """Exactly round(density * size) nonzeros in a tensor of `size` words, at any places: tiles are hypergeometric.

    Tiles of one tensor share its nonzeros: two tiles of w words have the covariance -w*w*d*(1-d) / (size-1), and each
    varies less than a binomial one. For the largest of several the two effects cancel: variance minus covariance is
    w*d*(1-d) * size / (size-1), the binomial variance. So `expected_max` takes independent binomial tiles, which is
    right to second order for any share of the tensor; independent hypergeometric tiles would come out too low, by 29 %
    of the excess over the mean for two tiles that make up the tensor. Hence tiles count as `alike`.
    """

    density: float
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", check_share(self.density))
        if self.size < 1:
            raise InputError(f"a tensor of {self.size} words", hint="one word at least")

    @property
    def nonzeros(self) -> int:
        """Nonzeros of the whole tensor."""
        return round(self.density * self.size)

    @property
    def mean(self) -> float:
        return self.nonzeros / self.size

    def distribution(self, tile: Shape) -> Distribution:
        return hypergeometric(self._words(tile), self.nonzeros, self.size)

    def expected_max(self, tile: Shape, tiles: int) -> float:
        """Expected largest number of nonzeros among `tiles` tiles drawn without replacement, to second order."""
        words = self._words(tile)
        return self.mean * words if tiles == 1 else binomial(words, self.mean).largest(tiles)

    def expected(self, tile: Shape) -> float:
        return self.mean * self._words(tile)

    def sample(self, tile: Shape, tiles: int, rng: np.random.Generator) -> Ints:
        """Nonzeros of `tiles` tiles: of one tensor as far as it goes, then of another one."""
        if self.size >= MOST_COLORS:
            return super().sample(tile, tiles, rng)
        words = self._words(tile)
        together = min(self.size // words, max(tiles, 1))
        deals = [words] * together + [self.size - together * words]
        drawn = rng.multivariate_hypergeometric(deals, self.nonzeros, math.ceil(tiles / together), method="marginals")
        return np.asarray(drawn[:, :together].ravel()[:tiles], dtype=np.int64)

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        if math.prod(shape) != self.size:
            raise InputError(f"{self.size} words for a tensor of {tuple(shape)}", hint=f"it has {math.prod(shape)}")
        out = np.zeros(self.size, dtype=bool)
        out[rng.choice(self.size, self.nonzeros, replace=False, shuffle=False)] = True
        return out.reshape(shape)

    def _words(self, tile: Shape) -> int:
        """Words of the tensor in a tile, which may reach over its edge."""
        return min(math.prod(tile), self.size)


@dataclass(frozen=True)
class Dispersed(Density):
    """Clumpy words, as trained masks have them: every tile draws its own density from a beta law of mean `density`.

    `dispersion`, 0 to below 1, is the correlation of two words of a tile; tiles of w words are beta-binomial, with the
    variance w*d*(1-d) * (1 + (w-1)*dispersion). 0 equals `Uniform`.

    Clumps have a scale. The law above holds for a tile of whatever size is asked for, as if clumps were as large as it;
    a `mask` has clumps of `block` consecutive words (row-major), each with its own density, and None takes the kernel
    (the last two dimensions; a 1x1 kernel is a single word and shows no clumps). Tiles of one block of such a mask
    follow the law; those of many blocks vary less, parts of a block are not independent. Fit `dispersion` at the size
    of the work tiles (`fit_dispersion`), and set `block` to it.
    """

    density: float
    dispersion: float
    block: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", check_share(self.density))
        object.__setattr__(self, "dispersion", check_share(self.dispersion, "dispersion"))
        if self.dispersion == 1.0:
            raise InputError("a dispersion of 1", hint="below 1: at 1 a tile would be all zero or all nonzero")
        if self.block is not None and self.block < 1:
            raise InputError(f"blocks of {self.block} words", hint="one word at least")

    @property
    def mean(self) -> float:
        return self.density

    def distribution(self, tile: Shape) -> Distribution:
        return beta_binomial(math.prod(tile), self.density, self.dispersion)

    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        words, block = math.prod(shape), self.block or math.prod(shape[-2:])
        own = self._densities(math.ceil(words / block), rng)
        out = np.empty(words, dtype=bool)
        for start in range(0, words, DRAWN_AT_ONCE):
            stop = min(start + DRAWN_AT_ONCE, words)
            out[start:stop] = rng.random(stop - start) < own[np.arange(start, stop) // block]
        return out.reshape(shape)

    def _densities(self, blocks: int, rng: np.random.Generator) -> Floats:
        """A density for each block."""
        if self.dispersion == 0.0 or self.density in (0.0, 1.0):
            return np.full(blocks, self.density)
        weight = 1.0 / self.dispersion - 1.0
        return rng.beta(self.density * weight, (1.0 - self.density) * weight, blocks)


def parse_density(value: object, where: str | None = None) -> Density:
    """The model that a user writes: 0.1, "0.1", "10%", "2:4" (N:M, no axis yet) or "0.1~0.05" (density ~ dispersion).

    A `Density` stays as it is. Raises `InputError`, at `where`, with the value and what a density is.
    """
    if isinstance(value, Density):
        return value
    try:
        return _parsed(value)
    except InputError as error:
        raise InputError(error.message, where, error.hint) from None


def _parsed(value: object) -> Density:
    text = value.strip() if isinstance(value, str) else ""
    if pattern := re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", text):
        return Structured(int(pattern[1]), int(pattern[2]))
    density, tilde, dispersion = text.partition("~")
    if tilde:
        return Dispersed(_share(density, value), _share(dispersion, value, "dispersion"))
    return Uniform(_share(value, value))


def _share(given: object, shown: object, what: str = "density") -> float:
    """A number from 0 to 1 out of `given`, a part of what the user wrote (`shown`)."""
    number = _number(given)
    if number is not None and 0.0 <= number <= 1.0:
        return number
    text = repr(shown)
    part = "" if given is shown else f": {str(given).strip()!r} is no {what}"
    percentage = number is not None and 1.0 < number <= 100.0 and not str(given).endswith("%")
    asked = f"is it a percentage? {number:g} % is {number / 100:g}; " if percentage and number else ""
    raise InputError(f"{text if len(text) <= 60 else text[:57] + '...'} is no density{part}", hint=asked + MEANING)


def _number(given: object) -> float | None:
    """What a number or a text says; None where it says none."""
    if isinstance(given, bool) or not isinstance(given, Real | str):
        return None
    text, percent = (given.strip(), given.strip().endswith("%")) if isinstance(given, str) else (given, False)
    try:
        return float(text[:-1]) / 100 if isinstance(text, str) and percent else float(text)
    except (ValueError, OverflowError):
        return None
