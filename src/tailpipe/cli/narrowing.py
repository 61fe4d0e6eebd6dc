"""The flags that say which part of the data a query sees, and whether it may do more than read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.fetching import FetchProgress
from tailpipe.cli.logs import log_from
from tailpipe.cli.options import completes
from tailpipe.errors import UsageError
from tailpipe.stores.version import NOW, Version

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tailpipe.query.narrowing import Narrowing
    from tailpipe.query.on_spark import SparkQueries
    from tailpipe.query.session import Session
    from tailpipe.stores.fetch import Limits

__all__ = ["Narrowed", "narrowing", "rows_chosen", "version_chosen"]


class Narrowed:
    """What the flags select; called with a workspace it gives the session."""

    def __init__(self, narrowing: Narrowing, is_unsafe: bool, version: Version = NOW) -> None:
        self.narrowing = narrowing
        self.is_unsafe = is_unsafe
        self.timeout_seconds: float | None = None
        self.limits: Limits | None = None
        """What statements may fetch from stores."""
        self.version = version

    def __call__(self, workspace: Any) -> Session:
        """The session, and a warning if it is not a safe one."""
        if self.is_unsafe:
            render.say("warning: --unsafe lets statements write files, read any file, and load extensions")
        return self.session(workspace, self.narrowing)

    def session(self, workspace: Any, narrowing: Narrowing) -> Session:
        """A session with another narrowing."""
        session: Session = workspace.session(
            narrowing,
            unsafe=self.is_unsafe,
            timeout_seconds=self.timeout_seconds,
            limits=self.limits,
            on_fetch=FetchProgress(),
            version=self.version,
        )
        return session

    def on_spark(self, workspace: Any) -> AbstractContextManager[SparkQueries]:
        """The same on Spark."""
        if self.is_unsafe:
            raise UsageError("--unsafe works with DuckDB only", hint="remove --engine spark")
        log_from(workspace.settings.log_levels, workspace.config.secrets)
        queries: AbstractContextManager[SparkQueries] = workspace.spark_queries(
            self.narrowing,
            timeout_seconds=self.timeout_seconds,
            limits=self.limits,
            on_fetch=FetchProgress(),
            version=self.version,
        )
        return queries


def rows_chosen(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take `--from`, `--to`, `--partition` and `--index`, as they are written."""
    flags = (
        click.option("--from", "start", metavar="TIME", help="Start time, such as T-7d or 2024-01-31."),
        click.option("--to", "end", metavar="TIME", help="End time. A bare date includes that day."),
        click.option(
            "--partition",
            "partitions",
            metavar="NAME",
            multiple=True,
            shell_complete=completes(lambda workspace: list(workspace.held())),
            help="Only this partition: NAME or TABLE.NAME, with wildcards. Repeatable.",
        ),
        click.option(
            "--index",
            "indexes",
            metavar="VALUE",
            multiple=True,
            help="Only this value of tp_index, with wildcards. Repeatable.",
        ),
    )
    for flag in reversed(flags):
        command = flag(command)
    return command


def version_chosen(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take `--as-of` and `--tag`, as `version`."""

    @click.option("--as-of", metavar="TIME", help="Show the data as it was at this time, such as T-7d.")
    @click.option("--tag", metavar="NAME", help="Show the versions that this tag names.")
    @wraps(command)
    def chosen(*arguments: Any, as_of: str | None, tag: str | None, **options: Any) -> Any:
        return command(*arguments, version=Version.parse(as_of, tag, now=datetime.now(UTC)), **options)

    return chosen


def narrowing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take those and `--schema` and `--unsafe`, as `narrowed`."""

    @rows_chosen
    @click.option(
        "--schema",
        metavar="NAME",
        shell_complete=completes(lambda workspace: ["tailpipe", *workspace.config.schemas]),
        help="Schema to query instead of tailpipe.",
    )
    @click.option("--unsafe", is_flag=True, help="Allow statements to write and to read other files.")
    @version_chosen
    @wraps(command)
    def narrowed(
        *arguments: Any,
        start: str | None,
        end: str | None,
        partitions: tuple[str, ...],
        indexes: tuple[str, ...],
        schema: str | None,
        unsafe: bool,
        version: Version,
        **options: Any,
    ) -> Any:
        from tailpipe.query.narrowing import Narrowing  # late, so that --help stays fast

        narrowing_ = Narrowing.parse(start, end, partitions, indexes, schema, now=datetime.now(UTC))
        return command(*arguments, narrowed=Narrowed(narrowing_, unsafe, version), **options)

    return narrowed
