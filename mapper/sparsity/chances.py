"""Distributions of a count on a short run of consecutive integers, without tables of factorials.

A tile of a million words at density 0.1 has a million and one possible counts of nonzeros, of which a few thousand are
ever met. A `Distribution` keeps those: the first count and the chances of it and the next ones; what is left out
together weighs less than 1e-16.

Neighbouring chances of the three laws used here differ by a simple ratio,

    binomial            p(k+1) / p(k) = (n-k) / (k+1) * p / (1-p)
    hypergeometric      p(k+1) / p(k) = (n-k) / (k+1) * (M-k) / (N-M-n+k+1)
    beta-binomial       p(k+1) / p(k) = (n-k) / (k+1) * (a+k) / (b+n-k-1)

so the logarithms are summed from the first count on and scaled to a sum of one. Where to begin and to end comes from
Bernstein's inequality: a sum of n Bernoulli words is farther than t from its mean with a chance below
2*exp(-t^2 / (2*variance + 2*t/3)); drawing without replacement (hypergeometric) is never wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXPONENT = 40.0
"""Counts rarer than exp(-EXPONENT) = 4e-18, in sum, are left out of the laws."""
NEGLIGIBLE = 1e-17
"""Chance that may be cut off either end of a convolution."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Chances of the counts first, first + 1, ...; all others are never met."""

    first: int
    chances: Floats

    @property
    def mean(self) -> float:
        """Expected count."""
        return self.first + float(np.arange(len(self.chances)) @ self.chances)

    def full(self, words: int) -> Floats:
        """Chances of 0, 1, ... `words`."""
        out = np.zeros(words + 1)
        out[self.first : self.first + len(self.chances)] = self.chances
        return out

    def plus(self, other: Distribution) -> Distribution:
        """Of the sum of two independent counts."""
        return _trimmed(self.first + other.first, np.convolve(self.chances, other.chances))

    def times(self, number: int) -> Distribution:
        """Of the sum of `number` independent counts of this distribution."""
        out, power = certain(0), self
        while number:
            if number % 2:
                out = out.plus(power)
            number //= 2
            if number:
                power = power.plus(power)
        return out

    def stretched(self, factor: int) -> Distribution:
        """Of `factor` times the count."""
        chances = np.zeros((len(self.chances) - 1) * factor + 1)
        chances[::factor] = self.chances
        return Distribution(self.first * factor, chances)

    def largest(self, number: int) -> float:
        """Expected largest of `number` independent counts: sum over k of 1 - F(k)^number."""
        below = np.minimum(np.cumsum(self.chances), 1.0)[:-1]
        return self.first + float((1.0 - below**number).sum())

    def draw(self, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """`number` independent counts."""
        steps = np.cumsum(self.chances)[:-1]
        return np.asarray(self.first + np.searchsorted(steps, rng.random(number), side="right"), dtype=np.int64)


def certain(count: int) -> Distribution:
    """Always `count`."""
    return Distribution(count, np.ones(1))


def binomial(words: int, density: float) -> Distribution:
    """Nonzeros among `words` that are nonzero independently with probability `density`."""
    if density in (0.0, 1.0) or words == 0:
        return certain(round(words * density))
    low, high = _window(words, density)
    k = np.arange(low, high, dtype=np.float64)
    return _climbing(low, np.log((words - k) / (k + 1)) + math.log(density) - math.log1p(-density))


def hypergeometric(words: int, nonzeros: int, size: int) -> Distribution:
    """Nonzeros among `words` of a tensor of `size` words of which `nonzeros`, any, are nonzero."""
    least, most = max(0, words - (size - nonzeros)), min(words, nonzeros)
    if least == most:
        return certain(least)
    low, high = _window(words, nonzeros / size)
    low, high = max(low, least), min(high, most)
    k = np.arange(low, high, dtype=np.float64)
    ratios = (words - k) / (k + 1) * (nonzeros - k) / (size - nonzeros - words + k + 1)
    return _climbing(low, np.log(ratios))


def beta_binomial(words: int, density: float, dispersion: float) -> Distribution:
    """Nonzeros among `words` that share a density drawn from a beta law of mean `density`.

    `dispersion`, 0 <= dispersion < 1, is the correlation of two of the words: a = density * (1/dispersion - 1),
    b = (1 - density) * (1/dispersion - 1); their count has the variance
    words * density * (1 - density) * (1 + (words - 1) * dispersion).
    """
    if dispersion == 0.0 or density in (0.0, 1.0):
        return binomial(words, density)
    weight = 1.0 / dispersion - 1.0
    a, b = density * weight, (1.0 - density) * weight
    k = np.arange(words, dtype=np.float64)
    whole = _climbing(0, np.log((words - k) / (k + 1)) + np.log((a + k) / (b + words - k - 1)))
    return _trimmed(whole.first, whole.chances)


def mixture(parts: Iterable[tuple[float, Distribution]]) -> Distribution:
    """One of the distributions, each with its weight; weights are scaled to a sum of one."""
    chosen = list(parts)
    total = math.fsum(weight for weight, _ in chosen)
    first = min(d.first for _, d in chosen)
    chances = np.zeros(max(d.first + len(d.chances) for _, d in chosen) - first)
    for weight, d in chosen:
        chances[d.first - first : d.first - first + len(d.chances)] += weight / total * d.chances
    return Distribution(first, chances)


def histogram(counts: NDArray[np.int64]) -> Distribution:
    """Of one of the given counts, drawn at random."""
    first = int(counts.min())
    return Distribution(first, np.bincount(counts.ravel() - first) / counts.size)


def _window(words: int, density: float) -> tuple[int, int]:
    """First and last count worth keeping: Bernstein's inequality solved (from above) for exp(-EXPONENT)."""
    mean = words * density
    reach = math.sqrt(2 * EXPONENT * mean * (1 - density)) + 2 * EXPONENT / 3
    return max(0, math.floor(mean - reach)), min(words, math.ceil(mean + reach))


def _climbing(first: int, logarithms: Floats) -> Distribution:
    """From the logarithms of the ratios of neighbouring chances."""
    heights = np.concatenate(([0.0], np.cumsum(logarithms)))
    chances = np.exp(heights - heights.max())
    return Distribution(first, chances / chances.sum())


def _trimmed(first: int, chances: Floats) -> Distribution:
    """Without the ends that weigh nothing."""
    low = int(np.searchsorted(np.cumsum(chances), NEGLIGIBLE))
    high = len(chances) - int(np.searchsorted(np.cumsum(chances[::-1]), NEGLIGIBLE))
    return Distribution(first + low, chances[low:high])
