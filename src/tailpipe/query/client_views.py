"""Views for other clients: the statements that make them in a database of the client's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import translate
from glob import escape
from pathlib import Path
from types import MappingProxyType

from tailpipe.catalog.layout import partition_segment
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.model.partition import Schema
from tailpipe.model.table import Table
from tailpipe.query.databases import ClientViews
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.views import View, schema_views, shows, table_views
from tailpipe.sql.quoting import literal, moment, quoted

_PARTS = re.compile(r"\*+|\[!?\]?[^]]*\]|.", re.DOTALL)
_NOTHING = r"[^\x00-\x{10FFFF}]"
_MAIN = "main"
"""The schema that a client searches by default."""


def statements_of(
    request: ClientViews,
    snapshot: Snapshot,
    tables: Mapping[str, Table],
    schemas: Iterable[Schema],
    hive: Path,
    *,
    now: datetime,
) -> list[str]:
    """The statements that make the views of a request, over what the snapshot holds on this disk."""
    narrowing = Narrowing.parse(request.start, request.end, request.partitions, request.indexes, now=now)
    if request.is_live:
        hives = {name: root.parent for name, root in snapshot.roots.items()}
        return live_statements(_views_here(snapshot, tables), schemas, narrowing, hive, hives, now=now)
    blocks, whole = list(schemas), _views_here(snapshot, tables, narrowing)
    shown = [replace(view, schema=_MAIN) for view in whole]  # over the current files, named one by one
    return [*_schemas(blocks), *(view.sql for view in (*shown, *schema_views(whole, blocks, now=now)))]


def _views_here(snapshot: Snapshot, tables: Mapping[str, Table], narrowing: Narrowing | None = None) -> list[View]:
    """The views over files on this disk; one that has none here keeps its columns."""
    if all(file.is_here for file in snapshot.files):
        return table_views(snapshot, tables, narrowing)
    here = replace(snapshot, files=tuple(file for file in snapshot.files if file.is_here))
    found = {view.name: view for view in table_views(here, tables, narrowing) if view.files}
    return [found.get(view.name) or replace(view, files=()) for view in table_views(snapshot, tables, narrowing)]


def live_statements(
    views: Sequence[View],
    schemas: Iterable[Schema],
    narrowing: Narrowing,
    hive: Path,
    hives: Mapping[str, Path] = MappingProxyType({}),
    *,
    now: datetime,
) -> list[str]:
    """Views over what the hive holds at each query; `hives` are those of partitions on another disk."""
    blocks = list(schemas)
    statements = _schemas(blocks)
    for view in views:
        own_hives = sorted({hives.get(file.partition, hive) for file in view.files})
        statements.append(_live(replace(view, schema=_MAIN), own_hives, _conditions(narrowing)))
        for block in blocks:
            if shows(block, view.name):
                own = [*_conditions(narrowing), *_conditions(Narrowing.of_schema(block, now=now))]
                own += [] if block.where is None else [block.where]
                statements.append(_live(replace(view, schema=block.name), own_hives, own))
    return statements


def _schemas(blocks: Iterable[Schema]) -> list[str]:
    return [f"CREATE SCHEMA IF NOT EXISTS {quoted(block.name)}" for block in blocks]


def _live(view: View, hives: Sequence[Path], conditions: Iterable[str]) -> str:
    if not view.files:
        return view.outline
    table = partition_segment(f"{view.name}.x").partition("/")[0]
    globs = [literal(f"{escape(str(hive))}/{table}/**/*.parquet") for hive in hives]
    paths = globs[0] if len(globs) == 1 else f"[{', '.join(globs)}]"
    options = "hive_partitioning = false, union_by_name = true"
    return replace(view, conditions=tuple(conditions)).reading(paths, options)


def _conditions(narrowing: Narrowing) -> Iterator[str]:
    if narrowing.window.has_start:
        yield f"tp_timestamp >= {moment(narrowing.window.start)}"
    if narrowing.window.has_end:
        yield f"tp_timestamp < {moment(narrowing.window.end)}"
    if narrowing.partitions:
        address = "tp_table || '.' || tp_partition"
        columns = ((address if "." in one else "tp_partition", one) for one in narrowing.partitions)
        yield " OR ".join(_matching(column, one) for column, one in columns)
    if narrowing.indexes:
        yield " OR ".join(_matching("tp_index", pattern) for pattern in narrowing.indexes)


def _matching(column: str, pattern: str) -> str:
    """Whether a text is like a pattern of `fnmatch`: DuckDB's own GLOB takes bytes, and `\\` for an escape."""
    found = "".join(translate(part)[len("(?s:") : -len(r")\Z")] for part in _PARTS.findall(pattern))
    return f"regexp_full_match({column}, {literal(found.replace('(?!)', _NOTHING))}, 's')"
