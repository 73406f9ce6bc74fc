"""Where the files that ship are: beside the package in a checkout, under `share/mapper` after an installation."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path

from mapper.errors import InputError, did_you_mean

KINDS = {"arch_specs": "accelerator", "layer_zoo": "network"}
"""What one file of a folder is."""

NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
"""Names that a file, a column and a folder of results can carry."""


def names(folder: str, suffix: str = ".yaml") -> tuple[str, ...]:
    """Names of everything that ships in `folder`, sorted."""
    return tuple(sorted(path.stem for path in _home(folder, suffix).glob(f"*{suffix}")))


def find(folder: str, name: str, suffix: str = ".yaml") -> Path:
    """The file that ships under `name`; an error with the nearest name where there is none."""
    known = names(folder, suffix)
    if name not in known:
        raise InputError(f"no {KINDS.get(folder, folder)} '{name}' ships", hint=did_you_mean(name, known))
    return _home(folder, suffix) / f"{name}{suffix}"


def is_file(path: str | Path) -> bool:
    """Whether `path` is a file; a name that no file can have, such as one too long, is none."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def is_folder(path: str | Path) -> bool:
    """Whether `path` is a folder; a name that none can have is none."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def locate(folder: str, name: str | Path) -> Path:
    """The file that `name` stands for: what looks like a path is one, and a shipped name goes before a file of it.

    A path has a folder in it or ends in `.yaml` or `.yml`; whether it exists is for the reader to say.
    """
    path = Path(name)
    if isinstance(name, Path) or path.name != name or path.suffix in (".yaml", ".yml"):
        return path
    if is_file(path) and name not in names(folder):
        return path
    try:
        return find(folder, name)
    except InputError as error:
        raise InputError(f"{error.message}, and there is no such file", hint=error.hint) from None


def filled(template: str, name: str, kind: str) -> str:
    """`template` with `name` for its first NAME. Raises `InputError` for what cannot name a `kind`."""
    if not re.fullmatch(NAME, name):
        hint = "letters, digits, '_', '.' and '-', a letter or digit first"
        raise InputError(f"{name!r} cannot name {kind}", hint=hint)
    return template.replace("NAME", name, 1)


def _home(folder: str, suffix: str) -> Path:
    """The first place that holds such files."""
    for place in _places():
        if any((place / folder).glob(f"*{suffix}")):
            return place / folder
    where = ", ".join(str(place / folder) for place in _places())
    raise InputError(f"the files of {folder} are not installed: looked in {where}", hint="pip install mapper again")


def _places() -> tuple[Path, ...]:
    """The checkout, the environment's data folder, and those of the interpreter and of the user."""
    user = sysconfig.get_path("data", f"{os.name}_user")
    bases = dict.fromkeys((sysconfig.get_path("data"), sys.prefix, user))
    return (Path(__file__).resolve().parents[1], *(Path(base) / "share" / "mapper" for base in bases))
