"""The answers to several statements: one after the other, or as one JSON document that names them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from tailpipe.cli import render
from tailpipe.cli.answer import Shape, answer_statement
from tailpipe.cli.sinks import Sink, Write, shared
from tailpipe.cli.statements import Statement, names_of, place_of
from tailpipe.errors import TailpipeError

__all__ = ["Rows", "answer_all"]


def answer_all(
    session: Any,
    statements: Sequence[Statement],
    shape: Shape,
    sink: Sink,
    timing: bool | None,
    before: Callable[[], None] = lambda: None,
) -> list[TailpipeError]:
    """Answer each statement, also those after one that failed; the failures, which were reported.

    The output json is one document: the rows of a single statement, or a list of `name` and `rows` for several.
    `before` is called before each statement.
    """
    if shape.output == "json" and len(statements) > 1:
        with sink() as write:
            return _answer_in_list(session, statements, shape, write, timing, before)
    failures = []
    for statement in statements:
        before()
        if failure := _answer(session, statement, shape, sink, timing):
            failures.append(failure)
    return failures


def _answer_in_list(
    session: Any,
    statements: Sequence[Statement],
    shape: Shape,
    write: Write,
    timing: bool | None,
    before: Callable[[], None],
) -> list[TailpipeError]:
    failures = []
    for number, (statement, name) in enumerate(zip(statements, names_of(statements), strict=True)):
        before()
        rows = Rows(write)
        write((",\n" if number else "[\n").encode() + b'{"name": ' + json.dumps(name, ensure_ascii=False).encode())
        write(b', "rows": ')
        if failure := _answer(session, statement, shape, shared(rows), timing):
            failures.append(failure)
        rows.end()
        if failure:
            write(b', "error": ' + json.dumps(failure.message, ensure_ascii=False).encode())
        write(b"}")
    write(b"\n]\n")
    return failures


def _answer(session: Any, statement: Statement, shape: Shape, sink: Sink, timing: bool | None) -> TailpipeError | None:
    """Answer one; the failure, if there was one, which was reported."""
    try:
        answer_statement(session, statement.sql, shape, sink, timing, statement.params)
    except TailpipeError as failure:
        render.error(placed := place_of(statement, failure))
        return placed
    return None


class Rows:
    """Where the array of rows of one answer goes."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._last = b""

    def __call__(self, data: bytes) -> None:
        """Write some of them."""
        self._write(data)
        self._last = data

    def end(self) -> None:
        """Close the array if that is not done: the statement failed, before its first row or later, or has no rows."""
        if not self._last:
            self._write(b"[]")
            return
        from tailpipe.query.written import ARRAY_END  # late: the answer has loaded it

        if self._last != ARRAY_END:
            self._write(ARRAY_END)
