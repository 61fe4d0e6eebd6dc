"""The answers to several statements: one after the other, or as one JSON document that names them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tailpipe.cli import render
from tailpipe.cli.answer import Shape, answer_statement
from tailpipe.cli.sinks import Sink, Write, shared
from tailpipe.cli.statements import Statement, names_of, place_of
from tailpipe.errors import TailpipeError


def answer_all(
    session: Any,
    statements: Sequence[Statement],
    shape: Shape,
    sink: Sink,
    timing: bool | None,
    before: Callable[[], None] = lambda: None,
) -> list[TailpipeError]:
    """Answer each statement, also those after one that failed; return the failures, which were reported.

    The output json is one document: the rows of a single statement, or a list of `name` and `rows` for several.
    `before` is called before each statement.
    """

    def prepared() -> Iterator[Statement]:
        for statement in statements:
            before()
            yield statement

    def answer(statement: Statement, sink: Sink) -> TailpipeError | None:
        try:
            answer_statement(session, statement.sql, shape, sink, timing, statement.params)
        except TailpipeError as failure:
            render.error(placed := place_of(statement, failure))
            return placed
        return None

    if shape.output != "json" or len(statements) == 1:
        return [failure for one in prepared() if (failure := answer(one, sink))]
    failures = []
    with sink() as write:
        for number, (statement, name) in enumerate(zip(prepared(), names_of(statements), strict=True)):
            rows = Rows(write)
            head = json.dumps({"name": name}, ensure_ascii=False)[:-1]
            write(f'{"," if number else "["}\n{head}, "rows": '.encode())
            failure = answer(statement, shared(rows))
            rows.end()
            if failure:
                failures.append(failure)
                write(b', "error": ' + json.dumps(failure.message, ensure_ascii=False).encode())
            write(b"}")
        write(b"\n]\n")
    return failures


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
