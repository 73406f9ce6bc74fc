from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shown import write_arch


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the accelerator `right.yaml`."""
    monkeypatch.chdir(tmp_path)
    write_arch()
    return tmp_path
