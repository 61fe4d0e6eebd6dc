"""Types of undeclared fields, as the existing files have them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tailpipe.catalog.read import PartitionState
from tailpipe.catalog.snapshot import ColumnSets, Snapshot
from tailpipe.collect.job import Job
from tailpipe.errors import TailpipeError
from tailpipe.formats.key_limit import within_limit
from tailpipe.kernel.evolve import evolve
from tailpipe.kernel.task import Outcome
from tailpipe.kernel.undeclared import has_long_numbers, widened
from tailpipe.model.outputs import COMMON_TYPES, mapped_fields, output_columns
from tailpipe.model.partition import Partition
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.sql.connection import connect
from tailpipe.sql.references import references

_TO_FRACTIONS = ("bigint", "double")
_COMMON = set(COMMON_TYPES)
_NAMES = {"BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "boolean", "JSON": "json", "VARCHAR": "varchar"}


def known_types(sets: ColumnSets, table: Table) -> dict[str, str]:
    """For each column of the files that the table leaves open, its type; the widest, if files differ."""
    declared = {column.name for column in table.columns if column.type is not None} | _COMMON
    found: dict[str, str] = {}
    for columns in sets.values():
        for name, kind in columns.items():
            if name not in declared:
                found[name] = widened(found.get(name), _name(kind)) or "varchar"
    return found


def _name(kind: str) -> str:
    return kind.lower() if kind.startswith("DECIMAL(") else _NAMES.get(kind, "varchar")


def unfilled_columns(sources: Iterable[Source], table: Table, filled: Collection[str]) -> dict[str, str]:
    """The columns that no row of a run has filled although a field was named for them, with the field."""
    mapped: dict[str, str] = {}
    for source in sources if filled else ():
        mapped |= mapped_fields(table, source.format or table.format)
    return {name: field for name, field in mapped.items() if name not in filled}


def has_open_types(table: Table) -> bool:
    """Whether the table leaves the types of some fields to what the logs show."""
    is_open = any(column.type is None and column.name not in _COMMON for column in table.columns)
    return bool(table.map_fields) or is_open


def sampled_types(
    samples: Iterable[Mapping[str, str]], types: Mapping[str, str], partition: Partition, table: Table
) -> dict[str, str]:
    """The types that samples add. A name in the filter, index or key that none of them has is text until it comes."""
    found = dict(types)
    for one in samples:
        for name, kind in one.items():
            if within_limit(found, name):
                found[name] = widened(found.get(name), kind) or kind
    if table.map_fields:
        known = {output.name.lower() for output in output_columns(table, found)} | _COMMON
        found |= {name: "varchar" for name in _named(partition) if name.lower() not in known}
    return found


def _named(partition: Partition) -> list[str]:
    """The columns that a partition refers to."""
    named: list[str] = []
    if partition.filter:
        with connect() as connection:
            named += references(connection, [partition.filter])
    return [*named, *([partition.tp_index] if partition.tp_index else []), *partition.dedupe_key]


def check_columns(table: Table, state: PartitionState) -> None:
    """Refuse a table whose columns changed so that old and new files could not be read together."""
    types = known_types(state.table_columns, table)
    # Files of other partitions come last: deleting this one's would not be enough.
    for sets, name in ((state.columns, state.partition), (state.table_columns, f"'{table.name}.*'")):
        for columns in sets.values():
            for change in evolve(columns, table, types):
                if change.verdict == "refused":
                    start = state.first_date if name == state.partition else "FIRST_DAY"
                    again = f"tailpipe partition delete {name}, then tailpipe collect {name} --from {start}"
                    raise TailpipeError(change.message, hint=f"use a wider type or another name; or: {again}")


def is_widened(types: dict[str, str], outcomes: Iterable[Outcome]) -> bool:
    """Widen types by the values that tasks have found; whether any value did not fit."""
    widenings = [one for outcome in outcomes for one in outcome.widenings]
    for one in widenings:
        if within_limit(types, one.field):
            types[one.field] = widened(types.get(one.field), one.type) or one.type
    return bool(widenings)


def keep_digits(types: dict[str, str], before: Mapping[str, str], job: Job) -> bool:
    """Make text of fields that were whole numbers and get fractions, if live files hold numbers beyond a double.

    Whether there were such fields.
    """
    fields = [name for name, kind in types.items() if (before.get(name), kind) == _TO_FRACTIONS]
    if fields:
        outputs = output_columns(job.table, types)
        names = {one.name: field for field in fields for one in outputs if field in (one.name, one.source)}
        for name in _long_numbers(job.catalog.snapshot(partition=job.address), names):
            types[names[name]] = "varchar"
    return bool(fields)


def _long_numbers(snapshot: Snapshot, columns: Collection[str]) -> set[str]:
    """Which of the columns hold whole numbers in these files that a double would change."""
    found = set()
    with connect() as connection:
        for name in columns:
            held = [file for file in snapshot.files if snapshot.columns[file.columns_id].get(name) == "BIGINT"]
            paths = snapshot.local(held)
            if paths and has_long_numbers(connection, paths, name):
                found.add(name)
    return found
