"""Mend units that lost files: retire them in a transaction, and mark their days to be collected again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from tailpipe.catalog import commit
from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.coverage import load_coverage
from tailpipe.catalog.manifest_record import Loss, Manifest
from tailpipe.model.coverage import DaySet, Lose
from tailpipe.model.ledger import Unit


def retire_missing(writer: Writer, paths: Sequence[str]) -> commit.Committed:
    """Take files out of the live set that cannot be read any more, so that queries go on with the rest."""
    transaction = commit.begin(writer, "repair", None)

    def draft(connection: sqlite3.Connection, made: Manifest) -> Manifest:
        losses = set()
        for path in paths:
            unit, day = connection.execute("SELECT unit, tp_date FROM files WHERE path = ?", (path,)).fetchone()
            of = Unit.from_key(unit)
            losses.add(Loss(of, date.fromisoformat(day) if day else of.day or made.committed_at.date(), "missing"))
        days = DaySet.of(loss.unit.day or loss.tp_date for loss in losses)
        coverage = load_coverage(connection, writer.partition_id)
        return replace(
            made,
            removed=tuple(paths),
            coverage=tuple((key, Lose(days)) for key, known in coverage.items() if known.covered & days),
            losses=tuple(sorted(losses, key=lambda loss: (str(loss.unit), loss.tp_date))),
        )

    return transaction.record(draft)
