from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from mapper.report.page import View, look, read_source, run_page
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
    return look(read_source(run))


@pytest.fixture(scope="session")
def page(view: View) -> bytes:
    return run_page(view)


@pytest.fixture(scope="session")
def tree(page: bytes) -> Node:
    return parse(page)
