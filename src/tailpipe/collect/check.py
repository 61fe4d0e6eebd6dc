"""Check the SQL of partitions and tables before anything runs, and report problems with their place in the config."""

from __future__ import annotations

from collections.abc import Iterable

from tailpipe.config.config import Config
from tailpipe.errors import ConfigError, Diagnostic, UsageError
from tailpipe.model.partition import Partition
from tailpipe.model.table import Table
from tailpipe.sql.check import check_partition, check_table
from tailpipe.stores.here import check_where


def check_sql(
    config: Config,
    partitions: Iterable[tuple[Partition, Table]],
    others: Iterable[Diagnostic] = (),
    tables: Iterable[Table] = (),
) -> None:
    """Raise one `ConfigError` with every problem in filters, transforms and indexes, and with the others.

    The tables of the partitions are checked, further `tables`, and all stores.
    """
    chosen = list(partitions)
    found = list(others)
    every = {table.name: table for table in (*(table for _, table in chosen), *tables)}
    problems = [(f"table.{name}", check_table(table)) for name, table in every.items()]
    problems += [(f"partition.{one.address}", check_partition(one, table)) for one, table in chosen]
    wheres = {name: store.here.where for name, store in config.stores.items() if store.here}
    problems += [(f"store.{name}.here", tuple(check_where(where))) for name, where in wheres.items() if where]
    for block, problem in ((block, one) for block, some in problems for one in some):
        place = config.place(f"{block}.{problem.address}", problem.position, problem.length)
        if place is None:  # a plugin's own table
            raise UsageError(f"{block}.{problem.address}: {problem.message}", hint=problem.hint)
        found.append(Diagnostic(problem.message, place, problem.hint))
    if found:
        raise ConfigError(tuple(sorted(found, key=lambda one: (one.place.file, one.place.line, one.place.column))))
