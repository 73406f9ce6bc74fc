"""Moves of factors for many mappings at once: what annealing tries.

A move takes the factors of a population (mappings, dimensions, places) and the rows that it is for, and gives new
factors for those rows. Whatever it asks for is repaired to chains that cover their extents.
"""

from __future__ import annotations

import random
from functools import cache, cached_property

import numpy as np

from adversary.ground import Bools, Ground, repaired, uniform_chains
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import divisors

POOL = 1024
"""Chains of each dimension to draw from."""
WEIGHTS = (0.35, 0.15, 0.25, 0.08, 0.12, 0.05)
"""How often each move is tried, in the order of `Moves.every`."""
WILD = 0.25
"""Share of carried parts that are any divisor and not a prime."""


class Moves:
    """The moves over one ground, with its chains to draw from."""

    def __init__(self, ground: Ground, seed: int) -> None:
        self.ground = ground
        self.random = np.random.default_rng(seed)
        self.seed = seed
        self.every = (self._shift, self._relane, self._trade, self._redraw, self._inherit, self._mirror)

    @cached_property
    def pools(self) -> Ints:
        """`POOL` chains of each dimension, each of all its chains equally likely."""
        rng = random.Random(self.seed)
        dimensions = range(len(self.ground.dimensions))
        return np.array([uniform_chains(self.ground, d, POOL, rng) for d in dimensions], dtype=np.int64)

    def factors(self, count: int) -> Ints:
        """Random mappings, lanes within their axes or not."""
        picks = self.random.integers(POOL, size=(count, len(self.pools)))
        return self.pools[np.arange(len(self.pools)), picks]

    def proposed(self, factors: Ints) -> Ints:
        """Every mapping after a random move."""
        out = factors.copy()
        kinds = self.random.choice(len(self.every), size=len(factors), p=WEIGHTS)
        for kind, move in enumerate(self.every):
            rows = np.flatnonzero(kinds == kind)
            if rows.size:
                out[rows] = move(factors, rows)
        return out

    def _shift(self, factors: Ints, rows: Ints) -> Ints:
        """Part of a factor to another place."""
        out, every, d = self._drawn(factors, rows)
        source = self._some(out[every, d] > 1)
        out[every, d] = self._carried(out[every, d], d, source, self._target(d, source))
        return out

    def _relane(self, factors: Ints, rows: Ints) -> Ints:
        """Other lanes, near or far; the rounds that this makes go to a random place."""
        if not self.ground.spreadable.size:
            return self._shift(factors, rows)
        out, every, _ = self._drawn(factors, rows)
        d = self.random.choice(self.ground.spreadable, size=len(rows))
        place = self._some(self.ground.allowed[d] & (self.ground.lanes > 0))
        lanes = self.ground.lanes[place]
        near = out[every, d, place] + self.random.integers(-2, 3, size=len(rows))
        far = self.random.integers(1, lanes + 1)
        chains = out[every, d]
        chains[every, place] = np.clip(np.where(self.random.random(len(rows)) < 0.5, near, far), 1, lanes)
        absorbers = self.random.choice(self.ground.temporal, size=len(rows))
        out[every, d] = repaired(self.ground, chains, self.ground.extents[d], absorbers)
        return out

    def _trade(self, factors: Ints, rows: Ints) -> Ints:
        """Part of one dimension from a place to another, and part of another dimension the other way."""
        out, every, d = self._drawn(factors, rows)
        source = self._some(out[every, d] > 1)
        target = self._target(d, source)
        able = (out[every, :, target] > 1) & self.ground.allowed[:, source].T
        able[every, d] = False
        other = self._some(able)
        out[every, d] = self._carried(out[every, d], d, source, target)
        back = np.flatnonzero(able.any(axis=1))
        o = other[back]
        out[back, o] = self._carried(out[back, o], o, target[back], source[back])
        return out

    def _redraw(self, factors: Ints, rows: Ints) -> Ints:
        """A new chain."""
        out, every, d = self._drawn(factors, rows)
        out[every, d] = self.pools[d, self.random.integers(POOL, size=len(rows))]
        return out

    def _inherit(self, factors: Ints, rows: Ints) -> Ints:
        """The chain of another mapping of the population."""
        out, every, d = self._drawn(factors, rows)
        out[every, d] = factors[self.random.integers(len(factors), size=len(rows)), d]
        return out

    def _mirror(self, factors: Ints, rows: Ints) -> Ints:
        """Two dimensions of one extent change roles."""
        if not self.ground.twins:
            return self._shift(factors, rows)
        out, every, _ = self._drawn(factors, rows)
        a, b = np.array(self.ground.twins)[self.random.integers(len(self.ground.twins), size=len(rows))].T
        out[every, a], out[every, b] = factors[rows, b], factors[rows, a]
        return out

    def _drawn(self, factors: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Copies of the rows, their numbers, and a dimension for each."""
        return factors[rows], np.arange(len(rows)), self.random.integers(factors.shape[1], size=len(rows))

    def _some(self, mask: Bools) -> Ints:
        """A random true entry of each row."""
        return np.asarray((self.random.random(mask.shape) * mask).argmax(axis=1))

    def _target(self, dimensions: Ints, source: Ints) -> Ints:
        """A place for each dimension other than the source."""
        able = self.ground.allowed[dimensions].copy()
        able[np.arange(len(source)), source] = False
        return self._some(able)

    def _carried(self, chains: Ints, dimensions: Ints, source: Ints, target: Ints) -> Ints:
        """A part of the source's factor, mostly a prime, carried to the target."""
        every = np.arange(len(chains))
        moved = self._parts(chains[every, source])
        chains = chains.copy()
        chains[every, source] //= moved
        chains[every, target] *= moved
        return repaired(self.ground, chains, self.ground.extents[dimensions])

    def _parts(self, numbers: Ints) -> Ints:
        wild, draws = self.random.random(len(numbers)) < WILD, self.random.random(len(numbers))
        pieces = [_divisors(n) if w else _primes(n) for n, w in zip(numbers.tolist(), wild, strict=True)]
        return np.array([p[int(x * len(p))] for p, x in zip(pieces, draws, strict=True)], dtype=np.int64)


@cache
def _divisors(number: int) -> list[int]:
    return divisors(number)


@cache
def _primes(number: int) -> list[int]:
    """Primes of a number, 1 for 1."""
    return [p for p in divisors(number)[1:] if len(divisors(p)) == 2] or [1]
