"""Settings of a workspace, as its block in the config states them, and levels of logs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.host import check_host
from tailpipe.model.names import check_directory, check_partition_name
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import Declared, Secret, label, nested, option
from tailpipe.model.store import PARTITION_BY, Store, check_partition_by, check_span

LOG_LEVELS = ("debug", "info", "warning", "error", "off")
_SIZE = re.compile(r"([1-9][0-9]*) ?(kB|MB|GB|TB)")
_REMOTE = re.compile(r"sc://(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:[0-9]{1,5})?(/(;[\w-]+=[^;=]+)*)?")
_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|\[::1\]")
_MASTER = "local[*,4]"
_LOGGER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_LEVELS = "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug"
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _check_size(text: str) -> None:
    if not _SIZE.fullmatch(text):
        raise UsageError(f'"{text}" is not a size', hint="write a number and a unit: 500MB, 20GB or 1TB")


def _check_hive(names: Sequence[str]) -> None:
    check_partition_by(names)
    if tuple(names[:2]) != PARTITION_BY[:2]:
        # The directory of a partition is its own: two partitions may be written at the same time.
        raise UsageError('in the hive, "tp_table" and "tp_partition" must be first')


def _check_master(text: str) -> None:
    if text.startswith("sc://"):
        raise UsageError(f'"{text}" is the address of a Spark Connect server', hint="set remote instead of master")


def _check_remote(text: str) -> None:
    if not _REMOTE.fullmatch(text):
        raise UsageError(f'"{text}" is not the address of a Spark Connect server', hint="write sc://host:15002")
    if re.search(r"[;/]token=", text, re.IGNORECASE):
        raise UsageError("remote contains a token", hint='set remote_token instead, such as env("SPARK_TOKEN")')


class SparkSettings(Declared):
    """How Spark is started for collecting."""

    master: str = option(
        "Master to run on: `local[*,4]`, `spark://host:7077`, `yarn`, …", default=_MASTER, check=_check_master
    )
    remote: str | None = option(
        "Address of a Spark Connect server to run on instead of a master: `sc://host:15002`.",
        default=None,
        check=_check_remote,
    )
    remote_token: Secret | None = option("Token for the Spark Connect server; requires TLS.", default=None)
    archive: bool = option(
        "Whether to pack this Python environment and send it to the hosts of a cluster.", default=False
    )
    driver_memory: str | None = option("Memory of the driver, such as `2g`.", default=None)
    wait_seconds: int = option("How long to wait for the first executor of a cluster.", default=120)
    class_archive: bool = option(
        "Whether to make and use an archive of Java classes, with which Spark starts faster.", default=True
    )
    conf: Mapping[str, str] = option("Further Spark properties.", default={})

    def __post_init__(self) -> None:
        if self.remote is not None and self.master != _MASTER:
            raise UsageError("master and remote cannot be combined", hint="remove one of them")
        if self.remote_token is not None and self.remote is None:
            raise UsageError("remote_token requires remote", hint="set the address of the server, or remove the token")
        if self.remote_token is not None and not self.is_remote_private:
            hint = "add /;use_ssl=true to the address in remote"
            raise UsageError("remote_token would be sent without encryption", hint=hint)

    @property
    def is_remote_private(self) -> bool:
        """Whether only this machine and the Spark Connect server can read what is sent to it."""
        match = _REMOTE.fullmatch(self.remote or "")
        return match is not None and ("use_ssl=true" in match[0].lower() or _LOOPBACK.fullmatch(match[1]) is not None)


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


@frozen
class LogLevels:
    """The level of our own loggers, and those of others that were named."""

    level: str = "warning"
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, default: str = "warning") -> LogLevels:
        """The levels that `TAILPIPE_LOG_LEVEL` says, whatever the case; if it only names loggers, with the default."""
        variable = "TAILPIPE_LOG_LEVEL"
        level: str | None = None
        named: dict[str, str] = {}
        for part in text.split(","):
            name, equals, value = (one.strip() for one in part.rpartition("="))
            if value.lower() not in LOG_LEVELS:
                hint = did_you_mean(value, LOG_LEVELS, "the levels are: " + ", ".join(LOG_LEVELS)) if value else _LEVELS
                raise UsageError(f'{variable} is "{text}": there is no level "{value}"', hint=hint)
            if not equals and level is not None:
                raise UsageError(f'{variable} is "{text}": it has two levels, {level} and {value}', hint=_LEVELS)
            if not equals:
                level = value.lower()
            elif not _LOGGER.fullmatch(name):
                raise UsageError(f'{variable} is "{text}": "{name}" is not the name of a logger', hint=_LEVELS)
            elif name in named:
                raise UsageError(f'{variable} is "{text}": "{name}" is duplicated', hint=_LEVELS)
            else:
                named[name] = value.lower()
        return cls(level or default, named)
