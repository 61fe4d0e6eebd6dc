"""Nouns → records, for `list` and `show`: names, options and columns as plain data, secrets masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from datetime import datetime
from typing import Any

from tailpipe.catalog.read import PartitionTotals
from tailpipe.collect.scope import not_requested, open_days
from tailpipe.config.dataset import Dataset
from tailpipe.config.encoder import plain_data
from tailpipe.model.connection import Connection
from tailpipe.model.coverage import Coverage
from tailpipe.model.format import Format
from tailpipe.model.option import description_of, options_of, type_name
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.source import Source
from tailpipe.model.store import Store
from tailpipe.model.table import Column, Table
from tailpipe.plugin import Plugin
from tailpipe.plugin.plugin import Kind

Record = dict[str, Any]
_PARTS: tuple[tuple[str, Kind], ...] = (
    *(("tables", "table"), ("sources", "source"), ("formats", "format")),
    *(("connections", "connection"), ("queries", "query"), ("detections", "detection")),
)


def _declared_options(declared: type) -> list[Record]:
    """What a type of source, format or connection takes as options."""
    return [
        {
            "name": option.name,
            "type": type_name(option.annotation),
            "required": option.is_required,
            "default": _default(option.default),
            "description": option.description,
        }
        for option in options_of(declared).values()
        if option.kind != "label"
    ]


def _default(value: Any) -> Any:
    if isinstance(value, Connection | Format):
        return value.address
    return None if value is MISSING else plain_data(value)


def connection_record(connection: Connection, plugin: str | None) -> Record:
    """A connection with its options as they hold."""
    return {
        "name": f"{connection.type}.{connection.name}",
        "plugin": plugin,
        "type": connection.type,
        "description": description_of(type(connection)),
        "options": _values(plain_data(connection)),
    }


def type_record(declared: type[Source | Format], plugin: str | None, **facts: str) -> Record:
    """A type of source or format and what it takes as options."""
    own = {"description": description_of(declared), "options": _declared_options(declared)}
    return {"name": declared.type, **facts, "plugin": plugin, **own}


def format_record(format_: Format, plugin: str | None, kind: str) -> Record:
    """A format with its options as they hold."""
    return {
        "name": f"{format_.type}.{format_.name}",
        "kind": kind,
        "plugin": plugin,
        "description": format_.description or description_of(type(format_)),
        "options": _values(plain_data(format_)),
    }


def table_record(table: Table, plugin: str | None, partitions: list[str]) -> Record:
    """A table with its own columns and the common ones."""
    own = [column for column in table.columns if not column.name.startswith("tp_")]
    return {
        "name": table.name,
        "plugin": plugin,
        "description": table.description,
        "format": table.format.address.removeprefix("format.") if table.format else None,
        "partitions": partitions,
        "map_fields": list(table.map_fields),
        "columns": [_column(column) for column in (*own, *table.common_columns)],
    }


def partition_record(
    partition: Partition, table: Table | None, plugin: str | None, held: PartitionTotals | None
) -> Record:
    """A partition, its sources, and what of it is here."""
    return {
        "name": partition.address,
        "plugin": plugin,
        "table": partition.table,
        "description": partition.description,
        "filter": partition.filter,
        "tp_index": partition.tp_index,
        "dedupe_key": list(partition.dedupe_key),
        "retention": partition.retention.keep if partition.retention else None,
        "store": partition.store.name if partition.store else None,
        "sources": sources_record(partition, table),
        "local": {
            "file_count": held.files if held else 0,
            "file_size": held.size if held else 0,
            "row_count": held.rows if held else 0,
        },
        "rejected_rows": held.rejected_rows if held else 0,
    }


def sources_record(partition: Partition, table: Table | None) -> list[Record]:
    """The sources of a partition, with the format that counts for each, and `options`: what its block says."""
    own = table.format.address if table and table.format else None
    records = []
    for source in partition.sources:
        plain = plain_data(source)
        declared = [one for one in options_of(type(source)).values() if one.kind == "option" and one.name != "format"]
        options = {one.name: plain[one.name] for one in declared if getattr(source, one.field) != one.default}
        records.append({**plain, "format": plain["format"] or own, "options": options})
    return records


def held_record(held: PartitionTotals) -> Record:
    """A partition that holds data, but that no config names any more."""
    table, _, name = held.name.partition(".")
    gone = Partition(table=table, name=name, description="no longer in the config", sources=())
    return partition_record(gone, None, None, held)


def coverage_record(known: Mapping[str, Coverage], partition: Partition | None, now: datetime) -> Record:
    """The days of each source: those collected, those that the next plain run fetches, and those never requested."""
    return {
        "coverage": [
            {
                "source": source,
                "covered": str(coverage.covered),
                "missing": str(coverage.missing),
                "dropped": str(coverage.dropped),
                "frontier": str(coverage.frontier) if coverage.frontier else None,
            }
            for source, coverage in known.items()
        ],
        "gaps": str(open_days(known, partition, now)),
        "not_requested": str(not_requested(known, partition, now)),
    }


def plugin_record(plugin: Plugin) -> Record:
    """A plugin and the names it brings."""
    return {
        "name": plugin.name,
        "plugin": plugin.name,
        "version": plugin.version,
        "package": plugin.package,
        "description": plugin.description,
        **{many: [name for name, _ in plugin.parts(kind)] for many, kind in _PARTS},
    }


def chosen_record(noun: Schema | Dataset) -> Record:
    """A schema or dataset and what it chooses of the data."""
    return {"name": noun.name, "plugin": None, "description": noun.description, "options": _values(plain_data(noun))}


def store_record(store: Store, partitions: list[str]) -> Record:
    """A store, and the partitions that are in it."""
    values = plain_data(store)
    return {
        "name": store.name,
        "plugin": None,
        "location": values["location"],
        "connection": values["connection"],
        "partitions": partitions,
        "options": _values({key: values[key] for key in values if key not in ("location", "connection")}),
    }


def _values(data: Mapping[str, Any]) -> Record:
    hidden = ("type", "name", "description")
    return {key: value for key, value in data.items() if key not in hidden and value not in (None, "", [], {})}


def _column(column: Column) -> Record:
    return {"name": column.name, "type": column.type, "required": column.required, "description": column.description}
