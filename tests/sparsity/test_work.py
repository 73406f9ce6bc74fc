"""Work tiles of mappings: which level holds them, and how loops cut the tensor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mapper.errors import InputError
from mapper.mapping.loopnest import Nests, Slot
from mapper.sparsity.work import Cut, Work, active_pes, kinds, work_of
from mapper.workload.einsum import Einsum

CONV = "O[N,K,P,Q] += W[K,C,R,S] * I[N,C,P+R,Q+S]; N=4 K=32 C=8 P=4 Q=4 R=3 S=3"
LANES = (1, 16, 1)


def nests_of(text: str, loops: str, keeps: tuple[str, ...] = ("WIO", "WIO", "WIO")) -> Nests:
    """A mapping of words such as `K2@0t`: dimension, factor, level, kind."""
    parts = [(word[0], int(word[1:].partition("@")[0]), int(word[-2]), word[-1]) for word in loops.split()]
    slots = tuple(Slot(level, kind, dimension) for dimension, _, level, kind in parts)
    factors = np.array([[factor for _, factor, _, _ in parts]], dtype=np.int64)
    return Nests(Einsum.parse(text), slots, factors, tuple(map(frozenset, keeps)))


def work(nests: Nests, tensor: str = "W", lanes: tuple[int, ...] = LANES) -> Work | None:
    return work_of(nests, nests.einsum.tensor(tensor), lanes)


def test_loops_above_the_pe_are_digits_and_the_others_the_tile() -> None:
    nests = nests_of(CONV, "K4@0t C2@0t P4@1t N4@1x K4@1y K2@2t Q4@2t C4@2t R3@2t S3@2t")
    assert work(nests) == Work(
        (
            Cut("K", 32, ((False, 4), (True, 4)), 2),
            Cut("C", 8, ((False, 2),), 4),
            Cut("R", 3, (), 3),
            Cut("S", 3, (), 3),
        )
    )


def test_rounds_between_two_fan_outs_are_a_digit_between_their_lanes() -> None:
    nests = nests_of(CONV, "K2@0t K4@0x K2@1t C8@1t K2@1y R3@2t S3@2t N4@2t P4@2t Q4@2t")
    found = work(nests, lanes=(4, 2, 1))
    assert found is not None
    assert found.cuts[0].digits == ((False, 2), (True, 4), (False, 2), (True, 2))
    assert (found.sets, found.pes, found.tile_words, found.spread) == (32, 8, 9, (0,))


def test_equal_work_of_different_mappings_is_an_equal_object() -> None:
    one = work(nests_of(CONV, "K4@0t C2@0t K4@1x K2@1y P4@2t N4@2t Q4@2t C4@2t R3@2t S3@2t"))
    other = work(nests_of(CONV, "K2@0t N4@0t C1@0t C2@1t P4@1t K2@1t K8@1x C4@2t R3@2t S3@2t Q4@2t"))
    assert one == other
    assert hash(one) == hash(other)


def test_idle_lanes_overshoot_the_extent_and_hold_nothing() -> None:
    cut = Cut("K", 7, ((False, 2), (True, 4)), 1)
    assert cut.words().tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert (cut.rounds, cut.lanes) == (2, 4)


def test_lanes_outside_rounds_hold_tiles_far_apart() -> None:
    assert Cut("K", 11, ((True, 2), (False, 3)), 2).words().tolist() == [[2, 2], [2, 2], [2, 1]]


def test_a_tile_is_not_longer_than_the_dimension() -> None:
    found = work(nests_of("O[K] += W[K] * I[K]; K=3", "K4@2t"))
    assert found is not None
    assert found.tile == found.shape == (3,)


def test_there_is_no_work_tile_where_pes_share_the_innermost_level() -> None:
    bypassed = nests_of(CONV, "K32@1x", ("WIO", "WIO", "IO"))
    assert work(bypassed) is None
    assert work(bypassed, lanes=(1, 1, 1)) is not None
    assert work(nests_of(CONV, "K32@1x"), lanes=(1, 16, 4)) is None


def test_the_outermost_level_holds_what_no_other_keeps() -> None:
    found = work(nests_of(CONV, "K32@0t C8@2t R3@2t S3@2t", ("IO", "IO", "IO")), lanes=(1, 1, 1))
    assert found is not None
    assert found.sets == 1
    assert found.tile == found.shape == (32, 8, 3, 3)


def test_another_row_of_the_mappings_can_be_asked_for() -> None:
    nests = nests_of(CONV, "K4@0t K8@1x")
    both = Nests(nests.einsum, nests.slots, np.array([[4, 8], [2, 16]], dtype=np.int64), nests.keeps)
    first, second = (work_of(both, nests.einsum.tensor("W"), LANES, row) for row in (0, 1))
    assert first == work(nests)
    assert second is not None
    assert second.cuts[0].digits == ((False, 2), (True, 16))


def test_a_sliding_operand_is_refused_and_a_rank_that_does_not_move_is_not() -> None:
    with pytest.raises(InputError, match=r"tensor I.* slides along P\+R"):
        work(nests_of(CONV, "K32@1x"), "I")
    still = work(nests_of("O[K,P] += W[K,R] * I[P+R]; K=2 P=4 R=1", "P4@1x"), "I")
    assert still is not None
    assert still.cuts == (Cut("P", 4, ((True, 4),), 1),)


def test_kinds_of_sets_add_up_to_all_words_and_sets() -> None:
    cuts = (Cut("K", 11, ((True, 2), (False, 3)), 2), Cut("C", 7, ((False, 2), (True, 2)), 2), Cut("R", 3, (), 3))
    found = Work(cuts)
    assert sum(sets for sets, _ in kinds(found)) == found.sets == 6
    words = sum(sets * pes * math.prod(shape) for sets, tiles in kinds(found) for shape, pes in tiles)
    assert words == 11 * 7 * 3
    pes = [n for sets, tiles in kinds(found) for n in [sum(number for _, number in tiles)] * sets]
    assert sorted(pes) == sorted(active_pes(found).tolist()) == [4] * 6
    assert {shape for _, tiles in kinds(found) for shape, _ in tiles} == {(2, 2, 3), (1, 2, 3), (2, 1, 3), (1, 1, 3)}


def test_kinds_of_sets_tell_how_many_pes_are_idle() -> None:
    found = Work((Cut("K", 7, ((False, 2), (True, 4)), 1), Cut("R", 3, (), 3)))
    assert sorted(kinds(found)) == [(1, (((1, 3), 3),)), (1, (((1, 3), 4),))]
    assert active_pes(found).tolist() == [4, 3]
