"""Settings of a workspace, as its block in the config states them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from tailpipe.errors import UsageError
from tailpipe.model.host import check_host
from tailpipe.model.names import check_directory, check_partition_name
from tailpipe.model.option import Declared, label, nested, option
from tailpipe.model.store import PARTITION_BY, Store, check_partition_by, check_span

__all__ = ["LOG_LEVELS", "SparkSettings", "WorkspaceSettings"]

LOG_LEVELS = ("debug", "info", "warning", "error", "off")
_SIZE = re.compile(r"([1-9][0-9]*) ?(kB|MB|GB|TB)")
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _check_size(text: str) -> None:
    if not _SIZE.fullmatch(text):
        raise UsageError(f'"{text}" is not a size', hint="write a number and a unit: 500MB, 20GB or 1TB")


def _check_hive(names: Sequence[str]) -> None:
    check_partition_by(names)
    if tuple(names[:2]) != PARTITION_BY[:2]:
        # The directory of a partition is its own: two partitions may be written at the same time.
        raise UsageError('in the hive, "tp_table" and "tp_partition" must be first')


def _check_no_connect(text: str) -> None:
    if text.startswith("sc://"):
        raise UsageError(
            "collections cannot run on Spark Connect",
            hint="set master to the cluster's own, such as spark://host:7077, yarn or k8s://…, or use spark-submit",
        )


def _check_no_remote(text: str) -> None:
    _check_no_connect(text if text.startswith("sc://") else f"sc://{text}")


class SparkSettings(Declared):
    """How Spark is started for collecting."""

    master: str = option(
        "Master to run on: `local[*,4]`, `spark://host:7077`, `yarn`, …", default="local[*,4]", check=_check_no_connect
    )
    remote: str | None = option(
        "Not supported: the address of a Spark Connect server, such as `sc://host`; use `master`.",
        default=None,
        check=_check_no_remote,
    )
    archive: bool = option(
        "Whether to pack this Python environment and send it to the hosts of a cluster.", default=False
    )
    driver_memory: str | None = option("Memory of the driver, such as `2g`.", default=None)
    wait_seconds: int = option("How long to wait for the first executor of a cluster.", default=120)
    class_archive: bool = option(
        "Whether to make and use an archive of Java classes, with which Spark starts faster.", default=True
    )
    conf: Mapping[str, str] = option("Further Spark properties.", default={})


class WorkspaceSettings(Declared):
    """Where a workspace keeps its data, and how it works."""

    name: str = label("Name of the workspace.", check=check_partition_name)
    location: str | None = option(
        "Directory of the catalog, on a local disk; `data/<name>` in the install directory if not given.",
        default=None,
        check=check_directory,
    )
    data_dir: str | None = option(
        "Directory of the hive and the files, if not in `location`; on a cluster, a shared mount.",
        default=None,
        check=check_directory,
    )
    log_level: Literal["debug", "info", "warning", "error", "off"] | None = option("Log level.", default=None)
    host: str | None = option(
        "Name of this host in stores; the host name of the machine if not given.", default=None, check=check_host
    )
    store: Store | None = option("Store of all partitions that name none.", default=None)
    cache_size: str = option(
        "How much of what queries fetch from stores is kept: `500MB`, `20GB`.", default="20GB", check=_check_size
    )
    run_history: str = option("How long the history of runs is kept: `90d`, `1Y`.", default="90d", check=check_span)
    partition_by: Sequence[str] = option(
        "Directories of the hive, from the outside in.", default=PARTITION_BY, check=_check_hive
    )
    spark: SparkSettings = nested("How Spark is started.", block="spark", default=SparkSettings())

    @property
    def cache_bytes(self) -> int:
        """How many bytes of what queries fetch from stores are kept."""
        match = _SIZE.fullmatch(self.cache_size)
        return int(match[1]) * _UNITS[match[2]] if match else 0
