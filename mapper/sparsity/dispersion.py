"""How clumpy a mask is: the beta-binomial law fitted to the nonzeros of its tiles.

With n words a tile, mean density d and dispersion r the variance of the nonzeros is n*d*(1-d) * (1 + (n-1)*r), so
moments give a first r. The likelihood, a product over tiles, is written in t = r / (1-r) with rising products that stay
exact down to r = 0, the binomial:

    P(k) = C(n, k) * prod_{j<k} (d + j*t) * prod_{j<n-k} (1 - d + j*t) / prod_{j<n} (1 + j*t)

It is maximised over r near the moments' value. The density stays the mean, so that fitted models keep the nonzeros.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.chances import Floats

LEAST = 1e-12
"""A dispersion below it is none."""
NEAR = 10.0
"""The likelihood is searched within so large a factor of the moments' dispersion."""


def fit_dispersion(counts: Ints, words: int) -> tuple[float, float]:
    """(density, dispersion) of tiles of `words` words whose nonzeros are `counts`, all of one size.

    Dispersion is 0 where tiles vary no more than independent words do, and where it cannot be told: one word a tile,
    one tile, all words or none. Raises `InputError` where counts do not fit into the tiles.
    """
    counts = np.asarray(counts).ravel()
    if not counts.size or counts.min() < 0 or counts.max() > words:
        raise InputError(f"{counts.size} tiles do not have 0 to {words} nonzeros each", hint="count whole tiles only")
    density = float(counts.sum()) / (counts.size * words)
    first = _by_moments(counts, words, density)
    if first <= LEAST:
        return density, 0.0
    return density, _by_likelihood(counts, words, density, first)


def _by_moments(counts: Ints, words: int, density: float) -> float:
    """Dispersion that gives the variance of the counts, 0 to below 1."""
    independent = words * density * (1 - density)
    if words == 1 or len(counts) == 1 or independent == 0:
        return 0.0
    found = (float(counts.var(ddof=1)) / independent - 1) / (words - 1)
    return min(max(found, 0.0), 0.999)


def _by_likelihood(counts: Ints, words: int, density: float, near: float) -> float:
    from scipy.optimize import minimize_scalar

    number = np.bincount(counts, minlength=words + 1).astype(np.float64)
    odds = near / (1 - near)
    bounds = (math.log(odds / NEAR), math.log(odds * NEAR))
    found = minimize_scalar(lambda t: _surprise(number, density, math.exp(t)), bounds=bounds, method="bounded")
    odds = math.exp(float(found.x))
    return odds / (1 + odds)


def _surprise(number: Floats, density: float, odds: float) -> float:
    """Minus the log likelihood, without C(n, k); `number[k]` tiles have k nonzeros, `odds` is r / (1-r)."""
    words = len(number) - 1
    steps = odds * np.arange(words)
    nonzeros, zeros = _rising(density + steps), _rising(1 - density + steps)
    return float(number.sum() * np.log1p(steps).sum() - number @ (nonzeros + zeros[::-1]))


def _rising(factors: NDArray[np.floating]) -> Floats:
    """Logarithms of the products of the first 0, 1, ... factors."""
    return np.concatenate(([0.0], np.cumsum(np.log(factors))))
