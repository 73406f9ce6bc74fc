"""One axis of a convolution: every pairing of input, tap and output, by enumeration."""

from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from mapper.workload.window import Walk, Window, same_padding

Triple = tuple[int, int, int]


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Small axes with any stride, dilation and asymmetric padding whose filter fits."""
    size, taps = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    stride, dilation = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    window = Window(size, taps, stride, dilation, draw(st.integers(0, 5)), draw(st.integers(0, 5)))
    assume(window.span <= window.begin + size + window.end)
    return window


def true_triples(window: Window) -> set[Triple]:
    """Every (input h, tap r, output p) of the forward computation that is not padding."""
    return {
        (h, r, p)
        for p in range(window.outputs)
        for r in range(window.taps)
        if 0 <= (h := window.stride * p + window.dilation * r - window.begin) < window.size
    }


def slots(walk: Walk) -> list[Triple]:
    """(row of the plane, tap, position of the sliding tensor) of every point of a walk."""
    return [
        (row, tap, walk.origin + walk.step * i + walk.reach * t)
        for i, row in enumerate(walk.plane)
        for t, tap in enumerate(walk.taps)
    ]


@given(windows())
def test_gradient_walks_visit_every_true_triple_exactly_once(window: Window) -> None:
    visited = Counter(slot for walk in window.gradients for slot in slots(walk) if 0 <= slot[2] < walk.size)
    assert set(visited.values()) <= {1}
    assert set(visited) == true_triples(window)


@given(windows())
def test_gradient_walks_pair_only_what_the_forward_equation_pairs(window: Window) -> None:
    for walk in window.gradients:
        for h, r, p in slots(walk):
            assert h == window.stride * p + window.dilation * r - window.begin


@given(windows())
def test_a_gradient_has_no_more_walks_than_residues(window: Window) -> None:
    assert len(window.gradients) <= window.residues


def test_a_window_is_described_without_walking_it() -> None:
    """A stride or a filter of millions takes no longer than a small one."""
    assert len(Window(8, 1, stride=10**9).gradients) == 1
    assert Window(10**9, 10**8).forward.touched == 10**9


@given(windows())
def test_forward_walk_visits_every_true_triple_exactly_once(window: Window) -> None:
    walk = window.forward
    visited = Counter((h, r, p) for p, r, h in slots(walk) if 0 <= h < walk.size)
    assert set(visited.values()) <= {1}
    assert set(visited) == true_triples(window)


@given(windows())
def test_macs_of_a_gradient_are_taps_times_the_smaller_plane_and_never_exceed_points(window: Window) -> None:
    by_residue: dict[int, tuple[int, int]] = {}
    for a in range(window.stride):
        rows = sum((h + window.begin) % window.stride == a for h in range(window.size))
        taps = sum((window.dilation * r) % window.stride == a for r in range(window.taps))
        by_residue[a] = taps, rows
    wanted = [taps * min(window.outputs, rows) for taps, rows in by_residue.values() if taps and rows]
    assert [walk.macs for walk in window.gradients] == wanted
    assert all(walk.macs <= len(walk.plane) * len(walk.taps) for walk in window.gradients)


@given(windows())
def test_touched_and_stored_positions_are_counted_exactly(window: Window) -> None:
    for walk in (window.forward, *window.gradients):
        positions = {position for _, _, position in slots(walk)}
        assert walk.touched == len(positions)
        assert walk.stored == sum(0 <= position < walk.size for position in positions)


def test_residues_without_taps_have_no_walk() -> None:
    assert [list(w.taps) for w in Window(8, 1, stride=2).gradients] == [[0]]
    assert [list(w.taps) for w in Window(16, 3, stride=4, dilation=2).gradients] == [[2, 0], [1]]
    assert [list(w.taps) for w in Window(16, 3, stride=2, dilation=2).gradients] == [[2, 1, 0]]


def test_alexnet_conv1_has_616_points_and_605_macs_an_axis() -> None:
    walks = Window(224, 11, stride=4, begin=2, end=2).gradients
    assert sum(len(w.plane) * len(w.taps) for w in walks) == 616
    assert sum(w.macs for w in walks) == 605


def test_padding_that_exceeds_what_the_input_meets_lowers_the_macs() -> None:
    window = Window(11, 3, stride=2, begin=1, end=1)
    assert window.forward.macs == 18
    assert sum(w.macs for w in window.gradients) == 16


def test_pointwise_stride_2_touches_every_other_row_only() -> None:
    walk = Window(56, 1, stride=2).forward
    assert (walk.touched, walk.stored) == (28, 28)


def test_same_padding_rounds_outputs_up_and_puts_the_odd_row_behind() -> None:
    assert same_padding(224, taps=3, stride=2, dilation=1) == (0, 1)
    assert same_padding(7, taps=3, stride=1, dilation=1) == (1, 1)
    assert same_padding(8, taps=1, stride=3, dilation=1) == (0, 0)
