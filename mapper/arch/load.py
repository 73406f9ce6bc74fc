"""An accelerator by the name it ships under, or from a file."""

from __future__ import annotations

from pathlib import Path

from mapper import shipped
from mapper.arch.accelerator import Accelerator

FOLDER = "arch_specs"


def load_arch(name_or_path: str | Path) -> Accelerator:
    """The accelerator that ships under a name (`mapper list archs`), or the one in a YAML file.

    Text with a folder in it or ending in `.yaml` or `.yml` is a path; a shipped name goes before a file of that name.
    Raises `InputError`: with the nearest name where none ships, with `file:line` where the file is wrong.

    >>> load_arch("procrustes").pes
    256
    """
    # Importing pydantic and ruamel takes a tenth of a second: only reading a file should cost that.
    from mapper.arch.build import build
    from mapper.yamlfile import read

    return build(read(arch_file(name_or_path)))


def arch_file(name_or_path: str | Path) -> Path:
    """The file that `load_arch` reads."""
    return shipped.locate(FOLDER, name_or_path)
