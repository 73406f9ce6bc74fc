"""Files are whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapper.errors import InputError
from mapper.report import check_folder, stale_names, write_files


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert not list((tmp_path / "a" / "b").iterdir())


def test_files_take_the_place_of_older_ones(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.csv": b"old", "b.csv": b"old"})
    write_files(tmp_path, {"a.csv": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.csv": b"new", "b.csv": b"old"}


def test_tables_of_an_earlier_run_in_other_formats_go(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.csv": b"old", "a.json": b"old", "a.tex": b"old", "b.json": b"mine"})
    files = {"a.csv": b"new", "a.md": b"new", "manifest.json": b"new"}
    write_files(tmp_path, files, stale_names(files))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {**files, "b.json": b"mine"}


def test_where_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"old")
    with pytest.raises(InputError, match=r"--output: cannot write into '.*': "):
        write_files(tmp_path, {"a.csv": b"new", "no/such/folder": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.csv": b"old"}
