"""Density models: laws against other libraries, enumerations and drawn masks; what a user writes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mapper.errors import InputError
from mapper.sparsity.density import (
    Actual,
    Banded,
    Blocks,
    Density,
    Dispersed,
    Exactly,
    Structured,
    Uniform,
    Vector,
    block_sums,
    fit_dispersion,
    parse_density,
)
from mapper.sparsity.model import Floats, Shape

SHAPE = (1, 64, 32, 3, 3)
FILTER = (1, 1, 32, 3, 3)
SPREAD = tuple(float(v) for v in np.random.default_rng(5).beta(1, 9, 64))

# A model, a tile whose period of alignments divides SHAPE, and whether its closed form of the maximum holds there.
CASES: list[tuple[Density, Shape, bool]] = [
    (Uniform(0.1), FILTER, True),
    (Uniform(0.97), (1, 4, 8, 3, 1), True),
    (Exactly(0.1, math.prod(SHAPE)), FILTER, True),
    (Exactly(0.3, math.prod(SHAPE)), (1, 32, 32, 3, 3), True),
    (Dispersed(0.1, 0.0), FILTER, True),
    (Dispersed(0.1, 0.05, block=288), FILTER, True),
    (Dispersed(0.3, 0.5), (1, 1, 1, 3, 3), True),
    (Structured(2, 4, 2), (1, 2, 8, 3, 3), True),
    (Structured(2, 4, 2), (1, 4, 2, 3, 3), False),
    (Structured(1, 4, 1), (1, 16, 1, 1, 3), True),
    (Structured(3, 8, 2), (1, 4, 4, 1, 3), False),
    (Blocks(0.2, (2, 3, 3)), (1, 2, 8, 3, 3), True),
    (Blocks(0.2, (4, 4, 1, 1)), (1, 2, 8, 3, 3), False),
    (Vector(1, SPREAD), (1, 4, 8, 3, 3), False),
    (Banded(9, SHAPE), (1, 8, 8, 3, 3), False),
    (Actual(np.random.default_rng(1).random(SHAPE) < 0.2), (1, 8, 8, 3, 3), False),
    (Actual(np.random.default_rng(1).random(SHAPE) < 0.2), (1, 48, 5, 2, 3), False),
]
NAMES = [f"{type(model).__name__}-{i}" for i, (model, _, _) in enumerate(CASES)]
every_model = pytest.mark.parametrize(("model", "tile", "independent"), CASES, ids=NAMES)


def mean_of(chances: Floats) -> float:
    return float(np.arange(len(chances)) @ chances)


@every_model
def test_chances_sum_to_one_and_their_mean_is_what_is_expected(model: Density, tile: Shape, independent: bool) -> None:
    chances = model.pmf(tile)
    assert len(chances) == math.prod(tile) + 1
    assert chances.min() >= 0
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert mean_of(chances) == pytest.approx(model.expected(tile), rel=1e-9)
    assert model.empty(tile) == chances[0]
    assert not independent or model.independent(tile)


@every_model
def test_samples_have_the_expected_mean(model: Density, tile: Shape, independent: bool) -> None:  # noqa: ARG001
    drawn = model.sample(tile, 4096, np.random.default_rng(2))
    assert drawn.dtype == np.int64
    assert drawn.shape == (4096,)
    error = float(drawn.std()) / 64
    assert abs(float(drawn.mean()) - model.expected(tile)) <= 4 * error + 1e-9


@every_model
def test_masks_follow_the_law_of_the_tile(model: Density, tile: Shape, independent: bool) -> None:
    rng = np.random.default_rng(3)
    sums = np.stack([block_sums(model.mask(SHAPE, rng), tile).ravel() for _ in range(200)])
    chances = model.pmf(tile)
    expected = model.expected(tile)
    variance = float((np.arange(len(chances)) - expected) ** 2 @ chances)
    of_masks = sums.mean(axis=1)
    assert abs(of_masks.mean() - expected) <= 4 * of_masks.std(ddof=1) / math.sqrt(200) + 1e-9
    assert sums.var() == pytest.approx(variance, rel=0.12, abs=1e-9)
    if independent:
        largest = sums.max(axis=1)
        closed = model.expected_max(tile, sums.shape[1])
        assert abs(largest.mean() - closed) <= 3 * largest.std(ddof=1) / math.sqrt(200) + 1e-4


def test_laws_agree_with_scipy_to_twelve_digits() -> None:
    k = np.arange(577)
    tile = (576,)
    for density in (1e-6, 0.1, 0.5, 0.999):
        assert Uniform(density).pmf(tile) == pytest.approx(stats.binom.pmf(k, 576, density), abs=1e-12)
    assert Exactly(0.1, 2000).pmf(tile) == pytest.approx(stats.hypergeom.pmf(k, 2000, 200, 576), abs=1e-12)
    assert Exactly(0.9, 700).pmf(tile) == pytest.approx(stats.hypergeom.pmf(k, 700, 630, 576), abs=1e-12)
    for density, rho in ((0.1, 0.02), (0.5, 0.4), (0.01, 0.9)):
        weight = 1 / rho - 1
        wanted = stats.betabinom.pmf(k, 576, density * weight, (1 - density) * weight)
        assert Dispersed(density, rho).pmf(tile) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("density", [0.0, 1.0])
def test_certain_densities_are_exact(density: float) -> None:
    tile = (3, 7)
    models = [Uniform(density), Exactly(density, 42), Dispersed(density, 0.3), Blocks(density, (2, 2))]
    for model in [*models, Vector(1, (density,) * 7), Actual(np.full((6, 7), density == 1.0))]:
        assert model.expected_max(tile, 2) == model.expected(tile) == density * 21
        assert model.is_dense == (density == 1.0)
        assert model.empty(tile) == 1 - density


def test_a_pattern_that_keeps_every_word_is_dense() -> None:
    assert Structured(4, 4, 1).is_dense
    assert Structured(4, 4, 1).expected_max((3, 6), 5) == 18.0
    assert not Structured(2, 4).is_dense


def test_imbalance_of_bernoulli_masks_is_that_of_the_published_simulator() -> None:
    for pes, low, high in ((256, 37, 53), (16, 23, 32)):
        for words in range(288, 577, 36):
            overhead = Uniform(0.1).expected_max((words,), pes) / (0.1 * words) - 1
            assert low <= round(100 * overhead) <= high


def test_two_tiles_that_make_up_a_tensor_share_its_nonzeros() -> None:
    # The fuller half of 32 nonzeros in 64 words, from the exact law of one half.
    halves = stats.hypergeom.pmf(np.arange(33), 64, 32, 32)
    exact = float(np.maximum(np.arange(33), 32 - np.arange(33)) @ halves)
    model = Exactly(0.5, 64)
    # Excess of the binomial closed form: right to a few percent; independent hypergeometric tiles miss 29 %.
    assert model.expected_max((32,), 2) - 16 == pytest.approx(exact - 16, rel=0.03)
    assert model.distribution((32,)).largest(2) - 16 < 0.8 * (exact - 16)
    assert (model.sample((32,), 1000, np.random.default_rng(0)).reshape(-1, 2).sum(axis=1) == 32).all()


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 5, 6, 12])
def test_cut_groups_agree_with_all_masks_there_are(tile: int) -> None:
    """Groups of 4 words with 1 nonzero, as many as show all alignments."""
    found: dict[int, Fraction] = {}
    period = math.lcm(tile, 4)
    groups = [[int(j == p) for j in range(4)] for p in range(4)]
    masks = list(itertools.product(groups, repeat=period // 4))
    for mask in masks:
        words = list(itertools.chain.from_iterable(mask))
        for start in range(0, period, tile):
            count = sum(words[start : start + tile])
            found[count] = found.get(count, Fraction(0)) + Fraction(tile, period * len(masks))
    wanted = [float(found.get(k, 0)) for k in range(tile + 1)]
    assert Structured(1, 4, 0).pmf((tile,)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("tile", [(1, 2), (2, 3), (3, 1), (2, 2), (3, 3)])
def test_cut_blocks_agree_with_all_masks_there_are(tile: Shape) -> None:
    density, shape = 0.3, (6, 6)
    wanted = np.zeros(math.prod(tile) + 1)
    for kept in itertools.product([False, True], repeat=6):
        mask = np.repeat(np.repeat(np.reshape(kept, (2, 3)), 3, axis=0), 2, axis=1)
        weight = density ** sum(kept) * (1 - density) ** (6 - sum(kept))
        sums = block_sums(mask, tile)
        wanted += weight * np.bincount(sums.ravel(), minlength=len(wanted)) / sums.size
    assert mask.shape == shape
    assert Blocks(density, (3, 2)).pmf(tile) == pytest.approx(wanted, abs=1e-12)


def test_every_group_of_a_drawn_pattern_is_full() -> None:
    mask = Structured(2, 4, 2).mask(SHAPE, np.random.default_rng(0))
    assert (block_sums(mask, (1, 1, 4, 1, 1)) == 2).all()
    ragged = Structured(2, 4, 1).mask((1, 2001, 1), np.random.default_rng(0))
    assert (block_sums(ragged, (1, 4, 1))[0, :-1, 0] == 2).all()
    places = block_sums(mask, (1, 64, 1, 3, 3)).ravel()
    assert abs(places - 288).max() < 5 * math.sqrt(288 / 2)


def test_a_pattern_without_an_axis_waits_for_one() -> None:
    pattern = Structured(2, 4)
    assert pattern.mean == 0.5
    assert pattern.along(2) == Structured(2, 4, 2)
    assert pattern.along(2).along(1) == Structured(2, 4, 2)
    with pytest.raises(InputError, match=r"2:4 along which dimension"):
        pattern.pmf((4, 4))
    with pytest.raises(InputError, match=r"along dimension 2 of 2"):
        pattern.along(2).pmf((4, 4))


def test_the_default_clump_is_a_kernel() -> None:
    mask = Dispersed(0.3, 0.5).mask((1, 64, 64, 3, 3), np.random.default_rng(0))
    density, dispersion = fit_dispersion(block_sums(mask, (1, 1, 1, 3, 3)), 9)
    assert density == pytest.approx(0.3, rel=0.1)
    assert dispersion == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("dispersion", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("density", [0.1, 0.4])
def test_fitting_recovers_the_dispersion_of_a_clumpy_mask(density: float, dispersion: float) -> None:
    mask = Dispersed(density, dispersion, block=144).mask((1, 4000, 16, 3, 3), np.random.default_rng(7))
    fitted = fit_dispersion(block_sums(mask, (1, 1, 16, 3, 3)), 144)
    assert fitted[0] == np.count_nonzero(mask) / mask.size
    assert fitted[1] == pytest.approx(dispersion, rel=0.1)


def test_fitting_finds_no_dispersion_where_there_is_none() -> None:
    assert fit_dispersion(np.full(50, 7), 70) == (0.1, 0.0)
    assert fit_dispersion(np.zeros(50, dtype=np.int64), 70) == (0.0, 0.0)
    assert fit_dispersion(np.array([0, 1, 1, 0]), 1) == (0.5, 0.0)
    assert fit_dispersion(np.random.default_rng(0).binomial(288, 0.1, 4000), 288)[1] < 1e-3
    assert fit_dispersion(np.array([0, 70, 0, 70]), 70)[1] > 0.9
    with pytest.raises(InputError, match=r"0 to 5 nonzeros"):
        fit_dispersion(np.array([6]), 5)


def test_models_that_say_the_same_are_equal() -> None:
    assert Uniform(1) == Uniform(1.0)
    assert len({Uniform(0.1), Uniform(0.1), Dispersed(0.1, 0.2), Exactly(0.1, 10), Blocks(0.1, (2, 2))}) == 4
    assert (Dispersed(0.1, 0).pmf((50,)) == Uniform(0.1).pmf((50,))).all()


@pytest.mark.parametrize(
    ("written", "model"),
    [
        (0.1, Uniform(0.1)),
        (1, Uniform(1.0)),
        (np.float32(0.5), Uniform(0.5)),
        (" 0.1 ", Uniform(0.1)),
        ("1e-1", Uniform(0.1)),
        ("10%", Uniform(0.1)),
        ("6.63 %", Uniform(0.0663)),
        ("2:4", Structured(2, 4)),
        ("0.1~0.05", Dispersed(0.1, 0.05)),
        ("10% ~ 5%", Dispersed(0.1, 0.05)),
        (Blocks(0.1, (2, 2)), Blocks(0.1, (2, 2))),
    ],
)
def test_a_user_may_write(written: object, model: Density) -> None:
    assert parse_density(written) == model


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (6.63, r"^x: 6\.63 is no density \(is it a percentage\? 6\.63 % is 0\.0663; a density is "),
        ("90", r"^x: '90' is no density \(is it a percentage\? 90 % is 0\.9;"),
        ("110%", r"^x: '110%' is no density \(a density is nonzeros / size"),
        (-0.1, r"^x: -0\.1 is no density \(a density is nonzeros / size, .*sparsity 0\.9 is density 0\.1\)$"),
        (math.nan, r"^x: nan is no density"),
        (math.inf, r"^x: inf is no density \(a density"),
        ("nan", r"^x: 'nan' is no density"),
        (True, r"^x: True is no density"),
        (None, r"^x: None is no density"),
        ("abc", r"^x: 'abc' is no density"),
        ("", r"^x: '' is no density"),
        (10**400, r"^x: 10*\.\.\. is no density"),
        ("4:2", r"^x: 4:2 is no N:M pattern \(n of m words, 1 <= n <= m: did you mean 2:4\?\)"),
        ("0:4", r"^x: 0:4 is no N:M pattern"),
        ("0.1~1.5", r"^x: '0\.1~1\.5' is no density: '1\.5' is no dispersion"),
        ("0.1~1", r"^x: a dispersion of 1"),
        ("0.1~", r"^x: '0\.1~' is no density: '' is no dispersion"),
        ("2~0.1", r"^x: '2~0\.1' is no density: '2' is no density"),
    ],
)
def test_a_refusal_shows_the_value_and_what_a_density_is(written: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_density(written, "x")


def test_models_refuse_what_they_cannot_mean() -> None:
    with pytest.raises(InputError, match=r"1\.5 is no density \(a number from 0 to 1\)"):
        Uniform(1.5)
    with pytest.raises(InputError, match=r"nan is no dispersion"):
        Dispersed(0.1, math.nan)
    with pytest.raises(InputError, match=r"blocks of 0 words"):
        Dispersed(0.1, 0.1, block=0)
    with pytest.raises(InputError, match=r"a tensor of 0 words"):
        Exactly(0.1, 0)
    with pytest.raises(InputError, match=r"12 words for a tensor of \(5, 5\)"):
        Exactly(0.1, 12).mask((5, 5), np.random.default_rng(0))
    with pytest.raises(InputError, match=r"no block of \(0, 2\)"):
        Blocks(0.1, (0, 2))
    with pytest.raises(InputError, match=r"blocks of \(2, 2\) in 1 dimensions"):
        Blocks(0.1, (2, 2)).pmf((4,))
