"""A session for queries: DuckDB in memory, which reads the files of a snapshot and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.ocsf import OCSF
from tailpipe.model.partition import Schema
from tailpipe.model.table import Table
from tailpipe.query.answer import Answer, addresses_as_text, is_address
from tailpipe.query.limit import TimeLimit
from tailpipe.query.locked import connect_locked
from tailpipe.query.made_views import MadeViews
from tailpipe.query.parameters import Params, bound
from tailpipe.query.request import Query
from tailpipe.query.shown import Address, Needed, Shown
from tailpipe.query.stars import Starred, starred_columns
from tailpipe.query.statements import describes_columns, is_refused, readable, refuse_weak_arrow, words
from tailpipe.query.views import CATALOG, COPIES, KNOWN, SCHEMA, View
from tailpipe.sql.duck import duckdb, reserved_words
from tailpipe.sql.inet import INET_WORDS, compares_addresses, load_with_operators, wants_inet
from tailpipe.storage.scratch import make_scratch

if TYPE_CHECKING:
    from tailpipe.catalog.live import LargeSnapshot
    from tailpipe.query.prune import Pruner
    from tailpipe.query.remote_files import RemoteFiles
    from tailpipe.query.shapes import Content, TableShape
    from tailpipe.stores.fetch import Reader

_NAMES_TABLES = {"from", "join", "table", "describe", "desc", "show", "summarize", "pivot", "unpivot", "into"}
"""Words before the name of a table: a statement with none of them needs no table to be loaded."""
_LISTS_TABLES = ("show", "duckdb_", "information_schema", "pg_", "pragma_", "sqlite_")
"""Beginnings of the words that list tables without naming them."""


class Session:
    """All tables of a snapshot as views, until it is closed; nothing in it can write, or read anything else.

    A view is made when a statement names it. An unsafe session leaves the door open.
    """

    def __init__(
        self,
        snapshot: Snapshot | LargeSnapshot,
        tables: Mapping[str, Table],
        query: Query | None = None,
        *,
        schemas: Iterable[Schema] = (),
        newer: Callable[[int], Snapshot | LargeSnapshot | None] = lambda _: None,
        open_reader: Callable[[], Reader] | None = None,
    ) -> None:
        self._tables = tables
        self._query = query or Query()
        self._schemas = tuple(schemas)
        self._unchecked = {schema.name: schema for schema in self._schemas}
        self._newer = newer
        self._has_inet = False
        self._is_interrupted = False
        self._pruner: Pruner | None = None
        self._open_reader = open_reader
        self._files: RemoteFiles | None = None
        self.schema = self._query.narrowing.schema or SCHEMA
        known = [SCHEMA, OCSF, *self._unchecked]
        if self.schema not in known:
            hint = did_you_mean(self.schema, known, "see: tailpipe schema list")
            raise UsageError(f"schema not found: {self.schema}", hint=hint)
        self._take(snapshot)
        self.limit = TimeLimit(self._query.timeout_seconds, self.interrupt)
        self._spill = make_scratch(Path(tempfile.gettempdir()), "tailpipe-query-")
        try:
            self._connection = self._connect()
        except BaseException:
            snapshot.close()
            self._spill.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory, and remove what was spilt."""
        try:
            self._disconnect()
        finally:
            if self._files is not None:
                self._files.close()
            self.shown.snapshot.close()
            self._spill.close()

    def run(self, sql: str, params: Params | None = None) -> Answer:
        """Run one reading statement, with values for its `$name` parameters; in an unsafe session any statement."""
        self.limit.begin()
        self._is_interrupted = False
        if self._files is not None:
            self._files.begin()
        try:
            with self.limit.running():
                if self._query.hides_places:
                    from tailpipe.query.hidden import refuse_places  # late, because most readers are on this machine

                    refuse_places(sql)
                extract = self._connection.extract_statements
                statements = extract(sql) if self._query.is_unsafe else readable(self._connection, sql)
                refuse_weak_arrow(self._connection, sql)
                values = bound(statements, params or {})
                self._make_views(sql, values)
                for statement in statements:  # given an empty map, DuckDB's Python would look for pandas
                    own = {name: values[name] for name in statement.named_parameters}
                    self._connection.execute(statement, own or None)
                names, types = self._described()
                if any(map(is_address, types)) and statements[-1].type == duckdb.StatementType.SELECT:
                    self._connection.execute(addresses_as_text(sql, names, types), values or None)
                    names, types = self._described()
                return Answer(names, types, self._connection, lambda error: self._explain(error, sql), self.limit)
        except (duckdb.Error, RuntimeError) as error:
            raise self._explain(error, sql) from error
        except KeyboardInterrupt:  # while files were being fetched
            if self.limit.is_over:
                raise self.limit.error() from None
            raise

    def describe(self, sql: str, params: Params | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names and types of the columns that a query would give; it is not run."""
        described = list(self.run(f"DESCRIBE {sql}", params).rows)
        return tuple(str(row[0]) for row in described), tuple(str(row[1]) for row in described)

    def starred(self, sql: str, columns: Sequence[str]) -> Starred:
        """The columns of an answer that come from a star, or from a FROM without SELECT."""
        tables = self.shown.named(sql)
        known = [column for view in self.shown.views_of(tables) for column in view.columns]
        declared = [self._tables[name] for name in tables if name in self._tables]
        return starred_columns(self._connection, sql, columns, known, declared)

    def _described(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        described = self._connection.description or []
        return tuple(str(column[0]) for column in described), tuple(str(column[1]) for column in described)

    def interrupt(self) -> None:
        """End the statement that runs in another thread; `KeyboardInterrupt` is raised there."""
        self._is_interrupted = True
        self._connection.interrupt()
        if self._files is not None:
            self._files.interrupt()

    def refresh(self) -> bool:
        """Switch to the newest commit; whether there was a new one."""
        snapshot = self._newer(self.sequence)
        if snapshot is None:
            return False
        self.shown.snapshot.close()
        self._take(snapshot)
        return True

    def contents(self, schema: str) -> tuple[Content, ...]:
        """How much each table of a schema shows, and of which time."""
        views = [view for view in self.views if view.schema == schema]
        if self.shown.large is not None:
            views = [view for view, _ in self.shown.needed(" ".join(f"{schema}.{view.name}" for view in views))]
            views = [view for view in views if view.schema == schema]
        return tuple(self._content(view) for view in views)

    def _content(self, view: View) -> Content:
        from tailpipe.query.shapes import Content

        is_copy = view.files[:1] != () and view.files[0].path.startswith(f"{COPIES}/")
        bounds = [moment for file in view.files for moment in (file.min_timestamp, file.max_timestamp) if moment]
        rows, first, last = view.rows, min(bounds, default=None), max(bounds, default=None)
        if view.files and (view.conditions or is_copy):  # the catalog knows files, not conditions
            counted = f"SELECT count(*), min(tp_timestamp), max(tp_timestamp) FROM {view.full_name}"
            ((rows, first, last),) = self.run(counted).rows
            first, last = (None if moment is None else moment.replace(tzinfo=UTC) for moment in (first, last))
        return Content(view.name, rows, view.size, first, last, is_copy)

    def tables(self) -> tuple[TableShape, ...]:
        """All tables of all schemas with their columns."""
        from tailpipe.query.shapes import shape_of

        is_large = self.shown.large is not None  # then only a query can count the rows
        shapes = (shape_of(view) for view in self.views)
        return tuple(replace(one, rows=None) if is_large else one for one in shapes)

    def catalog_tables(self) -> tuple[TableShape, ...]:
        """The views of what the catalog knows of its files, and those of the schema `ocsf`."""
        from tailpipe.query.ocsf import ocsf_shapes
        from tailpipe.query.summary import SHAPES

        return (*SHAPES, *ocsf_shapes())

    def functions(self) -> tuple[str, ...]:
        """The names of the functions that a statement can call."""
        rows = self._connection.cursor().execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type <> 'pragma'"
            " AND regexp_full_match(function_name, '[a-z]\\w+') ORDER BY ALL"
        )
        return tuple(name for (name,) in rows.fetchall() if self._query.is_unsafe or not is_refused(name))

    def keywords(self) -> tuple[str, ...]:
        """The words of SQL."""
        rows = self._connection.cursor().execute("SELECT keyword_name FROM duckdb_keywords() ORDER BY ALL")
        return tuple(name for (name,) in rows.fetchall())

    def reserved_words(self) -> frozenset[str]:
        """The words of SQL that name something only in quotes."""
        return reserved_words(self._connection.cursor())

    def _take(self, snapshot: Snapshot | LargeSnapshot) -> None:
        self.shown = Shown(snapshot, self._tables, self._schemas, self._query, self._planning)
        self.sequence = snapshot.sequence
        self._made = MadeViews(self.shown)

    @property
    def views(self) -> Sequence[View]:
        """All tables of all schemas, those of the schema `tailpipe` first; of a very large catalog without files."""
        return self.shown.views

    def local(self, view: View, files: Sequence[LiveFile]) -> list[str]:
        """The paths of files on this disk, where they stay until the session is closed; fetched where need be."""
        if all(file.is_here for file in files):
            return [view.place(file) for file in files]
        return self._reader().local(files, view.place)

    def _connect(self) -> duckdb.DuckDBPyConnection:
        return connect_locked(
            self._spill.path,
            (SCHEMA, CATALOG, OCSF, *(schema.name for schema in self._schemas)),
            self.schema,
            [f"{directory}/" for directory in self.shown.snapshot.directories],
            allow=None if self._files is None else self._files.allowed,
            has_inet=self._has_inet,
            is_unsafe=self._query.is_unsafe,
        )

    def _disconnect(self) -> None:
        if self._pruner is not None:
            self._pruner.close()
            self._pruner = None
        self._connection.interrupt()  # after Ctrl-C, closing would wait for the end of the statement
        self._connection.close()

    def _reconnect(self) -> None:
        """Connect again with what is readable or loaded now: a locked connection cannot change. Only views are lost."""
        self._disconnect()
        self._connection = self._connect()
        self._made = MadeViews(self.shown)

    def _make_views(self, sql: str, values: Params) -> None:
        """Make the views that the statement names, over the files that it needs."""
        used = words(sql)
        if not self._has_inet:
            conditions = (one.where for one in self._schemas if one.name.lower() in used | {self.schema.lower()})
            if used & INET_WORDS or compares_addresses(sql) or wants_inet(conditions):
                self._has_inet = True
                if self._query.is_unsafe:
                    self._connection.execute(load_with_operators())
                else:
                    self._reconnect()
        needed = self.shown.needed(sql, values)
        for view, _ in needed:
            if (schema := self._unchecked.get(view.schema)) is not None:
                from tailpipe.query.check import refuse_broken

                refuse_broken(self._connection, schema)  # a broken one leaves the others usable
                del self._unchecked[view.schema]
        paths = self._paths(sql, needed)
        is_about_known = bool(used & KNOWN)
        self._made.make(self._connection, needed, paths, lambda error: self._explain(error, ""), is_about_known)
        if CATALOG in used:
            self._made.make_catalog(
                self._connection, lambda names: self._planning().read_tables(sql, (), self.schema, names, values)
            )
        classes = self.shown.classes(used)
        if classes:
            from tailpipe.query.ocsf import ocsf_views  # late, because few statements name one

            for statement in ocsf_views(classes):
                self._connection.execute(statement)
        is_lost = not needed and not classes and bool(used & _NAMES_TABLES)
        if is_lost or any(word.startswith(_LISTS_TABLES) for word in used):
            self._made.outline(self._connection)

    def _paths(self, sql: str, needed: Sequence[Needed]) -> dict[Address, list[str]]:
        """Where the files are that are not all on this disk, fetched where need be; DuckDB is let in where they are."""
        elsewhere = [(view, files) for view, files in needed if not view.has_all_here(files)]
        if not elsewhere:
            return {}
        if describes_columns(sql):
            return {view.address: [] for view, _ in elsewhere}
        reader = self._reader()
        paths = {view.address: reader.paths(view, files) for view, files in elsewhere}
        if reader.is_to_be_let_in:
            if self._query.is_unsafe:  # nothing is locked, and what statements have made stays
                reader.allowed(self._connection)
            else:
                self._reconnect()
        return paths

    def _reader(self) -> RemoteFiles:
        if self._files is None:
            from tailpipe.query.remote_files import RemoteFiles  # late, because most files are here

            self._files = RemoteFiles(self._open_reader, self._spill.path)
        return self._files

    def _planning(self) -> Pruner:
        """What plans statements over empty tables."""
        if self._pruner is None:
            from tailpipe.query.prune import Pruner

            self._pruner = Pruner(load_with_operators() if self._has_inet else "")
        return self._pruner

    def _explain(self, error: Exception, sql: str) -> TailpipeError | KeyboardInterrupt:
        from tailpipe.query.mistakes import explain_failure

        if isinstance(error, TailpipeError):
            return error
        if self._files is not None:
            if self.limit.is_over:  # the engine says that a file could not be read, because its address was cut
                return self.limit.error()
            if (unread := self._files.failure()) is not None:
                return unread
        failure = explain_failure(error, sql, self.views, self.schema, is_interrupted=self._is_interrupted)
        return self.limit.error() if self.limit.is_over and isinstance(failure, KeyboardInterrupt) else failure
