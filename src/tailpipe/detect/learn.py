"""The first run of a `first_seen`: it learns the values that are there already, and reports none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tailpipe.detect.evaluate import SEEN_LIMIT, Found, key_sql
from tailpipe.detect.hit_table import hit_id
from tailpipe.detect.jail import Jail, why
from tailpipe.detect.state import State
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.detection import Detection
from tailpipe.sql.duck import duckdb

if TYPE_CHECKING:
    from tailpipe.catalog.catalog import Catalog

__all__ = ["learn"]

_ALL = "new_rows"
"""The name by which the statement of a detection knows the rows."""


def learn(jail: Jail, catalog: Catalog, detections: Sequence[Detection], state: State) -> Iterator[Found]:
    """Take the values of all rows of the table, new ones too."""
    table = detections[0].table
    snapshot = catalog.snapshot(table)
    jail.show(_ALL, table, snapshot)
    for one in detections:
        found = Found(one)
        try:
            jail.check(one)
            where = f"({one.where}\n)" if one.sql is None else f"tp_id IN (SELECT tp_id FROM (\n{one.sql}\n))"
            rows = jail.connection.execute(
                f"SELECT DISTINCT {key_sql(one.first_seen)} FROM {_ALL} WHERE {where} LIMIT {SEEN_LIMIT + 1}"
            ).fetchall()
            if len(rows) > SEEN_LIMIT:
                raise UsageError(f"first_seen has more than {SEEN_LIMIT:,} values; narrow where, or name other columns")
            found.seen = {hit_id(text)[:16] for (text,) in rows}
            if snapshot.files:  # of an empty table nothing can be learnt
                state.begin(one.name, one.version)
        except (duckdb.Error, TailpipeError) as error:
            found.failure = why(error)
        yield found
