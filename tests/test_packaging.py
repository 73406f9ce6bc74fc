"""The package as a user meets it: quick to import, one version, shipped data found, names that load on first use."""

import configparser
import importlib
import importlib.metadata
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mapper
from mapper import shipped

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "pandas", "networkx", "scipy", "matplotlib", "pydantic", "ruamel.yaml", "click")


def modules_after(code: str) -> set[str]:
    """The modules that a new interpreter has imported after `code`."""
    code = f"{code}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(run.stdout.split())


def test_importing_mapper_imports_nothing_heavy() -> None:
    assert modules_after("import mapper; dir(mapper)").isdisjoint(HEAVY)


def test_a_mapping_is_read_without_pandas_scipy_networkx_and_matplotlib() -> None:
    loaded = modules_after("import mapper; mapper.parse_nest('DRAM: K4')")
    assert loaded.isdisjoint({"pandas", "scipy", "networkx", "matplotlib"})


def test_the_installed_version_is_that_of_the_package() -> None:
    assert importlib.metadata.version("mapper") == mapper.__version__


@pytest.mark.parametrize(("folder", "name"), [("arch_specs", "procrustes"), ("layer_zoo", "resnet18")])
def test_every_file_of_the_checkout_ships(folder: str, name: str) -> None:
    assert name in shipped.names(folder)
    assert shipped.names(folder) == tuple(sorted(path.stem for path in (ROOT / folder).glob("*.yaml")))


@pytest.mark.parametrize("folder", ["arch_specs", "layer_zoo"])
def test_an_installation_puts_shipped_files_where_they_are_looked_for(folder: str) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert config["options.data_files"][f"share/mapper/{folder}"] == f"{folder}/*.yaml"
    assert {path.suffix for path in (ROOT / folder).iterdir()} == {".yaml"}


def test_every_public_name_loads_and_is_no_bare_module() -> None:
    for name in mapper.__all__:
        value = getattr(mapper, name)
        assert name in ("interconnect", "search") or not isinstance(value, ModuleType), name
        assert callable(value), name


def test_names_are_completed_before_they_are_loaded() -> None:
    assert set(mapper.__all__) <= set(dir(mapper))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mapper' has no attribute 'serch'"):
        _ = mapper.serch


@pytest.mark.parametrize("first", ["import mapper", "import mapper.search.space", "from mapper.search.space import *"])
def test_search_is_a_function_and_a_folder_whatever_is_imported_first(first: str) -> None:
    code = f"{first}\nimport mapper, mapper.search.space as space\nassert callable(mapper.search)\n"
    code += "from mapper import search\nassert mapper.search is search and search.space is space"
    assert "mapper.search.space" in modules_after(code)


def test_calling_search_hands_everything_to_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    run = importlib.import_module("mapper.search.run")
    monkeypatch.setattr(run, "search", lambda *args, **options: (args, options))
    search: Any = mapper.search
    assert search("layer", "arch", phase="fw") == (("layer", "arch"), {"phase": "fw"})


@pytest.mark.parametrize("script", ["scripts/demo", "scripts/test", "scripts/lint", ".ci/run"])
def test_scripts_are_executable_and_portable(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111 == 0o111
    assert path.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0


def test_the_package_declares_its_types() -> None:
    assert (Path(inspect.getfile(mapper)).parent / "py.typed").exists()
