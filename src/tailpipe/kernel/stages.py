"""The staged files of a task: the rows in hand are divided among its shares, and those by index and date."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.kernel.row_buffer import RowBuffer, RowCount
from tailpipe.kernel.shape import KEPT
from tailpipe.kernel.stage import PARQUET, Key, Stage, key_condition, with_constants
from tailpipe.kernel.task import Share
from tailpipe.sql.connection import registered
from tailpipe.sql.quoting import literal
from tailpipe.storage.local import LOCAL

if TYPE_CHECKING:
    import pyarrow as pa

_MANY_FILES = 24
"""Up to so many files, a query for each is faster than one that divides the rows."""


class Stages:
    """A stage for each share of a task."""

    def __init__(self, shares: Sequence[Share]) -> None:
        self.all: list[Stage] = []
        for share in shares:
            if share.staging is None:
                raise ValueError("a task that stages files needs a place for them")
            self.all.append(Stage(share.staging))
        self.only = self.all[0] if len(self.all) == 1 else None
        """The only stage; None if there are several."""
        self._owners = [number for number, share in enumerate(shares) for _ in share.readings]

    def write(self, buffer: RowBuffer, counts: Iterable[RowCount], rejected: Sequence[pa.Table | None]) -> None:
        """Write the kept rows that the buffer has in hand, and the rejected rows of each share."""
        files: dict[tuple[int, Key], None] = {}
        for count in counts:
            if count.disposition == KEPT and count.tp_date is not None:
                files[self._owners[count.artifact], (count.tp_date, count.tp_index)] = None
        if len(files) > _MANY_FILES:
            self._divide(buffer, list(files))
            files = {}
        for owner, key in files:
            conditions = [key_condition(key)] if len(files) > 1 else ["true"]
            if len(files) > 1 and self.only is None:
                first = self._owners.index(owner)
                conditions.append(f"tp__artifact BETWEEN {first} AND {first + self._owners.count(owner) - 1}")
            query = buffer.kept(" AND ".join(conditions))
            self.all[owner].copy(buffer.connection, query, key, buffer.shape.columns, buffer.shape.constants)
        for stage, rows in zip(self.all, rejected, strict=True):
            if rows is not None:
                stage.write_rejected(buffer, rows)

    def discard(self) -> None:
        """Remove what was written."""
        for stage in self.all:
            stage.discard()

    def _divide(self, buffer: RowBuffer, files: Sequence[tuple[int, Key]]) -> None:
        """One pass for many files, by temporary directories; an index may be too long or odd to name one."""
        import pyarrow as pa

        known = {(owner, key[0].isoformat(), _index_name(key[1])): (owner, key) for owner, key in files}
        directory = self.all[0].path()
        kept = with_constants(buffer.kept(more=["tp__artifact"]), buffer.shape.constants)
        places = pa.array(range(len(self._owners)), pa.int32())
        owners = pa.table({"place": places, "tp__owner": pa.array(self._owners, pa.int32())})
        with registered(buffer.connection, {"tp__owners": owners}):
            query = (
                "SELECT * EXCLUDE (tp__artifact, place), tp_date AS tp__date,"
                f" coalesce(md5(tp_index), 'null') AS tp__index FROM ({kept})"
                " LEFT JOIN tp__owners ON place = tp__artifact"
            )
            rows = buffer.connection.execute(
                f"COPY ({query}) TO {literal(str(directory))} ({PARQUET}, PARTITION_BY (tp__owner, tp__date,"
                " tp__index), FILENAME_PATTERN 'part_{i}', FILE_EXTENSION 'staged')"
            ).fetchall()
        for row in rows:
            owner, key = known[int(row[5]["tp__owner"]), row[5]["tp__date"], row[5]["tp__index"]]
            self.all[owner].adopt(Path(row[0]), row, key, buffer.shape.columns)
        for place, _, _ in LOCAL.directories(directory):
            LOCAL.remove_empty(place)


def _index_name(index: str | None) -> str:
    return "null" if index is None else hashlib.md5(index.encode(), usedforsecurity=False).hexdigest()
