"""What every density model answers: how many nonzeros a tile has, and how differently tiles are filled.

A *tile* is a tuple of extents, one per dimension of the tensor in its declared order; a *shape* is that of the whole
tensor. Tiles are aligned: the i-th along a dimension begins at i times its extent. Models are frozen and hashable:
identical problems are solved once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.chances import Distribution, Floats

__all__ = ["DRAWN_AT_ONCE", "Bools", "Density", "Distribution", "Floats", "Shape", "bernoulli", "check_share"]

Bools = NDArray[np.bool_]
Shape = tuple[int, ...]

DRAWN_AT_ONCE = 2**20
"""Random numbers held at a time: masks are drawn in pieces, so that a draw takes little more room than the mask."""


class Density(ABC):
    """Where the nonzeros of a tensor are, known or as a distribution."""

    alike: bool = True
    """Whether all tiles of a shape have the same distribution, independently of each other: closed forms hold."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Nonzeros / size of the whole tensor, 0 to 1."""

    @abstractmethod
    def distribution(self, tile: Shape) -> Distribution:
        """Nonzeros of a tile; where tiles are not alike, of one of the aligned tiles drawn at random."""

    @abstractmethod
    def mask(self, shape: Shape, rng: np.random.Generator) -> Bools:
        """The nonzeros of a whole tensor: the known ones, or a draw."""

    @property
    def is_dense(self) -> bool:
        """Whether no word is ever zero."""
        return self.mean == 1.0

    def independent(self, tile: Shape) -> bool:  # noqa: ARG002
        """Whether tiles of this shape say nothing about each other; false where groups of words reach across them."""
        return self.alike

    def pmf(self, tile: Shape) -> Floats:
        """Probability of 0, 1, ... words nonzeros in a tile: `distribution` at full length."""
        return self.distribution(tile).full(math.prod(tile))

    def sample(self, tile: Shape, tiles: int, rng: np.random.Generator) -> Ints:
        """Nonzeros of `tiles` independent tiles."""
        return self.distribution(tile).draw(tiles, rng)

    def expected(self, tile: Shape) -> float:
        """Expected nonzeros of a tile."""
        return self.mean * math.prod(tile)

    def empty(self, tile: Shape) -> float:
        """Probability that a tile has no nonzero; 0 where it is below 1e-16."""
        known = self.distribution(tile)
        return float(known.chances[0]) if known.first == 0 else 0.0

    def expected_max(self, tile: Shape, tiles: int) -> float:
        """Expected largest number of nonzeros among `tiles` independent tiles: sum over k of 1 - F(k)^tiles.

        Where tiles of this shape are not `independent` it is an approximation: whoever needs the maximum of certain
        tiles counts them in a `mask`.
        """
        if tiles == 1:
            return self.expected(tile)
        return self.distribution(tile).largest(tiles)


def check_share(value: object, what: str = "density") -> float:
    """A number from 0 to 1; `what` names it in the refusal."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise InputError(f"{value!r} is no {what}", hint="a number from 0 to 1")
    return float(value)


def bernoulli(words: int, density: float, rng: np.random.Generator) -> Bools:
    """`words` independent words."""
    out = np.empty(words, dtype=bool)
    for start in range(0, words, DRAWN_AT_ONCE):
        piece = out[start : start + DRAWN_AT_ONCE]
        piece[:] = rng.random(len(piece)) < density
    return out
