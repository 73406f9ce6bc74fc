"""The command `mapper` itself: quick to start, and helpful where a word is misspelt."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import mapper
from mapper.cli import main as main_module
from mapper.cli import options
from mapper.cli.main import COMMANDS, Commands, cli
from mapper.errors import InfeasibleError, InputError
from mapper.report import FORMATS
from mapper.search.solve import ASKED, TOP

HEAVY = {"numpy", "pandas", "networkx", "scipy", "pydantic", "ruamel.yaml"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["search", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = f"import sys\nfrom mapper.cli.main import cli\ncli({arguments}, standalone_mode=False)\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert HEAVY.isdisjoint(run.stdout.splitlines()[-1].split())


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(cli, ["-h"])
    assert result.exit_code == 0
    assert [
        line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ") and line.split()[0] in COMMANDS
    ]
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout


def test_the_version_is_that_of_the_package() -> None:
    assert CliRunner().invoke(cli, ["--version"]).stdout == f"mapper, version {mapper.__version__}\n"


def test_an_unknown_command_names_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["serach"], prog_name="mapper")
    assert result.exit_code == 2
    assert "no command 'serach' (did you mean 'search'?)" in result.stderr


def test_an_unknown_option_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["--versoin"], prog_name="mapper")
    assert result.exit_code == 2
    assert "--version" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("no x", where="a.yaml:3", hint="y"), 2, "error: a.yaml:3: no x (y)\n"),
        (InfeasibleError("nothing fits"), 1, "error: nothing fits\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "error: the output: No space left on device\n"),
        (OSError(errno.EPIPE, "Broken pipe"), 1, ""),
    ],
)
def test_what_a_user_caused_is_one_line_and_an_exit_code(error: BaseException, code: int, line: str) -> None:
    @click.command()
    def fail() -> None:
        raise error

    class One(Commands):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
            return fail

    result = CliRunner().invoke(One("mapper"), ["search"])
    assert (result.exit_code, result.output) == (code, line)


def test_a_request_to_end_is_taken_like_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(main_module, "cli", lambda prog_name: signal.raise_signal(signal.SIGTERM))  # noqa: ARG005
    try:
        with pytest.raises(KeyboardInterrupt):
            main_module.main()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_words_of_options_are_those_of_the_layers_below() -> None:
    assert (options.METRICS, options.TOP) == (ASKED, TOP)
    assert tuple(FORMATS) == options.FORMATS
