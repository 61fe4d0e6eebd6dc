"""The frontier in catalogs that were written before there was one: derived from the runs and the covered days."""

from __future__ import annotations

import sqlite3
from datetime import date

from tailpipe.model.coverage import Coverage, DaySet

_OPEN = """
SELECT max(substr(window_end, 1, 10)) FROM runs WHERE partition_id = ?
AND command NOT LIKE '% --to %' AND command NOT LIKE '% --to=%'
AND NOT (command = '' AND window_end LIKE '%T00:00:00+00:00')
"""
"""The day on which the newest run without an end began; a run from Python has no command, but ends at midnight
if its window ends with a date."""


def derived(connection: sqlite3.Connection, partition_id: int, coverage: Coverage) -> date | None:
    """The newest day that a run without an end had reached; None if all runs of the partition had one."""
    (begun,) = connection.execute("SELECT count(*) FROM runs WHERE partition_id = ?", (partition_id,)).fetchone()
    if not begun:
        return coverage.known.last  # rebuilt from its manifests: they know of no runs
    (newest,) = connection.execute(_OPEN, (partition_id,)).fetchone()
    return (coverage.known & DaySet.span(date.min, date.fromisoformat(newest))).last if newest else None
