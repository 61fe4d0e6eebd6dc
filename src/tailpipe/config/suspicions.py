"""What is allowed in a config and yet most likely a mistake: told as a warning, and stops nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tailpipe.config.config import Config
from tailpipe.errors import Diagnostic
from tailpipe.model.nearest import did_you_mean

__all__ = ["unknown_tables"]

_WILDCARDS = frozenset("*?[")


def unknown_tables(config: Config, known: Iterable[str], schemas: Iterable[str] | None = None) -> Iterator[Diagnostic]:
    """The names in `tables` of schemas that no known table has, where they stand; of all schemas, or of some.

    It is no error: a plugin may bring the table tomorrow, and a schema without it shows its other tables.
    """
    names = set(known)
    for schema in config.schemas.values():
        if schemas is not None and schema.name not in schemas:
            continue
        for table in schema.tables:
            place = config.place_of(f"schema.{schema.name}.tables", table)
            if place is not None and table not in names and not _WILDCARDS & set(table):
                hint = did_you_mean(table, sorted(names), "it shows nothing until there is such a table")
                yield Diagnostic(f'schema "{schema.name}" shows the table "{table}", which is not known', place, hint)
