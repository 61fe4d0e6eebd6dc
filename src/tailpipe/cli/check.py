"""`tailpipe check`: runs saved queries as checks; a check fails if its query finds rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.answer import Shape, write_answer
from tailpipe.cli.answers import Rows
from tailpipe.cli.crash import attempt_of
from tailpipe.cli.narrowing import guarded_session, narrowing, with_timeout
from tailpipe.cli.options import common, examples, home_of, pretty_or_json
from tailpipe.cli.params import named_in, param, parsed
from tailpipe.cli.saved_statements import complete_names, complete_params, find_saved, refuse_unused, statement_of
from tailpipe.cli.sinks import Write, screen, to_screen, writer_to
from tailpipe.cli.statements import place_of
from tailpipe.errors import EXIT_DONE, EXIT_FAILED, EXIT_FOUND, TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.saved import SavedQuery
from tailpipe.sql.attempt import Attempt

if TYPE_CHECKING:
    from tailpipe.home.home import Home
    from tailpipe.query.request import Query

_IN_MEMORY = 1 << 24
"""The bytes of an answer that are kept in memory until it is whole; more of them go to a temporary file."""


@click.command(
    "check",
    epilog=examples(
        "tailpipe check cloudtrail_failed_logins",
        "tailpipe check 'cloudtrail_*' --from T-1d --output json",
        "tailpipe check failed_logins --param days=1",
    ),
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@param(complete_params)
@pretty_or_json
@click.option(
    "--limit", metavar="NUMBER", type=click.IntRange(min=1), help="Maximum number of rows to print per query."
)
@click.option("--timeout", metavar="DURATION", help="Time limit per query, such as 30s, 5m or 1h30m.")
@narrowing
@common
def command(
    context: click.Context,
    names: tuple[str, ...],
    params: tuple[str, ...],
    output: str,
    limit: int | None,
    timeout: str | None,
    query: Query,
) -> None:
    """Run saved queries as checks. Exit with 3 if one of them finds rows.

    NAME is a saved query, or a pattern such as 'cloudtrail_*'. A query that fails is reported, and the others run. The
    exit code is 0 if no query finds rows, 3 if one does, and 1 if one fails.
    """
    query = with_timeout(query, timeout)
    home, given = home_of(context), parsed(params)
    queries = _chosen(home, names)
    refuse_unused(given, {name for query in queries for name in named_in(query.text, given)})
    with guarded_session(home, query, has_params=any(query.params for query in queries)) as session:
        room, has_colour = screen() if output == "pretty" else (None, False)
        shape = Shape(output, limit=limit, room=room, has_colour=has_colour)
        with to_screen(output)() as write:
            run = partial(_run, session, given, shape, attempt_of(context))
            outcomes = (_in_list if output == "json" else _in_turn)(run, _left(queries, attempt_of(context)), write)
    if any(one.failure for one in outcomes):
        context.exit(EXIT_FAILED)
    context.exit(EXIT_FOUND if any(one.rows for one in outcomes) else EXIT_DONE)


@frozen
class _Outcome:
    rows: int = 0
    failure: TailpipeError | None = None


_Runs = Callable[[SavedQuery, Write], _Outcome]
"""Runs one query and writes its rows."""


def _chosen(home: Home, names: Sequence[str]) -> list[SavedQuery]:
    """The queries of these names and patterns, each once."""
    found: dict[str, SavedQuery] = {}
    for name in names:
        if not any(sign in name for sign in "*?["):
            found[name] = find_saved(home, name)
            continue
        matching = [one for one in sorted(home.queries) if fnmatchcase(one, name)]
        if not matching:
            raise UsageError(f'no saved query matches "{name}"', hint="see: tailpipe saved list")
        found.update((one, home.queries[one]) for one in matching)
    return list(found.values())


def _left(queries: Sequence[SavedQuery], attempt: Attempt) -> list[tuple[int, SavedQuery]]:
    """The queries with their numbers, without those that an earlier attempt has already answered.

    On a terminal the answers of that attempt may be in a pager that shows the end of it: there they are repeated.
    """
    numbered, last = list(enumerate(queries)), attempt.crashed[-1:]
    if sys.stdout.isatty() or not last:
        return numbered
    return numbered[next((number for number, query in numbered if query.name == last[0]), 0) :]


def _in_turn(run: _Runs, queries: Sequence[tuple[int, SavedQuery]], write: Write) -> list[_Outcome]:
    """Answers for people: a line for each query, and below it what was found."""
    outcomes = []
    for _, query in queries:
        table: list[bytes] = []
        outcome = run(query, table.append)
        outcomes.append(outcome)
        result = "failed" if outcome.failure else render.counted(outcome.rows, "row") if outcome.rows else "ok"
        title = f"  {query.title}" if query.title else ""
        write(f"{query.name}: {result}{title}\n".encode())
        if outcome.rows:
            write(b"".join([b"\n", *table, b"\n"]))
        sys.stdout.flush()
    return outcomes


def _in_list(run: _Runs, queries: Sequence[tuple[int, SavedQuery]], write: Write) -> list[_Outcome]:
    """One JSON document: a list with `name`, `title`, `rows`, `status` and `error` for each query.

    An answer is written when it is whole: if its statement crashes the process, another one goes on behind the last.
    """
    outcomes = []
    for number, query in queries:
        head = json.dumps({"name": query.name, "title": query.title}, ensure_ascii=False)
        with SpooledTemporaryFile(_IN_MEMORY) as answer:
            rows = Rows(writer_to(answer))
            outcome = run(query, rows)
            rows.end()
            answer.seek(0)
            write((",\n" if number else "[\n").encode() + head[:-1].encode() + b', "rows": ')
            for part in iter(partial(answer.read, _IN_MEMORY), b""):
                write(part)
        outcomes.append(outcome)
        status = "error" if outcome.failure else "found" if outcome.rows else "ok"
        tail = {"status": status, "error": outcome.failure and outcome.failure.message}
        write(b", " + json.dumps(tail, ensure_ascii=False)[1:].encode())
        sys.stdout.flush()
    write(b"\n]\n")
    return outcomes


def _run(
    session: Any, given: Mapping[str, Any], shape: Shape, attempt: Attempt, query: SavedQuery, write: Write
) -> _Outcome:
    """Run one query and write its rows; a failure is reported, and no more than that."""
    try:
        attempt.begin(query.name, query.text)
        values = query.values(named_in(query.text, given), now=datetime.now(UTC))
        answer = session.run(query.text, values)
        return _Outcome(write_answer(answer, shape, write, session.interrupt).rows)
    except TailpipeError as failure:
        placed = place_of(statement_of(query, {}), failure)
        render.error(placed)
        return _Outcome(failure=placed)
    finally:
        attempt.begin()
