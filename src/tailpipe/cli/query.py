"""`tailpipe query`: questions in SQL, answered at once from what was collected."""

from __future__ import annotations

import re
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailpipe.cli import render
from tailpipe.cli.answer import BINARY, OUTPUTS, Shape
from tailpipe.cli.answers import answer_all
from tailpipe.cli.interrupts import end_late, guarded
from tailpipe.cli.narrowing import guarded_session, narrowing, opened_on_spark, with_timeout
from tailpipe.cli.options import common, examples, home_of, warn_of_schemas
from tailpipe.cli.params import param, parsed
from tailpipe.cli.saved_statements import complete_names, complete_params, resolved
from tailpipe.cli.sinks import screen, shared, to_file, to_screen
from tailpipe.cli.statements import STDIN, gather
from tailpipe.errors import EXIT_FAILED, UsageError
from tailpipe.sql.without_pandas import without_pandas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailpipe.cli.statements import Statement
    from tailpipe.home.home import Home
    from tailpipe.query.on_spark import SparkQueries
    from tailpipe.query.request import Query
    from tailpipe.query.session import Session

_SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet", ".arrow": "arrow"}
_FOR_TEXT = ("", ".txt", ".text", ".log", ".out", ".md")
"""Endings of names that leave it open what is in the file."""
_TAKES = {
    "--separator": ("csv", "plain"),
    "--null": ("pretty", "plain", "line", "csv"),
    "--no-header": ("pretty", "plain", "csv"),
}
"""The outputs for which a flag means something."""
_COMMENT = re.compile(r"--(?:\s|[^=\n]*\n)")


class _Query(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As ever, but a statement that begins with a comment is no flag."""
        return super().parse_args(ctx, [f" {word}" if _COMMENT.match(word) else word for word in args])


@click.command(
    "query",
    cls=_Query,
    epilog=examples(
        "tailpipe query",
        'tailpipe query "FROM app_log LIMIT 10"',
        'tailpipe query "SELECT level, count(*) FROM app_log GROUP BY ALL" --output csv',
        "tailpipe query report.sql 'checks/*.sql'",
        'tailpipe query "FROM app_log" --to-file app.parquet',
        "tailpipe query 'FROM app_log WHERE user = $who' --param who=alice",
        "tailpipe query cloudtrail_failed_logins --param days=7",
    ),
)
@click.argument("sources", metavar="[SQL|NAME|FILE]...", nargs=-1, shell_complete=complete_names)
@click.option(
    "--output",
    type=click.Choice((*OUTPUTS, "table")),
    help="Output format. Defaults to the extension of --to-file, or pretty.",
)
@click.option("--header/--no-header", default=True, help="Print column names.", show_default=True)
@click.option("--separator", metavar="TEXT", help=r"Separator for csv and plain; \t is a tab.")
@click.option("--null", metavar="TEXT", help="Text for NULL in csv and text output.")
@click.option("--limit", metavar="NUMBER", type=click.IntRange(min=0), help="Maximum number of rows per statement.")
@click.option(
    "--to-file",
    "target",
    metavar="FILE",
    help="Write the result to this file; with --engine spark also as parquet objects to s3://bucket/prefix.",
)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="Query engine. Use spark for tables that have outgrown one machine.",
)
@param(complete_params)
@click.option("--timeout", metavar="DURATION", help="Time limit per statement, such as 30s, 5m or 1h30m.")
@click.option(
    "--fetch-limit",
    metavar="SIZE",
    help="Maximum size of the files that a statement may fetch from stores.  [default: 2GB]",
)
@click.option("--offline", is_flag=True, help="Query the data on this disk without connecting to a store.")
@click.option("--timing/--no-timing", default=None, help="Print row count and elapsed time to stderr.")
@narrowing
@common
def command(
    context: click.Context,
    sources: tuple[str, ...],
    output: str | None,
    header: bool,
    separator: str | None,
    null: str | None,
    limit: int | None,
    target: str | None,
    engine: str,
    params: tuple[str, ...],
    timeout: str | None,
    fetch_limit: str | None,
    offline: bool,
    timing: bool | None,
    query: Query,
) -> None:
    """Run SQL statements with DuckDB over all tables.

    Pass statements, names of saved queries, .sql files, or - for stdin. Without arguments, a terminal opens the
    interactive shell. Queries see every committed day, even while a collection is running. Times are UTC. Statements
    are read-only and can access collected data only.
    """
    is_remote = target is not None and re.match(r"[a-z0-9]+://", target) is not None
    if is_remote and (engine != "spark" or output not in (None, "parquet")):
        raise UsageError(f'only --engine spark writes to "{target}", as parquet', hint="name a file, or use it")
    path = None if target is None or is_remote else Path(target)
    shape = _shape(path, "csv" if is_remote else output, header, separator, null, limit)
    query = with_timeout(query, timeout)
    if fetch_limit is not None or offline:
        from tailpipe.model.size import parse_size
        from tailpipe.stores.fetch import FETCH_BYTES, Limits

        limits = Limits(FETCH_BYTES if fetch_limit is None else parse_size(fetch_limit), offline)
        query = replace(query, limits=limits)
    if not sources and sys.stdin.isatty():
        if path is not None or not sys.stdout.isatty():
            raise UsageError("there is no statement to run", hint='give one, such as: tailpipe query "SHOW TABLES"')
        if engine == "spark":
            raise UsageError("the shell works with DuckDB only", hint="pass a statement to --engine spark")
        from tailpipe.cli.shell import Shell  # late, because it takes long to load

        with without_pandas():
            Shell(home_of(context), query, shape, timing, parsed(params)).run()
        return
    begun = time.monotonic()
    home = home_of(context)
    statements = resolved(gather(sources or (STDIN,)), parsed(params), home)
    if shape.output in BINARY and len(statements) > 1:
        raise UsageError(f"{shape.output} holds one result", hint="pass one statement")
    if shape.output in BINARY and path is None and sys.stdout.isatty():
        raise UsageError(f"{shape.output} is not text", hint="set a file with --to-file")
    with ExitStack() as stack:
        session: Session | SparkQueries
        if engine == "spark":
            stack.enter_context(guarded())
            queries = session = stack.enter_context(opened_on_spark(home, query))
            if is_remote:
                _write_there(home, queries, statements, str(target))
                return
            session.limit.when_stuck = partial(end_late, session.limit)
        else:
            has_params = any(statement.params for statement in statements)
            session = stack.enter_context(guarded_session(home, query, has_params=has_params))
        write = None if path is None else stack.enter_context(to_file(path))
        if timing:
            render.say(f"ready in {time.monotonic() - begun:.2f} s")
        sink = to_screen(shape.output) if write is None else shared(write)
        if failures := answer_all(session, statements, shape, sink, timing):
            used = (query.narrowing.schema or "", *(statement.sql for statement in statements))
            warn_of_schemas(home, [name for name in home.config.schemas if any(name in one for one in used)])
            if path is not None:
                render.say(f'nothing was written to "{path}"')
            context.exit(failures[0].exit_code if len(statements) == 1 else EXIT_FAILED)


def _write_there(home: Home, session: SparkQueries, statements: Sequence[Statement], target: str) -> None:
    """Have Spark write the answer of one statement to a bucket or directory."""
    if len(statements) != 1:
        raise UsageError("expected one statement", hint="give each its own --to-file")
    (statement,) = statements
    files, size = session.write(statement.sql, statement.params, home.stores.destination(target))
    render.say(f"wrote {render.counted(files, 'file')} ({render.size(size)}) to {target}")


def _shape(
    path: Path | None, output: str | None, header: bool, separator: str | None, null: str | None, limit: int | None
) -> Shape:
    """How answers are written, by the flags; those that do not apply to the output are rejected."""
    chosen = _by_name(path) if output is None else "pretty" if output == "table" else output
    given = {"--separator": separator is not None, "--null": null is not None, "--no-header": not header}
    for flag, outputs in _TAKES.items():
        if given[flag] and chosen not in outputs:
            raise UsageError(f"{flag} does not apply to --output {chosen}", hint="it applies to " + ", ".join(outputs))
    between = None if separator is None else separator.replace("\\t", "\t")
    if chosen == "csv":
        _check_csv(between, null)
    return Shape(chosen, header, between, null, limit, *(screen() if path is None else (None, False)))


def _by_name(path: Path | None) -> str:
    """The output format by the extension of a file; refuse an unknown one, such as that of `a.csv.gz`."""
    suffix = "" if path is None else path.suffix.lower()
    if suffix not in _SUFFIXES and suffix not in _FOR_TEXT:
        known = ", ".join(_SUFFIXES)
        hint = f"name it {known} or .txt, or set --output"
        raise UsageError(f'"{suffix}" at the end of "{path}" is not a known output format', hint=hint)
    return _SUFFIXES.get(suffix, "pretty")


def _check_csv(separator: str | None, null: str | None) -> None:
    """Refuse values that make csv ambiguous; DuckDB uses only the first byte of a separator."""
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
        hint = r"one such as , or ; or \t; --output plain takes any"
        raise UsageError(f'--separator of csv must be one character, not "{separator}"', hint=hint)
    if null is not None and any(character in null for character in (separator or ",", '"', "\r", "\n")):
        hint = "choose another --separator or --null"
        raise UsageError("--null contains the csv separator, a quote or a line break", hint=hint)
