"""The `tailpipe` command: finds the subcommand, and turns every failure into a message and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from tailpipe import __version__
from tailpipe.cli import crash, render
from tailpipe.cli.again import located
from tailpipe.cli.logs import start_logging
from tailpipe.cli.options import location_flags
from tailpipe.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, TailpipeError
from tailpipe.model.nearest import did_you_mean
from tailpipe.sql.attempt import Attempt

COMPLETE = "_TAILPIPE_COMPLETE"
"""The variable by which a shell asks for completions."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

COMMANDS: dict[str, str] = {
    "check": "Run saved queries as checks.",
    "collect": "Collect logs into the workspace.",
    "compact": "Merge small files and apply a changed index.",
    "completion": "Print the shell completion script.",
    "config": "Validate and show the config.",
    "connect": "Create a DuckDB database for other clients.",
    "connection": "List and show connections.",
    "dataset": "List, show and drop datasets.",
    "detect": "Run detections over new rows.",
    "detection": "List, show and test detections.",
    "doctor": "Verify files against the catalog and repair them.",
    "expire": "Delete days that exceed the retention of their partition.",
    "format": "List, show and test formats.",
    "init": "Look at logs and write the config that collects them.",
    "log": "Show the changes of a partition.",
    "mcp": "Serve the logs to assistants by MCP.",
    "partition": "List, show, delete and pin partitions.",
    "plugin": "List, show, install, update and uninstall plugins.",
    "pull": "Pull partitions from their stores.",
    "push": "Push partitions to their stores.",
    "query": "Query collected logs with SQL.",
    "rejected": "Show rejected rows.",
    "runs": "Show the history of runs.",
    "saved": "List and show saved queries.",
    "schema": "List and show schemas.",
    "search": "Search all tables for a text, an address or a user.",
    "serve": "Explore collected logs in the browser.",
    "source": "List, show and test sources.",
    "status": "Show the state of every partition.",
    "store": "List, show, check, publish and clean stores.",
    "table": "List, show, test and infer tables.",
    "tag": "Create, list, show and drop tags.",
    "warmup": "Make Spark start faster.",
}
"""The commands with the first line of their help: a command's module is imported only when it runs."""


_FORMER = {
    "collection": "partition",
    "help": "--help",
    "ingest": "collect",
    "install": "plugin install",
    "sql": "query",
    "validate": "config check",
    "version": "--version",
}
"""What commands of earlier versions and similar tools are called here."""


class LazyGroup(click.Group):
    """A group whose commands are modules of this package, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names, in order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command itself, or None."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"tailpipe.cli.{cmd_name}").command
        assert isinstance(command, click.Command)  # noqa: S101 - every module of COMMANDS has one
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or the nearest name to a wrong one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = _FORMER.get(args[0])
            hint = f'did you mean "{meant}"?' if meant else did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f'unknown command "{args[0]}"' + (f", {hint}" if hint else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list in `--help`, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Run 'tailpipe COMMAND --help' for details and examples.",
)
@location_flags
@click.version_option(__version__, prog_name="tailpipe", message="%(prog)s %(version)s")
def app() -> None:
    """Collect logs into typed tables and query them with SQL.

    \b
    Environment:
      TAILPIPE_INSTALL_DIR   config and data directory [default: ~/.tailpipe]
      TAILPIPE_CONFIG_PATH   .tpc files or directories [default: config in the install directory]
      TAILPIPE_WORKSPACE     workspace [default: default]
      TAILPIPE_LOG_LEVEL     debug, info, warning, error or off [default: warning];
                             for other loggers: info,botocore=debug
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    is_watched = arguments is None and crash.is_needed(sys.argv[1:])
    attempt = crash.run_in_child() if is_watched else Attempt()
    gc.set_threshold(100_000, 20, 20)  # with the default, a large config spends a quarter of its time in there
    _open_closed_streams()
    try:
        code = _run(arguments, attempt)
        sys.stdout.flush()
    except OSError as failure:
        # Nothing may be written at exit any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_DONE  # whoever read us has seen enough
        if not isinstance(failure, BrokenPipeError):
            render.problem(f"cannot write: {failure.strerror}", "free space for stdout and temporary files")
            code = EXIT_FAILED
    gc.freeze()  # else Python looks through all objects once more before it goes
    sys.exit(code)


def _open_closed_streams() -> None:
    """Open /dev/null for each closed stream: Python has no object for it, and a later file would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - until we exit


def _run(arguments: Sequence[str] | None, attempt: Attempt) -> int:
    start_logging()
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _dispatch(list(given), attempt)
    except click.exceptions.NoArgsIsHelpError as failure:
        failure.show()
        return failure.exit_code
    except click.ClickException as failure:
        from tailpipe.cli import misuse

        context = getattr(failure, "ctx", None)
        called = next((word for word in given if word in COMMANDS), "")
        command = context.command_path if context else f"tailpipe {called}".rstrip()
        render.problem(misuse.message_of(failure), f"see: {command} --help")
        return failure.exit_code
    except (KeyboardInterrupt, click.Abort):
        render.say("interrupted")
        return EXIT_INTERRUPTED
    except TailpipeError as failure:
        render.error(failure)
        return failure.exit_code
    except BrokenPipeError:
        raise
    except Exception as failure:  # the last place where a bug can still become a message
        if isinstance(failure, OSError) and failure.errno in _NO_ROOM:
            raise
        render.bug(failure)
        return EXIT_FAILED
    return EXIT_DONE


def _dispatch(arguments: list[str], attempt: Attempt) -> None:
    """Call the command. Not by `app.main`, which has its own exit codes for interrupts and closed pipes."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(app, {}, "tailpipe", COMPLETE, instruction))
    try:
        with app.make_context("tailpipe", arguments) as context:
            crash.put_attempt(context, attempt)
            try:
                app.invoke(context)
            except TailpipeError as failure:
                failure.hint = located(failure.hint)  # while it is known what this call named
                raise
    except click.exceptions.Exit as leaving:  # --help and --version
        if leaving.exit_code:
            sys.exit(leaving.exit_code)
