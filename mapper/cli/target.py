"""A file that a command writes: refused before any work where it cannot be, and whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mapper.errors import InputError


def check_target(path: Path, endings: Sequence[str], force: bool, option: str) -> None:
    """Refuse a folder, a file of another ending, or one that exists. Raises `InputError`."""
    if path.is_dir():
        raise InputError("is a folder", str(path), "name a file in it")
    if path.suffix.lower() not in endings:
        raise InputError(f"'{path}' does not end in {', '.join(endings)}", option, f"{path.stem}{endings[0]}")
    if path.exists() and not force:
        raise InputError("the file exists", str(path), f"--force overwrites it, {option} writes elsewhere")


def check_folder_of(path: Path, option: str) -> None:
    """Refuse a file in a folder that does not exist. Raises `InputError`."""
    if not path.parent.is_dir():
        raise InputError(f"no folder '{path.parent}'", option, "make it first")


def write_target(path: Path, data: bytes, option: str) -> None:
    """Write the file under a temporary name beside it, then give it its own."""
    from mapper.report.files import write_files

    write_files(path.parent, {path.name: data}, where=option)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that takes its place when all is written, and goes when something fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)
