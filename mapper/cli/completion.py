"""`mapper completion`: commands, options and shipped names completed by the shell."""

from __future__ import annotations

import click

from mapper.cli import options

INSTALL = {
    "bash": "mapper completion bash > ~/.local/share/bash-completion/completions/mapper",
    "zsh": "mapper completion zsh > ~/.mapper-complete.zsh && echo '. ~/.mapper-complete.zsh' >> ~/.zshrc",
    "fish": "mapper completion fish > ~/.config/fish/completions/mapper.fish",
}
"""How the script of each shell is installed."""


@click.command("completion")
@click.argument("shell", metavar="|".join(INSTALL), type=options.OneOf(tuple(INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """The script that completes commands, options and shipped names in a shell.

    Its first lines say how to install it.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click cannot complete in {shell}", ctx)
    click.echo(f"# Install: {INSTALL[shell]}")
    click.echo("# It takes effect in the next shell.")
    click.echo(kind(ctx.find_root().command, {}, "mapper", "_MAPPER_COMPLETE").source())
