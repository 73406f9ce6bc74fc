"""What the figures of a sweep group, leave out and are called."""

from __future__ import annotations

import pytest

from mapper.report.figures import Design, points, sweep_figures
from mapper.search.rows import Row

pytest.importorskip("matplotlib")


def row(cycles: float, energy: float, front: bool, **names: object) -> Row:
    rest = {"phase": "all", "partitioning": "KN", "layers_without_mapping": 0, "area_um2": None, "pareto": front}
    return names | {"cycles": cycles, "energy_pj": energy, "energy_GLB_pj": energy} | rest


def test_several_settings_under_a_name_are_work_where_the_fronts_say_so() -> None:
    work = [row(1, 2, True, what="half", size="s"), row(3, 4, True, what="all", size="s")]
    design = [row(1, 2, True, what="half", size="s"), row(3, 4, False, what="all", size="s")]
    assert points.work_axes(("what", "size"), work) == ("what",)
    assert points.work_axes(("what", "size"), design) == ()
    assert points.work_axes(("GLB.capacity_kib", "density", "array"), work) == ("density",)
    assert list(sweep_figures("mine", ("what", "size"), work)) == ["pareto_what_half", "pareto_what_all"]
    assert list(points.works(("what",), work)) == ["what half", "what all"]


def test_figures_have_names_of_their_own_that_files_can_have() -> None:
    rows = [row(1, 2, True, density=value) for value in ("a/b", "a b", "../c", "d" * 500)]
    long = f"pareto_density_{'d' * 500}"[: points.LETTERS]
    found = sweep_figures("mine", ("density",), rows)
    assert list(found) == ["pareto_density_a_b", "pareto_density_a_b_2", "pareto_density_.._c", long]


def test_the_first_pieces_of_work_are_drawn() -> None:
    rows = [row(1, 2, True, density=value) for value in range(points.MOST_WORKS + 3)]
    assert len(sweep_figures("mine", ("density",), rows)) == points.MOST_WORKS


def test_of_many_points_those_that_others_cover_are_left_out() -> None:
    spread = [Design(f"d{i}", 1000 + i, 1e6 - i) for i in range(points.MOST_DESIGNS)]
    front = [
        Design("first", 1.0, 1e9, None, True),
        Design("same", 1.0, 1e9, None, True),
        Design("last", 1e4, 1.0, None, True),
    ]
    assert points._apart(spread) == spread
    found = points._apart([*spread, *front])
    assert [one.label for one in found if one.on_front] == ["first", "last"]
    assert 10 < len(found) < points.MOST_DESIGNS / 4
    drawn = {one.cycles for one in found}
    assert all(any(abs(one.cycles / other - 1) < 0.05 for other in drawn) for one in spread)
    nothing = [Design("", 0.0, 0.0)] * (points.MOST_DESIGNS + 1)
    assert points._apart(nothing) == nothing[:1]


def test_a_panel_has_not_more_bars_than_can_be_told_apart() -> None:
    sizes = [row(1, 2, True, **{"GLB.capacity_kib": size}) | {"partitioning": "best"} for size in range(1, 60)]
    assert list(sweep_figures("mine", ("GLB.capacity_kib",), sizes[: points.MOST_SIZES])) == ["buffers_GLB"]
    assert sweep_figures("mine", ("GLB.capacity_kib",), sizes) == {}
