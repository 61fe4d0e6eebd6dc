"""What a session shows: the views of a snapshot, and those of their files that a statement needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import EPOCH, LiveFile, Snapshot
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.ocsf import OCSF
from tailpipe.model.partition import Schema
from tailpipe.model.table import Table
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.parameters import Params
from tailpipe.query.request import Query
from tailpipe.query.statements import words
from tailpipe.query.views import CATALOG, FEW, KNOWN, SCHEMA, View, schema_views, table_views

if TYPE_CHECKING:
    from tailpipe.catalog.live import LargeSnapshot, Part
    from tailpipe.query.prune import Pruner

Address = tuple[str, str]
Needed = tuple[View, tuple[LiveFile, ...]]
"""A view, and the files of it that a statement needs."""
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


@frozen
class Piece:
    """What the catalog knows of files of one date: how many files and rows, and the bounds of their times."""

    partition: str
    tp_date: date
    files: int
    rows: int
    low: int | None
    """Microseconds since 1970, as `high`."""
    high: int | None


class Shown:
    """The tables of a snapshot as views in all schemas, narrowed; of a large snapshot only what a statement needs."""

    def __init__(
        self,
        snapshot: Snapshot | LargeSnapshot,
        tables: Mapping[str, Table],
        schemas: Sequence[Schema],
        query: Query,
        pruner: Callable[[], Pruner],
    ) -> None:
        self.snapshot = snapshot
        self.large = None if isinstance(snapshot, Snapshot) else snapshot
        """The snapshot, if files of it are loaded for each statement."""
        self.own_schemas = frozenset(schema.name for schema in schemas)
        """The schemas of the config."""
        self._tables = tables
        self._schemas = schemas
        self._narrowing = query.narrowing
        self._schema = query.narrowing.schema or SCHEMA
        self._pruner = pruner
        # A copy lacks the partitions and indexes of its rows, so what is narrowed is read from the files.
        self._is_narrowed = replace(query.narrowing, schema=None) != Narrowing()
        self._has_copies = query.has_copies and not self._is_narrowed and any(one.materialized for one in schemas)
        self._taken = datetime.now(UTC)
        held = {name.partition(".")[0] for name in snapshot.partitions}
        self._names = {name: name.lower() for name in {*held, *tables}}
        self._views: dict[frozenset[str], Sequence[View]] = {}
        self._loaded: tuple[Part, Sequence[View]] | None = None
        self._held = held

    @property
    def views(self) -> Sequence[View]:
        """All tables of all schemas, those of the schema `tailpipe` first; those of a large snapshot without files."""
        return self.views_of(self._names)

    def named(self, sql: str) -> list[str]:
        """The tables that a statement names; a table that none names is not even loaded."""
        used = words(sql)
        of_classes = {table.name for tables in self.classes(used).values() for table in tables}
        return [name for name, lower in self._names.items() if lower in used or name in of_classes]

    def classes(self, used: Collection[str]) -> dict[str, list[Table]]:
        """The classes of events that a statement of these words names, with the tables that have such rows."""
        if OCSF not in used and self._schema != OCSF:
            return {}
        return {name: tables for name, tables in self._events.items() if name in used}

    @cached_property
    def _events(self) -> Mapping[str, list[Table]]:
        """The tables that have rows, by the classes of their events."""
        from tailpipe.query.ocsf import ocsf_tables

        return ocsf_tables(self._tables[name] for name in sorted(self._held) if name in self._tables)

    def views_of(self, tables: Iterable[str]) -> Sequence[View]:
        """The views of these tables in all schemas; those of a large snapshot without files."""
        if (names := frozenset(tables)) not in self._views:
            snapshot = self.snapshot
            if not isinstance(snapshot, Snapshot):
                from tailpipe.catalog.live import Part  # late, because few catalogs are large

                snapshot = snapshot.load(Part(dict.fromkeys(self._partitions(names), ())))
            self._views[names] = self._made_of(snapshot, names)
        return self._views[names]

    def needed(self, sql: str, values: Params | None = None) -> list[Needed]:
        """The views of the tables that a statement names, with the files that it needs for these parameters."""
        used, tables, seen = words(sql), self.named(sql), dict[str, str]()
        for name in sorted(tables):  # the config has no twins, but one may be held
            if (twin := seen.setdefault(name.lower(), name)) != name:
                hint = "SQL does not tell cases apart: rename one in the config, or delete the partitions of the other"
                raise UsageError(f'there are two tables: "{twin}" and "{name}"', hint=hint)
        classes = self.classes(used)
        is_about_known = bool(KNOWN & used) or bool(classes)
        schemas = used | {self._schema.lower()} | ({SCHEMA} if classes else set())
        if classes:
            self._pruner().prepare(self.views_of(tables), classes)
        if CATALOG in used:  # which tables there are is a question about the catalog, not about the tables
            tables = self._pruner().read_tables(sql, self.views_of(tables), self._schema, tables, values)
        every = self.views_of(tables)
        if self.large is not None and tables:
            read = [view for view in every if view.schema.lower() in schemas]
            every = self._part(self.large, tables, _Statement(sql, read, values) if is_about_known else None)
        views = [view for view in every if view.schema.lower() in schemas]
        # Few files are opened sooner than a plan is made, but no file is fetched that a plan would have left out.
        many = [view for view in views if len(view.files) > FEW or not all(file.is_here for file in view.files)]
        found = self._pruner().files(sql, views, self._schema, values) if is_about_known and many else {}
        chosen = {view.address: found[view.address] for view in many if view.address in found}
        return [(view, chosen.get(view.address, view.files)) for view in views]

    def pieces(self, table: str, first: date = date.min, last: date = date.max) -> list[Piece]:
        """The files of a table between two dates: each of them, or of a large snapshot those of a date together."""
        if isinstance(self.snapshot, Snapshot):
            files = (file for view in self.views_of([table])[:1] for file in view.files)
            return [
                Piece(one.partition, one.tp_date, 1, one.rows, one.min_microseconds, one.max_microseconds)
                for one in files
                if first <= one.tp_date <= last
            ]
        names, snapshot = self._partitions([table]), self.snapshot
        return [Piece(name, *facts) for name in names for facts in snapshot.days_of(name, first, last)]

    def newest_date(self, table: str) -> date | None:
        """The newest date that a table has rows of."""
        if isinstance(self.snapshot, Snapshot):
            return max((one.tp_date for one in self.pieces(table)), default=None)
        dates = [self.snapshot.dates_of(name)[-1:] for name in self._partitions([table])]
        return max((day for days in dates for day in days), default=None)

    @property
    def large_whole(self) -> LargeSnapshot | None:
        """The large snapshot, if all of it is shown."""
        return None if self._is_narrowed else self.large

    def all_files(self) -> tuple[LiveFile, ...]:
        """All files that the narrowing leaves."""
        if isinstance(self.snapshot, Snapshot):
            return self._narrowing.files(self.snapshot.files)
        from tailpipe.catalog.live import Part

        dates: Mapping[str, Sequence[date] | None] = dict.fromkeys(self._partitions(self._names))
        if self._is_narrowed:
            dates = _dates(self._days(self.snapshot, self._names))
        return self._narrowing.files(self.snapshot.load(Part(dates)).files)

    def _made_of(self, snapshot: Snapshot, names: frozenset[str]) -> Sequence[View]:
        whole = table_views(snapshot, self._tables, self._narrowing, names)
        shown = schema_views
        if self._has_copies and snapshot.sets is None:
            from tailpipe.query.materialized import from_copies as shown  # late, because few schemas are
        return [*whole, *shown(whole, self._schemas, now=self._taken)]

    def _partitions(self, tables: Iterable[str]) -> list[str]:
        names = set(tables)
        return sorted(name for name in self.snapshot.partitions if name.partition(".")[0] in names)

    def _part(self, large: LargeSnapshot, tables: Sequence[str], statement: _Statement | None) -> Sequence[View]:
        """The views over the files that the conditions of a statement leave by date, partition and index."""
        from tailpipe.catalog.live import Part

        days = self._left(statement, self._days(large, tables), KNOWN - {"tp_index"})
        dates, indexes = _dates(days), None
        if self._narrowing.indexes or (statement is not None and "tp_index" in words(statement.sql)):
            values = ((name, value) for name in dates for value in sorted(large.indexes_of(name), key=str))
            files = [_representative(name, None, value) for name, value in values]
            files = list(Narrowing(indexes=self._narrowing.indexes).files(files))
            indexes = frozenset(file.tp_index for file in self._left(statement, files, {"tp_index"}))
        part = Part({name: dates.get(name, []) for name in self._partitions(tables)}, indexes)
        if self._loaded is None or self._loaded[0] != part:
            self._loaded = part, self._made_of(large.load(part), frozenset(tables))
        return self._loaded[1]

    def _left(self, statement: _Statement | None, files: list[LiveFile], columns: Collection[str]) -> list[LiveFile]:
        """The files that a statement may need, by its conditions on these columns."""
        if statement is None:
            return files
        return self._pruner().left(statement.sql, statement.views, self._schema, files, columns, statement.values)

    def _days(self, large: LargeSnapshot, tables: Iterable[str]) -> list[LiveFile]:
        """One file for all files of each date that the narrowing leaves: a file holds rows of its date."""
        days = [_representative(name, day) for name in self._partitions(tables) for day in large.dates_of(name)]
        return list(replace(self._narrowing, indexes=()).files(days))


@frozen
class _Statement:
    """A statement that may restrict the files of the views that it reads."""

    sql: str
    views: Sequence[View]
    values: Params | None


def _dates(files: Iterable[LiveFile]) -> dict[str, list[date]]:
    """The dates of files, by partition."""
    found: dict[str, list[date]] = {}
    for one in files:
        found.setdefault(one.partition, []).append(one.tp_date)
    return found


def _representative(partition: str, day: date | None, tp_index: str | None = None) -> LiveFile:
    """A file for all files of a partition with a date, or with an index."""
    low = high = None
    if day is not None:
        begin = datetime.combine(day, time(), EPOCH.tzinfo) - EPOCH
        low, high = begin // _MICROSECOND, (begin + _DAY) // _MICROSECOND - 1
    return LiveFile("", partition, "", tp_index, day or date.min, 0, 0, low, high, 0)
