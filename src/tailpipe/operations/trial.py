"""Try without writing: a file with a table, a source of a partition, the SQL of the config."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.config.config import Config, choose, choose_ready
from tailpipe.errors import ConfigError
from tailpipe.home.home import Home

if TYPE_CHECKING:
    from tailpipe.collect.trial import SourceTrial
    from tailpipe.kernel.trial import Trial
    from tailpipe.model.format import Format
    from tailpipe.model.table import Table


def try_file(home: Home, path: Path, table: Table, format_: Format | None, limit: int) -> Trial:
    """The rows that a table makes of one file."""
    from tailpipe.collect.check import check_sql
    from tailpipe.kernel.trial import try_file

    try:
        config = home.config
    except ConfigError:
        config = Config()  # tables and formats of plugins can be tried while it is broken
    if table is config.tables.get(table.name):
        check_sql(config, (), tables=[table])
    return try_file(path, home.registry.sources["file"], table, format_, limit, datetime.now(UTC))


def try_source(
    home: Home, partition: str, source: str | None, *, start: str | None, end: str | None, limit: int
) -> SourceTrial:
    """What a source of one partition lists, and the rows of its newest artifact."""
    from tailpipe.collect.check import check_sql
    from tailpipe.collect.trial import try_source

    chosen = choose_ready(home.config, home.tables, partition, source)
    check_sql(home.config, chosen)
    return try_source(*chosen[0], source, (start, end), limit, datetime.now(UTC), home.warn)


def check_config_sql(home: Home) -> None:
    """Raise `ConfigError` with every problem in the SQL of partitions, their tables, schemas and detections."""
    from tailpipe.collect.check import check_sql
    from tailpipe.detect.check import check_detections
    from tailpipe.query.check import check_schemas

    config, tables = home.config, home.tables
    others = [*check_schemas(config, tables), *check_detections(config, tables)]
    check_sql(config, choose(config, tables, ()), others, config.tables.values())
