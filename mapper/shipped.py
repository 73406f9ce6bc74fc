"""Where the files that ship are: beside the package in a checkout, under `share/mapper` after an installation."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from mapper.errors import InputError, did_you_mean

KINDS = {"arch_specs": "accelerator", "layer_zoo": "network"}
"""What one file of a folder is."""


def names(folder: str, suffix: str = ".yaml") -> tuple[str, ...]:
    """Names of everything that ships in `folder`, sorted."""
    return tuple(sorted(path.stem for path in _home(folder, suffix).glob(f"*{suffix}")))


def find(folder: str, name: str, suffix: str = ".yaml") -> Path:
    """The file that ships under `name`; an error with the nearest name where there is none."""
    known = names(folder, suffix)
    if name not in known:
        raise InputError(f"no {KINDS.get(folder, folder)} '{name}' ships", hint=did_you_mean(name, known))
    return _home(folder, suffix) / f"{name}{suffix}"


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
