"""The report of a run, and the preview of one, as records for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tailpipe.cli.pushes import push_record
from tailpipe.collect import events
from tailpipe.collect.packing import fetched_bytes
from tailpipe.collect.planner import Planned
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.meter import ordered
from tailpipe.model.partition import Partition


def summary_record(summary: events.Summary) -> dict[str, Any]:
    """The outcome of one partition. The names are public: `docs/reference/collect.md` has a row for each."""
    maintenance = summary.maintenance
    return {
        "partition": summary.partition,
        "is_done": summary.is_done,
        "error": summary.error,
        "row_counts": asdict(summary.accounts),
        "committed": [
            {"unit": one.unit, "artifacts": one.artifacts, "row_counts": asdict(one.accounts), "reason": one.reason}
            for one in summary.committed
        ],
        "failed": [{"unit": one.unit, "reasons": one.reasons} for one in summary.failed],
        "bad_artifacts": summary.bad_artifacts,
        "waiting": str(summary.waiting),
        "changed_artifacts": summary.changed_artifacts,
        "listed": summary.listed,
        "skipped": summary.skipped,
        **_seen(summary),
        "type_errors": summary.type_errors,
        "warnings": summary.warnings,
        "assumed_years": years_record(summary.assumed_years),
        "is_stale": summary.is_stale,
        "stale_since": summary.stale_since and str(summary.stale_since),
        "complete_days": str(summary.complete_days),
        "empty_columns": summary.empty_columns,
        "rejected_samples": [
            {"uri": one.uri, "position": one.position, "reason": one.reason, "text": one.text}
            for one in summary.rejected_samples
        ],
        "incomplete_artifacts": summary.incomplete_artifacts,
        "gaps": str(summary.gaps),
        "not_requested": str(summary.not_requested),
        "lost": str(summary.lost),
        "maintenance": {**asdict(maintenance), "expired_days": str(maintenance.expired_days)},
        "push": push_record(summary.push) if summary.push else None,
        "bytes": summary.bytes,
        "seconds": round(summary.seconds, 3),
        "run": summary.run,
        "profile": {
            phase: {"wall_seconds": round(spent.wall, 3), "cpu_seconds": round(spent.cpu, 3)}
            for phase, spent in ordered(summary.profile).items()
        },
    }


def years_record(assumed: Sequence[AssumedYears]) -> list[dict[str, Any]]:
    """The years of times that have none."""
    return [{"year": year, "basis": one.basis, "rows": rows} for one in assumed for year, rows in one.rows.items()]


def preview_record(partition: Partition, planned: Planned) -> dict[str, Any]:
    """What a run of a partition would do."""
    return {
        "partition": partition.address,
        "listed": planned.listed,
        "units": [
            {
                "unit": str(unit.unit),
                "kind": unit.kind,
                "reason": unit.reason,
                "artifacts": len(unit.artifacts),
                "bytes": sum(fetched_bytes(one) for one in unit.artifacts),
            }
            for unit in planned.plan.units
        ],
        "skipped": planned.plan.reasons,
        **_seen(planned),
        "problems": [problem for some in planned.problems.values() for problem in some],
    }


def _seen(found: events.Summary | Planned) -> dict[str, Any]:
    """What sources have listed and the run does not read, by source."""
    return {
        "unmatched_files": [asdict(one) for one in found.unmatched_files],
        "unavailable_artifacts": [asdict(one) for one in found.unavailable_artifacts],
        "unlisted_days": [
            {**asdict(one), "first_day": str(one.first_day), "last_day": str(one.last_day)}
            for one in found.unlisted_days
        ],
        "dated_names": [asdict(one) for one in found.dated_names],
    }
