"""An accelerator by the name it ships under, or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mapper import shipped
from mapper.arch.accelerator import Accelerator
from mapper.errors import expect

FOLDER = "arch_specs"


def load_arch(name_or_path: str | Path, changes: Mapping[str, str | float | bool] | None = None) -> Accelerator:
    """The accelerator that ships under a name (`mapper list archs`), or the one in a YAML file.

    `changes` are values that the file is read with, by level and key or by key: {"array": "8x8", "bits.W": 8,
    "GLB.capacity_kib": 64}.

    Text with a folder in it or ending in `.yaml` or `.yml` is a path; a shipped name goes before a file of that name.
    Raises `InputError`: with the nearest name where none ships, with `file:line` where the file is wrong.

    >>> load_arch("procrustes").pes
    256
    >>> load_arch("procrustes", {"array": "8x8"}).pes
    64
    """
    # Importing pydantic and ruamel takes a tenth of a second: only reading a file should cost that.
    from mapper.arch.build import build
    from mapper.arch.changes import changed
    from mapper.yamlfile import Node, read

    for key, value in (changes or {}).items():
        expect(value, (str, int, float, bool), f"a value of '{key}'", "one word or number; keys go as GLB.capacity_kib")
    nodes = {key: Node(value, "changes") for key, value in (changes or {}).items()}
    return build(changed(read(arch_file(name_or_path)), nodes))


def arch_file(name_or_path: str | Path) -> Path:
    """The file that `load_arch` reads."""
    return shipped.locate(FOLDER, name_or_path)
