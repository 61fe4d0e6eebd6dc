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
from typing import Any

import click

from tailpipe.cli.grid import grid
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.errors import ConfigError, Diagnostic, QueryError, TailpipeError
from tailpipe.model.visible import shorten, visible

__all__ = ["OUTPUTS", "bug", "counted", "data", "error", "problem", "record", "records", "say", "shown"]

OUTPUTS = ("pretty", "plain", "json", "jsonl", "csv", "line")
Record = Mapping[str, Any]


def data(text: str) -> None:
    """Text that is the answer itself."""
    click.echo(text, nl=not text.endswith("\n"))


def say(text: str) -> None:
    """Words for the person, not for a program."""
    click.echo("\n".join(visible(line) for line in text.split("\n")), err=True)


def counted(count: int, noun: str) -> str:
    """A number of things: `1 file`, `2,000 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


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


def problem(message: str, hint: str = "") -> None:
    """What is wrong, and what to do next."""
    mark = click.style("error:", fg="red", bold=True) if "NO_COLOR" not in os.environ else "error:"
    click.echo(f"{mark} {visible(message)}", err=True)
    if hint:
        click.echo(f"  = {visible(hint)}", err=True)


def bug(failure: Exception) -> None:
    """A failure that nobody expected; who looks for the cause sees where it was."""
    say(f"error: {type(failure).__name__}: {failure}")
    say("  = this is a bug in tailpipe or a plugin; TAILPIPE_LOG_LEVEL=debug shows where")
    if os.environ.get("TAILPIPE_LOG_LEVEL", "").lower() == "debug":
        say("".join(traceback.format_exception(failure)))


def records(rows: Sequence[Record], output: str, columns: Mapping[str, str] | None = None) -> None:
    """A list of records. `columns` are the fields that a table for people shows, with their headings."""
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
    elif rows:
        data(_table(rows, columns or {field: field for field in rows[0]}))
    else:
        say("nothing there")


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
    longest = max((len(key) for key in single), default=0)
    lines = [f"{key:<{longest}}  {_cell(value)}" for key, value in single.items() if not isinstance(value, Mapping)]
    for name, value in single.items():
        if isinstance(value, Mapping):
            widest = max(len(key) for key in value)
            lines += ["", f"{name}:", *(f"  {key:<{widest}}  {_quoted(item)}" for key, item in value.items())]
    for name, rows in tables.items():
        if rows:
            table = _table(rows, (parts or {})[name])
            lines += ["", f"{name}:", *("  " + line for line in table.splitlines())]
    data("\n".join(lines))


def _table(rows: Sequence[Record], columns: Mapping[str, str]) -> str:
    """Columns under headings, cut so that a line fits the terminal."""
    cells = [[_cell(_field(row, field)) for field in columns] for row in rows]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return "\n".join(grid(list(columns.values()), cells, room=room).lines)


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
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_cell(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_cell(item.get("name") if isinstance(item, Mapping) else item) for item in value)
    return visible(str(value))


def _lines(row: Record) -> str:
    longest = max((len(key) for key in row), default=0)
    return "".join(f"{key:<{longest}} = {_cell(value)}".rstrip() + "\n" for key, value in row.items())


def _csv(rows: Sequence[Record], fields: list[str]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(fields)
    for row in rows:
        values = (row.get(field) for field in fields)
        writer.writerow(
            json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value for value in values
        )
    return buffer.getvalue()
