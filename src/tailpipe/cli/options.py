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

T = TypeVar("T")
Command = Callable[..., Any]
Flag = Callable[[Command], Command]


def location_flags(command: Command) -> Command:
    """Let a command take `--config-path` and `--workspace`."""
    config_path = click.option(
        "--config-path",
        metavar="PATH",
        expose_value=False,
        callback=_keep,
        help="Directory of .tpc files, or a single .tpc file. Separate several with ':'.",
    )
    home = click.option("--workspace", metavar="NAME", expose_value=False, callback=_keep, help="Workspace to use.")
    return config_path(home(command))


def common(command: Command) -> Command:
    """Pass the context to a command, and let it take `--config-path` and `--workspace` as `tailpipe` itself does."""
    return location_flags(click.pass_context(command))


def examples(*calls: str) -> str:
    """The end of a command's help: calls to try, one to a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


def limited(what: str, default: int = 20, least: int = 1) -> Flag:
    """Let a command take `--limit`: how many of these it shows."""
    kind, help = click.IntRange(min=least), f"Maximum number of {what}."
    return click.option("--limit", metavar="NUMBER", type=kind, default=default, show_default=True, help=help)


def between(start: str, end: str = "End time. A bare date includes that day.") -> Flag:
    """Let a command take `--from` and `--to`, with these help texts, as they are written."""
    first = click.option("--from", "start", metavar="TIME", help=start)
    last = click.option("--to", "end", metavar="TIME", help=end)
    return lambda command: first(last(command))


def output_of(*choices: str, help: str = "Output format.") -> Flag:
    """Let a command take `--output`; the first of the choices is the default."""
    return click.option("--output", type=click.Choice(choices), default=choices[0], show_default=True, help=help)


output = output_of(*render.OUTPUTS)
output_with_tpc = output_of(
    *render.OUTPUTS, "tpc", help="Output format; tpc prints config that is ready to be changed."
)
pretty_or_json = output_of("pretty", "json")


def refuse_locked(locked: Iterable[str]) -> None:
    """End with an error if another process writes some of the partitions; what could be done was done."""
    if messages := list(filter(None, locked)):
        for message in messages:
            render.problem(message)
        raise TailpipeError("some partitions were skipped", hint="try again when the other process has finished")


def fail_if(failed: object) -> None:
    """End with exit code 1 if something failed, which the command has reported."""
    if failed:
        raise click.exceptions.Exit(EXIT_FAILED)


def refuse_unpushed(home: Home) -> None:
    """End with exit code 1 if a change is committed, but the store of its partition lacks it."""
    from tailpipe.cli.pushes import report_unpushed

    report_unpushed(home.unpushed)
    fail_if(home.unpushed)


def home_of(context: click.Context) -> Home:
    """The home of the workspace that the flags of this call name."""
    from tailpipe.home.home import Home  # late, so that --help stays fast

    return Home.open(**flags_of(context), say=render.say, is_command=True)


def flags_of(context: click.Context) -> dict[str, Any]:
    """What this call gives as `--config-path` and `--workspace`, by the names of `Home.open`."""
    return dict(context.find_root().obj or {})


def with_built_ins(home: Home, read: Callable[[Home], T]) -> T:
    """What the workspace answers; if its config is broken, what it answers without one, and a warning.

    This lets users look up formats, tables and sources while they fix a config.
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
    """Warn of tables in schemas that are neither declared nor hold data, and return their number."""
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


completes_held = completes(lambda home: list(home.held()))
"""Completion of an argument from the partitions that are in the config or hold data."""
selectors = click.argument("selectors", metavar="[SELECTOR]...", nargs=-1, shell_complete=completes_held)


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    root = context.find_root()
    root.obj = root.obj or {}
    if value is not None and parameter.name is not None:
        root.obj[parameter.name] = value
