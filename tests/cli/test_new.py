"""`mapper new` and `mapper completion`: files to start from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mapper.cli.main import cli
from mapper.cost.energy import chip_area_um2
from mapper.runs.sweep import load_sweep
from mapper.runs.sweep_file import SETTINGS
from mapper.runs.sweep_template import sweep_template
from mapper.workload import load_network
from mapper.workload.template import network_template
from tests.cli.shown import mapper

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("kind", "following"),
    [
        ("arch", "next: mapper validate mine.yaml && mapper search resnet18:conv1 --arch mine.yaml\n"),
        ("network", "next: mapper validate mine.yaml && mapper search mine.yaml --arch procrustes\n"),
        ("sweep", "next: mapper validate mine.yaml && mapper sweep mine.yaml --dry-run\n"),
    ],
)
def test_a_template_is_written_is_valid_and_says_what_is_next(kind: str, following: str) -> None:
    result = mapper("new", kind, "mine")
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"written: mine.yaml\n{following}", "")
    assert mapper("validate", "mine.yaml").exit_code == 0


def test_the_network_template_searches_as_it_stands() -> None:
    assert mapper("new", "network", "mine").exit_code == 0
    assert mapper("search", "mine.yaml", "--arch", "procrustes", "--dry-run").exit_code == 0


def test_the_sweep_template_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapper.cli.sweep.SAMPLE_SECONDS", 0.0)
    assert mapper("new", "sweep", "mine").exit_code == 0
    result = mapper("sweep", "mine.yaml", "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("mine: 8 points over array, density, buffer; 96 rankings from ")


def test_each_setting_and_its_part_of_a_sweep_is_in_the_template() -> None:
    text = sweep_template("x")
    assert [word for word in (*SETTINGS, "set", "grid", "points") if not re.search(rf"\b{word}\b", text)] == []


def test_areas_of_the_sweep_template_are_of_all_components() -> None:
    """So its front is one of area too."""
    Path("mine.yaml").write_text(sweep_template("mine"), encoding="utf-8")
    areas = {chip_area_um2(point.plan.accelerator) for point in load_sweep("mine.yaml").points}
    assert len(areas) == 4
    assert None not in areas


def test_the_network_template_counts_as_its_comments_say() -> None:
    Path("net.yaml").write_text(network_template("net"), encoding="utf-8")
    network = load_network("net.yaml")
    assert (network.name, len(network), network["depthwise"].repeat) == ("net", 4, 2)
    assert network.params == 3 * 16 * 9 + 16 * 32 * 9 + 2 * 32 * 9 + 32 * 10 + 10


def test_a_file_that_exists_is_kept_unless_forced() -> None:
    Path("mine.yaml").write_text("precious", encoding="utf-8")
    result = mapper("new", "arch", "mine")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == ("error: mine.yaml: the file exists (--force overwrites it, --output writes elsewhere)\n")
    assert Path("mine.yaml").read_text(encoding="utf-8") == "precious"
    assert mapper("new", "arch", "mine", "--force").exit_code == 0
    assert mapper("new", "network", "mine", "--output", "other.yaml").exit_code == 0
    assert Path("other.yaml").read_text(encoding="utf-8") == network_template("mine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("arch", "a/b"), "error: 'a/b' cannot name an accelerator"),
        (("network", "../up"), "error: '../up' cannot name a network"),
        (("sweep", "a b"), "error: 'a b' cannot name a sweep"),
        (("network", "x", "--output", "none/x.yaml"), "error: none/x.yaml: cannot be written: No such file"),
        (("netwrk", "x"), "did you mean 'network'?"),
        (("arch",), "Missing argument"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments: tuple[str, ...], message: str) -> None:
    result = mapper("new", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert [path.name for path in Path().iterdir()] == ["right.yaml"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_begins_with_how_to_install_it(shell: str) -> None:
    result = mapper("completion", shell)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"# Install: mapper completion {shell} > ~/.")
    assert f"_MAPPER_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize(
    ("line", "word", "completed"),
    [
        ("mapper ", "exp", "explain"),
        ("mapper evaluate x --arch ", "procrustes_", "procrustes_eyeriss_ratios"),
        ("mapper explain ", "mobilenet_v2_c", "mobilenet_v2_cifar100"),
        ("mapper list layers ", "resnet5", "resnet50"),
        ("mapper new ", "net", "network"),
        ("mapper new ", "sw", "sweep"),
    ],
)
def test_the_shell_completes_commands_and_names(line: str, word: str, completed: str) -> None:
    words = f"{line}{word}"
    environment = {
        "_MAPPER_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = CliRunner().invoke(cli, [], prog_name="mapper", env=environment)
    assert result.stdout.splitlines()[0] == f"plain,{completed}"
