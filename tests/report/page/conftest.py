from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from mapper.errors import InfeasibleError
from mapper.report.page import sweep as sweeps
from mapper.report.page.run import View, look, read_search, run_page
from tests.cli.shown import mapper
from tests.report.page.dom import Node, parse

SCRIPT = "<script>alert(1)</script>"

NETWORK = f"""\
name: net <b>
layers:
  - {{name: "{SCRIPT}", conv: {{C: 4, K: 8, H: 8, W: 8, R: 3, S: 3, stride: 2, padding: 1}}}}
  - {{name: 'twin "&', linear: {{C: 4, K: 8}}, repeat: 3}}
  - {{name: twin b, linear: {{C: 4, K: 8}}}}
"""
"""A strided layer, whose bw has four parts, and twins; names that HTML would take for its own."""

OPTIONS = ("--density", "0.5", "--phase", "fw,bw", "--partition", "KN,CK", "--batch", "2", "--top", "2", "-j", "1")


SWEEP = f"""\
network: net.yaml
arch: procrustes
layers: ['twin "&', twin b]
batch: 2
phase: [fw, bw]
partition: [KN, CK]
activation_density: 0.5
set:
  RF.area_um2: 4000
  MAC.area_um2: 7700
  GLB.fanout.network.wire_um2_per_bit_mm: 0.4
  GLB.fanout.network.switch_um2: 100
  GLB.fanout.network.link_bits: 32
grid:
  "{SCRIPT}":
    "small & <b>": {{GLB.capacity_kib: 64, GLB.area_um2: 230000, GLB.energy_pj_per_word.read: 8.4}}
    large: {{GLB.capacity_kib: 128, GLB.area_um2: 420000}}
    none: {{RF.capacity_bits: 32, GLB.area_um2: 420000}}
  density: [0.25, 1]
"""
"""Two sizes of a buffer and one that nothing fits, with areas; two pieces of work."""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sparse run of `NETWORK`."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "net.yaml").write_text(NETWORK, encoding="utf-8")
    with contextlib.chdir(folder):
        found = mapper("search", "net.yaml", "--arch", "procrustes", *OPTIONS, "--quiet", "--output", "run")
    assert found.exit_code == 0, found.output
    return folder / "run"


@pytest.fixture(scope="session")
def view(run: Path) -> View:
    pytest.importorskip("matplotlib")
    return look(read_search(run))


@pytest.fixture(scope="session")
def page(view: View) -> bytes:
    return run_page(view)


@pytest.fixture(scope="session")
def tree(page: bytes) -> Node:
    return parse(page)


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `SWEEP`."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "net.yaml").write_text(NETWORK, encoding="utf-8")
    (folder / "mine.yaml").write_text(SWEEP, encoding="utf-8")
    with contextlib.chdir(folder):
        found = mapper("sweep", "mine.yaml", "--output", "mine", "-j", "1", "--quiet")
    assert found.exit_code == InfeasibleError.exit_code, found.output
    return folder / "mine"


@pytest.fixture(scope="session")
def sweep_view(swept: Path) -> sweeps.View:
    pytest.importorskip("matplotlib")
    return sweeps.look(sweeps.read_sweep(swept, json.loads((swept / "manifest.json").read_text(encoding="utf-8"))))


@pytest.fixture(scope="session")
def sweep_page(sweep_view: sweeps.View) -> bytes:
    return sweeps.sweep_page(sweep_view)


@pytest.fixture(scope="session")
def sweep_tree(sweep_page: bytes) -> Node:
    return parse(sweep_page)
