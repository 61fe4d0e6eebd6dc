"""Flags that many commands share, and the workspace they lead to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tailpipe.cli import render
from tailpipe.errors import EXIT_FAILED, ConfigError, TailpipeError, UsageError, WorkspaceError

if TYPE_CHECKING:
    from tailpipe.home.home import Home

__all__ = [
    "common",
    "completes",
    "examples",
    "home_of",
    "limited",
    "output",
    "output_with_tpc",
    "refuse_locked",
    "warn_of_schemas",
    "with_built_ins",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def common(command: F) -> F:
    """Let a command take `--config-path` and `--workspace`, as `tailpipe` itself does."""
    config_path = click.option(
        "--config-path",
        metavar="PATH",
        expose_value=False,
        callback=_keep,
        help="Directory of .tpc files, or a single .tpc file. Separate several with ':'.",
    )
    home = click.option("--workspace", metavar="NAME", expose_value=False, callback=_keep, help="Workspace to use.")
    return config_path(home(command))


def examples(*calls: str) -> str:
    """The end of a command's help: calls to try, one to a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


def limited(what: str) -> Callable[[F], F]:
    """Let a command take `--limit`: how many of these it shows."""
    help = f"Maximum number of {what}."
    kind = click.IntRange(min=1)
    return click.option("--limit", metavar="NUMBER", type=kind, default=20, show_default=True, help=help)


def output(command: F) -> F:
    """Let a command take `--output`."""
    return _output(command, list(render.OUTPUTS), "Output format.")


def output_with_tpc(command: F) -> F:
    """Let a command take `--output`, for config text too."""
    return _output(command, [*render.OUTPUTS, "tpc"], "Output format; tpc prints config that is ready to be changed.")


def _output(command: F, choices: list[str], help: str) -> F:
    return click.option("--output", type=click.Choice(choices), default="pretty", show_default=True, help=help)(command)


def refuse_locked(locked: Iterable[str]) -> None:
    """End with an error if another process writes some of the partitions; what could be done was done."""
    if messages := list(filter(None, locked)):
        for message in messages:
            render.problem(message)
        raise TailpipeError("some partitions were skipped", hint="try again when the other process has finished")


def refuse_unpushed(context: click.Context, home: Home) -> None:
    """End with exit code 1 if a change is committed, but the store of its partition lacks it."""
    from tailpipe.cli.pushes import report_unpushed

    if home.unpushed:
        report_unpushed(home.unpushed)
        context.exit(EXIT_FAILED)


def home_of(context: click.Context) -> Home:
    """The home of the workspace that the flags of this call name."""
    from tailpipe.home.home import Home  # late, so that --help stays fast

    flags = context.find_root().obj or {}
    return Home.open(
        config_path=flags.get("config_path"), workspace=flags.get("workspace"), say=render.say, is_command=True
    )


def with_built_ins(home: Home, read: Callable[[Home], T]) -> T:
    """What the workspace answers; if its config is broken, what it answers without one, and a warning.

    Whoever mends a config looks up formats, tables and sources meanwhile. A name that only the config can have
    tells what is wrong with it.
    """
    try:
        return read(home)
    except ConfigError as broken:
        from tailpipe.config.config import Config

        bare = type(home)(home.environment, home.registry)
        bare.config = Config()
        try:
            answer = read(bare)
        except UsageError:
            raise broken from None
        render.say(f"warning: {broken.message}; only what plugins provide is shown (see: tailpipe config check)")
        return answer


def warn_of_schemas(home: Home, schemas: Collection[str] | None = None) -> int:
    """Tell which tables in schemas are neither declared nor hold anything; how many there are."""
    from tailpipe.config.suspicions import unknown_tables
    from tailpipe.operations.facts import table_names

    found = list(unknown_tables(home.config, home.tables, schemas))
    if found and home.settings.location.is_dir():  # else nothing was ever collected, and nothing is made here
        with suppress(WorkspaceError):  # the command itself says what is wrong with the data
            found = list(unknown_tables(home.config, table_names(home), schemas))
    render.warnings(found)
    return len(found)


def completes(names: Callable[[Home], list[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completion of an argument from what the workspace knows; a broken config completes nothing."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        try:
            return [name for name in names(home_of(context)) if name.startswith(incomplete)]
        except TailpipeError:
            return []

    return complete


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    root = context.find_root()
    root.obj = root.obj or {}
    if value is not None and parameter.name is not None:
        root.obj[parameter.name] = value
