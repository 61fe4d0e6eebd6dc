"""Plan a task: the shape of its rows, the feed of its format, and the fields that are new."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from tailpipe.errors import TailpipeError
from tailpipe.formats.key_limit import most_frequent, reject_records
from tailpipe.frozen import frozen
from tailpipe.kernel.events import event_outputs
from tailpipe.kernel.feed import Feed, JointFeed
from tailpipe.kernel.format_faults import blamed_on, format_fault
from tailpipe.kernel.row_buffer import RowBuffer
from tailpipe.kernel.shape import ADDRESS_COLUMNS, LOCATION, PREFIX, Shape
from tailpipe.kernel.task import Fault, Reading, Task
from tailpipe.kernel.undeclared import infer_json, infer_text, keys_of, widened
from tailpipe.model.assumed_years import YearBasis
from tailpipe.model.coverage import DaySet
from tailpipe.model.format import ENCODINGS, FIELDS_LIMIT, Format
from tailpipe.model.meter import Meter
from tailpipe.model.outputs import COMMON_TYPES, Output, common_types, is_wanted, output_columns
from tailpipe.model.parsing import DocumentParser, LineParser, ParseContext, Parsed
from tailpipe.model.paths import Path
from tailpipe.model.table import PATH_COLUMNS
from tailpipe.model.types import ColumnType, ListType, parse_type
from tailpipe.sql.addresses import ADDRESS
from tailpipe.sql.casts import is_whole, kind_of
from tailpipe.sql.connection import expression_types
from tailpipe.sql.inet import load_for
from tailpipe.sql.numbers import read_as_numbers, with_numbers
from tailpipe.sql.quoting import literal, moment, text_list, text_type
from tailpipe.sql.references import taken_fields, with_paths
from tailpipe.sql.wanted import FieldNames, field_paths, unclaimed_fields, wanted_fields

if TYPE_CHECKING:
    from tailpipe.kernel.years import Years
    from tailpipe.sql.duck import duckdb

_FEW = 64
"""Up to this number of artifacts a list in the query is faster than a join; beyond, planning the query takes long."""


@frozen
class Plan:
    """How a task is run; `noun` is what a row is called in its artifact."""

    task: Task
    shape: Shape
    artifacts: Mapping[str, Sequence[str | None]]
    """Columns of `tp__artifacts`."""
    references: tuple[str, ...]
    wanted: Mapping[str, ColumnType]
    """The fields that are taken from each row, and the shapes in which they are read."""
    noun: str
    paths: Mapping[str, Path] = field(default_factory=dict)
    """The fields that JSON has inside others."""
    unclaimed: frozenset[str] = frozenset()
    """The fields that only paths of common columns take."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The DuckDB types of the fields that expressions count on, if they are not all text."""
    meter: Meter = field(default_factory=Meter)

    def years(self) -> Years | None:
        """The years of times that may lack it; None for formats whose times have one."""
        if not self.task.may_lack_years:
            return None
        from tailpipe.kernel.years import Years

        latest = [year_basis(reading, self.task.ingested_at)[1] for reading in self.task.readings]
        return Years(latest, self.task.years)

    def feed(self, failed: Mapping[int, Fault], connection: duckdb.DuckDBPyConnection) -> Feed:
        """A new reader of the artifacts, but those that have failed before."""
        if self.task.source.yields_events:
            return self._events(failed, connection)
        groups: list[tuple[Format, list[int]]] = []
        for place, reading in enumerate(self.task.readings):
            format = self.task.format.for_artifact(reading.artifact.uri)
            places = next((places for known, places in groups if known == format), None)
            if places is None:
                groups.append((format, places := []))
            places.append(place)
        if len(groups) == 1:
            return self._feed(groups[0][0], failed, connection)
        feeds = []
        for format, places in groups:
            others = dict.fromkeys(set(range(len(self.task.readings))) - set(places), Fault("has another format"))
            feeds.append((self._feed(format, {**failed, **others}, connection), places))
        return JointFeed(feeds)

    def _feed(self, format: Format, failed: Mapping[int, Fault], connection: duckdb.DuckDBPyConnection) -> Feed:
        parser = self._parser(format, format.noun, connection)
        if isinstance(parser, DocumentParser):
            from tailpipe.kernel.document_feed import DocumentFeed

            return DocumentFeed(self.task, format, parser, failed, connection, self.types, self.meter)
        from tailpipe.kernel.checked_parser import CheckedParser
        from tailpipe.kernel.line_feed import LineFeed

        checked = CheckedParser(parser, format, format.noun, connection)
        return LineFeed(self.task, format, checked, failed, fields=self.types, meter=self.meter)

    def _events(self, failed: Mapping[int, Fault], connection: duckdb.DuckDBPyConnection) -> Feed:
        """A reader of events: each message is what a line, or a record, is elsewhere."""
        from tailpipe.kernel.checked_parser import CheckedParser
        from tailpipe.kernel.event_feed import EventFeed

        format = self.task.format
        parser = self._parser(format, "message", connection)
        if isinstance(parser, DocumentParser) and not parser.gives_records:
            raise TailpipeError(f'messages of a "{self.task.source.type}" cannot be {format.type}')
        checked = CheckedParser(parser, format, "message", connection)
        return EventFeed(self.task, checked, failed, fields=self.types, is_json=format.is_json, meter=self.meter)

    def _parser(self, format: Format, noun: str, connection: duckdb.DuckDBPyConnection) -> LineParser | DocumentParser:
        context = ParseContext(
            fields=self.wanted,
            paths=self.paths,
            unclaimed=self.unclaimed,
            nested={name: parse_type(kind) for name, kind in self.task.table.nested_keys.items()},
            numbers=frozenset() if self.task.source.yields_events else self._numbers(),
            noun=noun,
            has_line_ends=self.task.source.yields_events or bool(format.event_start or format.joining),
            max_record_bytes=self.task.limits.record_bytes,
            connection=connection,
        )
        if format.encoding not in (None, *ENCODINGS):
            known = ", ".join(ENCODINGS)
            raise format_fault(format, f'has the encoding "{format.encoding}", expected None or one of {known}')
        with blamed_on(format, "to make a parser"):
            parser = format.parser(context)
        if not isinstance(parser, DocumentParser) and not callable(getattr(parser, "parse", None)):
            what = f"has a {type(parser).__name__} as its parser, expected a LineParser or DocumentParser"
            raise format_fault(format, what)
        return parser

    def _numbers(self) -> set[str]:
        """Fields that no one wants as text: whole numbers all of them, or times, which may be numbers."""
        if self.shape.null_if is not None:
            return set()
        taken: dict[str, bool] = {name.lower(): False for name in self.references}
        for output in self.shape.outputs:
            if output.source is not None:
                is_number = is_whole(output.kind) and output.null_if is None and not output.is_open
                is_number = is_number and output.time_format is None
                taken[output.source.lower()] = taken.get(output.source.lower(), True) and is_number
        return {name for name, is_number in taken.items() if is_number}

    def too_narrow(self, buffer: RowBuffer, parsed: Parsed) -> dict[str, str]:
        """The undeclared fields and columns with values in hand that do not fit, and the types that they need.

        The batch has just been added, and its tables are still there.
        """
        found: dict[str, str] = {}
        is_open = {number for number, output in enumerate(self.shape.outputs) if output.is_open}
        for number in {n for _, n, _ in buffer.misfits(f"rowid >= {buffer.newest}")} & is_open if is_open else ():
            output = self.shape.outputs[number]
            name = output.name if self.task.table.column(output.name) else output.source or output.name
            if output.source:
                kind = self.infer(buffer.connection, parsed, output.source)
            else:
                kind = kind_of(self.given(buffer.connection, parsed)[number]).name
            wider = widened(output.kind.name, kind or "varchar") or "varchar"
            if wider != output.kind.name:
                found[name] = wider
            elif output.source:  # whole numbers that are too long for a double, say
                found[name] = "varchar"
            # Else it cannot be computed of some rows, in any type.
        return found

    def given(self, connection: duckdb.DuckDBPyConnection, parsed: Parsed) -> list[str]:
        """The types that the outputs have before they are cast; the tables of the batch must be there."""
        return expression_types(connection, self.shape.probe(self.shape.base(parsed, self.references)))

    def new_fields(self, connection: duckdb.DuckDBPyConnection, parsed: Parsed) -> dict[str, str]:
        """Fields that the table wants and the task's types do not know, and their types, if they have values."""
        if not self.task.table.map_fields:
            return {}
        known = self._known_fields()
        if parsed.records:
            is_full = len(self.task.types) >= FIELDS_LIMIT
            keys = {} if is_full else self._fresh_keys(connection, parsed, known)
            kinds = infer_json(connection, parsed.records, "_raw", list(keys.values())) if keys else {}
            return {field: kind for field, key in keys.items() if (kind := kinds[key]) is not None}
        fresh = [name for name in parsed.fields if name.lower() not in known and is_wanted(self.task.table, name)]
        rest = [name for name in fresh if parsed.fields[name] == "VARCHAR"]
        typed = {name: kind_of(parsed.fields[name]).name for name in fresh if name not in rest}
        found = infer_text(connection, f"SELECT * FROM ({parsed.sql}) WHERE _bad IS NULL", rest)
        return {**typed, **{name: kind for name, kind in found.items() if kind is not None}}

    def _fresh_keys(self, connection: duckdb.DuckDBPyConnection, parsed: Parsed, known: set[str]) -> dict[str, str]:
        """The keys of a batch that have no column yet and get one, by field: the most frequent if they are too many."""
        counts = keys_of(connection, parsed.records, "_raw")
        fields = self._names
        keys: dict[str, str] = {}
        for key in counts:
            if key in ("", "*") or "\0" in key:  # DuckDB has no way to name these
                continue
            field = fields.field(key)
            if field.lower() not in known and is_wanted(self.task.table, field):
                keys[field] = key
                fields = fields.with_field(field)
        room = FIELDS_LIMIT - len(self.task.types)
        if len(keys) > room > 0:
            chosen = most_frequent({key: counts[key] for key in keys.values()}, room)
            return {field: key for field, key in keys.items() if key in chosen}
        return keys

    def bounded(self, connection: duckdb.DuckDBPyConnection, parsed: Parsed) -> Parsed:
        """The batch, with records rejected that bring keys beyond the limit; its tables must be there."""
        if not parsed.records or len(self.task.types) < FIELDS_LIMIT:
            return parsed
        keys = self._fresh_keys(connection, parsed, self._known_fields())
        return reject_records(connection, parsed, keys.values()) if keys else parsed

    @property
    def _names(self) -> FieldNames:
        return FieldNames(self.wanted, self.task.format.json_names, self.paths)

    def _known_fields(self) -> set[str]:
        """The fields that have a column of their own, in small letters."""
        known = {o.source.lower() for o in self.shape.outputs if o.source is not None and o.name not in COMMON_TYPES}
        return known | set(self.task.source.event_columns)

    def infer(self, connection: duckdb.DuckDBPyConnection, parsed: Parsed, field: str) -> str | None:
        """The type that the values of a field in a batch show; None if there are none."""
        if parsed.records:
            key = self._names.key(field)
            steps = {key: self.paths[field]} if field in self.paths else {}
            return infer_json(connection, parsed.records, "_raw", [key], steps)[key]
        if field.lower() not in (name.lower() for name in parsed.fields):
            return None
        return infer_text(connection, f"SELECT * FROM ({parsed.sql}) WHERE _bad IS NULL", [field])[field]


def plan_task(task: Task, connection: duckdb.DuckDBPyConnection) -> Plan:
    """Plan a task; the connection reads expressions, and learns what they need."""
    task = replace(task, format=task.format.read_as())
    outputs = output_columns(task.table, task.types)
    load_for(connection, [task.filter, *(output.transform for output in outputs)])
    is_json = task.format.is_json
    outputs = with_paths(connection, outputs) if is_json else outputs
    outputs = outputs if task.table.is_shipped else _numbered(connection, outputs, task)
    named = taken_fields(connection, outputs)
    names = tuple(dict.fromkeys([*named, *(name for output in outputs for name in output.takes)]))
    wanted = wanted_fields(outputs, named)
    artifacts: dict[str, Sequence[str | None]] = {
        PREFIX: [prefix for share in task.shares for prefix in share.prefixes]
    }
    event_columns = task.source.event_columns
    location = _location(task) if any(name.lower() == LOCATION for name in names) else None
    if location is not None:
        wanted = {name: kind for name, kind in wanted.items() if name.lower() != LOCATION}
    if task.source.yields_events:
        outputs = event_outputs(outputs, _listed(artifacts[PREFIX]))
        wanted = {name: kind for name, kind in wanted.items() if name.lower() not in event_columns}
    shape = Shape(
        outputs=outputs,
        stamps=_stamps(task, artifacts),
        filter=_numbered_filter(connection, outputs, task.filter) if task.filter is not None else None,
        tp_index=task.tp_index,
        outside=_outside([reading.days for reading in task.readings]),
        null_if=task.table.null_if,
        zone=task.format.timezone,
        event_fields=frozenset(event_columns),
        location=location,
    )
    noun = "event" if task.source.yields_events else task.format.noun
    if not is_json:
        return Plan(task, shape, artifacts, names, wanted, noun)
    paths, unclaimed = field_paths(outputs), unclaimed_fields(outputs, named)
    types = {field: text_type(kind) for field, kind in wanted.items()}
    return Plan(task, shape, artifacts, names, wanted, noun, paths, unclaimed, types)


def _numbered(connection: duckdb.DuckDBPyConnection, outputs: tuple[Output, ...], task: Task) -> tuple[Output, ...]:
    """The columns, in whose transforms fields are numbers where that is needed; a plugin casts for itself."""
    if all(output.transform is None for output in outputs):
        return outputs
    is_json = task.format.is_json
    wanted = wanted_fields(outputs, taken_fields(connection, outputs)) if is_json else {}
    fields = {field.lower(): text_type(kind) for field, kind in wanted.items()}
    return with_numbers(connection, outputs, fields, task.types)


def _numbered_filter(connection: duckdb.DuckDBPyConnection, outputs: Sequence[Output], filter: str) -> str:
    """The filter, in which undeclared columns are numbers where that is needed: they may have become text by now."""
    if not any(output.is_open for output in outputs):
        return filter
    columns = {output.name.lower(): output.kind.stored for output in outputs}
    columns |= {name: kind.stored for name, kind in common_types(columns).items()}
    return read_as_numbers(connection, filter, columns) or filter


def _location(task: Task) -> str:
    """The location of each row's artifact, before the rows have our own columns."""
    uris = [reading.artifact.uri for reading in task.readings]
    return literal(uris[0]) if len(set(uris)) == 1 else f"{text_list(uris)}[_artifact + 1]"


def _stamps(task: Task, artifacts: dict[str, Sequence[str | None]]) -> dict[str, str]:
    """The common columns that do not come from the table; what differs by artifact is put into `artifacts`."""
    readings = task.readings
    partitions = [share.partition.partition(".")[2] for share in task.shares for _ in share.readings]
    given = {name: [reading.artifact.fields.get(name) for reading in readings] for name in PATH_COLUMNS}
    for name in ADDRESS_COLUMNS:
        given[name] = [value if value and re.fullmatch(ADDRESS, value) else None for value in given[name]]
    given = {name: values for name, values in given.items() if any(values)}
    uris = [one.artifact.uri for one in readings]
    given["tp_source_location"] = list(uris)
    # The bucket, log group or folder of each artifact.
    names = zip(uris, (one.artifact.fields.get("tp_source_name") for one in readings), strict=True)
    given["tp_source_name"] = [name or uri.rpartition("/")[0] or uri for uri, name in names]
    stamps = {name: _by_artifact(name, values, artifacts) for name, values in given.items()}
    lists = {name for name in stamps if isinstance(COMMON_TYPES[name], ListType)}
    stamps |= {name: f"CASE WHEN {stamps[name]} IS NOT NULL THEN [{stamps[name]}] END" for name in lists}
    return stamps | {
        "tp_id": f"{_by_artifact(PREFIX, artifacts[PREFIX], artifacts)} || '-' || tp__ordinal",
        "tp_ingest_timestamp": moment(task.ingested_at.astimezone(UTC)),
        "tp_partition": _by_artifact("tp_partition", partitions, artifacts),
        "tp_source_type": literal(task.source.type),
        "tp_table": literal(task.shares[0].partition.partition(".")[0]),
    }


def year_basis(reading: Reading, now: datetime) -> tuple[YearBasis, date]:
    """The date after which no row of an artifact was written, and what says so."""
    if reading.artifact.day is not None:
        return "path", reading.artifact.day
    times = [time for time in (reading.artifact.modified, reading.committed_modified) if time is not None]
    return "modified" if times else "collected", max(times, default=now).astimezone(UTC).date()


def _by_artifact(name: str, values: Sequence[str | None], artifacts: dict[str, Sequence[str | None]]) -> str:
    """The value of each artifact as SQL: itself if there is one, else by place in a list or in `tp__artifacts`."""
    if len(set(values)) == 1 or len(values) <= _FEW:
        return _listed(values)
    artifacts[name] = values
    return f"tp__artifacts.{name}"


def _listed(values: Sequence[str | None]) -> str:
    return literal(values[0]) if len(set(values)) == 1 else f"{text_list(values)}[tp__artifact + 1]"


def _outside(days: Sequence[DaySet | None]) -> str | None:
    """The condition for rows outside the days of their artifact."""
    branches = []
    for one in dict.fromkeys(day for day in days if day is not None):
        places = [str(number) for number, other in enumerate(days) if other == one]
        inside = " OR ".join(f"tp_date BETWEEN DATE '{first}' AND DATE '{last}'" for first, last in one.spans)
        here = "true" if len(places) == len(days) else f"tp__artifact IN ({', '.join(places)})"
        branches.append(f"({here} AND NOT ({inside or 'false'}))")
    return " OR ".join(branches) or None
