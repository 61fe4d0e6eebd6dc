"""Keys: the only place that spells the names of objects in a store.

    tailpipe.json                                          what makes a location a store
    data/T/tp_partition-P/…/<transaction>-<n>.parquet      by `partition_by`
    data/T/_delta_log/…                                    published; T is the root of a Delta table
    rejected/tp_table=T/tp_partition=P/<transaction>-<n>.parquet
    log/T.P/0000000042.manifest                            one push; its number is the version of the partition
    log/T.P/0000000100.checkpoint                          derived: the state at that version
    tags/<name>.json                                       versions of partitions that have a name
    preflight/<tag>/<name>                                 what a host of a cluster puts to see whether it can

The name of a data file is never used twice, so its key needs no more than that to be unique.

Directories of data files have no `=`: Polars and others take what is after it for the value of a column, whatever the
file says. Earlier versions wrote `data/tp_table=T/tp_partition=P/…`; such keys stay in use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from urllib.parse import unquote

from tailpipe.catalog.layout import CHECKPOINT, MANIFEST, encoded, partition_segment, segments
from tailpipe.errors import UsageError

STORE = "tailpipe.json"
DATA = "data"
REJECTED = "rejected"
LOG = "log"
TAGS = "tags"
SIGNS = "preflight"
"""What hosts of a cluster put to see whether they can, and the driver removes."""

_SUFFIX = ".parquet"
_DIGITS = 10
"""Of a version, so that the order of the keys is that of the versions."""
_TABLE = "tp_table="
_VALUE = re.compile(r"([^=-]+)[=-](.*)")
_CHECKPOINT = re.compile(rf"(\d{{{_DIGITS}}}){re.escape(CHECKPOINT)}")
_VERSION = re.compile(rf"(\d{{{_DIGITS}}}){re.escape(MANIFEST)}")


def data_key(partition_by: Sequence[str], partition: str, tp_index: str | None, tp_date: date, name: str) -> str:
    """The key of a data file; `partition_by` is that of its partition (`model.store.partition_by_of`)."""
    _, _, directories = segments(partition_by, partition, tp_index, tp_date).partition("/")
    return f"{table_root(partition.partition('.')[0])}/{_plain(directories)}/{name}{_SUFFIX}"


def table_root(table: str) -> str:
    """Where the Delta table of a table is."""
    return f"{DATA}/{encoded(table)}"


def earlier_root(table: str) -> str:
    """Where earlier versions published it."""
    return f"{DATA}/{_TABLE}{encoded(table)}"


def key_below(root: str, key: str) -> str | None:
    """The key of a data file below the root of its Delta table: its own, or that of its copy; None for other objects.

    Other engines find only what is below the root, so what has a key elsewhere is copied.
    """
    if key.startswith(f"{root}/"):
        return key
    top, table, rest = (*key.split("/", 2), "", "")[:3]
    is_same = table.removeprefix(_TABLE) == root.rpartition("/")[2].removeprefix(_TABLE)
    return f"{root}/{_plain(rest)}" if top == DATA and rest and is_same else None


def keyed_partition(key: str) -> str:
    """The partition of a file of data or of rejected rows."""
    _, table, *parts = (*key.split("/"), "")
    values = {match[1]: match[2] for part in parts if (match := _VALUE.fullmatch(part))}
    return f"{unquote(table.removeprefix(_TABLE))}.{unquote(values.get('tp_partition', ''))}"


def _plain(directories: str) -> str:
    """Directories whose names no program takes for columns; values are encoded, so each `=` is one of ours."""
    return directories.replace("=", "-")


def rejected_key(partition: str, name: str) -> str:
    """The key of a file of rejected rows."""
    return f"{REJECTED}/{partition_segment(partition)}/{name}{_SUFFIX}"


def tag_key(name: str) -> str:
    """The key of a tag."""
    return f"{TAGS}/{name}.json"


def log_prefix(partition: str) -> str:
    """What the keys of all manifests of a partition begin with."""
    return f"{LOG}/{encoded(partition)}/"


def log_key(partition: str, version: int) -> str:
    """The key of the manifest of a version; the first is 1."""
    if not 0 < version < 10**_DIGITS:
        raise UsageError(f"{version} is not a version of a log")
    return f"{log_prefix(partition)}{version:0{_DIGITS}d}{MANIFEST}"


def checkpoint_key(partition: str, version: int) -> str:
    """The key of the checkpoint of a version: the state after the entries up to there."""
    return f"{log_prefix(partition)}{version:0{_DIGITS}d}{CHECKPOINT}"


def checkpoint_of(key: str) -> int | None:
    """The version of a key of a checkpoint, or None if it is of something else."""
    match = _CHECKPOINT.fullmatch(key.rpartition("/")[2])
    return int(match[1]) if match else None


def logged_partition(key: str) -> str | None:
    """The partition of a key of a log."""
    top, _, rest = key.partition("/")
    name, slash, _ = rest.partition("/")
    return unquote(name) if top == LOG and slash and "." in name else None


def version_of(key: str) -> int | None:
    """The version of a key of a log, or None if it is of something else, such as a checkpoint."""
    match = _VERSION.fullmatch(key.rpartition("/")[2])
    return int(match[1]) if match else None
