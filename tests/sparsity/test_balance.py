"""Working sets: who waits for whom, with and without balancing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.arch.zeros import BALANCES
from mapper.errors import InputError
from mapper.sparsity.balance import Imbalance, cut_place, imbalance, least_ratio, sort_events
from mapper.sparsity.density import Actual, Banded, Blocks, Density, Dispersed, Exactly, Structured, Uniform, Vector
from mapper.sparsity.model import Bools
from mapper.sparsity.sets import counted
from mapper.sparsity.work import Cut, Work

TAPS = (Cut("R", 3, (), 3), Cut("S", 3, (), 3))


def filters(lanes: int, filters_each: int = 8, channels: int = 4, sets: int = 4) -> Work:
    """Filters of 3x3xC words spread over lanes."""
    digits = ((False, sets), (True, lanes))
    return Work((Cut("K", sets * lanes * filters_each, digits, filters_each), Cut("C", channels, (), channels), *TAPS))


# One set after the other, one PE after the other, one word after the other.


def naive(mask: Bools, work: Work, place: int | None) -> list[tuple[int, int, int]]:
    """(busiest, nonzeros, PEs that are not idle) of every working set, by walking the digits."""
    found = []
    for rounds in product(*(range(cut.rounds) for cut in work.cuts)):
        halves: list[list[int]] = []
        for lanes in product(*(range(cut.lanes) for cut in work.cuts)):
            starts = [start_of(*at) for at in zip(work.cuts, rounds, lanes, strict=True)]
            words = list(words_of(work, starts))
            if words:
                first = [w for w in words if place is None or w[place] - starts[place] < (work.tile[place] + 1) // 2]
                both = [int(sum(mask[w] for w in part)) for part in (first, set(words) - set(first))]
                halves.append([sum(both)] if place is None else both)
        loads = sorted(load for pe in halves for load in pe)
        pairs = loads if place is None else [a + b for a, b in zip(loads, reversed(loads), strict=True)]
        found.append((max(pairs, default=0), sum(loads), len(halves)))
    return found


def start_of(cut: Cut, turn: int, lane: int) -> int:
    """First index of the tile of a lane in a round."""
    position, at = 0, {False: turn, True: lane}
    left = {False: cut.rounds, True: cut.lanes}
    for spread, factor in cut.digits:
        left[spread] //= factor
        position = position * factor + at[spread] // left[spread] % factor
    return position * cut.tile


def words_of(work: Work, starts: list[int]) -> Iterator[tuple[int, ...]]:
    """Words of a tile, as far as the tensor goes."""
    ranges = (range(s, min(s + c.tile, c.extent)) for s, c in zip(starts, work.cuts, strict=True))
    return product(*ranges)


@st.composite
def works(draw: st.DrawFn) -> Work:
    cuts = []
    for dimension in "KCR"[: draw(st.integers(1, 3))]:
        digits = tuple(draw(st.lists(st.tuples(st.booleans(), st.integers(1, 3)), max_size=3)))
        tile = draw(st.integers(1, 4))
        full = tile * math.prod(n for _, n in digits)
        cuts.append(Cut(dimension, max(full - draw(st.integers(0, full // 2)), min(tile, full)), digits, tile))
    return Work(tuple(cuts))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(works(), st.sampled_from(BALANCES), st.integers(0, 2**32), st.sampled_from([0.1, 0.5, 0.9]))
def test_known_masks_are_counted_as_a_walk_over_all_words_counts_them(
    work: Work, balance: str, seed: int, density: float
) -> None:
    mask = np.random.default_rng(seed).random(work.shape) < density
    place = cut_place(work, balance)
    walked = naive(mask, work, place)
    sets = counted(Actual(mask), work, place)
    assert list(zip(sets.lasts.tolist(), sets.totals.tolist(), sets.pes.tolist(), strict=True)) == walked
    found = imbalance(Actual(mask), work, balance)
    if work.tile_words > 1:
        busiest = [Fraction(t, max(n, 1)) if balance == "ideal" else Fraction(b) for b, t, n in walked]
        assert found.ratio == sum(busiest) / (work.sets * work.tile_words)
        spread = [b * n / t if t else 1.0 for b, (_, t, n) in zip(map(float, busiest), walked, strict=True)]
        assert found.distribution == pytest.approx(spread)
        assert found.mean == pytest.approx(float(np.mean(spread)))
        assert found.maximum == pytest.approx(max(spread))
        assert found.percentiles[2] == pytest.approx(np.median(spread))
    assert (found.sets, found.standard_error) == (work.sets, 0.0)


def models(work: Work) -> list[Density]:
    """One of each kind."""
    known = Actual(np.random.default_rng(0).random(work.shape) < 0.3)
    alike = [Uniform(0.3), Exactly(0.3, known.size), Dispersed(0.3, 0.2, 9), Blocks(0.3, (2,) * len(work.cuts))]
    several: list[Density] = []
    if len(work.shape) > 1:
        first = np.linspace(0.05, 0.6, work.shape[0])
        several = [Banded(1.0, work.shape), Vector(0, tuple(first.tolist()))]
    return [known, *alike, Structured(2, 4, axis=0), *several]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(works())
def test_no_balancing_goes_below_the_least_ratio_or_above_none(work: Work) -> None:
    for density in models(work):
        none, ideal = (imbalance(density, work, balance).ratio for balance in ("none", "ideal"))
        for balance in BALANCES:
            ratio = imbalance(density, work, balance).ratio
            assert ratio >= least_ratio(density, work), (density, balance)
            if isinstance(density, Uniform | Exactly | Dispersed | Actual | Banded):
                assert ideal <= ratio <= none, (density, balance)


def test_only_known_masks_have_exact_ratios() -> None:
    work = filters(4)
    exact = {type(d).__name__ for d in models(work) if isinstance(imbalance(d, work).ratio, Fraction)}
    assert exact == {"Actual", "Banded"}


# Which dimension is cut.


def spread(*dimensions: tuple[int, int]) -> Work:
    """Dimensions of (lanes, tile extent)."""
    names = "ABCD"
    cuts = (
        Cut(names[i], 2 * lanes * tile, ((False, 2), (True, lanes)), tile) for i, (lanes, tile) in enumerate(dimensions)
    )
    return Work(tuple(cuts))


@pytest.mark.parametrize(
    ("dimensions", "half_tile", "half_tile_uneven", "over_all"),
    [
        ([(1, 4), (1, 4)], None, None, None),
        ([(4, 2), (1, 8)], 0, 0, 0),
        ([(4, 3), (1, 8)], None, 0, None),
        ([(4, 1), (1, 8)], None, None, None),
        ([(4, 2), (4, 8)], None, None, 1),
        ([(4, 4), (4, 4), (1, 2)], None, None, 0),
        ([(4, 3), (4, 5), (1, 2)], None, None, 2),
        ([(4, 3), (4, 1)], None, None, None),
    ],
)
def test_the_dimension_that_is_cut(
    dimensions: list[tuple[int, int]], half_tile: int | None, half_tile_uneven: int | None, over_all: int | None
) -> None:
    work = spread(*dimensions)
    assert cut_place(work, "half_tile") == half_tile
    assert cut_place(work, "half_tile_uneven") == half_tile_uneven
    assert cut_place(work, "global") == over_all
    assert cut_place(work, "none") is cut_place(work, "ideal") is None
    for balance in ("half_tile", "half_tile_uneven", "global"):
        place = cut_place(work, balance)
        assert imbalance(Uniform(0.5), work, balance).halves == (0 if place is None else 2 * work.pes)


# By hand.


def test_the_heaviest_half_goes_with_the_lightest() -> None:
    work = Work((Cut("K", 6, ((True, 3),), 2), Cut("C", 4, (), 4)))
    rows = [4, 4, 1, 1, 2, 0]
    mask = Actual(np.array([[i < n for i in range(4)] for n in rows]))
    none, paired, ideal = (imbalance(mask, work, balance) for balance in ("none", "half_tile", "ideal"))
    assert none.ratio == Fraction(8, 8)
    assert paired.ratio == Fraction(5, 8), "halves 4 4 2 1 1 0: pairs 4+0, 4+1, 2+1"
    assert ideal.ratio == Fraction(4, 8)
    assert (none.mean, paired.mean, ideal.mean) == (2.0, 1.25, 1.0)
    assert (none.halves, paired.halves, ideal.halves) == (0, 6, 0)


def test_odd_tiles_are_cut_behind_the_middle() -> None:
    work = Work((Cut("K", 6, ((True, 2),), 3),))
    mask = Actual(np.array([True, True, True, False, False, True]))
    assert imbalance(mask, work, "half_tile").ratio == Fraction(3, 3)
    assert imbalance(mask, work, "half_tile_uneven").ratio == Fraction(2, 3), "halves 2 1 0 1: pairs 2+0, 1+1"


def test_idle_pes_take_no_half_and_do_not_count_in_the_mean() -> None:
    work = Work((Cut("K", 6, ((False, 2), (True, 2)), 2), Cut("C", 2, (), 2)))
    found = imbalance(Actual(np.ones(work.shape, dtype=bool)), work, "half_tile")
    assert found.ratio == 1, "the second set has one PE, which keeps both of its halves"
    assert found.distribution.tolist() == [1.0, 1.0]


def test_dense_tensors_wait_for_nobody() -> None:
    work = filters(16)
    for balance in BALANCES:
        assert imbalance(Actual(np.ones(work.shape, dtype=bool)), work, balance) == Imbalance(
            Fraction(1), 0.0, Actual(np.ones(work.shape, dtype=bool)), work, balance
        )
        assert imbalance(Uniform(1.0), work, balance).ratio == 1.0


def test_zeros_save_no_cycles_without_a_private_tile_of_several_words() -> None:
    words = Work((Cut("K", 64, ((False, 4), (True, 16)), 1),))
    for work in (None, words):
        for balance in BALANCES:
            found = imbalance(Uniform(0.1), work, balance)
            assert (found.ratio, found.halves, found.mean, least_ratio(Uniform(0.1), work)) == (1, 0, 1.0, 1)
            assert sort_events(work, balance) == (0, 0)


def test_a_tile_as_large_as_the_tensor_takes_its_nonzeros() -> None:
    work = Work((Cut("K", 8, (), 8), *TAPS))
    mask = Actual(np.random.default_rng(3).random(work.shape) < 0.4)
    assert imbalance(mask, work, "global").ratio == Fraction(mask.nonzeros, 72)
    assert imbalance(Uniform(0.4), work, "global").ratio == pytest.approx(0.4)


def test_nothing_but_zeros_takes_no_cycles_and_is_even() -> None:
    found = imbalance(Uniform(0.0), filters(16), "half_tile")
    assert (found.ratio, found.maximum) == (0.0, 1.0)


def test_an_unknown_balancing_and_a_mask_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"no balancing 'half-tile' \(did you mean 'half_tile'\?\)"):
        imbalance(Uniform(0.1), filters(4), "half-tile")
    with pytest.raises(InputError, match=r"a mask of \(2, 2, 3, 3\) for a tensor of \(128, 4, 3, 3\)"):
        imbalance(Actual(np.ones((2, 2, 3, 3), dtype=bool)), filters(4))


def test_sorting_is_charged_per_half_and_set() -> None:
    assert sort_events(filters(16, sets=5), "half_tile") == (5 * 32 * 5, 5 * 32 * 2)
    assert sort_events(filters(16, sets=5), "global") == sort_events(filters(16, sets=5), "half_tile")
    assert sort_events(filters(16), "none") == sort_events(filters(16), "ideal") == (0, 0)
    idle = Work((Cut("K", 14, ((False, 2), (True, 4)), 2),))
    assert sort_events(idle, "half_tile") == (8 * 3 + 6 * 3, 2 * (8 + 6))


# Statistics.


@pytest.mark.parametrize("words", [288, 576])
def test_overheads_of_bernoulli_masks_at_a_density_of_a_tenth(words: int) -> None:
    found = {
        (pes, balance): [imbalance(Uniform(0.1), filters(pes, channels=words // 72), balance, seed=s) for s in range(4)]
        for pes, balance in ((256, "none"), (16, "none"), (16, "half_tile"))
    }
    mean = {key: float(runs[0].ratio) / 0.1 - 1 for key, runs in found.items()}
    assert 0.36 < mean[256, "none"] < 0.54
    assert 0.22 < mean[16, "none"] < 0.33
    assert 0.045 < mean[16, "half_tile"] < 0.075
    worst = np.mean([run.maximum - 1 for run in found[16, "half_tile"]])
    assert 0.2 < worst < 0.4
    assert [run.mean - 1 for run in found[16, "half_tile"]] == pytest.approx([mean[16, "half_tile"]] * 4, abs=0.01)


def check_against_masks(density: Density, work: Work, balance: str, seed: int) -> None:
    """The expected ratio is the mean over 200 masks, within three standard errors."""
    rng = np.random.default_rng(seed)
    ratios = [float(imbalance(Actual(density.mask(work.shape, rng)), work, balance).ratio) for _ in range(200)]
    expected = imbalance(density, work, balance)
    error = math.hypot(float(np.std(ratios)) / math.sqrt(len(ratios)), expected.standard_error)
    assert abs(float(expected.ratio) - float(np.mean(ratios))) <= 3 * error + 1e-12
    assert (expected.standard_error == 0.0) == (cut_place(work, balance) is None)


@pytest.mark.parametrize("balance", ["none", "half_tile", "half_tile_uneven", "ideal"])
@pytest.mark.parametrize("density", [Uniform(0.1), "exactly", Blocks(0.3, (3, 3))])
@pytest.mark.parametrize("filters_each", [2, 3])
def test_the_expected_ratio_is_that_of_two_hundred_masks(
    density: Density | str, balance: str, filters_each: int
) -> None:
    work = Work((Cut("K", 48 * filters_each, ((False, 6), (True, 8)), filters_each), Cut("C", 4, (), 4), *TAPS))
    chosen = Exactly(0.3, math.prod(work.shape)) if isinstance(density, str) else density
    check_against_masks(chosen, work, balance, seed=11)


@pytest.mark.parametrize("balance", ["none", "half_tile"])
def test_halves_of_a_clumpy_tile_share_its_clump(balance: str) -> None:
    work = Work((Cut("K", 144, ((False, 9), (True, 8)), 2), Cut("C", 4, (), 4), *TAPS))
    check_against_masks(Dispersed(0.2, 0.1, block=72), work, balance, seed=5)


@pytest.mark.parametrize("balance", ["none", "global", "ideal"])
def test_sets_with_ragged_tiles_and_idle_lanes_have_a_closed_form_too(balance: str) -> None:
    work = Work((Cut("K", 19, ((False, 2), (True, 4)), 3), Cut("C", 7, ((True, 2),), 4), *TAPS))
    check_against_masks(Uniform(0.3), work, balance, seed=2)


def test_uneven_filters_wait_longer_than_even_ones() -> None:
    work = filters(16, filters_each=2)
    vector = Vector(0, tuple(np.linspace(0.02, 0.18, work.shape[0]).tolist()))
    uneven, even = imbalance(vector, work), imbalance(Uniform(0.1), work)
    assert uneven.ratio > even.ratio
    assert uneven.standard_error > 0
    assert imbalance(vector, work, "half_tile").ratio < uneven.ratio


def test_groups_of_words_that_reach_across_tiles_are_drawn() -> None:
    work = Work((Cut("K", 96, ((False, 6), (True, 8)), 2), Cut("C", 4, (), 4)))
    whole, across = Structured(2, 4, axis=1), Structured(2, 4, axis=0)
    assert imbalance(whole, work).ratio == 0.5, "every tile holds whole groups"
    assert imbalance(across, work).ratio > 0.5
    assert imbalance(across, work).standard_error > 0


def test_samples_depend_on_the_seed_alone() -> None:
    first = imbalance(Uniform(0.1), filters(16), "half_tile")
    assert imbalance(Uniform(0.1), filters(16), "half_tile", seed=1).ratio != first.ratio
    assert first.ratio == pytest.approx(
        float(imbalance(Uniform(0.1), filters(16), "half_tile", seed=1).ratio), rel=0.01
    )
    fresh = Work(tuple(Cut(c.dimension, c.extent, c.digits, c.tile) for c in filters(16).cuts))
    assert imbalance(Uniform(0.1), fresh, "half_tile") == first
