"""Imbalance and load balancing: how long PEs wait for the busiest of their working set.

All PEs hold a work tile of the sparse operand and skip its zeros; the array loads new tiles when the last PE is done.
So a working set takes the nonzeros of its busiest PE where dense work takes the words of a tile, and compute cycles
are multiplied by the *ratio*

    mean over working sets of (nonzeros of the busiest PE) / (words of a work tile)

A balancer evens tiles out: it cuts every tile in two along one dimension, sorts the halves of a working set by
nonzeros and gives each PE two, the i-th heaviest with the i-th lightest (no pairing has a lighter heaviest pair).
Which dimension may be cut depends on how the tensor is spread over the array:

* by no dimension: every PE has the same tile, nothing is balanced;
* by one: halves travel along its axis. `half_tile` cuts that dimension if its extent in the tile is even,
  `half_tile_uneven` also cuts odd extents, as evenly as possible;
* by two or more: only `global` balances. It pairs halves across the whole array and cuts the dimension of the tile
  with the largest even extent, the first declared among equals. Where one dimension is spread, `global` is `half_tile`.

`ideal` spreads the nonzeros of a set perfectly evenly, as no hardware does. Rules of the Procrustes paper (MICRO 2020)
and its simulator.

Known masks are counted exactly. Densities of independent tiles have closed forms; pairs of halves are sampled, and
their ratio kept between that of perfect and that of no balancing. Of all other densities one mask is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from mapper.arch.zeros import BALANCES
from mapper.errors import InputError, did_you_mean
from mapper.sparsity.known import Actual, Placed
from mapper.sparsity.model import Density, Floats, Shape
from mapper.sparsity.sets import Sets, counted, drawn, first_half, longest
from mapper.sparsity.work import Tiles, Work, kinds

Ratio = Fraction | float

PERCENTILES = (5, 25, 50, 75, 95)

SAMPLED_SETS = 1000
"""Working sets that are sampled: a standard error of about 0.1 % of the ratio."""
SAMPLED_TILES = 2**18
"""Tiles or halves that are sampled; large arrays take fewer sets, whose maxima vary less."""
FEWEST_SETS = 16


def cut_place(work: Work, balance: str) -> int | None:
    """Place of the dimension whose extent in the tile is halved; None: tiles stay whole."""
    spread, tile = work.spread, work.tile
    if balance in ("none", "ideal") or not spread:
        return None
    if len(spread) > 1:
        even = [i for i, extent in enumerate(tile) if extent % 2 == 0]
        return max(even, key=tile.__getitem__) if balance == "global" and even else None
    place = spread[0]
    odd_too = balance == "half_tile_uneven" and tile[place] > 1
    return place if tile[place] % 2 == 0 or odd_too else None


@dataclass(frozen=True)
class Imbalance:
    """What waiting costs. Everything but the ratio is found when it is asked for.

    `ratio` is what compute cycles are multiplied by: an exact fraction for known masks. `standard_error` of it: 0 where
    it is exact or a closed form, from the sampled sets or from the sets of the one mask that was drawn else.
    """

    ratio: Ratio
    standard_error: float = 0.0
    density: Density | None = field(default=None, repr=False)
    work: Work | None = field(default=None, repr=False)
    balance: str = "none"
    seed: int = 0

    @property
    def tile_words(self) -> int:
        """Words of a work tile."""
        return self.work.tile_words if self.work else 1

    @property
    def sets(self) -> int:
        """Working sets, each counted once."""
        return self.work.sets if self.work else 1

    @property
    def halves(self) -> int:
        """Halves that are sorted in a working set without idle PEs; 0 where nothing is balanced."""
        saves = self.work is not None and self.tile_words > 1
        return 2 * self.work.pes if saves and self.work and cut_place(self.work, self.balance) is not None else 0

    @cached_property
    def distribution(self) -> Floats:
        """Busiest PE / mean PE of every working set, 1: even (no nonzeros too); of the sampled sets for densities."""
        if self.density is None or self.work is None or self.tile_words == 1:
            return np.ones(1)
        sets = _sets(self.density, self.work, self.balance, self.seed)
        return np.concatenate([np.ones(len(s.pes)) if self.balance == "ideal" else s.imbalance for _, s in sets])

    @property
    def mean(self) -> float:
        """Mean of the distribution."""
        return float(self.distribution.mean())

    @property
    def maximum(self) -> float:
        """Largest of the distribution."""
        return float(self.distribution.max())

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The `PERCENTILES` of the distribution."""
        return tuple(np.percentile(self.distribution, PERCENTILES).tolist())


def imbalance(density: Density, work: Work | None, balance: str = "none", *, seed: int = 0) -> Imbalance:
    """How the nonzeros of a tensor of that density load the PEs that share it as `work` says.

    Without a level that is private to a PE (`work` None), or with a tile of one word, zeros save no cycles: ratio 1.
    """
    if balance not in BALANCES:
        raise InputError(f"no balancing '{balance}'", hint=did_you_mean(balance, BALANCES))
    return _imbalance(density, work, balance, seed)


@lru_cache(maxsize=16384)
def _imbalance(density: Density, work: Work | None, balance: str, seed: int) -> Imbalance:
    if work is None or work.tile_words == 1:
        return Imbalance(Fraction(1), 0.0, density, work, balance, seed)
    ratio, error = _ratio(density, work, balance, seed)
    return Imbalance(ratio, error, density, work, balance, seed)


def least_ratio(density: Density, work: Work | None) -> Ratio:
    """A ratio that no balancing goes below: all nonzeros, evenly over all PEs. Needs no sampling."""
    if work is None or work.tile_words == 1:
        return Fraction(1)
    room = work.sets * work.pes * work.tile_words
    if isinstance(density, Placed):
        return Fraction(density.nonzeros, room)
    return density.mean * math.prod(work.shape) / room


def sort_events(work: Work | None, balance: str = "none") -> tuple[int, int]:
    """(swaps, pointer reads) of balancing every working set once.

    A set of u PEs sorts 2u halves in log2(2u) swaps each, rounded up, and reads the two pointers around each half.
    Nothing is charged where nothing is cut, nor for `ideal`. Source: the Procrustes simulator.
    """
    if work is None or work.tile_words == 1 or cut_place(work, balance) is None:
        return 0, 0
    swaps = pointers = 0
    for sets, tiles in kinds(work):
        halves = 2 * sum(pes for _, pes in tiles)
        swaps += sets * halves * max(halves - 1, 0).bit_length()
        pointers += sets * 2 * halves
    return swaps, pointers


def _ratio(density: Density, work: Work, balance: str, seed: int) -> tuple[Ratio, float]:
    """The ratio and its standard error."""
    if isinstance(density, Placed):
        return _counted_ratio(density, work, balance), 0.0
    least = float(least_ratio(density, work))
    if not _independent(density, work, cut_place(work, balance)):
        ((_, sets),) = _sets(density, work, balance, seed)
        busiest = (sets.means if balance == "ideal" else sets.lasts) / work.tile_words
        error = float(busiest.std(ddof=1)) / math.sqrt(len(busiest)) if len(busiest) > 1 else 0.0
        return max(float(busiest.mean()), least), error
    if balance == "ideal":
        return max(_even(density, work), least), 0.0
    none = _busiest(density, work)
    if cut_place(work, balance) is None:
        return max(none, least), 0.0
    sampled, error = _sampled_ratio(density, work, balance, seed)
    return max(min(sampled, none), _even(density, work), least), error


def _counted_ratio(mask: Placed, work: Work, balance: str) -> Fraction:
    """Exact."""
    if balance != "ideal":
        return Fraction(longest(mask, work, cut_place(work, balance)), work.sets * work.tile_words)
    sets = counted(mask, work, None)
    active = np.unique(sets.pes[sets.pes > 0]).tolist()
    even = sum((Fraction(int(sets.totals[sets.pes == n].sum()), n) for n in active), Fraction(0))
    return even / (work.sets * work.tile_words)


def _independent(density: Density, work: Work, place: int | None) -> bool:
    """Whether closed forms and samples of single tiles hold: no group of words reaches across tiles or halves."""
    tile = work.tile
    halves = () if place is None else (*tile[:place], first_half(tile[place]), *tile[place + 1 :])
    return density.independent(tile) and (not halves or density.independent(halves))


def _even(density: Density, work: Work) -> float:
    """Ratio of perfect balancing: the mean over the active PEs of every set."""
    total = 0.0
    for sets, tiles in kinds(work):
        pes = sum(number for _, number in tiles)
        total += sets * sum(density.expected(shape) * number for shape, number in tiles) / max(pes, 1)
    return total / (work.sets * work.tile_words)


def _busiest(density: Density, work: Work) -> float:
    """Ratio of no balancing: the fullest tile of every set."""
    total = 0.0
    for sets, tiles in kinds(work):
        total += sets * (_largest(density, *tiles[0]) if len(tiles) == 1 else _expected_max(density, tiles))
    return total / (work.sets * work.tile_words)


@lru_cache(maxsize=4096)
def _largest(density: Density, shape: Shape, tiles: int) -> float:
    """Expected nonzeros of the fullest of `tiles` alike ones: many works have the same."""
    return density.expected_max(shape, tiles)


def _expected_max(density: Density, tiles: Tiles) -> float:
    """Expected nonzeros of the fullest of independent tiles, whatever their shapes: sum over k of 1 - prod F(k)."""
    if len(tiles) < 2:
        return density.expected_max(*tiles[0]) if tiles else 0.0
    below = np.ones(max(math.prod(shape) for shape, _ in tiles))
    for shape, number in tiles:
        chances = np.minimum(np.cumsum(density.pmf(shape)), 1.0)[: len(below)]
        below[: len(chances)] *= chances**number
    return float((1.0 - below).sum())


def _sampled_ratio(density: Density, work: Work, balance: str, seed: int) -> tuple[float, float]:
    """Stratified by the kinds of sets: each counts by its share of the sets."""
    mean = variance = 0.0
    for share, sets in _sets(density, work, balance, seed):
        mean += share * float(sets.lasts.mean())
        variance += share**2 * float(sets.lasts.var(ddof=1)) / len(sets.lasts)
    return mean / work.tile_words, math.sqrt(variance) / work.tile_words


@lru_cache(maxsize=4)
def _sets(density: Density, work: Work, balance: str, seed: int) -> tuple[tuple[float, Sets], ...]:
    """Working sets to look at, by kind, with the share of all sets that each kind stands for."""
    place = cut_place(work, balance)
    if isinstance(density, Placed):
        return ((1.0, counted(density, work, place)),)
    if not _independent(density, work, place):
        return ((1.0, counted(_drawn(density, work.shape, seed), work, place)),)
    rng = np.random.default_rng(_entropy(work, seed))
    tiles_of_set = work.pes if place is None else 2 * work.pes
    sets = min(max(SAMPLED_TILES // tiles_of_set, FEWEST_SETS), SAMPLED_SETS)
    return tuple(
        (number / work.sets, drawn(density, work, tiles, place, max(math.ceil(sets * number / work.sets), 2), rng))
        for number, tiles in kinds(work)
        if tiles
    )


@lru_cache(maxsize=4)
def _drawn(density: Density, shape: Shape, seed: int) -> Actual:
    """One mask for all mappings of a tensor."""
    return Actual(density.mask(shape, np.random.default_rng([seed, *shape])))


def _entropy(work: Work, seed: int) -> list[int]:
    """The same on every machine: the seed and the numbers of the work."""
    digits = [n for cut in work.cuts for pair in cut.digits for n in (int(pair[0]), pair[1])]
    return [seed, *work.shape, *work.tile, *digits]
