"""Try a table or a format on one artifact: its first rows and the rows that do not fit, without writing anything."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.kernel.run import OtherYearsError, TaskRun
from tailpipe.kernel.task import Limits, Reading, Task
from tailpipe.kernel.undeclared import widened
from tailpipe.model.artifact import Accounts
from tailpipe.model.assumed_years import AssumedYears, merge_years
from tailpipe.model.format import Format
from tailpipe.model.outputs import mapped_fields
from tailpipe.model.source import Source
from tailpipe.model.staged import Sample
from tailpipe.model.table import Table
from tailpipe.model.window import Window

if TYPE_CHECKING:
    import pyarrow as pa

_MEGABYTE = 1024 * 1024
_PORTION = 4 * _MEGABYTE
_ROUNDS = 8


@frozen
class Trial:
    """What a try has shown: the first rows, some rows that do not fit, and where the rows went.

    If the artifact is long, only its beginning was read: `is_whole` tells.
    """

    rows: pa.Table | None
    rejected: tuple[Sample, ...]
    accounts: Accounts
    is_whole: bool
    error: str | None
    nulls: dict[str, int] = field(default_factory=dict)
    """For each column, how many values did not fit its type."""
    unfilled: dict[str, str] = field(default_factory=dict)
    """Columns that are null in every row although the config names a field for them, with that field."""
    years: tuple[AssumedYears, ...] = ()
    """The years of times that have none."""


def try_file(path: Path, files: type[Source], table: Table, format_: Format | None, limit: int, now: datetime) -> Trial:
    """What a table makes of one file, read by the source of that type."""
    chosen = format_ or table.format
    if chosen is None:
        raise UsageError(f'table "{table.name}" has no format', hint="set one with --format")
    if not path.is_file():
        raise UsageError(f'there is no file "{path}"')
    source = files(paths=(str(path),))  # type: ignore[call-arg] # it takes paths
    artifact = next(iter(source.artifacts(Window.of_day(now.date()))))
    reading = Reading(artifact, artifact.uri)
    return try_task(Task.of(f"{table.name}.test", table, source, chosen, (reading,), now), limit)


def try_task(task: Task, limit: int) -> Trial:
    """Run a task of one artifact up to `limit` rows; types of undeclared fields are found on the way."""
    small = Limits(
        chunk_bytes=_PORTION,
        batch_bytes=_PORTION,
        flush_bytes=_PORTION,
        batch_events=limit if task.source.yields_events else None,
        samples=limit,
    )
    types = dict(task.types)
    for _ in range(_ROUNDS):
        try:
            trial, wider = _try(replace(task.without_staging(), types=types, limits=small), limit)
        except OtherYearsError as other:
            task = replace(task, years=other.years)
            continue
        if not wider:
            return trial
        types |= {name: widened(types.get(name), kind) or kind for name, kind in wider.items()}
    raise TailpipeError("could not settle the field types", hint="declare them as columns of a table")


def _try(task: Task, limit: int) -> tuple[Trial, dict[str, str]]:
    import pyarrow as pa

    run = TaskRun(task, {})
    batches: list[pa.RecordBatch] = []
    is_whole = True
    try:
        portions = run.portions()
        for number, _ in enumerate(portions):
            batches += run.buffer.batches()
            if sum(map(len, batches)) + len(run.samples) >= limit and (number or task.source.yields_events):
                is_whole = False
                break
        accounts = sum((tally.accounts for tally in run.tallies), Accounts())
        errors = [progress.error for progress in run.feed.progress if progress.error is not None]
        rows = pa.Table.from_batches(batches).slice(0, limit) if batches else None
        error = errors[0] if errors else None
        nulls = run.tallies[0].nulls
        years = merge_years(run.assumed_years().values())
        trial = Trial(rows, tuple(run.samples), accounts, is_whole, error, nulls, _unfilled(task, rows), years)
        return trial, dict(run.widenings)
    finally:
        run.close()


def _unfilled(task: Task, rows: pa.Table | None) -> dict[str, str]:
    if rows is None or not rows.num_rows:
        return {}
    mapped = mapped_fields(task.table, task.format)
    return {n: f for n, f in mapped.items() if n in rows.column_names and rows[n].null_count == rows.num_rows}
