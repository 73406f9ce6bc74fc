"""Public names that load on first use, so that `import mapper` and `mapper --help` are quick.

`mapper.search` and `mapper.interconnect` are folders of modules and, for whoever scripts, functions. Python binds a
folder to its name whenever one of its modules is imported, whatever the package had put there; so the folder itself is
callable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A module `__getattr__` for `package`: the name is imported from `homes[name]` and then stays bound.

    A name whose home is the submodule of that name (`search` in `mapper.search`) is the submodule itself.
    """

    def getter(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        home = import_module(homes[name])
        value: object = home if home.__name__ == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return getter


def callable_package(package: str, module: str, function: str) -> None:
    """Let the imported `package` be called: `package(...)` is `module.function(...)`, imported on the first call."""

    class CallablePackage(ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(import_module(module), function)(*args, **kwargs)

    sys.modules[package].__class__ = CallablePackage
