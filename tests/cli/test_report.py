"""`mapper report`: a page and its figures beside the tables of a run or a sweep, or one message."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from mapper.cli.main import cli
from tests import tiny
from tests.cli.shown import mapper

Search = Callable[..., Result]

pytest.importorskip("matplotlib")


@pytest.fixture
def run(search: Search) -> Path:
    """The folder `run` of a small search."""
    assert search(*tiny.USUAL, "--quiet", "--output", "run").exit_code == 0
    return Path("run")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_page_and_its_figures_stand_beside_the_tables(run: Path) -> None:
    before = names(run)
    found = mapper("report", "run")
    assert (found.exit_code, found.stderr) == (0, "")
    page, figures = found.stdout.splitlines()
    assert page == "written: run/report.html"
    drawn = figures.removeprefix("written: run/figures: ").removesuffix(", each as .svg and .png").split(", ")
    assert "energy" in drawn
    assert names(run) - before == {"report.html", "figures"}
    assert names(run / "figures") == {f"{name}.{form}" for name in drawn for form in ("svg", "png")}
    text = (run / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n")
    assert "<title>net on toy</title>" in text


@pytest.mark.usefixtures("search")
def test_a_sweep_has_a_page_too() -> None:
    grid = "grid: {array: [1x2, 2x2], batch: [1, 2]}"
    spec = f"network: net.yaml\narch: toy.yaml\nphase: fw\npartition: [KN, CN]\n{grid}\n"
    Path("mine.yaml").write_text(spec, encoding="utf-8")
    assert mapper("sweep", "mine.yaml", "-j", "1", "--quiet", "--output", "mine").exit_code == 0
    found = mapper("report", "mine")
    assert (found.exit_code, found.stderr) == (0, "")
    names = "pareto_batch_1, pareto_batch_2"
    written = f"written: mine/report.html\nwritten: mine/figures: {names}, each as .svg and .png\n"
    assert found.stdout == written
    first = Path("mine/report.html").read_bytes()
    assert b"<title>mine: net on toy</title>" in first
    assert mapper("report", "mine").exit_code == 0
    assert Path("mine/report.html").read_bytes() == first


def test_it_is_written_anew_and_the_same(run: Path) -> None:
    assert mapper("report", "run").exit_code == 0
    first = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    (run / "figures" / "mapping_imbalance.png").write_bytes(b"of an earlier page")
    (run / "figures" / "mine.png").write_bytes(b"")
    assert mapper("report", "run").exit_code == 0
    assert {path: path.read_bytes() for path in first} == first
    assert not (run / "figures" / "mapping_imbalance.png").exists()
    assert (run / "figures" / "mine.png").exists()


def test_a_page_elsewhere_has_its_figures_there(run: Path) -> None:
    before = names(run)
    found = mapper("report", "run", "-o", "fine.html")
    assert (found.exit_code, found.stderr) == (0, "")
    assert Path("fine.html").exists()
    assert "energy.svg" in names(Path("fine_figures"))
    assert names(run) == before
    again = mapper("report", "run", "-o", "fine.html")
    assert (again.exit_code, again.stdout) == (2, "")
    assert again.stderr == "error: fine.html: the file exists (--force overwrites it, -o writes elsewhere)\n"
    assert mapper("report", "run", "-o", "fine.html", "--force", "--no-figures").exit_code == 0


def test_figures_may_be_left_out(run: Path) -> None:
    found = mapper("report", "run", "--no-figures")
    assert (found.exit_code, found.stdout, found.stderr) == (0, "written: run/report.html\n", "")
    assert not (run / "figures").exists()
    assert "<svg" in (run / "report.html").read_text(encoding="utf-8")


def test_without_matplotlib_there_is_a_page(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapper.report.page.figure.find_spec", lambda _: None)
    found = mapper("report", "run")
    assert (found.exit_code, found.stdout) == (0, "written: run/report.html\n")
    assert found.stderr == "warning: the page has no figures, they need matplotlib (pip install 'mapper[plot]')\n"
    assert not (run / "figures").exists()


def test_a_changed_input_is_said_once(run: Path) -> None:
    Path("toy.yaml").write_text(tiny.ARCH + "# changed\n", encoding="utf-8")
    found = mapper("report", "run", "--no-figures")
    assert found.exit_code == 0
    assert found.stderr == f"warning: {Path('toy.yaml').resolve()} has changed since the search\n"
    assert "has changed since the search" in (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "error: nowhere: no such folder"),
        (("empty",), "error: empty/mappings.csv: no such file"),
        (("run", "-o", "p.pdf"), "error: -o: 'p.pdf' does not end in .html (p.html)\n"),
        (("run", "-o", "no/p.html"), "error: -o: no folder 'no' (make it first)\n"),
        (("run", "-o", "empty"), "error: empty: is a folder (name a file in it)\n"),
        (("torn",), "error: torn/mappings.csv: a row has not as many columns as the header"),
    ],
)
def test_wrong_input_is_one_message_and_leaves_nothing(run: Path, arguments: tuple[str, ...], message: str) -> None:
    Path("empty").mkdir()
    shutil.copytree(run, "torn")
    table = Path("torn", "mappings.csv")
    table.write_text(table.read_text(encoding="utf-8")[:-100], encoding="utf-8")
    before = sorted(Path().rglob("*"))
    found = mapper("report", *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(message)
    assert found.stderr.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_what_cannot_be_written_is_one_message(run: Path) -> None:
    (run / "figures").write_text("a file where a folder goes")
    found = mapper("report", "run")
    assert found.exit_code == 2
    assert found.stderr.startswith("error: --figures: cannot write into 'run/figures'")
    assert found.stderr.count("\n") == 1
    assert not (run / "report.html").exists()


def test_help_says_what_it_makes() -> None:
    assert "report" in cli.list_commands(None)  # type: ignore[arg-type]
    assert "A run or a sweep as one page of HTML" in mapper("report", "--help").stdout


def test_the_example_of_a_batch_writes_tables_and_a_page_that_agree(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "scripts" / "batch_report.py"
    command = [sys.executable, str(script), str(tmp_path), "resnet18"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "resnet18-procrustes"
    assert done.stdout.startswith("resnet18: ")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "come out differently" not in page
    assert {path.name for path in folder.glob("*.csv")} == {"mappings.csv", "breakdown.csv", "totals.csv"}
