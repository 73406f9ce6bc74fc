"""The documents do what they say: their commands, Python and files are executed, their links lead somewhere.

Of README.md and docs/*.md, in order and in one working directory per document:

- `console` blocks: every `$ mapper ...` is run; what it prints, errors included, must be the lines below it. A line
  `...` stands for any lines, `...` within a line for any text; a last line `(exit 2)` is the exit code. A command
  ending in a backslash goes on in the next line.
- `python` blocks run in one namespace; what they print must be the `text` block that follows at once.
- `yaml NAME.yaml` blocks are written to that file.
- `sh` blocks and other commands are not run; the scripts and subcommands they name must exist.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mapper.cli.main import COMMANDS
from tests.cli.shown import mapper

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.MULTILINE)
EXIT = re.compile(r"\(exit (?P<code>\d+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: where its text begins, and whether only blank lines part it from the block before."""

    info: str
    text: str
    line: int
    follows: bool

    @property
    def language(self) -> str:
        return self.info.partition(" ")[0]


@dataclass(frozen=True)
class Command:
    """A command line of a block and what the document says it prints."""

    arguments: tuple[str, ...]
    output: str
    exit_code: int
    line: int


def blocks_of(markdown: str) -> list[Block]:
    """The fenced blocks of a document."""
    found, end = [], 0
    for match in FENCE.finditer(markdown):
        between = markdown[end : match.start()]
        line = markdown.count("\n", 0, match.start("text")) + 1
        found.append(Block(match["info"].strip(), match["text"], line, end > 0 and not between.strip()))
        end = match.end()
    return found


def commands_of(block: Block) -> list[Command]:
    """The commands of a `console` block, each with the lines below it."""
    lines = list(enumerate(block.text.replace("\\\n", " \n\\").splitlines(), start=block.line))
    found: list[tuple[int, str, list[str]]] = []
    for number, line in lines:
        if line.startswith("\\"):
            found[-1] = (found[-1][0], found[-1][1] + line.removeprefix("\\"), [])
        elif line.startswith("$ "):
            found.append((number, line.removeprefix("$ "), []))
        elif found:
            found[-1][2].append(line)
        else:
            raise AssertionError(f"line {number}: output without a command")
    return [_command(number, command, output) for number, command, output in found]


def _command(line: int, text: str, output: list[str]) -> Command:
    while output and not output[-1].strip():
        output.pop()
    code = EXIT.fullmatch(output[-1].strip()) if output else None
    shown = output[:-1] if code else output
    return Command(tuple(shlex.split(text)), "\n".join(shown), int(code["code"]) if code else 0, line)


def matches(expected: str, actual: str) -> bool:
    """Whether `actual` is what `expected` shows: `...` is any lines, or any text in a line; spaces at ends are free."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else r"[^\n]*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in _trimmed(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(actual))) is not None


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _run(command: Command) -> None:
    """Run `mapper` and compare; of any other command, only see that it exists."""
    if command.arguments[0] != "mapper":
        _exists(command.arguments, command.line)
        return
    result = mapper(*command.arguments[1:])
    where = f"line {command.line}: {shlex.join(command.arguments)}"
    assert result.exit_code == command.exit_code, f"{where}\n{result.output}"
    assert matches(command.output, result.output), f"{where}\nprints\n{result.output}\nand not\n{command.output}"


def _exists(words: tuple[str, ...], line: int) -> None:
    """The scripts and the subcommand that a command line names exist."""
    for word in words:
        if word.startswith("scripts/"):
            assert os.access(ROOT / word, os.X_OK), f"line {line}: {word} is no script of this repository"
    if words[:1] == ("mapper",):
        assert words[1] in COMMANDS, f"line {line}: no command mapper {words[1]}"


def _run_python(block: Block, expected: Block | None, namespace: dict[str, object]) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.text, "document", "exec"), namespace)
    shown = "" if expected is None else expected.text
    assert matches(shown, printed.getvalue()), f"line {block.line}: prints\n{printed.getvalue()}\nand not\n{shown}"


def execute(blocks: list[Block]) -> None:
    """Do what the blocks of a document show, in the working directory."""
    namespace: dict[str, object] = {}
    for block, after in itertools.zip_longest(blocks, blocks[1:]):
        if block.language == "console":
            for command in commands_of(block):
                _run(command)
        elif block.language == "python":
            _run_python(block, after if after and after.info == "text" and after.follows else None, namespace)
        elif block.language == "yaml" and " " in block.info:
            Path(block.info.partition(" ")[2]).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            for number, line in enumerate(block.text.splitlines(), start=block.line):
                _exists(tuple(shlex.split(line, comments=True)), number)


def anchors_of(markdown: str) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    titles = (match["title"] for match in HEADING.finditer(FENCE.sub("", markdown)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(document: Path) -> Iterator[str]:
    """Relative links of a document whose file or heading does not exist."""
    for match in LINK.finditer(FENCE.sub("", document.read_text(encoding="utf-8"))):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = document.parent / target if target else document
        if not file.exists() or (anchor and anchor not in anchors_of(file.read_text(encoding="utf-8"))):
            yield match["target"]


def _name(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_a_document_does_what_it_shows(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    execute(blocks_of(document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_links_of_a_document_lead_to_files_and_headings(document: Path) -> None:
    assert list(broken_links(document)) == []


def test_a_readme_and_a_tutorial_are_among_the_documents() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/cost_model.md"} <= set(map(_name, DOCUMENTS))


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a\nb\n", "a\nb  \n", True),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nd\n", True),
        ("a ... d", "a b c d\n", True),
        ("a ... d", "a b\nc d\n", False),
        ("a\n...", "b\na\n", False),
        ("", "a\n", False),
    ],
)
def test_an_ellipsis_stands_for_lines_or_for_text_in_a_line(expected: str, actual: str, same: bool) -> None:
    assert matches(expected, actual) is same


def test_a_wrong_output_or_exit_code_is_noticed() -> None:
    shown = "```console\n$ mapper evaluate \\\n    nothing\n{}\n```\n"
    usage = "Usage: ...\n...\n(exit 2)"
    execute(blocks_of(shown.format(usage)))
    for wrong in (usage.replace("2", "1"), usage.replace("Usage", "usage"), "...\n"):
        with pytest.raises(AssertionError, match="line 2: mapper evaluate nothing"):
            execute(blocks_of(shown.format(wrong)))


def test_python_that_prints_something_else_is_noticed() -> None:
    execute(blocks_of("```python\nx = 1\n```\nthen\n```python\nprint(x)\n```\n\n```text\n1\n```\n"))
    with pytest.raises(AssertionError, match="line 2: prints"):
        execute(blocks_of("```python\nprint(1)\n```\nnot at once\n```text\n1\n```\n"))
