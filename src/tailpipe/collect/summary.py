"""Summarise the run of a partition in one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date

from tailpipe.catalog.run_record import RunFacts
from tailpipe.collect import events
from tailpipe.collect.execute import Executed
from tailpipe.collect.job import Job
from tailpipe.collect.packing import fetched_bytes
from tailpipe.collect.planner import Planned
from tailpipe.collect.planning import COMPLETE, UNFINISHED, WRITTEN
from tailpipe.collect.scope import not_requested, open_days
from tailpipe.collect.types import unfilled_columns
from tailpipe.collect.unit import SAMPLES
from tailpipe.errors import TailpipeError
from tailpipe.model.artifact import Accounts
from tailpipe.model.assumed_years import merge_years
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet
from tailpipe.model.option import secrets_in
from tailpipe.model.redaction import Redactor

_REASONS = 3
"""How many reasons the history of runs has at most."""


def facts_of(job: Job, done: Executed | None, seconds: float, error: BaseException | None = None) -> RunFacts:
    """What the history of runs records of a run."""
    reasons: tuple[str, ...] = ()
    if isinstance(error, TailpipeError):
        reasons = (error.with_hint,)
    elif isinstance(error, Exception):
        reasons = (f"{type(error).__name__}: {error}",)
    elif done is not None:
        reasons = (*(reason for one in done.failed for reason in one.reasons), *done.bad, *done.changed)
    committed = done.committed if done else ()
    return RunFacts(
        seconds,
        _bytes(done),
        sum(one.artifacts for one in committed),
        sum((one.accounts for one in committed), Accounts()),
        dict(job.meter.spent),
        Redactor(secrets_in(job.partition))("; ".join(reasons[:_REASONS])),
    )


def _bytes(done: Executed | None) -> int:
    units = done.units if done else ()
    return sum(fetched_bytes(item) for one in units if one.is_committed for item in one.plan.artifacts)


def summarise(
    job: Job, planned: Planned, done: Executed, coverage: Mapping[str, Coverage], stale_since: date | None
) -> events.Summary:
    """The summary of a partition's run: `planned` is its first plan, and `coverage` what is known of its days now."""
    skipped, now = planned.plan.reasons, job.request.now
    filled = frozenset[str]().union(*(one.filled for one in done.units))
    is_empty = not any(one.accounts.kept for one in done.committed)
    samples = [sample for one in done.units for sample in one.samples]
    nulls, noticed = Counter[str](), Counter[str]()
    for unit in done.units:
        nulls.update(unit.nulls)
        noticed.update(unit.noticed)
    complete = [one.day for one in planned.plan.skipped if one.reason == COMPLETE and one.day]
    return events.Summary(
        partition=job.address,
        committed=done.committed,
        failed=done.failed,
        bad_artifacts=done.bad,
        changed_artifacts=done.changed,
        skipped=skipped,
        unmatched_files=planned.unmatched_files,
        unavailable_artifacts=(*planned.unavailable_artifacts, *_still_written(planned)),
        unlisted_days=planned.unlisted_days if is_empty else (),
        dated_names=planned.dated_names,
        listed=planned.listed,
        type_errors=dict(nulls),
        warnings=dict(noticed),
        empty_columns=unfilled_columns(job.sources.values(), job.table, filled),
        assumed_years=merge_years(years for one in done.units if one.is_committed for years in one.years),
        is_stale=stale_since is not None and not done.committed,
        stale_since=stale_since,
        complete_days=DaySet.of(complete) if job.request.window else NO_DAYS,
        rejected_samples=tuple(samples[:SAMPLES]),
        incomplete_artifacts=sum(one.unfinished for one in done.units) + skipped.get(UNFINISHED, 0),
        waiting=NO_DAYS if job.request.skip_bad_artifacts else done.damaged,
        gaps=open_days(coverage, job.partition, now),
        not_requested=not_requested(coverage, job.partition, now),
        lost=planned.lost,
        bytes=_bytes(done),
        profile=dict(job.meter.spent),
    )


def _still_written(planned: Planned) -> list[events.UnavailableArtifacts]:
    """The compressed files that wait for the next run, by source."""
    found: dict[str, list[str]] = {}
    for one in planned.plan.skipped:
        if one.reason == WRITTEN:
            found.setdefault(one.source, []).append(one.uri)
    why = "still being written, left for the next run"
    return [events.UnavailableArtifacts(source, why, len(uris), min(uris)) for source, uris in found.items()]


def summarise_failure(job: Job, error: TailpipeError, done: Executed | None = None) -> events.Summary:
    """The summary of a run that an error has ended, with the units that were settled before it."""
    message = Redactor(secrets_in(job.partition))(error.with_hint)
    committed, failed = (done.committed, done.failed) if done else ((), ())
    return events.Summary(job.address, committed, failed, error=message, profile=dict(job.meter.spent))
