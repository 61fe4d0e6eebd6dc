"""Learn the stored values in the first run of a `first_seen`, which reports no hits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tailpipe.detect.evaluate import SEEN_LIMIT, TOO_MANY_VALUES, Found, key_sql
from tailpipe.detect.hit_table import hit_id
from tailpipe.detect.jail import Jail, why
from tailpipe.detect.state import State
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.detection import NEW_ROWS, Detection
from tailpipe.sql.duck import duckdb

if TYPE_CHECKING:
    from tailpipe.catalog.catalog import Catalog


def learn(jail: Jail, catalog: Catalog, detections: Sequence[Detection], state: State) -> Iterator[Found]:
    """Learn the values of all rows of the table, new rows included."""
    table = detections[0].table
    snapshot = catalog.snapshot(table)
    jail.show(NEW_ROWS, table, snapshot)
    for one in detections:
        found = Found(one)
        try:
            jail.check(one)
            where = f"({one.where}\n)" if one.sql is None else f"tp_id IN (SELECT tp_id FROM (\n{one.sql}\n))"
            rows = jail.connection.execute(
                f"SELECT DISTINCT {key_sql(one.first_seen)} FROM {NEW_ROWS} WHERE {where} LIMIT {SEEN_LIMIT + 1}"
            ).fetchall()
            if len(rows) > SEEN_LIMIT:
                raise UsageError(TOO_MANY_VALUES)
            found.seen = {hit_id(text)[:16] for (text,) in rows}
            if snapshot.files:  # of an empty table nothing can be learnt
                state.begin(one.name, one.version)
        except (duckdb.Error, TailpipeError) as error:
            found.failure = why(error)
        yield found
