"""The figures of a sweep: one front for each piece of work, one panel for each setting beside the size of a buffer."""

from __future__ import annotations

import pytest

from mapper.report.figures import sweep_figures
from mapper.report.figures.points import _sizes
from mapper.search.rows import Row

pytest.importorskip("matplotlib")
AXES = ("array", "density", "GLB.capacity_kib")


def row(array: str, density: float, size: int, partitioning: str, **others: object) -> Row:
    usual: Row = {"array": array, "density": density, "GLB.capacity_kib": size, "partitioning": partitioning}
    figures = {"energy_pj": 10.0 * size, "energy_GLB_pj": 4.0 * size, "energy_RF_pj": 6.0 * size}
    rest = {
        "phase": "all",
        "layers_without_mapping": 0,
        "cycles": 100,
        "area_um2": None,
        "pareto": partitioning == "KN",
    }
    return usual | rest | figures | {"energy_role_W_pj": 1.0} | others


POINTS = [
    row(array, density, size, partitioning)
    for array in ("8x8", "16x16")
    for density in (0.1, 1.0)
    for size in (64, 32)
    for partitioning in ("KN", "best")
]


def test_each_density_has_a_front_of_its_own_and_each_capacity_a_figure() -> None:
    found = sweep_figures("mine", AXES, POINTS)
    assert list(found) == ["pareto_density_0.1", "pareto_density_1.0", "buffers_GLB"]
    assert found == sweep_figures("mine", AXES, POINTS)
    assert b"density 0.1: all phases" in found["pareto_density_0.1"]


def test_without_work_that_varies_there_is_one_front() -> None:
    assert list(sweep_figures("mine", ("array",), POINTS)) == ["pareto"]


def test_energy_at_each_size_is_that_of_the_best_partitionings_by_component() -> None:
    found = _sizes("GLB.capacity_kib", AXES, POINTS)
    assert list(found) == [f"array {array}, density {density}" for array in ("8x8", "16x16") for density in (0.1, 1.0)]
    assert found["array 8x8, density 1.0"] == [
        (32, {"GLB": 128.0, "RF": 192.0}),
        (64, {"GLB": 256.0, "RF": 384.0}),
    ]
    assert _sizes("array", AXES, POINTS) == _sizes("GLB.capacity_words", AXES, POINTS) == {}


def test_points_that_lack_a_layer_are_not_drawn() -> None:
    assert sweep_figures("mine", AXES, [row("8x8", 1.0, 64, "KN", layers_without_mapping=1)]) == {}
