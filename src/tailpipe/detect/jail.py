"""The DuckDB that evaluates detections: it reads the files it was given, and nothing else.

Conditions come from configs and from packs that others wrote, so they get what statements of a query get: a locked
session, and one condition or one reading statement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.detection import NEW_ROWS, Detection
from tailpipe.model.table import Table
from tailpipe.query.locked import connect_locked
from tailpipe.query.statements import is_refused, readable
from tailpipe.query.views import SCHEMA, table_views
from tailpipe.sql.attempt import Attempt
from tailpipe.sql.duck import duckdb, first_line
from tailpipe.sql.inet import wants_inet
from tailpipe.sql.quoting import quoted
from tailpipe.sql.references import read_expression, weakness
from tailpipe.storage.scratch import make_scratch


@frozen
class Jail:
    """A locked DuckDB, the tables that it can show, and the note of which detection it evaluates."""

    connection: duckdb.DuckDBPyConnection
    tables: Mapping[str, Table]
    attempt: Attempt

    def show(self, name: str, table: str, snapshot: Snapshot, condition: str = "") -> None:
        """Make a view of the files of a table, with a condition of ours."""
        (view,) = table_views(snapshot, self.tables, only=[table])
        shown = replace(view, name=name, conditions=(condition,) if condition else ())
        self.connection.execute(shown.over_paths(snapshot.local(view.files)))

    def show_groups(self, table: str, snapshot: Snapshot, groups: Mapping[str, Sequence[LiveFile]]) -> None:
        """Make the rows to examine: of each group of files those for which its condition holds."""
        names: list[str] = []
        for condition, files in groups.items():
            names.append(f"{NEW_ROWS}_{len(names)}")
            self.show(names[-1], table, replace(snapshot, files=tuple(files)), condition)
        if not names:
            self.show(NEW_ROWS, table, replace(snapshot, files=()))
            return
        rows = " UNION ALL BY NAME ".join(f"SELECT * FROM {quoted(name)}" for name in names)
        self.connection.execute(f"CREATE OR REPLACE VIEW {quoted(NEW_ROWS)} AS {rows}")

    def check(self, detection: Detection) -> None:
        """Raise unless the SQL of a detection is a condition, expressions, or one reading query."""
        self.attempt.begin(detection.name)  # from here on it is what runs
        if detection.sql is not None:
            try:
                statements = readable(self.connection, detection.sql)
            except duckdb.Error as error:
                raise UsageError(why(error)) from error
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("sql must be one SELECT statement")
        for text in _expressions_of(detection):
            expression = read_expression(self.connection, text)
            if expression.error:
                raise UsageError(f"the SQL cannot be read: {expression.error}")
            if expression.subqueries:
                raise UsageError("a subquery is not allowed here", hint="use sql instead")
            if expression.weak_arrows:
                message, hint = weakness(expression.weak_arrows[0])
                raise UsageError(message, hint=hint)
            if refused := [word.name for word in expression.functions if is_refused(word.name)]:
                raise UsageError(f'the function "{refused[0]}" may do more than read')


@contextmanager
def open_jail(
    directories: Iterable[Path],
    tables: Mapping[str, Table],
    detections: Iterable[Detection] = (),
    attempt: Attempt | None = None,
) -> Iterator[Jail]:
    """Open a DuckDB that reads files below `directories` alone, with the extensions that these detections need."""
    texts = (text for one in detections for text in (one.sql, *_expressions_of(one)))
    with (
        closing(make_scratch(Path(tempfile.gettempdir()), "tailpipe-detect-")) as spill,
        closing(
            connect_locked(spill.path, [SCHEMA], SCHEMA, [f"{one}/" for one in directories], has_inet=wants_inet(texts))
        ) as connection,
    ):
        yield Jail(connection, tables, attempt or Attempt())


def _expressions_of(detection: Detection) -> list[str]:
    texts = [detection.where, detection.distinct, *detection.group_by, *detection.first_seen, *detection.steps]
    return [text for text in texts if text is not None]


def why(error: Exception) -> str:
    """Why a detection failed, in one line without the prefix that DuckDB writes before its messages."""
    if isinstance(error, TailpipeError):
        return error.message
    kind, _, message = first_line(error).partition(" Error: ")
    message = (message or kind).rstrip("!.")
    return message[:1].lower() + message[1:]
