"""The DuckDB that evaluates detections: it reads the files it was given, and nothing else.

Conditions come from configs and from packs that others wrote, so they get what statements of a query get: a locked
session, and one condition or one reading statement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import TailpipeError, UsageError
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

__all__ = ["Jail", "expressions_of", "why"]


class Jail:
    """A locked DuckDB; close it. Files may be read in `directories` alone; `detections` are those that will be run."""

    def __init__(
        self,
        directories: Iterable[Path],
        tables: Mapping[str, Table],
        detections: Iterable[Detection] = (),
        attempt: Attempt | None = None,
    ) -> None:
        self._tables = tables
        self.attempt = attempt or Attempt()
        with ExitStack() as stack:
            spill = make_scratch(Path(tempfile.gettempdir()), "tailpipe-detect-")
            stack.callback(spill.close)
            self.connection = connect_locked(
                spill.path,
                [SCHEMA],
                SCHEMA,
                [f"{one}/" for one in directories],
                has_inet=wants_inet(text for one in detections for text in expressions_of(one)),
            )
            stack.callback(self.connection.close)
            self._stack = stack.pop_all()

    def __enter__(self) -> Jail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the memory, and of what was spilt."""
        self._stack.close()

    def show(self, name: str, table: str, snapshot: Snapshot, condition: str = "") -> None:
        """Make a view of the files of a table, with a condition of ours."""
        (view,) = table_views(snapshot, self._tables, only=[table])
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
        """Raise if what a detection says is more than it may be: a condition, expressions, or one reading query.

        From then on it is what runs.
        """
        self.attempt.begin(detection.name)
        if detection.sql is not None:
            try:
                statements = readable(self.connection, detection.sql)
            except duckdb.Error as error:
                raise UsageError(why(error)) from error
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("sql must be one SELECT statement")
        for text in expressions_of(detection):
            if text is not detection.sql:
                _refuse_more(self.connection, text)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement of ours."""
        return self.connection.execute(sql).fetchall()


def expressions_of(detection: Detection) -> list[str]:
    """All SQL of a detection."""
    texts = [detection.where, detection.sql, detection.distinct]
    texts += [*detection.group_by, *detection.first_seen, *detection.steps]
    return [text for text in texts if text is not None]


def why(error: Exception) -> str:
    """Why a detection failed, in one line without the names that DuckDB has for its failures."""
    if isinstance(error, TailpipeError):
        return error.message
    kind, _, said = first_line(error).partition(" Error: ")
    said = (said or kind).rstrip("!.")
    return said[:1].lower() + said[1:]


def _refuse_more(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    expression = read_expression(connection, text)
    if expression.error:
        raise UsageError(f"the SQL cannot be read: {expression.error}")
    if expression.subqueries:
        raise UsageError("a subquery is not allowed here", hint="use sql instead")
    if expression.weak_arrows:
        message, hint = weakness(expression.weak_arrows[0])
        raise UsageError(message, hint=hint)
    if refused := [word.name for word in expression.functions if is_refused(word.name)]:
        raise UsageError(f'the function "{refused[0]}" may do more than read')
