"""One way to a page for whatever a folder holds, and which figures of an earlier page go."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapper.report.page import read_source, report, stale_figures

pytest.importorskip("matplotlib")


def test_a_run_and_a_sweep_have_a_report_each(run: Path, page: bytes, swept: Path, sweep_page: bytes) -> None:
    for folder, wanted, figure in ((run, page, "energy"), (swept, sweep_page, "pareto_density_1")):
        found = report(read_source(folder))
        assert (found.html, found.warnings) == (wanted, ())
        files = found.figures()
        assert {name.rpartition(".")[2] for name in files} == {"svg", "png"}
        assert files[f"{figure}.svg"].startswith(b"<?xml")
        assert files[f"{figure}.png"].startswith(b"\x89PNG")


def test_figures_of_an_earlier_page_go_and_others_stay(tmp_path: Path) -> None:
    own = ("energy.svg", "mapping_work.png", "pareto.svg", "pareto_density_0.1.png", "buffers_GLB.svg")
    for name in (*own, "mine.png", "energy.pdf", "mapping_energy.svg", "paretos.svg"):
        (tmp_path / name).touch()
    assert stale_figures(tmp_path, {"pareto.svg": b""}) == sorted({*own} - {"pareto.svg"})
    assert stale_figures(tmp_path / "nowhere", {}) == []
