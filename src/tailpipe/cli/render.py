"""All that is printed: stdout is data, stderr is talk."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tailpipe.errors import ConfigError, Diagnostic, QueryError, TailpipeError
from tailpipe.model.redaction import REDACTOR
from tailpipe.model.visible import shorten, visible

if TYPE_CHECKING:
    from datetime import datetime

OUTPUTS = ("pretty", "plain", "json", "jsonl", "csv", "line")
Record = Mapping[str, Any]

_SPANS = 5
"""So many spans of days are shown at the beginning of very many, and at their end."""


def data(text: str) -> None:
    """Text that is the answer itself."""
    click.echo(text, nl=not text.endswith("\n"))


def say(text: str) -> None:
    """Words for the person, not for a program."""
    click.echo("\n".join(visible(line) for line in text.split("\n")), err=True)


def say_line(text: str) -> None:
    """Words for the person, cut to one line of the terminal, where a long one would hide the others."""
    if sys.stderr.isatty():
        import shutil  # late, because it brings three compressions with it

        text = shorten(visible(text), shutil.get_terminal_size().columns)
    say(text)


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


def unit(key: str) -> str:
    """A unit as people read it: a day, or `undated files` instead of the key of a pack."""
    return "undated files" if key.startswith("pack:") else key


def moment(at: datetime | None) -> str | None:
    """An instant as records have it, to the second."""
    return at.isoformat(timespec="seconds") if at else None


def shown(text: str) -> str:
    """Text of a log or a name, safe to print and not too long."""
    return shorten(visible(text), 300)


def error(failure: TailpipeError) -> None:
    """An expected failure: what, and what to do next."""
    from tailpipe.config.diagnostics import render_diagnostics

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
    from tailpipe.config.diagnostics import render_diagnostics

    if found:
        click.echo(render_diagnostics(found, "warning"), err=True)


def problem(message: str, hint: str = "") -> None:
    """What is wrong, and what to do next."""
    mark = click.style("error:", fg="red", bold=True) if "NO_COLOR" not in os.environ else "error:"
    click.echo(f"{mark} {visible(REDACTOR(message))}", err=True)
    if hint:
        click.echo(f"  = {visible(REDACTOR(hint))}", err=True)


def bug(failure: Exception) -> None:
    """An unexpected failure, with its traceback if the log level is debug."""
    from tailpipe.cli.logs import is_debugging

    say(REDACTOR(f"error: {type(failure).__name__}: {failure}"))
    say("  = this is a bug in tailpipe or a plugin; TAILPIPE_LOG_LEVEL=debug shows where")
    if is_debugging():
        import traceback

        say(REDACTOR("".join(traceback.format_exception(failure))))


def columns(*fields: str) -> dict[str, str]:
    """The fields that a table for people shows, with their headings: `bytes:size`, or the name of the field itself."""
    return {name: heading or name for name, _, heading in (field.partition(":") for field in fields)}


def records(
    rows: Sequence[Record],
    output: str,
    columns: Mapping[str, str] | None = None,
    *,
    nothing: str = "no results",
    is_wrapped: bool = False,
) -> None:
    """A list of records. `columns` are the fields that a table for people shows, with their headings.

    What has no room in it is cut, or goes on in the next line if it `is_wrapped`. `nothing` is said if there are none.
    """
    from tailpipe.cli.records import texts_of  # late, because a query has none

    if nothing and not rows and output == "pretty":
        say(nothing)
    for text in texts_of(rows, output, columns, is_wrapped=is_wrapped):
        data(text)


def record(row: Record, output: str, parts: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """One record. `parts` are its fields that hold lists of records, with the columns to show of each."""
    from tailpipe.cli.records import texts_of_one

    for text in texts_of_one(row, output, parts):
        data(text)
