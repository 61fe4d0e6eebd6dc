"""Records as text: tables for people, JSON and csv for programs."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from tailpipe.cli.grid import grid, named_lines
from tailpipe.cli.render import Record, days, size
from tailpipe.model.visible import visible, visible_lines

_SIZES = {"bytes", "file_size", "freed_bytes", "new_bytes"}
_COUNTS = {"artifacts", "columns", "file_count", "files", "new_files", "pinned_files"}
_COUNTS |= {"rejected_rows", "row_count", "rows"}
"""Fields of our own records that people see with a unit, or with commas; programs get the bare number."""
_DAYS = {"covered", "missing", "dropped", "expired_days", "gaps", "not_requested"}
"""Fields that are sets of days."""
_PATHS = {"file"}
"""Fields of which the end tells more than the beginning."""


def texts_of(
    rows: Sequence[Record], output: str, columns: Mapping[str, str] | None = None, *, is_wrapped: bool = False
) -> Iterator[str]:
    """A list of records. `columns` are the fields that a table for people shows, with their headings.

    What has no room in it is cut, or goes on in the next line if it `is_wrapped`.
    """
    if output == "json":
        yield json.dumps(rows, indent=2, ensure_ascii=False, default=str)
    elif output == "jsonl":
        for row in rows:
            yield _json(row)
    elif output == "csv":
        yield _csv(rows, list(rows[0]) if rows else list(columns or {}))
    elif output == "line":
        yield "\n".join(named_lines(list(row), [_line(value) for value in row.values()]) for row in rows)
    elif output == "plain":
        fields = list(columns or (rows[0] if rows else {}))
        lines = [fields, *([_cell(_field(row, field)) for field in fields] for row in rows)]
        yield "\n".join("\t".join(line) for line in lines)
    elif rows and columns:
        yield _table(rows, columns, is_wrapped=is_wrapped)
    elif rows:
        fields = list(rows[0])
        cells = [[_cell(row.get(field)) for field in fields] for row in rows]
        times = {x for x, field in enumerate(fields) if isinstance(rows[0].get(field), date)}
        yield "\n".join(grid(fields, cells, room=_room(), whole=times).lines)


def texts_of_one(row: Record, output: str, parts: Mapping[str, Mapping[str, str]] | None = None) -> Iterator[str]:
    """One record. `parts` are its fields that hold lists of records, with the columns to show of each."""
    if output == "json":
        yield json.dumps(row, indent=2, ensure_ascii=False, default=str)
        return
    if output != "pretty":
        yield from texts_of([row], output)
        return
    tables = {name: row.get(name) or [] for name in parts or {}}
    single = {key: value for key, value in row.items() if key not in tables and value not in (None, [], {}, "")}
    words = [[key, _shown(key, value)] for key, value in single.items() if not isinstance(value, Mapping)]
    room = _room()
    lines = grid(["", ""], words, room=room, has_header=False, is_wrapped=room is not None).lines
    for name, value in single.items():
        if isinstance(value, Mapping):
            widest = max(len(key) for key in value)
            # As config writes them, because blanks and quotes matter in an option.
            texts = {key: _number(key, item) or visible(_json(item)) for key, item in value.items()}
            lines += ["", f"{name}:", *(f"  {key:<{widest}}  {text}" for key, text in texts.items())]
    for name, rows in tables.items():
        if rows:
            table = _table(rows, (parts or {})[name], indent=2, is_wrapped=True)
            lines += ["", f"{name}:", *("  " + line for line in table.splitlines())]
    yield "\n".join(lines)


def _table(rows: Sequence[Record], columns: Mapping[str, str], *, indent: int = 0, is_wrapped: bool = False) -> str:
    """Fields of our own records under headings, cut or wrapped so that a line fits the terminal."""
    values = [{field: _field(row, field) for field in columns} for row in rows]
    cells = [[_shown(field, value) for field, value in row.items()] for row in values]
    numbers = [x for x, field in enumerate(columns) if all(_is_number(row[field]) for row in values)]
    paths = [x for x, field in enumerate(columns) if field in _PATHS]
    room = _room(indent)
    is_wrapped = is_wrapped and room is not None
    laid = grid(list(columns.values()), cells, room=room, numbers=numbers, ends=paths, is_wrapped=is_wrapped)
    return "\n".join(laid.lines)


def _room(indent: int = 0) -> int | None:
    """The width of the terminal; None where the answer goes elsewhere."""
    return shutil.get_terminal_size().columns - indent if sys.stdout.isatty() else None


def _number(field: str, value: Any) -> str:
    """A size or a count as people read it; empty if it is something else."""
    name = field.rpartition(".")[2]
    if not isinstance(value, int) or name not in _SIZES | _COUNTS:
        return ""
    return size(value) if name in _SIZES else f"{value:,}"


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _shown(field: str, value: Any) -> str:
    """A value for people: counts and sizes as they read them, a few spans of days, a default as config writes it."""
    if field in _DAYS and isinstance(value, str):
        return days(value)
    if field == "default" and isinstance(value, bool):
        return str(value).lower()
    return _number(field, value) or _cell(value)


def _field(row: Record, path: str) -> Any:
    """A field of a record, or of a record inside it: `local.row_count`."""
    value: Any = row
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime) and value.tzinfo is not None:  # all that people see is UTC
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_cell(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_cell(item.get("name", item) if isinstance(item, Mapping) else item) for item in value)
    return visible(str(value))


def _line(value: Any) -> str:
    if value is None:
        return "NULL"
    return visible_lines(value) if isinstance(value, str) else _cell(value)


def _csv(rows: Sequence[Record], fields: list[str]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(fields)
    for row in rows:
        values = (row.get(field) for field in fields)
        writer.writerow(_json(value) if isinstance(value, dict | list) else value for value in values)
    return buffer.getvalue()
