"""What to run: statements from the command line, from .sql files and from standard input, each with its place."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tailpipe.errors import QueryError, TailpipeError, UsageError
from tailpipe.frozen import frozen

STDIN = "-"
_STDIN_NAME = "stdin"


@frozen
class Statement:
    """A statement and its place: the file, if any, the whole text, and the offset in it."""

    sql: str
    file: str
    text: str
    begin: int
    params: Mapping[str, Any] = field(default_factory=dict)
    """The values of its parameters."""
    name: str = ""
    """Of the saved query that it is."""


def place_of(statement: Statement, failure: TailpipeError) -> TailpipeError:
    """The failure of a statement, with its place in the whole text."""
    if not isinstance(failure, QueryError) or failure.place is None:
        return failure
    before = statement.text[: statement.begin]
    line = before.count("\n") + failure.place.line
    column = failure.place.column + (len(before) - before.rfind("\n") - 1 if failure.place.line == 1 else 0)
    place = replace(
        failure.place,
        file=statement.file or failure.place.file,
        line=line,
        column=column,
        text=statement.text.split("\n")[line - 1].rstrip("\r"),
    )
    return QueryError(failure.message, hint=failure.hint, place=place)


def names_of(statements: Sequence[Statement]) -> list[str]:
    """What each answer of several is called: its saved query or file, numbered if that is there more than once.

    Any other is `statement 2`.
    """
    totals = Counter(one.name or one.file for one in statements)
    passed: Counter[str] = Counter()
    names = []
    for number, one in enumerate(statements, 1):
        named = one.name or one.file
        passed[named] += 1
        if named in ("", _STDIN_NAME):
            names.append(f"statement {number}")
        else:
            names.append(named if totals[named] == 1 else f"{named} statement {passed[named]}")
    return names


def gather(arguments: Sequence[str]) -> list[Statement]:
    """The statements of all arguments in order: SQL, files that end in `.sql`, patterns of them, or `-` for stdin."""
    found: list[Statement] = []
    for argument in arguments:
        if argument == STDIN:
            found += split(sys.stdin.read(), _STDIN_NAME)
        elif argument.lower().endswith(".sql") and "\n" not in argument:
            found += [statement for path in _paths(argument) for statement in read_file(path)]
        else:
            found += split(argument)
    if not found:
        raise UsageError("there is no statement to run", hint="write one, such as: FROM app_log LIMIT 10")
    return found


def read_file(path: Path) -> list[Statement]:
    """The statements of a file."""
    try:
        return split(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise UsageError(f'cannot read "{path}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'"{path}" is not UTF-8: {error.reason} at byte {error.start}') from error


def _paths(pattern: str) -> list[Path]:
    if Path(pattern).exists():
        return [Path(pattern)]
    from glob import glob  # late, because most statements are given as they are

    found = sorted(glob(pattern, recursive=True))  # noqa: PTH207 - an absolute pattern is one too
    if not found:
        raise UsageError(f'there is no file "{pattern}"', hint="names that end in .sql are files or patterns of files")
    return [Path(path) for path in found]


def split(text: str, file: str = "") -> list[Statement]:
    """The statements of a text."""
    from tailpipe.query.statements import find_statements  # late, so that --help stays fast

    return [Statement(sql, file, text, begin) for begin, sql in find_statements(text)]
