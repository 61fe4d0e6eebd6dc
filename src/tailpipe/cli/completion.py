"""`tailpipe completion`: the script that completes commands in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tailpipe.cli import render
from tailpipe.cli.app import COMPLETE, app
from tailpipe.cli.options import examples


@click.command("completion", epilog=examples('eval "$(tailpipe completion bash)"'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script for SHELL. It completes commands, flags and names.

    \b
    Add it to the startup file of your shell:
      bash   eval "$(tailpipe completion bash)"      in ~/.bashrc
      zsh    eval "$(tailpipe completion zsh)"       in ~/.zshrc
      fish   tailpipe completion fish | source       in ~/.config/fish/config.fish
    """
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - the choices above are the shells that click knows
    render.data(script(app, {}, "tailpipe", COMPLETE).source())
