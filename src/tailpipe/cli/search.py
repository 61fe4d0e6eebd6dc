"""`tailpipe search`: one question over all tables."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.bar import redraw
from tailpipe.cli.narrowing import guarded_session, narrowing
from tailpipe.cli.options import common, completes, examples, fail_if, home_of, limited, output
from tailpipe.model.visible import shorten
from tailpipe.model.window import EVER, window_between
from tailpipe.operations.facts import table_names
from tailpipe.stores.version import NOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailpipe.model.window import Window
    from tailpipe.query.request import Query
    from tailpipe.query.search import Found

_SINCE = "T-30d"
_TABLES = render.columns("table", "rows", "first_event:first event", "last_event:last event", "columns")
_ROWS = render.columns("tp_timestamp", "table", "column", "text")
_COLUMNS_SHOWN = 4
_WIDEST = 160


@click.command(
    "search",
    epilog=examples(
        "tailpipe search 203.0.113.9",
        "tailpipe search alice@example.com --from T-7d",
        'tailpipe search "permission denied" --table "linux_*" --limit 50',
        "tailpipe search 10.0.0.0/8 --output json",
    ),
)
@click.argument("text", metavar="TEXT")
@click.option(
    "--table",
    "tables",
    metavar="NAME",
    multiple=True,
    shell_complete=completes(table_names),
    help="Search only this table, with wildcards. Repeatable.",
)
@click.option("--common", "in_common", is_flag=True, help="Search only the tp_ columns. Faster.")
@limited("rows to show, newest first", default=10, least=0)
@output
@narrowing
@common
def command(
    context: click.Context, text: str, tables: tuple[str, ...], in_common: bool, limit: int, output: str, query: Query
) -> None:
    """Search all tables for a text, an IP address, a network or a user.

    Shows in which tables and columns TEXT is found, how often and when, and the newest rows. Upper and lower case are
    the same. An IP address matches in any notation, but only as a separate word: 10.0.0.1 does not match
    210.0.0.10. A network such as 10.0.0.0/8 is searched in the columns of addresses. Without --from, the last 30 days
    are searched.
    """
    from tailpipe.query.needle import Needle  # late, so that --help stays fast
    from tailpipe.query.search import search, searched_views

    needle, home = Needle.parse(text), home_of(context)
    if query.narrowing.window == EVER and query.version == NOW:
        window = window_between(_SINCE, None, now=datetime.now(UTC))
        query = replace(query, narrowing=replace(query.narrowing, window=window))
    found: list[Found] = []
    with guarded_session(home, query) as session:
        views = searched_views(session, tables)
        results = search(session, views, needle, newest=limit, in_common=in_common)
        try:
            for view in views:
                _show_progress(view.name, len(found) + 1, len(views))
                found.append(next(results))
        except KeyboardInterrupt:
            _show_progress()
            if output == "pretty":
                _print(needle.text, found, limit, output, query.narrowing.window)
            raise
        _show_progress()
    _print(needle.text, found, limit, output, query.narrowing.window)
    fail_if(any(one.failure for one in found))


def _show_progress(table: str = "", number: int = 0, count: int = 0) -> None:
    """Show in a terminal which table is being searched; without one, nothing is shown any more."""
    if sys.stderr.isatty():
        redraw(f"searching {table} ({number} of {count})" if count else "")


def _print(text: str, found: Sequence[Found], limit: int, output: str, window: Window) -> None:
    hits = [one for one in found if one.rows]
    newest = sorted((row for one in hits for row in one.newest), key=lambda row: row.tp_timestamp, reverse=True)[:limit]
    if output == "pretty":
        if hits:
            render.records([_line(one) for one in hits], output, _TABLES)
        if newest:
            render.data("")
            render.records([{**asdict(row), "text": shorten(row.text, _WIDEST)} for row in newest], output, _ROWS)
    else:
        render.records([_record(one) for one in hits], output)
    for one in found:
        if one.failure:
            render.say(f"{one.table}: not searched")
            render.error(one.failure)
    total = sum(one.rows for one in hits)
    since = f" from {window.start:%Y-%m-%d %H:%M}" if window.has_start else ""
    where = f"{render.counted(len(found), 'table')} searched{since}"
    if not total:
        more = "; to search further back, use --from" if window.has_start else ""
        render.say(f'"{render.shown(text)}" not found; {where}{more}')
        return
    render.say(f"{render.counted(total, 'row')} in {render.counted(len(hits), 'table')}; {where}")


def _line(found: Found) -> dict[str, Any]:
    columns = list(found.columns or {})
    own = [name for name in columns if not name.startswith("tp_")] or columns
    more = f" and {len(own) - _COLUMNS_SHOWN} more" if len(own) > _COLUMNS_SHOWN else ""
    names = ", ".join(own[:_COLUMNS_SHOWN]) + more
    facts = {"table": found.table, "rows": found.rows, "first_event": found.first, "last_event": found.last}
    return {**facts, "columns": names}


def _record(found: Found) -> dict[str, Any]:
    """What a program gets: the counts of the columns, the SQL for all rows, and the newest of them."""
    newest = [{**asdict(row), "tp_timestamp": row.tp_timestamp.isoformat()} for row in found.newest]
    return {
        "table": found.table,
        "rows": found.rows,
        "first_event": found.first.isoformat() if found.first else None,
        "last_event": found.last.isoformat() if found.last else None,
        "columns": dict(found.columns or {}),
        "sql": found.sql,
        "newest_rows": newest,
    }
