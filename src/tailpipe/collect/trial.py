"""Try a source: list it, and show what the table makes of one artifact; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta

from tailpipe.collect.item import WorkItem
from tailpipe.collect.listing import Listing, list_source, released
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.kernel.task import Reading, Share, Task
from tailpipe.kernel.trial import Trial, try_task
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import DaySet
from tailpipe.model.option import secrets_in
from tailpipe.model.partition import Partition
from tailpipe.model.redaction import Redactor
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.model.window import Window

_MOST = 1000
"""So many artifacts are listed."""
_DAYS = 7
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@frozen
class SourceTrial:
    """The listing of a source, and the trial of its newest artifact; with `is_cut` the source may have more."""

    source: str
    listed: int
    is_cut: bool
    artifact: Artifact
    trial: Trial


def try_source(
    partition: Partition,
    table: Table,
    name: str | None,
    ends: tuple[str | None, str | None],
    limit: int,
    now: datetime,
    warn: Callable[[str], None] = lambda _: None,
) -> SourceTrial:
    """List a source of the partition, its only one if none is named, and open one artifact of the last days."""
    source = _source(partition, name)
    with released([source], warn):
        today = now.astimezone(UTC).date()
        window = None if ends == (None, None) else Window.parse(*ends, now=now)
        days = DaySet.of(window.days() if window else [today - timedelta(days=back) for back in range(_DAYS)])
        redact = Redactor(secrets_in(source))
        try:
            found = list_source(source, table, days, today=today, most=_MOST)
        except TailpipeError as error:  # a fault of the connection is not one of the command
            raise TailpipeError(redact(error.message), hint=redact(error.hint)) from error
        if not found.listed:
            raise _nothing(source, found, days)
        artifact = _newest(found.listed)
        format_ = source.format or table.format
        if format_ is None:
            raise UsageError(f'table "{table.name}" has no format', hint=f'set "format" of source "{source.name}"')
        share = Share(partition.address, source, (Reading(artifact, artifact.uri),))
        task = Task(table, format_, (share,), now, partition.filter, partition.tp_index)
        return SourceTrial(source.name, len(found.listed), found.is_cut, artifact, try_task(task, limit))


def _source(partition: Partition, name: str | None) -> Source:
    chosen = [source for source in partition.sources if name in (None, source.name)]
    if len(chosen) > 1:
        hint = f"name one of them: {', '.join(source.name for source in chosen)}"
        raise UsageError(f"{partition.address} has {len(chosen)} sources", hint=hint)
    return chosen[0]


def _newest(listed: Sequence[WorkItem]) -> Artifact:
    """The one to open: the newest, rather one that is not empty."""

    def age(artifact: Artifact) -> tuple[bool, date, datetime]:
        modified = artifact.modified or _LONG_AGO
        return artifact.size != 0, artifact.day or modified.date(), modified

    return max((one.artifact for one in listed), key=age)


def _nothing(source: Source, found: Listing, days: DaySet) -> TailpipeError:
    """Why there is nothing to open."""
    what = f'source "{source.name}" lists no artifact for {days.first} to {days.last}'
    other = "choose other days with --from and --to"
    if found.problems:
        return TailpipeError(Redactor(secrets_in(source))(found.problems[0]))
    if found.unavailable_artifacts:
        return TailpipeError(f"{what}: {found.unavailable_artifacts[0].reason}")
    if (other_days := found.unlisted_days) is not None:
        return TailpipeError(
            f"{what}: there are artifacts for {other_days.first_day} to {other_days.last_day}", hint=other
        )
    if (unmatched := found.unmatched_files) is not None and unmatched.unmatched:
        return TailpipeError(f'{what}: "{unmatched.example}" does not match the layout "{unmatched.file_layout}"')
    return TailpipeError(what, hint=other)
