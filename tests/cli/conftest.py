from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mapper.cli.main import cli
from tests import tiny
from tests.cli.shown import write_arch


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the accelerator `right.yaml`."""
    monkeypatch.chdir(tmp_path)
    write_arch()
    return tmp_path


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `mapper search` on one process in a folder with the tiny files."""
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["search", "-j", "1", *arguments], prog_name="mapper")

    return run
