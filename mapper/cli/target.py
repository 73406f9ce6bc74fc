"""A file that a command writes: refused before any work where it cannot be, and whole or not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mapper.errors import InputError


def check_target(path: Path, endings: Sequence[str], force: bool, option: str) -> None:
    """Refuse a folder, a file of another ending, one that exists, or one in a folder that does not.

    Raises `InputError`.
    """
    if path.is_dir():
        raise InputError("is a folder", str(path), "name a file in it")
    if path.suffix.lower() not in endings:
        raise InputError(f"'{path}' does not end in {', '.join(endings)}", option, f"{path.stem}{endings[0]}")
    if not path.parent.is_dir():
        raise InputError(f"no folder '{path.parent}'", option, "make it first")
    if path.exists() and not force:
        raise InputError("the file exists", str(path), f"--force overwrites it, {option} writes elsewhere")


def write_target(path: Path, data: bytes, option: str) -> None:
    """Write the file under a temporary name beside it, then give it its own."""
    from mapper.report.files import write_files

    write_files(path.parent, {path.name: data}, where=option)
