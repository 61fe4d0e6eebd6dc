"""A session for queries: DuckDB in memory, which reads the files of a snapshot and nothing else."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from tailpipe.catalog.read import Snapshot
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.kernel.sql import literal
from tailpipe.model.table import Table
from tailpipe.query.views import SCHEMA, View, table_views

__all__ = ["Answer", "Session"]

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
}
_BATCH = 1000
_EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+)?(?:\(\s*(?:analyze|format)[^()]*\)\s*)?", re.IGNORECASE)
_MISSING_TABLE = re.compile(r"Table with name (\S+) does not exist")
_MISSING_COLUMN = re.compile(r'column (?:named )?"([^"]+)"')
_CANDIDATES = re.compile(r"Candidate \w+: (.+)")


@dataclass(frozen=True)
class Answer:
    """What a statement gives: names and DuckDB types of its columns, and its rows, fetched as they are asked for."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Session:
    """All tables of a snapshot as views, until it is closed; nothing in it can write, or read anything else.

    The order of the settings matters: the views are made first, then the door is closed, then the lock
    is turned, after which no statement can open it again.
    """

    def __init__(self, snapshot: Snapshot, tables: Mapping[str, Table]) -> None:
        self.views: Sequence[View] = table_views(snapshot, tables)
        self._spill = tempfile.mkdtemp(prefix="tailpipe-query-")
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        try:
            self._prepare(snapshot.root / "files")
        except duckdb.Error as error:
            self.close()
            raise self._told(error) from error

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the memory, and of what was spilt."""
        self._connection.interrupt()  # after Ctrl-C, closing would wait for the end of the statement
        self._connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)

    def run(self, sql: str) -> Answer:
        """Run one reading statement."""
        try:
            statements = _readable(sql)
            for statement in statements:
                self._connection.execute(statement)
            described = self._connection.description or []
            names = tuple(str(column[0]) for column in described)
            return Answer(names, tuple(str(column[1]) for column in described), self._rows())
        except (duckdb.Error, RuntimeError) as error:
            raise self._told(error) from error

    def _prepare(self, files: Path) -> None:
        run = self._connection.execute
        run("SET TimeZone = 'UTC'")
        run(f"SET temp_directory = {literal(self._spill)}")
        run(f"CREATE SCHEMA {SCHEMA}")
        for view in self.views:
            run(view.sql)
        run(f"SET search_path = {literal(SCHEMA)}")
        run(f"SET allowed_directories = [{literal(f'{files}/')}]")
        run("SET enable_external_access = false")
        run("SET lock_configuration = true")

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        try:
            while rows := self._connection.fetchmany(_BATCH):
                yield from rows
        except (duckdb.Error, RuntimeError) as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> TailpipeError | KeyboardInterrupt:
        """The failure in DuckDB's own first line, and the name that was probably meant."""
        text = str(error)
        if isinstance(error, RuntimeError) and "interrupted" in text:  # how DuckDB tells of Ctrl-C
            return KeyboardInterrupt()
        first = text.partition("\n")[0].rstrip("!")
        if isinstance(error, duckdb.IOException):
            return TailpipeError(first, hint="see what is wrong with: tailpipe doctor")
        return TailpipeError(first, hint=self._nearest(text))

    def _nearest(self, text: str) -> str:
        if missing := _MISSING_TABLE.search(text):
            known = [view.name for view in self.views]
            hint = "there are: " + ", ".join(known) if known else "there is no table yet"
            return _did_you_mean(missing[1], known) or hint
        if missing := _MISSING_COLUMN.search(text):
            used = [view for view in self.views if re.search(rf"\b{re.escape(view.name)}\b", text)]
            columns = {column for view in used or self.views for column in view.columns}
            if near := _did_you_mean(missing[1], sorted(columns)):
                return near
        if candidates := _CANDIDATES.search(text):
            return f"there are: {candidates[1]}"
        return next((line for line in text.splitlines() if line.startswith("Did you mean")), "")


def _readable(sql: str) -> list[duckdb.Statement]:
    """The one statement in the text, or its parts; whatever could change something is refused."""
    statements = duckdb.extract_statements(sql)
    # A PIVOT is taken apart into a type that is made and a SELECT; such parts have no text of their own.
    is_pivot = all(not one.query and one.type == duckdb.StatementType.CREATE for one in statements[:-1])
    if not statements:
        raise UsageError("there is no statement to run", hint="write one, such as: FROM app_log LIMIT 10")
    if not is_pivot:
        raise UsageError("one statement at a time, please", hint="call tailpipe query once for each")
    last = statements[-1]
    if last.type == duckdb.StatementType.EXPLAIN:
        begin = _EXPLAIN.match(last.query)  # it may run what it explains, so that must be a reading one too
        if begin is None:
            raise UsageError("EXPLAIN must be the first word of the statement")
        _readable(last.query[begin.end() :])
    elif last.type != duckdb.StatementType.SELECT:
        name = last.type.name.replace("_", " ")
        raise UsageError(f"a query only reads, and {name} does not", hint="SELECT, FROM, DESCRIBE, SHOW and EXPLAIN do")
    return list(statements)


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word.strip('"'), known, n=1)
    return f'did you mean "{near[0]}"?' if near else ""
