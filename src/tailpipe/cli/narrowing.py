"""The flags that say which part of the data a query sees, and whether it may do more than read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.fetching import FetchProgress
from tailpipe.cli.interrupts import closed_in_time, end_late, guarded
from tailpipe.cli.logs import log_from
from tailpipe.cli.options import between, completes, completes_held
from tailpipe.errors import UsageError
from tailpipe.sql.without_pandas import without_pandas
from tailpipe.stores.version import Version

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tailpipe.home.home import Home
    from tailpipe.query.on_spark import SparkQueries
    from tailpipe.query.request import Query
    from tailpipe.query.session import Session


def opened(home: Home, query: Query) -> Session:
    """A session over the requested data, and a warning if it is not a safe one."""
    from tailpipe.operations.query import open_session

    if query.is_unsafe:
        render.say("warning: --unsafe lets statements write files, read any file, and load extensions")
    return open_session(home, query)


@contextmanager
def guarded_session(home: Home, query: Query, *, has_params: bool = False) -> Iterator[Session]:
    """A session that Ctrl-C, signals and its time limit end soon, whatever the engine does."""
    with guarded():
        session = opened(home, query)
        with closed_in_time(session.close), without_pandas() if has_params else nullcontext():
            session.limit.when_stuck = partial(end_late, session.limit)
            yield session


def with_timeout(query: Query, timeout: str | None) -> Query:
    """The query with the time limit that `--timeout` gives."""
    if timeout is None:
        return query
    from tailpipe.query.limit import parse_timeout  # late, so that --help stays fast

    return replace(query, timeout_seconds=parse_timeout(timeout))


def opened_on_spark(home: Home, query: Query) -> AbstractContextManager[SparkQueries]:
    """The requested data as queries of Spark."""
    from tailpipe.operations.query import spark_queries

    if query.is_unsafe:
        raise UsageError("--unsafe works with DuckDB only", hint="remove --engine spark")
    log_from(home.settings.log_levels, home.config.secrets)
    return spark_queries(home, query)


def rows_chosen(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take `--from`, `--to`, `--partition` and `--index`, as they are written."""
    flags = (
        between("Start time, such as T-7d or 2024-01-31."),
        click.option(
            "--partition",
            "partitions",
            metavar="NAME",
            multiple=True,
            shell_complete=completes_held,
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
    """Let a command take those and `--schema` and `--unsafe`, as `query`."""

    @rows_chosen
    @click.option(
        "--schema",
        metavar="NAME",
        shell_complete=completes(lambda home: ["tailpipe", *home.config.schemas]),
        help="Schema to query instead of tailpipe.",
    )
    @click.option("--unsafe", is_flag=True, help="Allow statements to write and to read other files.")
    @version_chosen
    @wraps(command)
    def chosen(
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
        from tailpipe.query.request import Query

        narrowing_ = Narrowing.parse(start, end, partitions, indexes, schema, now=datetime.now(UTC))
        return command(*arguments, query=Query(narrowing_, version, unsafe, on_fetch=FetchProgress()), **options)

    return chosen
