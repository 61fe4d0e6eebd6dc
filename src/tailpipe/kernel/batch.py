"""What flows through the kernel: lines of text on the way in, a relation with fields on the way to the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["LineParser", "Lines", "Parsed"]


@dataclass(frozen=True)
class Lines:
    """A run of whole lines of one artifact. Blank lines are left out; they are no rows.

    `text` is an Arrow array of strings (views into one buffer), valid UTF-8, without line ends.
    `ordinals` are the lines' numbers in the artifact's decompressed text, from 1. For events of many
    lines, an entry is the whole event and its ordinal that of its first line.
    """

    text: pa.Array
    ordinals: np.ndarray
    artifact: int
    """Place of the artifact in the task."""
    head: Sequence[str] = field(default=())
    """The first lines of the artifact, if this run does not begin with them: a header may be among them."""


@dataclass(frozen=True)
class Parsed:
    """Rows with named fields, as a DuckDB query over Arrow tables, so that the next step is one query with it.

    The query gives `_artifact` (integer), `_ordinal` (bigint), `_bad` (the reason why the row cannot be
    read, or null), `_raw` (its text, at least where `_bad` is not null), then the fields under their own
    names. One row for each row read: header and comment lines are none, bad lines are.
    """

    sql: str
    tables: Mapping[str, pa.Table]
    fields: Mapping[str, str]
    """The DuckDB type of each field as it is read: VARCHAR unless the format itself has types."""
    rows: int
    misfits: Mapping[str, str] = field(default_factory=dict)
    """Boolean columns of the query that say, for a field, that its value was there but of another shape."""
    records: str = ""
    """For JSON, a query that gives the texts of the records alone, as `_raw`."""


class LineParser(Protocol):
    """Takes lines apart. One instance serves one task, and may remember what it saw of an artifact."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of all the lines, in their order."""
        ...
