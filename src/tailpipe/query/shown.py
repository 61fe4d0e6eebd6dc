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
from tailpipe.query.statements import words
from tailpipe.query.views import CATALOG, FEW, KNOWN, SCHEMA, View, schema_views, table_views

if TYPE_CHECKING:
    from tailpipe.catalog.live import LargeSnapshot, Part
    from tailpipe.query.prune import Pruner

__all__ = ["Address", "Needed", "Piece", "Shown"]

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
        narrowing: Narrowing,
        *,
        has_copies: bool,
    ) -> None:
        self.snapshot = snapshot
        self._tables = tables
        self._schemas = schemas
        self._narrowing = narrowing
        # A copy does not tell the partitions and indexes of its rows, so what is narrowed is read from the files.
        self._is_narrowed = replace(narrowing, schema=None) != Narrowing()
        self._has_copies = has_copies and not self._is_narrowed and any(schema.materialized for schema in schemas)
        self._taken = datetime.now(UTC)
        held = {name.partition(".")[0] for name in snapshot.partitions}
        self._names = {name: name.lower() for name in {*held, *tables}}
        self._views: dict[frozenset[str], Sequence[View]] = {}
        self._loaded: tuple[Part, Sequence[View]] | None = None
        self._held = frozenset(held)

    @property
    def views(self) -> Sequence[View]:
        """All tables of all schemas, those of the schema `tailpipe` first; those of a large snapshot without files."""
        return self.views_of(self._names)

    @property
    def large(self) -> LargeSnapshot | None:
        """The snapshot, if files of it are loaded for each statement."""
        return None if isinstance(self.snapshot, Snapshot) else self.snapshot

    def named(self, sql: str) -> list[str]:
        """The tables that a statement names; a table that none names is not even loaded."""
        said = words(sql)
        behind = {table.name for tables in self._classes(said).values() for table in tables}
        return [name for name, lower in self._names.items() if lower in said or name in behind]

    def ocsf_views(self, sql: str) -> list[str]:
        """The statements that make the views of the schema `ocsf` that a statement names."""
        classes = self._classes(words(sql))
        if not classes:
            return []
        from tailpipe.query.ocsf import ocsf_view  # late, because few statements name one

        return [ocsf_view(name, tables) for name, tables in classes.items()]

    def _classes(self, said: Collection[str]) -> dict[str, list[Table]]:
        """The classes of events that a statement names, with those tables that have rows and such events."""
        if OCSF not in said and self._narrowing.schema != OCSF:
            return {}
        return {name: tables for name, tables in self._events.items() if name in said}

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

    def needed(self, sql: str, schema: str, pruner: Callable[[], Pruner], values: Params | None = None) -> list[Needed]:
        """The views of the tables that a statement names, with the files that it needs.

        `schema` is where names without one are looked up, `values` are those of its parameters.
        """
        said = words(sql)
        tables = self.named(sql)
        _refuse_twins(tables)
        also = self.ocsf_views(sql)
        is_about_known = bool(KNOWN & said) or bool(also)
        if also:
            said = said | {SCHEMA}
            pruner().prepare(self.views_of(tables), also)
        if CATALOG in said:  # which tables there are is a question about the catalog, not about the tables
            tables = pruner().read_tables(sql, self.views_of(tables), schema, tables, values)
        every = self.views_of(tables)
        if self.large is not None and tables:
            every = self._part(self.large, sql, tables, schema, pruner() if is_about_known else None, values)
        views = [view for view in every if view.schema.lower() in said | {schema.lower()}]
        # Few files are opened sooner than a plan is made, but no file is fetched that a plan would have left out.
        many = [view for view in views if len(view.files) > FEW or not all(file.is_here for file in view.files)]
        found = pruner().files(sql, views, schema, values) if is_about_known and many else {}
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
        return [
            Piece(name, *facts)
            for name in self._partitions([table])
            for facts in self.snapshot.days_of(name, first, last)
        ]

    def newest_date(self, table: str) -> date | None:
        """The newest date that a table has rows of."""
        if isinstance(self.snapshot, Snapshot):
            return max((one.tp_date for one in self.pieces(table)), default=None)
        dates = [self.snapshot.dates_of(name)[-1:] for name in self._partitions([table])]
        return max((day for days in dates for day in days), default=None)

    @property
    def large_whole(self) -> LargeSnapshot | None:
        """The same, if all of it is shown."""
        return None if self._is_narrowed else self.large

    def all_files(self) -> tuple[LiveFile, ...]:
        """All files that the narrowing leaves."""
        if isinstance(self.snapshot, Snapshot):
            return self._narrowing.files(self.snapshot.files)
        from tailpipe.catalog.live import Part

        dates: Mapping[str, Sequence[date] | None] = dict.fromkeys(self._partitions(self._names))
        if self._is_narrowed:
            dates = self._dates(self.snapshot, self._names)
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

    def _part(
        self,
        large: LargeSnapshot,
        sql: str,
        tables: Sequence[str],
        schema: str,
        pruner: Pruner | None,
        values: Params | None,
    ) -> Sequence[View]:
        """The views over the files that the conditions of a statement leave by date, partition and index."""
        from tailpipe.catalog.live import Part

        views = self.views_of(tables)
        said = words(sql) | {schema.lower()} | ({SCHEMA} if self._classes(words(sql)) else set())
        read = [view for view in views if view.schema.lower() in said]
        days = self._days(large, tables)
        if pruner is not None:
            days = pruner.left(sql, read, schema, days, KNOWN - {"tp_index"}, values)
        dates: dict[str, list[date]] = {}
        for one in days:
            dates.setdefault(one.partition, []).append(one.tp_date)
        indexes = self._indexes(large, dates, sql, read, schema, pruner, values)
        part = Part({name: dates.get(name, []) for name in self._partitions(tables)}, indexes)
        if self._loaded is None or self._loaded[0] != part:
            self._loaded = part, self._made_of(large.load(part), frozenset(tables))
        return self._loaded[1]

    def _days(self, large: LargeSnapshot, tables: Iterable[str]) -> list[LiveFile]:
        """One that stands for all files of each date, which the narrowing leaves: a file holds rows of its date."""
        days = [_standing_for(name, day) for name in self._partitions(tables) for day in large.dates_of(name)]
        return list(replace(self._narrowing, indexes=()).files(days))

    def _dates(self, large: LargeSnapshot, tables: Iterable[str]) -> dict[str, list[date]]:
        found: dict[str, list[date]] = {}
        for one in self._days(large, tables):
            found.setdefault(one.partition, []).append(one.tp_date)
        return found

    def _indexes(
        self,
        large: LargeSnapshot,
        partitions: Iterable[str],
        sql: str,
        views: Sequence[View],
        schema: str,
        pruner: Pruner | None,
        values: Params | None,
    ) -> frozenset[str | None] | None:
        """The indexes that are left; None if nothing is said about them."""
        is_said = pruner is not None and "tp_index" in words(sql)
        if not is_said and not self._narrowing.indexes:
            return None
        files = [
            _standing_for(name, None, value) for name in partitions for value in sorted(large.indexes_of(name), key=str)
        ]
        files = list(Narrowing(indexes=self._narrowing.indexes).files(files))
        if pruner is not None:
            files = pruner.left(sql, views, schema, files, {"tp_index"}, values)
        return frozenset(file.tp_index for file in files)


def _standing_for(partition: str, day: date | None, tp_index: str | None = None) -> LiveFile:
    """What stands for all files of a partition with a date, or with an index."""
    low = high = None
    if day is not None:
        begin = datetime.combine(day, time(), EPOCH.tzinfo) - EPOCH
        low, high = begin // _MICROSECOND, (begin + _DAY) // _MICROSECOND - 1
    return LiveFile("", partition, "", tp_index, day or date.min, 0, 0, low, high, 0)


def _refuse_twins(tables: Iterable[str]) -> None:
    """Refuse tables of which DuckDB would show one for the other; the config has none, but one may be held."""
    seen: dict[str, str] = {}
    for name in sorted(tables):
        if (twin := seen.setdefault(name.lower(), name)) != name:
            hint = "SQL does not tell cases apart: rename one in the config, or delete the partitions of the other"
            raise UsageError(f'there are two tables: "{twin}" and "{name}"', hint=hint)
