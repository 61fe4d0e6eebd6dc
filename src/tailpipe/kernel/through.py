"""Write through: rows that are all alike go from the parser into a file in one query, without being kept in memory.

Most batches are like that: every row is kept, every value fits, and there is one index and one date. The
query leaves out whatever is not so. Only if the file then holds fewer rows than were read, it is looked up
which are missing, and these alone take the usual way: so the accounts are as exact as ever.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailpipe.kernel.row_buffer import RowBuffer
from tailpipe.kernel.shape import KEPT, PREFIX
from tailpipe.kernel.stage import Key, Stage, key_condition
from tailpipe.model.parsing import Parsed
from tailpipe.sql.connection import registered
from tailpipe.sql.quoting import literal, quoted

if TYPE_CHECKING:
    import numpy as np

_PROBE_ROWS = 2048
LEAST_ROWS = 8192
"""For fewer rows the probe costs more than it saves."""
_MOST = 0.9
"""How many of the rows must be alike for it to pay."""
_STEP = 1 << 40
"""More than any artifact has rows."""


class WriteThrough:
    """Writes batches of one task straight to files, as long as that pays."""

    def __init__(self, buffer: RowBuffer, stage: Stage) -> None:
        self._buffer = buffer
        self._stage = stage
        self._pays = True
        self._key: Key | None = None
        """What the batch before had; the next one has most likely the same."""

    def write(self, parsed: Parsed) -> tuple[dict[int, int], Parsed]:
        """Write the plain rows; returns the number of rows written of each artifact, and the rest of the batch."""
        import numpy as np

        from tailpipe.plugin.arrow import chosen_rows

        if not self._pays or len(parsed.tables) != 1 or parsed.rows < LEAST_ROWS:
            return {}, parsed
        ((name, table),) = parsed.tables.items()
        key = self._key or self._probe(replace(parsed, tables={name: table.slice(0, _PROBE_ROWS)}))
        if key is None:
            self._pays = False
            return {}, parsed
        with registered(self._buffer.connection, parsed.tables):
            shape = self._buffer.shape
            columns = ", ".join(quoted(name) for name in shape.columns)
            query = (
                f"SELECT {columns} FROM ({self._finished(parsed)}) WHERE {self._is_plain()} AND {key_condition(key)}"
            )
            path, count = self._stage.copy(self._buffer.connection, query, key, shape.columns, shape.constants)
        artifacts = table["_artifact"].to_numpy()
        if count == parsed.rows:
            self._key = key
            return _counts(artifacts), replace(parsed, tables={name: table.slice(0, 0)}, rows=0)
        places = artifacts.astype(np.int64) * _STEP + table["_ordinal"].to_numpy()
        is_written = np.isin(places, self._written(path) if count else [])
        self._key = None
        self._pays = count >= _MOST * parsed.rows
        left = chosen_rows(table, ~is_written)
        return _counts(artifacts[is_written]), replace(parsed, tables={name: left}, rows=left.num_rows)

    def _probe(self, probe: Parsed) -> Key | None:
        """The index and date that most of the first rows have, if they are plain rows otherwise."""
        with registered(self._buffer.connection, probe.tables):
            rows = self._buffer.connection.execute(
                f"SELECT tp_date, tp_index, count(*) FROM ({self._finished(probe)}) WHERE {self._is_plain()}"
                " GROUP BY ALL ORDER BY 3 DESC LIMIT 1"
            ).fetchall()
        total = next(iter(probe.tables.values())).num_rows
        return (rows[0][0], rows[0][1]) if rows and rows[0][2] >= _MOST * total else None

    def _finished(self, parsed: Parsed) -> str:
        shape = self._buffer.shape
        words = [f"tp__coerced{n}" for n in range(shape.words)]
        return shape.stored(f"({self._buffer.shaped(parsed)})", words)

    def _is_plain(self) -> str:
        words = [f"tp__coerced{n} = 0" for n in range(self._buffer.shape.words)]
        return " AND ".join([f"tp__disposition = {KEPT}", *words])

    def _written(self, path: str) -> np.ndarray[Any, Any]:
        """Artifact and ordinal of the rows in a file, as one number; both are in their ids."""
        query = (
            f"SELECT artifact::BIGINT * {_STEP} + substr(tp_id, 18)::BIGINT FROM read_parquet({literal(path)})"
            f" LEFT JOIN tp__artifacts ON {PREFIX} = left(tp_id, 16)"
        )
        found: np.ndarray[Any, Any] = self._buffer.connection.execute(query).to_arrow_table()[0].to_numpy()
        return found


def _counts(artifacts: np.ndarray[Any, Any]) -> dict[int, int]:
    import numpy as np

    places, counts = np.unique(artifacts, return_counts=True)
    return dict(zip(places.tolist(), counts.tolist(), strict=True))
