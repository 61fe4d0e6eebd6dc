"""Settings of a workspace, as its block in the config states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from tailpipe.errors import UsageError
from tailpipe.model.names import check_partition_name
from tailpipe.model.option import Declared, label, nested, option

__all__ = ["LOG_LEVELS", "SparkSettings", "WorkspaceSettings"]

LOG_LEVELS = ("debug", "info", "warning", "error", "off")


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def check_directory(path: str) -> None:
    """Refuse an address: it would silently become a local directory of that name."""
    if match := _SCHEME.match(path):
        raise UsageError(
            f'"{path}" is not a directory', hint=f"{match[1]}:// addresses are not supported here; name a mounted path"
        )


class SparkSettings(Declared):
    """How Spark is started for collecting."""

    master: str = option("Master to run on: `local[*,4]`, `spark://host:7077`, `yarn`, …", default="local[*,4]")
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
    log_level: Literal["debug", "info", "warning", "error", "off"] | None = option(
        "How much is logged: `debug`, `info`, `warning`, `error` or `off`.", default=None
    )
    spark: SparkSettings = nested("How Spark is started.", block="spark", default=SparkSettings())
