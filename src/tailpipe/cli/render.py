"""All that is printed: stdout is data, stderr is talk."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import click

from tailpipe.cli.grid import grid, named_lines
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.errors import ConfigError, Diagnostic, QueryError, TailpipeError
from tailpipe.model.redaction import REDACTOR
from tailpipe.model.visible import shorten, visible, visible_lines

__all__ = [
    "OUTPUTS",
    "bug",
    "counted",
    "data",
    "days",
    "error",
    "problem",
    "record",
    "records",
    "rounded",
    "say",
    "say_line",
    "shown",
    "size",
    "warnings",
]

OUTPUTS = ("pretty", "plain", "json", "jsonl", "csv", "line")
Record = Mapping[str, Any]

_SIZES = {"bytes", "file_size", "new_size", "size"}
_COUNTS = {"artifacts", "columns", "file_count", "files", "new_files", "rejected_rows", "row_count", "rows"}
"""Fields of our own records that people see with a unit, or with commas; programs get the bare number."""
_DAYS = {"covered", "missing", "dropped", "dates", "gaps", "not_requested"}
"""Fields that are sets of days."""
_SPANS = 5
"""So many spans of days are shown at the beginning of very many, and at their end."""
_PATHS = {"file"}
"""Fields of which the end tells more than the beginning."""


def data(text: str) -> None:
    """Text that is the answer itself."""
    click.echo(text, nl=not text.endswith("\n"))


def say(text: str) -> None:
    """Words for the person, not for a program."""
    click.echo("\n".join(visible(line) for line in text.split("\n")), err=True)


def say_line(text: str) -> None:
    """The same, as one line: cut to the width of a terminal, where a long one would hide the others."""
    is_cut = sys.stderr.isatty()
    say(shorten(visible(text), shutil.get_terminal_size().columns) if is_cut else text)


def counted(count: int, noun: str) -> str:
    """A number of things: `1 file`, `2,000 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def size(count: int) -> str:
    """So many bytes, in at most seven characters: `84.1 MB`."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{rounded(count / unit)} {name}"
    return f"{count} B"


def rounded(value: float) -> str:
    """A number below a thousand in at most four characters: `84.1`, `841`."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def days(found: object) -> str:
    """A set of days as people read it: of very many spans the first and the last few."""
    spans = str(found).split(", ")
    left = len(spans) - 2 * _SPANS
    if left < 2:
        return str(found)
    return ", ".join([*spans[:_SPANS], f"… {left:,} more …", *spans[-_SPANS:]])


def shown(text: str) -> str:
    """Text of a log or a name, safe to print and not too long."""
    return shorten(visible(text), 300)


def error(failure: TailpipeError) -> None:
    """An expected failure: what, and what to do next."""
    if isinstance(failure, ConfigError):
        click.echo(render_diagnostics(failure.diagnostics), err=True, nl=False)
        click.echo(f"\n{failure.message}", err=True)
        return
    if isinstance(failure, QueryError) and failure.place is not None:
        diagnostic = Diagnostic(failure.message, failure.place, failure.hint)
        click.echo(render_diagnostics([diagnostic]), err=True, nl=False)
        return
    problem(failure.message, failure.hint)


def warnings(found: Sequence[Diagnostic]) -> None:
    """What is most likely a mistake, and stops nothing."""
    if found:
        click.echo(render_diagnostics(found, "warning"), err=True)


def problem(message: str, hint: str = "") -> None:
    """What is wrong, and what to do next."""
    mark = click.style("error:", fg="red", bold=True) if "NO_COLOR" not in os.environ else "error:"
    click.echo(f"{mark} {visible(REDACTOR(message))}", err=True)
    if hint:
        click.echo(f"  = {visible(REDACTOR(hint))}", err=True)


def bug(failure: Exception) -> None:
    """A failure that nobody expected; who looks for the cause sees where it was."""
    from tailpipe.cli.logs import is_debugging

    say(REDACTOR(f"error: {type(failure).__name__}: {failure}"))
    say("  = this is a bug in tailpipe or a plugin; TAILPIPE_LOG_LEVEL=debug shows where")
    if is_debugging():
        say(REDACTOR("".join(traceback.format_exception(failure))))


def records(
    rows: Sequence[Record], output: str, columns: Mapping[str, str] | None = None, *, is_wrapped: bool = False
) -> None:
    """A list of records. `columns` are the fields that a table for people shows, with their headings.

    What has no room in it is cut, or goes on in the next line if it `is_wrapped`.
    """
    if output == "json":
        data(json.dumps(rows, indent=2, ensure_ascii=False, default=str))
    elif output == "jsonl":
        for row in rows:
            data(json.dumps(row, ensure_ascii=False, default=str))
    elif output == "csv":
        data(_csv(rows, list(rows[0]) if rows else list(columns or {})))
    elif output == "line":
        data("\n".join(_lines(row) for row in rows))
    elif output == "plain":
        fields = list(columns or (rows[0] if rows else {}))
        lines = [fields, *([_cell(_field(row, field)) for field in fields] for row in rows)]
        data("\n".join("\t".join(line) for line in lines))
    elif rows and columns:
        data(_table(rows, columns, is_wrapped=is_wrapped))
    elif rows:
        fields = list(rows[0])
        cells = [[_cell(row.get(field)) for field in fields] for row in rows]
        times = {x for x, field in enumerate(fields) if isinstance(rows[0].get(field), date)}
        data("\n".join(grid(fields, cells, room=_room(), whole=times).lines))
    else:
        say("no results")


def record(row: Record, output: str, parts: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """One record. `parts` are its fields that hold lists of records, with the columns to show of each."""
    if output == "json":
        data(json.dumps(row, indent=2, ensure_ascii=False, default=str))
        return
    if output != "pretty":
        records([row], output)
        return
    tables = {name: row.get(name) or [] for name in parts or {}}
    single = {key: value for key, value in row.items() if key not in tables and value not in (None, [], {}, "")}
    words = [
        [key, _number(key, value) or _spans(key, value) or _cell(value)]
        for key, value in single.items()
        if not isinstance(value, Mapping)
    ]
    room = _room()
    lines = grid(["", ""], words, room=room, has_header=False, is_wrapped=room is not None).lines
    for name, value in single.items():
        if isinstance(value, Mapping):
            widest = max(len(key) for key in value)
            lines += [
                "",
                f"{name}:",
                *(f"  {key:<{widest}}  {_number(key, item) or _quoted(item)}" for key, item in value.items()),
            ]
    for name, rows in tables.items():
        if rows:
            table = _table(rows, (parts or {})[name], indent=2, is_wrapped=True)
            lines += ["", f"{name}:", *("  " + line for line in table.splitlines())]
    data("\n".join(lines))


def _table(rows: Sequence[Record], columns: Mapping[str, str], *, indent: int = 0, is_wrapped: bool = False) -> str:
    """Fields of our own records under headings, cut or wrapped so that a line fits the terminal."""
    told = [{field: _number(field, _field(row, field)) for field in columns} for row in rows]
    cells = [
        [
            one[field] or _default(field, value) or _spans(field, value) or _cell(value)
            for field, value in ((field, _field(row, field)) for field in columns)
        ]
        for one, row in zip(told, rows, strict=True)
    ]
    numbers = [x for x, field in enumerate(columns) if any(one[field] for one in told)]
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


def _spans(field: str, value: Any) -> str:
    """A set of days, not too long; empty if it is something else."""
    return days(value) if field in _DAYS and isinstance(value, str) else ""


def _default(field: str, value: Any) -> str:
    """The default of an option that is true or false, as config writes it; empty if it is something else."""
    return str(value).lower() if field == "default" and isinstance(value, bool) else ""


def _field(row: Record, path: str) -> Any:
    """A field of a record, or of a record inside it: `local.row_count`."""
    value: Any = row
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _quoted(value: Any) -> str:
    """A value as config writes it, because blanks and quotes matter in an option."""
    return visible(json.dumps(value, ensure_ascii=False, default=str))


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


def _lines(row: Record) -> str:
    texts = [visible_lines(value) if isinstance(value, str) else _cell(value) for value in row.values()]
    return named_lines(list(row), texts)


def _csv(rows: Sequence[Record], fields: list[str]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(fields)
    for row in rows:
        values = (row.get(field) for field in fields)
        writer.writerow(
            json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else value
            for value in values
        )
    return buffer.getvalue()
