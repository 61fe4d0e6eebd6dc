"""Stores: a place outside the workspace with the same immutable files, and what of them stays on this disk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Literal

from tailpipe.errors import UsageError
from tailpipe.model.connection import Connection
from tailpipe.model.names import check_directory, check_reference_name
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import Declared, label, nested, option
from tailpipe.model.window import day_before

PARTITION_BY = ("tp_table", "tp_partition", "tp_index", "tp_date")
"""The directories of a file, unless a store or workspace says otherwise."""
FILE_COLUMNS = ("tp_table", "tp_partition", "tp_index", "tp_date", "tp_year", "tp_month", "tp_day")
"""What a file has one value of."""
_WITHIN = {"tp_month": "tp_year", "tp_day": "tp_month"}
"""What has a meaning only inside of another."""


def check_partition_by(names: Sequence[str]) -> None:
    """Refuse names that do not give every file a directory of its table, partition, index and date.

    The name of a column may stand for the index; whether a partition has it, this cannot tell.
    """
    for number, name in enumerate(names):
        if not name or (name.startswith("tp_") and name not in FILE_COLUMNS):
            hint = did_you_mean(name, FILE_COLUMNS, f"use {', '.join(FILE_COLUMNS)}, or the column of the index")
            raise UsageError(f'files cannot be partitioned by "{name}"', hint=hint)
        if name.lower() in (other.lower() for other in names[:number]):
            raise UsageError(f'"{name}" is duplicated')
        if (outer := _WITHIN.get(name)) and outer not in names[:number]:
            raise UsageError(f'"{name}" needs "{outer}" before it')
    flaw = ""
    if tuple(names[:1]) != PARTITION_BY[:1]:
        flaw = '"tp_table" must be first'
    elif "tp_partition" not in names:
        flaw = '"tp_partition" is missing'
    elif "tp_index" not in names and not index_names(names):
        flaw = 'the index is missing: add "tp_index"'
    elif "tp_date" not in names and "tp_day" not in names:
        flaw = 'the date is missing: add "tp_date", or "tp_year", "tp_month" and "tp_day"'
    if flaw:
        raise UsageError(flaw, hint="such as [" + ", ".join(f'"{name}"' for name in PARTITION_BY) + "]")


def index_names(partition_by: Sequence[str]) -> tuple[str, ...]:
    """The names of columns that replace `tp_index`."""
    return tuple(name for name in partition_by if name not in FILE_COLUMNS)


def partition_by_of(partition_by: Sequence[str], index: str | None) -> tuple[str, ...]:
    """The directories of the files of one partition, whose `tp_index` is the column `index`.

    The index has one directory: named like its column if that is listed, else `tp_index`.
    """
    own = next((name for name in index_names(partition_by) if index and name.lower() == index.lower()), None)
    chosen = own or ("tp_index" if "tp_index" in partition_by else index_names(partition_by)[0])
    kept = [name for name in partition_by if (name in FILE_COLUMNS and name != "tp_index") or name == chosen]
    return tuple("tp_index" if name == chosen and own is None else name for name in kept)


def check_span(text: str) -> None:
    """Refuse what is no span of days such as `30d`."""
    day_before(text, now=datetime(2000, 1, 1, tzinfo=UTC))


class Here(Declared):
    """What stays on this disk once it is in the store; both conditions must hold."""

    newer_than: str | None = option(
        "Days newer than this stay here: `30d`, `12W`, `6m` or `2Y`.", default=None, check=check_span
    )
    where: str | None = option(
        "DuckDB SQL condition on `tp_table`, `tp_partition`, `tp_index`, `tp_date`, `tp_year`, `tp_month`, `tp_day`.",
        default=None,
    )
    path: str | None = option(
        "Directory for the files that stay here, if not in the workspace. It must exist.",
        default=None,
        check=check_directory,
    )

    def oldest(self, now: datetime) -> date | None:
        """The oldest day that stays here; None if all of them do."""
        return day_before(self.newer_than, now=now) if self.newer_than else None


class Store(Declared):
    """A bucket, container or directory that holds the files of partitions and a log of manifests."""

    name: str = label("Name of the store.", check=check_reference_name)
    location: str = option("Where it is: `s3://bucket/prefix`, `gs://…`, `az://…` or an absolute path.")
    connection: Connection | None = option("Connection that opens the location; required for `s3://`.", default=None)
    partition_by: Sequence[str] = option(
        "Directories of the keys of files, from the outside in.", default=PARTITION_BY, check=check_partition_by
    )
    history: str = option("How long replaced files and their versions are kept.", default="30d", check=check_span)
    publish: Literal["none", "delta"] = option("Table format that is published for other engines.", default="none")
    here: Here | None = nested("What stays on this disk; everything without it.", block="here", default=None)

    @property
    def address(self) -> str:
        """How config names it: `store.lake`."""
        return f"store.{self.name}"
