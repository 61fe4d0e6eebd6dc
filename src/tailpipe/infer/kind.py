"""The kind of a log: the shipped table that it belongs to, or a table made for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.infer.choices import Choices
from tailpipe.infer.columns import describe
from tailpipe.infer.guess import Guess, guess_format
from tailpipe.infer.point import Point, guessed, sure
from tailpipe.infer.recognise import Judged, Recogniser
from tailpipe.infer.sample import Sample, UnusableError
from tailpipe.infer.times import Basis, first_day
from tailpipe.infer.trial import Fit, rows_of, try_table
from tailpipe.model.assumed_years import AssumedYears, assumed_years_text
from tailpipe.model.format import Format
from tailpipe.model.source import Source
from tailpipe.model.table import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.kernel.trial import Trial

_HALF = 0.5
_ALMOST_ALL = 0.9
_ENOUGH_ROWS = 5
_SHOWN_ROWS = 3


@frozen
class Kind:
    """What a sample is: a table, whether a plugin ships it, how many rows of the sample it keeps, and the points."""

    table: Table
    is_shipped: bool
    fit: Fit
    points: tuple[Point, ...]
    earliest: datetime | None = None
    """The earliest time in the sample."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """The first rows as they will be."""

    def like(self, other: Kind) -> bool:
        """Whether both are one kind: one shipped table, or one format with mostly the same columns."""
        if self.is_shipped or other.is_shipped:
            return self.table.name == other.table.name and self.is_shipped == other.is_shipped
        mine, others = ({column.name for column in one.table.columns} for one in (self, other))
        is_same_format = _bare(self.table.format) == _bare(other.table.format)
        return is_same_format and len(mine & others) >= 0.6 * max(len(mine), len(others))


def kind_of(
    sample: Sample,
    source: Source,
    recogniser: Recogniser,
    presets: Mapping[str, Format],
    name: str,
    now: datetime,
    choices: Choices = Choices(),  # noqa: B008
) -> Kind:
    """What a sample is; `name` is that of a table that has to be made. `UnusableError` if nothing reads it."""
    if choices.table is not None:
        return _recognised([recogniser.judge(choices.table, sample)], sample, now)
    is_open = choices == Choices()
    fitting = recogniser.candidates(sample, source) if is_open else []
    if fitting:
        return _recognised(fitting, sample, now)
    guess = guess_format(sample, presets, now, choices)
    if guess is None:
        what = (
            "is a binary file of no format that is known" if sample.encoding is None else "has no format that is known"
        )
        hint = "to see all formats: tailpipe format list"
        raise UnusableError(f'"{sample.artifact.path or sample.artifact.uri}" {what}', hint=hint)
    return _made(guess, sample, name, now, choices)


def _recognised(fitting: list[Judged], sample: Sample, now: datetime) -> Kind:
    best, *others = fitting
    table = best.table
    origin = "shipped" if table.is_shipped else "in the config"
    statement = f"table {table.name}, {origin}: {_counted(best.fit, sample)}"
    points = [
        sure(statement) if best.is_sure else guessed(statement),
        sure(f"{best.filled} of {best.columns} columns have values"),
        *(guessed(f"{doubt}: it may be another kind of log") for doubt in best.doubts),
    ]
    alike = [one.table.name for one in others if one.score >= 0.5 * best.score]
    if alike:
        also = f"{', '.join(alike[:3])} would read it too"
        points.append(guessed(f"{also}; to use it instead, rename the partition's table to {alike[0]}"))
    points += [*_few(best.fit), *_misfits(best.nulls), *_years(best.years)]
    return _kind(table, best.fit, points, _rows(table, sample, now), is_shipped=True)


def _made(guess: Guess, sample: Sample, name: str, now: datetime, choices: Choices) -> Kind:
    read, fields = rows_of(guess.format, sample, now)
    basis = Basis(now, sample.artifact.modified)
    is_utc = guess.format.type == "apache_access_log"
    path = sample.artifact.uri
    described = describe(fields, read.kept, basis, choices, is_json=guess.format.is_json, is_utc=is_utc, path=path)
    columns = list(described.columns)
    points = [*guess.points]
    if "tp_timestamp" not in described.common and not any(column.name == "tp_timestamp" for column in columns):
        points.append(guessed("no field holds a time: rows get the time of their collection"))
        columns.insert(0, Column("tp_timestamp", transform="now()"))
    format = guess.format
    table = Table(
        name=name,
        description=f"Rows of {format.type} logs; made by `tailpipe init` from a sample.",
        format=format if _is_preset(format) else replace(format, name=name, description=None),
        columns=tuple(columns),
        common=described.common,
        null_if=described.null_if,
        map_fields=("*",),
    )
    table, fit, trial = _fitted(table, sample, now)
    if fit.share < _HALF:  # what looked like a time is none in most rows
        points.append(guessed("no field holds a time in most rows: rows get the time of their collection"))
        table, fit, trial = _fitted(_without_time(table), sample, now)
    if fit.share < _HALF:
        raise UnusableError(f'cannot make a table for "{sample.artifact.path}": {_counted(fit, sample)}')
    statement = f"format {format.type}: {_counted(fit, sample)}"
    first = sure(statement) if fit.share >= _ALMOST_ALL and guess.has_time else guessed(statement)
    points += [*_few(fit), *_years(trial.years)]
    if sample.bad_lines:
        points.append(guessed(f"{sample.bad_lines} lines hold bytes that are not UTF-8; they become \ufffd"))
    elif sample.encoding == "latin-1":
        points.append(guessed("the text is not UTF-8: taken as latin-1"))
    return _kind(table, fit, (first, *points, *described.points), trial.rows, is_shipped=False)


def _fitted(table: Table, sample: Sample, now: datetime) -> tuple[Table, Fit, Trial]:
    """The table, with text for the columns whose type does not take all values of the sample, and what it reads."""
    assert table.format is not None  # noqa: S101 - it was made with one
    trial = try_table(table, table.format, sample, now)
    if trial.nulls:
        columns = [
            replace(one, type="varchar", time_format=None) if one.name in trial.nulls and one.type else one
            for one in table.columns
        ]
        table = replace(table, columns=tuple(columns))
        trial = try_table(table, table.format or Format(), sample, now)
    if trial.error is not None:
        raise UnusableError(trial.error)
    return table, Fit(trial.accounts.kept, trial.accounts.read), trial


def _without_time(table: Table) -> Table:
    columns = (column for column in table.columns if column.name != "tp_timestamp")
    common = {name: value for name, value in table.common.items() if name != "tp_timestamp"}
    return replace(table, columns=(Column("tp_timestamp", transform="now()"), *columns), common=common)


def _kind(table: Table, fit: Fit, points: Iterable[Point], rows: pa.Table | None, *, is_shipped: bool) -> Kind:
    if rows is None or not len(rows):
        return Kind(table, is_shipped, fit, tuple(points))
    earliest = first_day(rows["tp_timestamp"].to_pylist())
    try:
        shown = rows.slice(0, _SHOWN_ROWS).to_pylist()
    except (OverflowError, ValueError):  # times that Python cannot hold
        shown = []
    return Kind(table, is_shipped, fit, tuple(points), earliest, tuple(shown))


def earliest_in(table: Table, sample: Sample, now: datetime) -> datetime | None:
    """The earliest time that a table finds in a sample."""
    rows = _rows(table, sample, now)
    return first_day(rows["tp_timestamp"].to_pylist()) if rows is not None and len(rows) else None


def _rows(table: Table, sample: Sample, now: datetime) -> pa.Table | None:
    assert table.format is not None  # noqa: S101 - it has read the sample
    try:
        return try_table(table, table.format, sample, now).rows
    except TailpipeError:
        return None


def _counted(fit: Fit, sample: Sample) -> str:
    what = "rows" if sample.is_whole else "sampled rows"
    what = "row" if fit.read == 1 and sample.is_whole else what
    return f"{fit.kept:,} of {fit.read:,} {what} parsed"


def _few(fit: Fit) -> list[Point]:
    if fit.read >= _ENOUGH_ROWS:
        return []
    return [guessed(f"based on only {fit.read} {'row' if fit.read == 1 else 'rows'}")]


def _misfits(nulls: Mapping[str, int]) -> list[Point]:
    counts = {name: f"{count:,} value{'s' * (count != 1)}" for name, count in nulls.items()}
    return [guessed(f"{name}: {count} of the wrong type, set to null") for name, count in counts.items()]


def _years(assumed: tuple[AssumedYears, ...]) -> list[Point]:
    return [guessed(line) for line in assumed_years_text(assumed)]


def _is_preset(format: Format) -> bool:
    return format.description is not None and format.name in ("default", "combined", "common", "vhost_combined")


def _bare(format: Format | None) -> Format | None:
    return None if format is None else replace(format, name="kind", description=None)
