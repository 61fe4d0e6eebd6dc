"""Recognise a shipped table: every table is held against a sample, first by what it declares, then by reading it.

1. A table whose format reads JSON is held against the keys of the records, which costs nothing. A key that few
   tables have tells more than one that many have.
2. A table with another format is held against the sample by its format alone; tables that share a format share that.
3. The few that are left read the sample. What counts is how many rows they keep, how many of their columns have a
   value, and how much of a record has a column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.formats.grok import compile_layout
from tailpipe.frozen import frozen
from tailpipe.infer.claims import Claims, claims_of, weights
from tailpipe.infer.guess import SYSLOG, SYSLOG_ISO
from tailpipe.infer.plausible import implausible
from tailpipe.infer.records import Record, documents_in, leaves_of, paths_of, records_at, records_in_lines
from tailpipe.infer.sample import Sample
from tailpipe.infer.trial import Fit, fits, try_table
from tailpipe.model.artifact import Artifact
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.format import Format
from tailpipe.model.nearest import named
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.sql.connection import connect
from tailpipe.sql.duck import duckdb

if TYPE_CHECKING:
    import pyarrow as pa

_TRIED = 5
"""So many tables read the sample at most, of those that name its keys."""
_SOME_LINES = 60
_MOSTLY = 0.75
"""The part of the rows that a table must keep."""
_HALF = 0.5
"""The same for records, whose keys tell more than that they can be read."""
_COVERED = 0.4
"""The part of a record's values that must have a column."""
_MANY_KEYS = 0.6
"""Unless so many of the table's keys are there: a table may leave most of a record to its JSON column."""
_EVIDENCE = 1.5
"""What the keys that a record shares with a table must weigh; 1 is a key that no other table has."""
_FILLED_EVIDENCE = 2.0
"""The same, for a table of which most columns have values, half of them from keys that no other table has."""
_SURE_EVIDENCE = 1.0
"""The same, times the part of the table's keys that is there, for the table to be sure."""
_OWN = 0.1
"""The part of those keys that no other table may have: logs of one vendor share an envelope."""
_ALMOST = 0.9
"""The part of the rows that a table of lines must keep to be sure."""
_COLUMNS = 4
_FILLED = 0.12
"""The part of a table's columns that must have a value, if its format says enough by itself."""
_SURELY_FILLED = 0.2
"""The same, for the table to be sure, and for tables of records."""
_FILLED_ANYHOW = 0.5
"""The same for a format that reads anything."""
_VALUES = 0.4
"""The part of the columns that must have a value in a row, on average, if any program may have written it."""
_PROGRAMS = 2
"""A log of which so many programs have written nearly everything may be that of a product, not of a host."""
_FEW = 0.1
"""The part of a column's values that may be implausible."""
_JUDGED = ("string", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
"""The Arrow types of columns whose values may be implausible."""
_DECOYS = (b"lorem ipsum dolor 7\n", b'{"lorem": "ipsum", "dolor": 7}\n')
"""What no log has: a format that reads it tells nothing about a sample that it reads."""
_LIKE = 0.97
"""Scores that differ by less are equal."""
_NEAR = 0.6
"""Scores that differ by less are near: then the names of files and tables decide."""


@frozen
class Judged:
    """How well a table fits a sample. `filled` of its `columns` have a value in some row."""

    table: Table
    fit: Fit
    filled: int
    columns: int
    covered: float
    score: float
    nulls: Mapping[str, int]
    """For each column, how many values did not fit its type."""
    years: tuple[AssumedYears, ...] = ()
    """The years of times that have none."""
    values: float = 0.0
    """How many columns have a value in a row, on average."""
    doubts: tuple[str, ...] = ()
    """Why the table may be a wrong one, although it fits."""
    has_rival: bool = False
    """Whether another table fits nearly as well, and the path of the log names none of them."""
    is_implausible: bool = False
    """Whether a column holds what its name rules out, such as `INFO` as a host."""

    @property
    def is_recognised(self) -> bool:
        """Whether the table may be the one that the log is for."""
        return self.score > 0

    @property
    def is_sure(self) -> bool:
        """Whether there is no doubt about it."""
        return not self.doubts and not self.has_rival


@frozen
class _Known:
    """A table with a format, and what it claims if that gives records."""

    table: Table
    format: Format
    claims: Claims | None

    @property
    def is_text(self) -> bool:
        """Whether it reads lines that are no records."""
        return self.claims is None or hasattr(self.format, "otherwise")


@frozen
class _Alike:
    """What records have in common with the keys that a table claims."""

    known: _Known
    records: Sequence[Record]
    evidence: float
    """What the columns weigh that the records have a key for."""
    share: float
    """The part of the weight of all columns that this is."""
    own: float
    """The part of these columns whose key no other table has."""


class Recogniser:
    """Knows the tables; made once for all samples. A table that cannot be loaded is left out."""

    def __init__(self, tables: Mapping[str, Table], now: datetime) -> None:
        self._tables = tables
        self._now = now

    def candidates(self, sample: Sample, source: Source) -> list[Judged]:
        """The tables that fit, the best first; of equal ones the one whose name the path has."""
        if sample.encoding is None:
            known = [one for one in self._known if one.format.encoding is None]
            return self._ranked([self._read_text(one, sample) for one in self._fitting(known, sample)], sample, source)
        found: list[Judged] = []
        lines, looked_at = records_in_lines(sample)
        is_json = sample.text.lstrip()[:1] in ("{", "[")
        if is_json:
            documents = [] if len(lines) > 0.5 * looked_at and looked_at > 1 else documents_in(sample)
            found += [self._read_records(one, sample) for one in self._alike(lines, documents)]
        if not any(one.is_recognised for one in found):
            text = [
                one
                for one in self._known
                if (one.claims is None or (one.is_text and not lines)) and one.format.encoding is not None
            ]
            found += [self._read_text(one, sample) for one in self._fitting(text, sample)]
        return self._ranked(found, sample, source)

    def judge(self, name: str, sample: Sample) -> Judged:
        """How well the table of a name fits, whether it is recognised or not."""
        table = named("table", name, self._tables)
        if table.format is None:
            raise UsageError(f"table {name} has no format", hint="set one with --format")
        return replace(self._read(_Known(table, table.format, None), sample, 1.0), doubts=("requested by --table",))

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return connect()

    @cached_property
    def _known(self) -> list[_Known]:
        found = []
        for name in self._tables:
            try:
                table = self._tables[name]
            except TailpipeError:
                continue
            if table.format is not None:
                is_record = table.format.is_json
                found.append(_Known(table, table.format, claims_of(table) if is_record else None))
        return found

    @cached_property
    def _types(self) -> Counter[str]:
        """How many tables have a format of each type."""
        return Counter(one.format.type for one in self._known)

    @cached_property
    def _weights(self) -> dict[tuple[str | None, ...], float]:
        return weights(one.claims for one in self._known if one.claims is not None)

    def _alike(self, lines: Sequence[Record], documents: Sequence[object]) -> Iterable[_Alike]:
        """The tables of records that have most in common with the records, with what they have in common."""
        found = []
        seen: dict[tuple[tuple[str, ...], ...] | None, Sequence[Record]] = {None: lines}
        for one in self._known:
            if one.claims is None or not one.claims.columns:
                continue
            paths = getattr(one.format, "record_paths", None)
            key = None if paths is None else tuple(paths)
            if key not in seen:
                seen[key] = records_at(documents or lines, key or ())
            records = seen[key]
            alike = self._in_common(one, one.claims, records)
            if alike.evidence > 0:
                found.append(alike)
        found.sort(key=lambda one: one.evidence * one.share, reverse=True)
        return found[:_TRIED]

    def _in_common(self, known: _Known, claims: Claims, records: Sequence[Record]) -> _Alike:
        present = paths_of(records)
        columns = claims.columns.values()
        all_of = sum(max(self._weights[path] for path in paths) for paths in columns)
        shared = [max((self._weights[path] for path in paths if path in present), default=0.0) for paths in columns]
        evidence = sum(shared)
        own = sum(weight >= 1 for weight in shared) / max(1, sum(weight > 0 for weight in shared))
        return _Alike(known, records, evidence, evidence / all_of if all_of else 0.0, own)

    def _read_records(self, alike: _Alike, sample: Sample) -> Judged:
        leaves = leaves_of(alike.records)
        claims = alike.known.claims
        assert claims is not None  # noqa: S101 - chosen for them
        covered = sum(n for path, n in leaves.items() if claims.covers(path)) / max(1, leaves.total())
        judged = self._read(alike.known, sample, covered)
        if judged.is_implausible:
            return judged
        evidence, share = alike.evidence, alike.share
        has_keys = (covered >= _COVERED or share >= _MANY_KEYS) and share >= _SURELY_FILLED
        is_filled = judged.filled >= _MANY_KEYS * judged.columns and alike.own >= _HALF and evidence >= _FILLED_EVIDENCE
        is_known = judged.fit.share >= _HALF and evidence >= _EVIDENCE and (has_keys or is_filled)
        score = judged.fit.share * evidence * share * covered if is_known else 0.0
        is_doubtful = evidence * share < _SURE_EVIDENCE or alike.own < _OWN
        doubts = ("few keys of the records are this table's alone",) if is_doubtful else ()
        return replace(judged, score=score, doubts=(*judged.doubts, *doubts))

    def _fitting(self, known: Sequence[_Known], sample: Sample) -> list[_Known]:
        """The tables whose formats read the sample."""
        head = sample.head(_SOME_LINES)
        tried: list[tuple[Format, bool]] = []
        found = []
        has_programs = _names_programs(sample)
        for one in known:
            if one.format.type == "syslog" and not has_programs:
                continue
            format = replace(one.format, name="sample", description="")
            is_fitting = next((result for seen, result in tried if seen == format), None)
            if is_fitting is None:
                is_fitting = fits(format, head, self._now, self._connection, _MOSTLY)
                tried.append((format, is_fitting))
            if is_fitting:
                found.append(one)
        return found

    def _read_text(self, known: _Known, sample: Sample) -> Judged:
        judged = self._read(known, sample, 1.0)
        if judged.is_implausible:
            return judged
        share = judged.filled / judged.columns if judged.columns else 0.0
        is_json = sample.encoding is not None and sample.text.lstrip()[:1] == "{"
        is_own = not is_json and judged.values >= _COLUMNS and self._types[known.format.type] == 1
        is_loose = not is_own and self._reads_anything(known.format)
        needed = _FILLED_ANYHOW if is_loose else _SURELY_FILLED if is_json else _FILLED
        columns = min(_COLUMNS, _MANY_KEYS * judged.columns)
        is_known = judged.fit.share >= _MOSTLY and judged.filled >= columns and share >= needed
        score = judged.fit.share * judged.values * judged.values / judged.columns if is_known else 0.0
        fit = judged.fit
        doubts = [*judged.doubts]
        if fit.share < _ALMOST:
            doubts.append(f"only {fit.kept:,} of {fit.read:,} rows fit")
        if share < _SURELY_FILLED:
            doubts.append(f"only {judged.filled} of {judged.columns} columns have values")
        return replace(judged, score=score, doubts=tuple(doubts))

    def _reads_anything(self, format: Format) -> bool:
        return any(fits(format, decoy, self._now, self._connection) for decoy in self._decoys)

    @cached_property
    def _decoys(self) -> list[Sample]:
        return [Sample(Artifact("decoy.log"), data, is_whole=True, encoding="utf-8") for data in _DECOYS]

    def _read(self, known: _Known, sample: Sample, covered: float) -> Judged:
        """What the table makes of the sample."""
        own = [column.name for column in known.table.columns if column.name not in COMMON_TYPES]
        try:
            trial = try_table(known.table, known.format, sample, self._now)
        except TailpipeError:
            return Judged(known.table, Fit(0, 0), 0, len(own), covered, 0.0, {})
        rows = trial.rows
        counts = {n: len(rows) - rows[n].null_count for n in own if n in rows.column_names} if rows is not None else {}
        accounts = trial.accounts
        read = Fit(0, 0) if trial.error else Fit(accounts.kept, accounts.read)
        values = sum(counts.values()) / max(1, len(rows or ()))
        filled = sum(map(bool, counts.values()))
        judged = Judged(known.table, read, filled, len(own), covered, 0.0, trial.nulls, trial.years, values)
        return judged if rows is None else self._doubted(judged, rows)

    def _doubted(self, judged: Judged, rows: pa.Table) -> Judged:
        """The table with the doubts that its values raise."""
        doubts = [*_about_programs(judged, rows)]
        worst = 0.0
        for column in judged.table.columns:
            is_own = column.name in rows.column_names and column.name not in COMMON_TYPES
            if is_own and str(rows.schema.field(column.name).type) in _JUDGED:
                share, example = implausible(column.name, rows[column.name].to_pylist())
                worst = max(worst, share)
                if share > _FEW:
                    doubts.append(f'{column.name} is "{example[:40]}" in some rows')
        return replace(judged, doubts=tuple(doubts), is_implausible=worst > _HALF)

    def _ranked(self, found: Iterable[Judged], sample: Sample, source: Source) -> list[Judged]:
        fitting = sorted((one for one in found if one.is_recognised), key=lambda one: one.score, reverse=True)
        if not fitting:
            return []
        best = fitting[0].score
        words = set(re.split(r"[^a-z0-9]+", sample.artifact.uri.lower()))

        def preference(one: Judged) -> tuple[int, bool, bool, int, str]:
            name = one.table.name
            shared = len(words & set(name.split("_")[:2]))
            return -shared, one.score < _LIKE * best, not _has_layout(one.table, source, sample), len(name), name

        alike = sorted((one for one in fitting if one.score >= _NEAR * best), key=preference)
        first, *others = alike
        rivals = [one for one in others if not one.doubts and one.values >= _MOSTLY * first.values]
        if rivals and first.table.name.split("_")[0] not in words:
            alike = [replace(first, has_rival=True), *others]
        return [*alike, *fitting[len(alike) :]]


def _names_programs(sample: Sample) -> bool:
    """Whether lines have a priority, or a host and a program, as those of syslog have."""
    lines = [line for line in sample.lines[:_SOME_LINES] if line and not line[0].isspace()]
    begins = re.compile(rf"<\d|{SYSLOG}|{SYSLOG_ISO}|[A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}} [^\s:\[]+\[\d+\]:|\{{")
    return sum(map(bool, map(begins.match, lines))) >= _MOSTLY * len(lines)


def _about_programs(judged: Judged, rows: pa.Table) -> Iterator[str]:
    """Doubts about a table of lines that any program may write: its format reads those of all products."""
    table = judged.table
    if table.format is None or table.format.type != "syslog":
        return
    if judged.values < _VALUES * judged.columns:
        yield f"on average, {judged.values:.0f} of {judged.columns} columns have a value"
    programs = [name for name in rows["tp_service"].to_pylist() if name is not None]
    is_specific = sum(column.transform is not None for column in table.columns) > _HALF * len(table.columns)
    if is_specific:
        return
    most = Counter(programs).most_common(_PROGRAMS)
    if len(programs) < _ALMOST * len(rows):
        yield f"{len(rows) - len(programs):,} of {len(rows):,} rows name no program"
    elif sum(count for _, count in most) >= _ALMOST * len(rows):
        yield f"nearly all messages are of {' and '.join(name for name, _ in most)}, and stay text"


def _has_layout(table: Table, source: Source, sample: Sample) -> bool:
    """Whether the table expects such a path from such a source, with a date in it."""
    layout = table.layout(source)
    if layout is None:
        return False
    match = compile_layout(layout).fullmatch(sample.artifact.path)
    return match is not None and bool(match.groupdict().get("year"))
