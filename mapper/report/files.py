"""Results on disk: a folder that is known to be writable before any work, and files that are whole or not there."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from mapper.errors import InputError

MANIFEST = "manifest.json"
"""What says how the tables beside it came about."""


def safe_name(text: str) -> str:
    """`text` as the name of a file or folder: what not all systems take becomes `_`."""
    return re.sub(r"[^\w.\-]+", "_", text)


def check_folder(folder: Path, where: str = "--output") -> None:
    """Make `folder` and see that a file can be written there. Raises `InputError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error, where) from None


def write_files(folder: Path, files: Mapping[str, bytes], stale: Iterable[str] = (), where: str = "--output") -> None:
    """Write all of `files` under temporary names, then give them their own, so that none is ever half there.

    `stale` are files of an earlier run that would contradict them; they go.
    """
    written: dict[Path, Path] = {}
    try:
        for name, data in files.items():
            temporary = folder / f".{name}.{os.getpid()}"
            written[temporary] = folder / name
            temporary.write_bytes(data)
        for temporary, path in written.items():
            os.replace(temporary, path)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(folder, error, where) from None
    finally:
        for temporary in written:
            temporary.unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError, where: str) -> InputError:
    reason = error.strerror or str(error)
    return InputError(f"cannot write into '{folder}': {reason}", where, "give a folder that can be written")
