"""Every figure: what is written in it, that it is the same each time, and that it is left out where it says nothing."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mapper.errors import InputError
from mapper.report.figures import (
    Design,
    draw_buffers,
    draw_energy,
    draw_imbalance,
    draw_pareto,
    draw_roofline,
    draw_speedup,
    draw_utilization,
    run_figures,
)
from mapper.report.figures.labels import name_points
from mapper.report.figures.style import legend_in, look, page, shortened
from tests.report.figures.rows import one, results, texts, total

ALL = ("energy", "speedup", "utilization", "roofline")
TOTALS = [total("fw", name, cycles, 2.0) for name, cycles in (("KN", 20), ("CN", 10), ("best", 10))]
SMALL = results([one("a"), one("a", partitioning="CN"), one("b", "wu")], totals=TOTALS)
HEADS = {b"\x89PNG": "png", b"<?xml": "svg", b"%PDF-": "pdf"}


def many(layers: int) -> Any:
    """A network with long names, three phases and two partitionings."""
    phases = ("fw", "bw", "wu")
    names = [f"features.denseblock{n // 16}.denselayer{n}.norm.conv" for n in range(layers)]
    return results(
        [
            one(name, phase, partitioning, cycles=10 + n, bits=4.0 + n, energies={f"c{i}": 1.0 + i for i in range(12)})
            for n, name in enumerate(names)
            for phase in phases
            for partitioning in ("KN", "CN")
        ],
        {names[0]: 4},
        [total(phase, name, 5, 3.0) for phase in phases for name in ("KN", "CN", "best")],
        shared=16.0,
    )


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_figures_of_a_run_are_the_same_each_time(form: str) -> None:
    first = run_figures(SMALL, form)
    assert tuple(first) == ALL
    assert first == run_figures(SMALL, form)
    assert {next(name for head, name in HEADS.items() if b.startswith(head)) for b in first.values()} == {form}


@pytest.mark.parametrize("layers", [1, 90])
def test_any_number_of_layers_can_be_drawn(layers: int) -> None:
    found = run_figures(many(layers))
    assert tuple(found) == ALL
    assert max(map(len, found.values())) < 600_000
    written = texts(found["utilization"])
    assert written.count(shortened("features.denseblock0.denselayer0.norm.conv")) == 1
    assert all(len(text) <= 26 for text in written if text.startswith(".."))


@pytest.mark.parametrize(
    ("name", "written"), [("$x_{$", "$x_{$"), ("a\0\x1b[1m\ufffe", "a\ufffd\ufffd[1m\ufffd"), ("n\udcff", "n\ufffd")]
)
def test_any_name_is_drawn_as_text(name: str, written: str) -> None:
    found = run_figures(results([one(name), one(name, partitioning="CN")], totals=TOTALS, name=name))
    assert tuple(found) == ALL
    assert written in texts(found["energy"])
    for drawing in found.values():
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
        assert any(text.startswith(written) for text in texts(drawing))


def test_a_run_without_mappings_or_limits_has_no_figures() -> None:
    nothing = replace(SMALL, mappings=(), breakdown=(), totals=())
    assert run_figures(nothing) == {}
    assert tuple(run_figures(replace(SMALL, limits={}))) == ("energy", "speedup")


def test_one_partitioning_is_compared_with_nothing() -> None:
    alone = results([one("a")], totals=[total("fw", "KN", 5, 1.0), total("fw", "best", 5, 1.0)])
    assert "speedup" not in run_figures(alone)


def test_energy_says_its_choice_its_units_its_repeats_and_what_is_missing() -> None:
    found = results([one("a", energies={"DRAM": 2e9, "RF": 0.0, "MAC": 1e8}), one("b", "wu")], {"a": 3})
    written = texts(draw_energy(found))
    assert "run (net on toy): energy per layer, partitioning KN" in written
    assert {"energy x repeats (mJ)", "a x3", "b", "DRAM", "MAC", "forward (fw)", "weight update (wu)"} <= set(written)
    # Layer b has no forward phase, layer a no weight update.
    assert written.count("none") == 2
    assert "RF" in written
    assert "energy (nJ)" in texts(draw_energy(results([one("a", energies={"DRAM": 2e3})])))
    assert draw_energy(found, "PQ") is None


def test_utilization_shows_the_best_of_too_many_partitionings() -> None:
    pairs = [f"P{i}" for i in range(11)]
    found = results([one("a", partitioning=name, macs=float(n)) for n, name in enumerate(pairs)])
    written = texts(draw_utilization(found))
    assert "run (net on toy): utilization per layer, the best 8 of 11 partitionings" in written
    assert [text for text in written if text in pairs] == pairs[3:]


def test_a_roofline_says_its_limits() -> None:
    with_slope = texts(draw_roofline(results([one("a")], shared=16.0)))
    assert {"compute: 4 MACs per cycle", "DRAM: 16 bits per cycle", "effectual MACs per bit moved at DRAM"} <= set(
        with_slope
    )
    without = texts(draw_roofline(results([one("a"), one("twin")])))
    assert "effectual MACs per bit moved at DRAM (no bandwidth limit given)" in without
    assert not any("bits per cycle" in text for text in without)
    # Both points lie in one spot: a name for both.
    assert "a &amp; 1 more" in without


def test_speedups_are_written_over_their_bars() -> None:
    base, other = ("base", {"fw": (100.0, 8.0)}), ("other", {"fw": (40.0, 16.0)})
    written = texts(draw_speedup([base, other], "two"))
    assert {"2.50", "0.50", "base = 1", "other", "two", "fw"} <= set(written)
    assert "all phases" not in written
    assert draw_speedup([base], "one") is None
    assert draw_speedup([], "none") is None
    assert draw_speedup([base, ("empty", {})], "nothing in common") is None


def test_speedups_of_many_designs_are_drawn_without_numbers() -> None:
    entries = [(f"design {n}", dict.fromkeys(("fw", "bw", "wu"), (10.0 + n, 1.0))) for n in range(30)]
    written = texts(draw_speedup(entries, "many"))
    assert {f"design {n}" for n in range(1, 30)} <= set(written)
    assert "1.00" not in written


def test_a_front_is_drawn_with_names_areas_and_units() -> None:
    designs = [
        Design("fast", 1e6, 9e9, 1e6, on_front=True),
        Design("frugal", 5e6, 1e9, 4e6, on_front=True),
        Design("neither", 6e6, 9.5e9, 2e6),
    ]
    written = texts(draw_pareto(designs, "three"))
    assert {"fast", "frugal", "1 mm²", "4 mm²", "latency (10⁶ cycles)", "energy (mJ)", "dominated"} <= set(written)
    assert "neither" not in written
    unknown = [replace(designs[0], area_um2=None), *designs[1:]]
    assert not any("mm²" in text for text in texts(draw_pareto(unknown, "one area is not known")))
    assert texts(draw_pareto([replace(designs[0], area_um2=None)], "one"))
    assert texts(draw_pareto([Design("nothing", 0, 0.0, on_front=True)], "zeros"))
    assert draw_pareto([], "none") is None


def test_energies_of_buffer_sizes_are_drawn_in_order() -> None:
    series = {"net": [(64.0, {"DRAM": 1e9}), (0.5, {"DRAM": 4e9, "GLB": 1e6}), (16.0, {"GLB": 2e9})], "empty": []}
    written = texts(draw_buffers(series, "GLB", "sizes"))
    assert [text for text in written if text in ("0.5", "16", "64")] == ["0.5", "16", "64"]
    assert {"size of GLB (KiB)", "DRAM", "GLB", "least energy", "net", "energy (mJ)"} <= set(written)
    assert draw_buffers({"empty": []}, "GLB", "none") is None
    assert draw_buffers({"net": [(1.0, {"DRAM": 0.0})]}, "GLB", "zeros") is None


def test_an_imbalance_says_mean_and_most() -> None:
    uneven = np.array([1.0, 1.5, 2.0])
    assert "a: mean 1.5, most 2" in texts(draw_imbalance([("a", uneven)], "one"))
    assert len(texts(draw_imbalance([(f"m{n}", uneven) for n in range(5)], "many"))) > 5
    assert draw_imbalance([("even", np.ones(4))], "even") is None
    assert draw_imbalance([], "none") is None


def test_names_of_points_overlap_neither_each_other_nor_points() -> None:
    rng = np.random.default_rng(0)
    spots = [(float(x), float(y)) for x, y in rng.random((40, 2))]
    with look():
        figure = page(3.0)
        axes = figure.subplots()
        axes.plot(*zip(*spots, strict=True), "o")
        name_points(figure, axes, [(spot, f"point {n}") for n, spot in enumerate(spots)], spots, 25)
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in axes.texts]
        points = axes.transData.transform(spots)
    assert 8 < len(boxes) <= 25
    assert all(box.count_overlaps(boxes) == 1 for box in boxes)
    assert not any(box.contains(*point) for box in boxes for point in points)


def test_a_legend_takes_more_rows_where_names_are_long() -> None:
    assert legend_in([]) == legend_in(["a", "b"]) == 0
    assert math.isclose(legend_in(["x" * 60] * 4), 0.28, abs_tol=0.15)


def test_without_matplotlib_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapper.report.figure_file.find_spec", lambda _: None)
    assert importlib.util.find_spec("matplotlib")
    with pytest.raises(InputError, match=r"figures need matplotlib \(pip install 'mapper\[plot\]'\)"):
        run_figures(SMALL)
