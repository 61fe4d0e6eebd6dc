"""What only `config check` looks for, because it takes time or may be meant: warnings, and layouts that cannot be read.

A warning is about what is allowed and yet most likely a mistake; it stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import islice
from typing import Any

from tailpipe.config.config import Config
from tailpipe.config.printer import literal, print_expression
from tailpipe.errors import Diagnostic, TailpipeError, UsageError
from tailpipe.formats.grok import compile_layout
from tailpipe.formats.path_templates import date_layout
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.table import PATH_COLUMNS, STAMPED_COLUMNS, Table
from tailpipe.model.window import Window

_WILDCARDS = frozenset("*?[")
_LISTED = 1000
_DATE = ("year", "month", "day")


def unknown_tables(config: Config, known: Iterable[str], schemas: Iterable[str] | None = None) -> Iterator[Diagnostic]:
    """Report the names in `tables` of schemas, or of some, that no known table has.

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


def ignored_columns(config: Config) -> Iterator[Diagnostic]:
    """The columns of tables that tailpipe fills in itself, whatever the table says."""
    for name in config.tables:
        for column in sorted(STAMPED_COLUMNS):
            if place := config.place(f"table.{name}.column.{column}"):
                hint = "tailpipe sets this column; remove it from the table"
                yield Diagnostic(f'column "{column}" of table "{name}" has no effect', place, hint)


def broken_layouts(config: Config) -> Iterator[Diagnostic]:
    """The layouts of files that cannot be read; a collection fails by them, and everything else goes on."""
    for table in config.tables.values():
        for layout in table.layouts.values():
            if (place := config.place_of(f"table.{table.name}.layouts", layout)) is None:
                continue
            try:
                compile_layout(layout, None)
            except UsageError as error:
                yield Diagnostic(error.message, place, error.hint)
    for address, source in _laid_out(config):
        place = config.place(address)
        try:
            compile_layout(source.file_layout, source.patterns)
        except UsageError as error:
            if place is not None:
                yield Diagnostic(error.message, place, error.hint)


def odd_layouts(config: Config) -> Iterator[Diagnostic]:
    """The layouts that name a day without its year or month, or fill a column that no layout can fill."""
    for address, source in _laid_out(config):
        place = config.place(address)
        groups = compile_layout(source.file_layout, source.patterns).groupindex
        if place is None:
            continue
        missing = [part for part in _DATE if part not in groups]
        if missing and "day" in groups:
            names = " and ".join(f'"{part}"' for part in missing)
            hint = "the groups year, month and day date a file together"
            yield Diagnostic(f"the layout has a day and no {names}, so its files have no date", place, hint)
        for name in groups:
            if name.startswith("tp_") and name not in PATH_COLUMNS:
                hint = f"a layout can fill: {', '.join(sorted(PATH_COLUMNS))}"
                if name == "tp_index":
                    hint = 'name the group tp_source_name, and write tp_index = "tp_source_name" into the partition'
                yield Diagnostic(f'the group "{name}" of the layout has no effect', place, hint)


def undated_files(config: Config, tables: Mapping[str, Table], today: date) -> Iterator[Diagnostic]:
    """The sources of local files with dates in their names and no layout; of very many, the first are looked at."""
    for address, partition in config.partitions.items():
        for source in partition.sources:
            place = config.place(f"partition.{address}")
            if not source.watched_paths or getattr(source, "file_layout", None) or place is None:
                continue
            try:
                table = config.tables.get(partition.table) or tables.get(partition.table)
                if table is None or table.layout(source):
                    continue
                paths = [one.path for one in islice(source.artifacts(Window.of_day(today)), _LISTED) if one.path]
            except TailpipeError:
                continue  # a collection reports it
            if found := date_layout(paths):
                dated = f'{found[1]:,} of {len(paths):,} files of source "{source.name}" have a date in the path'
                hint = f"to collect them by day: file_layout = {print_expression(literal(found[0]))}"
                yield Diagnostic(f"{dated}, and no file_layout takes it", place, hint)


def _laid_out(config: Config) -> Iterator[tuple[str, Any]]:
    """The sources with a layout of their own, each with the address of the layout."""
    for partition in config.partitions.values():
        for source in partition.sources:
            layout, patterns = getattr(source, "file_layout", None), getattr(source, "patterns", None)
            if isinstance(layout, str) and isinstance(patterns, Mapping):
                # Without a name of its own, a source stands under its type.
                names = (source.name, source.type)
                addresses = [f"partition.{partition.address}.source.{name}.file_layout" for name in names]
                yield next((one for one in addresses if one in config.spans), ""), source
