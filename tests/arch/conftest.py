from __future__ import annotations

from pathlib import Path

import pytest

from mapper.arch import Accelerator, load_arch
from tests.arch.specs import Load


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load the text of a spec from `a.yaml` in an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def loader(text: str) -> Accelerator:
        Path("a.yaml").write_text(text, encoding="utf-8")
        return load_arch("a.yaml")

    return loader
