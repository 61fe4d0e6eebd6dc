"""Stores: a place outside the workspace with the same immutable files, and what of them stays on this disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tailpipe.model.connection import Connection
from tailpipe.model.names import check_reference_name
from tailpipe.model.option import Declared, label, nested, option

__all__ = ["PARTITION_BY", "Here", "Store"]

PARTITION_BY = ("tp_table", "tp_partition", "tp_index", "tp_date")
"""The directories of a file, unless a store or workspace says otherwise."""


class Here(Declared):
    """What stays on this disk once it is in the store; both conditions must hold."""

    newer_than: str | None = option("Days newer than this stay here: `30d`, `12W`, `6m`.", default=None)
    where: str | None = option("DuckDB SQL condition on what a file has one value of.", default=None)
    path: str | None = option("Directory for the files that stay here, if not in the workspace.", default=None)


class Store(Declared):
    """A bucket, container or directory that holds the files of partitions and a log of manifests."""

    name: str = label("Name of the store.", check=check_reference_name)
    location: str = option("Where it is: `s3://bucket/prefix`, `gs://…`, `az://…` or a directory.")
    connection: Connection | None = option("Connection that opens the location.", default=None)
    partition_by: Sequence[str] = option("Directories of the keys of files, from the outside in.", default=PARTITION_BY)
    history: str = option("How long replaced files and their versions are kept.", default="30d")
    publish: Literal["none", "delta"] = option("Table format that is published for other engines.", default="none")
    here: Here | None = nested("What stays on this disk; everything without it.", block="here", default=None)
