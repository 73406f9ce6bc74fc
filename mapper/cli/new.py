"""`mapper new`: a commented accelerator, network or sweep file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from mapper.cli import options
from mapper.errors import InputError

KINDS = ("arch", "network", "sweep")

_NEXT = {
    "arch": "search resnet18:conv1 --arch {}",
    "network": "search {} --arch procrustes",
    "sweep": "sweep {} --dry-run",
}
"""What to do with a file of that kind."""


@click.command("new")
@click.argument("kind", metavar="|".join(KINDS), type=options.OneOf(KINDS))
@click.argument("name")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Default: NAME.yaml here.")
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
def command(kind: str, name: str, output: Path | None, force: bool) -> None:
    """A commented template of an accelerator, a network or a sweep called NAME, which runs as it stands."""
    text = _template(kind, name)
    path = output or Path(f"{name}.yaml")
    _write(path, text, force)
    click.echo(f"written: {path}")
    shown = path if len(path.parts) > 1 or path.suffix in (".yaml", ".yml") else f"./{path}"
    click.echo(f"next: mapper validate {path} && mapper {_NEXT[kind].format(shown)}")


def _template(kind: str, name: str) -> str:
    if kind == "arch":
        from mapper.arch import arch_template

        return arch_template(name)
    if kind == "sweep":
        from mapper.runs.sweep_template import sweep_template

        return sweep_template(name)
    from mapper.workload.template import network_template

    return network_template(name)


def _write(path: Path, text: str, force: bool) -> None:
    """Write `text`; a file that exists is overwritten only by force."""
    begun = False
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as stream:
            begun = not force
            stream.write(text)
    except FileExistsError:
        raise InputError("the file exists", str(path), "--force overwrites it, --output writes elsewhere") from None
    except OSError as error:
        if begun:
            path.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from None
