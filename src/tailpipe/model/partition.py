"""Partitions and schemas: what is collected together, and what is shown together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from tailpipe.errors import UsageError
from tailpipe.model.names import check_name, check_partition_name
from tailpipe.model.option import Declared, label, nested, option
from tailpipe.model.selector import check_selectors
from tailpipe.model.source import Source
from tailpipe.model.store import Store, check_span
from tailpipe.model.window import check_moment, day_before

_TAKEN = frozenset(
    {"main", "memory", "ocsf", "tailpipe", "temp", "system", "information_schema", "pg_catalog", "tp_catalog"}
)


def _check_schema_name(name: str) -> None:
    check_name(name)
    if name.lower() in _TAKEN:
        raise UsageError(f'the name "{name}" is taken', hint="these are: " + ", ".join(sorted(_TAKEN)))


def _check_key(columns: Sequence[str]) -> None:
    for number, column in enumerate(columns):
        if not column:
            raise UsageError("a column needs a name")
        if column.lower() in (other.lower() for other in columns[:number]):
            raise UsageError(f'the column "{column}" is duplicated')


class Retention(Declared):
    """How long the rows of a partition are kept."""

    keep: str = option("How long rows are kept: `400d`, `12W`, `6m` or `2Y`.", check=check_span)

    def oldest(self, now: datetime) -> date:
        """The oldest day that is kept; one that is kept in part is kept whole."""
        return day_before(self.keep, now=now)


class Partition(Declared):
    """The unit of collection: one or more sources collected into one table."""

    table: str = label("Table that the rows go into.", check=check_name)
    name: str = label("Name of the partition.", check=check_partition_name)
    description: str | None = option("Description of the partition, in a sentence.", default=None)
    filter: str | None = option("DuckDB SQL condition; only rows that meet it are kept.", default=None)
    tp_index: str | None = option("Column by whose value the files are divided.", default=None)
    dedupe_key: Sequence[str] = option(
        "Columns that identify an event; of rows that agree in all of them one is kept.", default=(), check=_check_key
    )
    dedupe: bool = option("Whether to keep only one of the rows with the same `row_key` of the table.", default=False)
    store: Store | None = option("Store of the files; default: that of the workspace.", default=None)
    sources: Sequence[Source] = nested("Where the logs come from; at least one.", block="source")
    retention: Retention | None = nested(
        "How long rows are kept; for ever without it.", block="retention", default=None
    )

    @property
    def address(self) -> str:
        """How a command line names it: `table.partition`."""
        return f"{self.table}.{self.name}"

    def oldest(self, now: datetime) -> date | None:
        """The oldest day that is kept; None if all of them are."""
        return self.retention.oldest(now) if self.retention else None


class Schema(Declared):
    """A named set of filtered views over the tables."""

    name: str = label("Name of the schema, and of the DuckDB schema it becomes.", check=_check_schema_name)
    description: str | None = option("What the schema is for, in a sentence.", default=None)
    tables: Sequence[str] = option("Tables to show; wildcards are allowed.", default=("*",), check=check_selectors)
    partitions: Sequence[str] = option(
        "Partitions to show, by name or by table and name; wildcards are allowed.",
        default=("*",),
        check=check_selectors,
    )
    indexes: Sequence[str] = option("Values of `tp_index` to show; wildcards are allowed.", default=("*",))
    from_: str | None = option("Only rows from this time on.", default=None, check=check_moment)
    to: str | None = option(
        "Only rows before this time; a bare date includes that day.", default=None, check=check_moment
    )
    where: str | None = option("DuckDB SQL condition on the rows.", default=None)
    materialized: bool = option(
        "Whether to keep a copy of the rows, updated after each collection that changes them.", default=False
    )
