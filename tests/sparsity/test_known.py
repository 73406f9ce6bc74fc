"""Models that know positions: exact sums of tiles, masks that are shared and compared without being copied."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.errors import InputError
from mapper.mapping.loopnest import Ints
from mapper.sparsity.density import Actual, Banded, Vector, block_sums
from mapper.sparsity.model import Bools, Shape

RNG = np.random.default_rng(0)


def by_loop(mask: Bools, tile: Shape) -> Ints:
    """Nonzeros of every tile, one tile after the other."""
    out = np.zeros([math.ceil(n / t) for n, t in zip(mask.shape, tile, strict=True)], dtype=np.int64)
    for index in np.ndindex(*out.shape):
        part = tuple(slice(i * t, (i + 1) * t) for i, t in zip(index, tile, strict=True))
        out[index] = np.count_nonzero(mask[part])
    return out


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Bools, Shape]:
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    tile = tuple(draw(st.integers(1, extent + 2)) for extent in shape)
    mask = np.random.default_rng(draw(st.integers(0, 9))).random(shape) < draw(st.sampled_from([0.1, 0.9, 1.0]))
    return draw(st.sampled_from([mask, mask.T, mask[::-1]])), tile if draw(st.booleans()) else (1,) * len(shape)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cuts())
def test_sums_of_ragged_tiles_are_those_of_a_loop(cut: tuple[Bools, Shape]) -> None:
    mask, tile = cut
    tile = tuple(min(t, n + 2) for t, n in zip(tile, mask.shape, strict=True))
    sums = block_sums(mask, tile)
    assert sums.dtype == np.int64
    assert (sums == by_loop(mask, tile)).all()


@pytest.mark.parametrize("tile", [(33, 1), (1, 300), (31, 33), (700, 600), (2, 257)])
def test_sums_of_long_tiles_do_not_overflow(tile: Shape) -> None:
    mask = np.ones((700, 600), dtype=bool)
    assert (block_sums(mask, tile) == by_loop(mask, tile)).all()


def test_sums_take_less_room_than_the_mask() -> None:
    mask = RNG.random((1, 500, 889, 3, 3)) < 0.1
    for tile in ((1, 1, 32, 3, 3), (1, 16, 32, 1, 1), (1, 500, 889, 3, 3), (1, 4, 4, 1, 1)):
        tracemalloc.start()
        block_sums(mask, tile)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < mask.nbytes


def test_tiles_that_do_not_cut_the_mask_are_refused() -> None:
    for tile in ((2,), (2, 0), (1, 1, 1)):
        with pytest.raises(InputError, match="does not cut a mask"):
            block_sums(np.ones((3, 3), dtype=bool), tile)
    assert block_sums(np.ones((0, 4), dtype=bool), (2, 2)).shape == (0, 2)


def test_a_mask_is_copied_unless_nobody_can_write_it(tmp_path: Path) -> None:
    source = RNG.random((4, 6)) < 0.5
    kept = Actual(source)
    nonzeros = np.count_nonzero(source)
    source[:] = False
    assert kept.nonzeros == nonzeros
    assert not kept.array.flags.writeable
    assert Actual(kept.array).array is kept.array
    np.save(tmp_path / "mask.npy", kept.array)
    mapped = np.load(tmp_path / "mask.npy", mmap_mode="r")
    assert Actual(mapped).array is mapped
    assert type(block_sums(mapped, (2, 2))) is np.ndarray


def test_masks_are_equal_by_shape_and_content() -> None:
    mask = RNG.random((4, 6)) < 0.5
    flipped = mask.copy()
    flipped[3, 5] ^= True
    assert Actual(mask) == Actual(np.asfortranarray(mask)) == pickle.loads(pickle.dumps(Actual(mask)))
    assert hash(Actual(mask)) == hash(Actual(mask.copy()))
    assert Actual(mask) != Actual(flipped)
    assert Actual(mask) != Actual(mask.reshape(6, 4))
    assert Actual(mask) != "mask"
    assert repr(Actual(np.eye(3, dtype=bool))) == "Actual(3 x 3, 3 nonzeros)"


def test_an_actual_mask_answers_from_its_tiles() -> None:
    mask = np.array([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1]], dtype=bool)
    model = Actual(mask)
    assert (model.mean, model.nonzeros, model.size) == (0.6, 6, 10)
    assert not model.alike
    assert model.pmf((2, 2)).tolist() == pytest.approx([1 / 3, 0, 1 / 3, 0, 1 / 3])
    assert model.expected((2, 2)) == 2.0
    assert model.mask((2, 5), RNG) is model.array
    with pytest.raises(InputError, match=r"a mask of \(2, 5\) for a tensor of \(5, 2\)"):
        model.mask((5, 2), RNG)


def test_what_is_no_mask_is_refused() -> None:
    with pytest.raises(InputError, match=r"a mask of float64 \(a boolean array: weights != 0\)"):
        Actual(np.ones((2, 2)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a mask of list"):
        Actual([True])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no words"):
        Actual(np.ones((0, 2), dtype=bool))


def test_a_band_is_what_its_definition_says() -> None:
    for rows, columns, width in ((6, 6, 0), (6, 6, 1.5), (4, 8, 1), (9, 4, 2), (5, 1, 2)):
        mask = Banded(width, (1, rows, columns)).array
        for i, j in itertools.product(range(rows), range(columns)):
            assert mask[0, i, j] == (abs(i - j * rows / columns) <= width)


def test_a_band_lies_in_the_channels_whatever_the_taps() -> None:
    model = Banded(1, (1, 8, 8, 3, 3))
    assert model.nonzeros == 22 * 9
    assert (model.array == np.broadcast_to(Banded(1, (8, 8)).array[None, :, :, None, None], (1, 8, 8, 3, 3))).all()
    assert Banded(1, (1, 8, 8, 3, 3), axes=(3, 4)).mean == 7 / 9
    assert not model.array.flags.writeable
    assert model == Banded(1, (1, 8, 8, 3, 3))
    assert Banded(0, (1, 1, 1)).mean == 1.0


def test_bands_that_lie_nowhere_are_refused() -> None:
    with pytest.raises(InputError, match="no width of a band"):
        Banded(-1, (4, 4))
    with pytest.raises(InputError, match="no width of a band"):
        Banded(math.nan, (4, 4))
    with pytest.raises(InputError, match="no band in a tensor of"):
        Banded(1, (4,))
    for axes in ((0, 0), (0, 2), (-1, 0)):
        with pytest.raises(InputError, match="no matrix lies in"):
            Banded(1, (4, 4), axes)


def test_words_of_a_vector_follow_its_densities() -> None:
    """Two tiles along the axis, the last one cut: all masks of the words that matter."""
    values = (0.1, 0.5, 0.9)
    wanted = np.zeros(5)
    for start in (0, 2):
        words = [v for v in values[start : start + 2] for _ in range(2)]
        for kept in itertools.product([False, True], repeat=len(words)):
            wanted[sum(kept)] += math.prod(v if k else 1 - v for v, k in zip(words, kept, strict=True)) / 2
    model = Vector(0, values)
    assert model.pmf((2, 2)) == pytest.approx(wanted, abs=1e-12)
    assert model.expected((2, 2)) == pytest.approx(1.5)
    assert model.mean == pytest.approx(0.5)
    assert not model.alike


def test_a_mask_of_a_vector_has_its_density_at_each_index() -> None:
    mask = Vector(1, (0.0, 0.2, 1.0)).mask((100, 3, 100), np.random.default_rng(0))
    sums = block_sums(mask, (100, 1, 100)).ravel()
    assert (sums[0], sums[2]) == (0, 10_000)
    assert abs(sums[1] - 2000) < 4 * 40
    with pytest.raises(InputError, match="3 densities along dimension 1"):
        Vector(1, (0.0, 0.2, 1.0)).mask((3, 4), RNG)
    with pytest.raises(InputError, match=r"-0\.1 is no density"):
        Vector(0, (-0.1,))
    with pytest.raises(InputError, match="0 densities"):
        Vector(0, ())
