"""Faults of formats: errors for parsers that break a rule, which name the format and its plugin."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.errors import PluginError
from tailpipe.model.format import Format
from tailpipe.model.parsing import Parsed
from tailpipe.plugin.registry import Registry
from tailpipe.sql.connection import registered

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

MACHINE_FAULTS = (MemoryError, OSError)
"""What may happen while a document is read, without being a fault of its parser."""
_HINT = "report this to the author of the plugin"


def format_fault(format: Format, what: str) -> PluginError:
    """The error that says what is wrong with a format; `what` goes on after its name."""
    owner = _owner(format)
    plugin = f' of plugin "{owner}"' if owner else f', which is defined in "{type(format).__module__}",'
    return PluginError(f'format "{format.type}"{plugin} {what}', plugins=(owner,) if owner else (), hint=_HINT)


@contextmanager
def blamed_on(format: Format, doing: str) -> Iterator[None]:
    """What is raised inside is a fault of the format; only memory may run out without being one."""
    try:
        yield
    except (MemoryError, PluginError):
        raise
    except Exception as error:
        raise format_fault(format, f"failed {doing}: {describe(error, format)}") from error


@contextmanager
def blamed_on_query(format: Format, connection: duckdb.DuckDBPyConnection, parsed: Parsed) -> Iterator[None]:
    """If a statement inside fails, and the query of a parser fails by itself too, it is a fault of the format."""
    from tailpipe.sql.duck import duckdb, first_line

    try:
        yield
    except duckdb.Error as error:
        if isinstance(error, duckdb.OutOfMemoryException | duckdb.IOException):
            raise
        try:
            with registered(connection, parsed.tables):
                connection.execute(f"SELECT * FROM ({parsed.sql})").to_arrow_table()
        except duckdb.Error as own:
            raise format_fault(format, f"gave a query that cannot be run: {first_line(own)}") from error
        raise


def describe(error: Exception, format: Format) -> str:
    """An exception in one line: its class and message, what was being read, and the place in the format's module."""
    own = getattr(sys.modules.get(type(format).__module__), "__file__", None)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == own]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(error).split())[:300]
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}{f': {message}' if message else ''}{notes}{place}"


def _owner(format: Format) -> str | None:
    """The plugin that brings a type of format; None if it is not an installed one."""
    registry = Registry.installed()
    try:
        found = registry.owner("format", format.type)
        return found if found and registry.formats[format.type] is type(format) else None
    except PluginError:  # another one is at fault, too
        return None
