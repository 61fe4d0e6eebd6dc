"""The answer to a statement, written as it comes: a table for people, csv, JSON and the rest for programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol, TypeVar

from tailpipe.cli import render
from tailpipe.cli.answer_text import cells_of, line_block, plain_line
from tailpipe.cli.columns import Picked, pick_columns
from tailpipe.cli.grid import Grid, grid
from tailpipe.cli.patience import patience
from tailpipe.cli.sinks import FOR_PEOPLE, Sink, Write
from tailpipe.frozen import frozen
from tailpipe.model.visible import visible
from tailpipe.query.stars import NO_STAR, Starred

OUTPUTS = ("pretty", "plain", "line", "json", "jsonl", "csv", "parquet", "arrow")
BINARY = ("parquet", "arrow")
"""Outputs that are no text, and that hold one answer."""
_MOST_ROWS = 10_000
"""What a table for people shows at most: its columns can only be sized when all rows are there."""
_AT_ONCE = 1000
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINY", "USMALL", "UINT", "UBIG", "UHUGE")
_NUMBERS = (*_WHOLE, "FLOAT", "DOUBLE", "DECIMAL", "BIGNUM")
_TIMES = ("DATE", "TIME")
_PLAN = ("explain_key", "explain_value")
"""What EXPLAIN gives: a drawing of several lines."""

Row = TypeVar("Row")


class Answered(Protocol):
    """What a statement gave; rows and batches are two ways to the same, and each can be gone once."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def types(self) -> tuple[str, ...]:
        """Their types, as DuckDB writes them."""

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, fetched as they are needed."""

    def batches(self, rows: int, /) -> Iterator[Any]:
        """The rows as Arrow batches of about that many."""


@frozen
class Shape:
    """How answers are written. `separator` and `null` are what each output is used to, unless they are given."""

    output: str = "pretty"
    has_header: bool = True
    separator: str | None = None
    null: str | None = None
    limit: int | None = None
    room: int | None = None
    """Columns of the terminal, None where there is none; then nothing is cut."""
    has_colour: bool = False
    line_mode: str = "--output line"
    """How to have all columns of a row below each other."""
    starred: Starred = NO_STAR
    """The columns that come from a star: where they do not fit, some are hidden."""


@frozen
class Written:
    """How many rows were written, and in words which rows and which columns were left out, if any."""

    rows: int
    left_out: str = ""
    hidden: str = ""

    def __str__(self) -> str:
        return render.counted(self.rows, "row")


def answer_statement(
    session: Any, sql: str, shape: Shape, sink: Sink, timing: bool | None, params: Mapping[str, Any]
) -> None:
    """Run a statement, write its answer, and report rows and time; unless requested only where people read it."""
    begun = time.monotonic()
    done: list[Written] = []  # stays empty if the sink ends early
    seconds = 0.0
    with patience() as end_waiting:
        answer = session.run(sql, params)
        if shape.room is not None and shape.output == "pretty":
            shape = replace(shape, starred=session.starred(sql, answer.columns))

        def write_first(data: bytes) -> None:
            end_waiting()
            write(data)

        with sink() as write, _as_interrupt():
            try:
                done.append(write_answer(answer, shape, write_first, session.interrupt))
            finally:
                seconds = time.monotonic() - begun  # not what is spent in a pager
    if not done:  # the pager was closed: nobody wants the other rows
        session.interrupt()
    if timing or (timing is None and shape.output in FOR_PEOPLE):
        summary = str(done[0]) if done else "the pager was closed before the last row"
        more = f"; {done[0].left_out}" if done and done[0].left_out else ""
        render.say(f"{summary}, {seconds:.2f} s{more}")
    if done and done[0].hidden:
        render.say(done[0].hidden)


@contextmanager
def _as_interrupt() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for Ctrl-C: a DuckDB that is writing at that moment reports a failure of its own."""
    try:
        yield
    except Exception as error:
        if str(error).endswith(("Query interrupted", "INTERRUPT Error: Interrupted!")):
            raise KeyboardInterrupt from error
        raise


def write_answer(answer: Answered, shape: Shape, write: Write, interrupt: Callable[[], None] = lambda: None) -> Written:
    """Write all rows, or as many as the shape allows; the memory that it takes does not grow with them.

    `interrupt` ends the statement, when nobody wants the rest of its rows.
    """
    if not answer.columns:  # a statement of an unsafe session that gives nothing
        return Written(0)
    if shape.output == "pretty":
        return _pretty(answer, shape, write)
    if shape.output in ("plain", "line"):
        return _text(answer, shape, write)
    from tailpipe.query.written import write_exact  # late, because what people read needs none of it

    separator, null = "," if shape.separator is None else shape.separator, shape.null or ""
    count = write_exact(
        answer, shape.output, write, interrupt, shape.limit, has_header=shape.has_header, separator=separator, null=null
    )
    return Written(count)


def _pretty(answer: Answered, shape: Shape, write: Write) -> Written:
    most = _MOST_ROWS if shape.limit is None else min(shape.limit, _MOST_ROWS)
    null = "NULL" if shape.null is None else shape.null
    if answer.columns == _PLAN:
        return Written(_written(answer.rows, lambda row, _: _drawn(str(row[1])), write))
    found = list(islice(cells_of(answer, null, has_quotes=True), most if most == shape.limit else most + 1))
    shown = found[:most]
    names = [visible(name) for name in answer.columns]
    single = {x: kind for x, kind in enumerate(answer.types) if not kind.endswith("]")}
    numbers = {x for x, kind in single.items() if kind.startswith(_NUMBERS)}
    times = {x for x, kind in single.items() if kind.startswith(_TIMES)}
    flat = [row.flat() for row in shown]

    def lay(places: Sequence[int]) -> Grid:
        return grid(
            [names[x] for x in places],
            [[row[x] for x in places] for row in flat],
            room=shape.room,
            numbers={at for at, x in enumerate(places) if x in numbers},
            whole={at for at, x in enumerate(places) if x in numbers | times},
            dim={(y, at) for at, x in enumerate(places) for y, row in enumerate(shown) if x in row.nulls}
            if shape.has_colour
            else set(),
            has_header=shape.has_header,
        )

    picked = Picked(list(range(len(names))))
    laid = lay(picked.places)
    if laid.columns < len(names) and len(shown) == 1:  # a row that has no room beside is shown from top to bottom
        write(line_block(names, shown[0]).encode())
        return Written(1)
    if laid.columns < len(names):
        picked = pick_columns(answer.columns, [row.nulls for row in shown], shape.starred)
        laid = lay(picked.places)
    write("".join(f"{line}\n" for line in laid.lines).encode())
    left_out = "more rows are not shown; to print all: --output csv" if len(found) > len(shown) else ""
    return Written(len(shown), left_out, _hidden(picked, len(picked.places) - laid.columns, shape))


def _hidden(picked: Picked, wide: int, shape: Shape) -> str:
    """The columns that are not shown, in one line; empty if all are."""
    counts = {"empty": picked.empty, "tp_": picked.common, "time": picked.times, "too wide": wide}
    found = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    return f"hidden: {found}; name columns or use {shape.line_mode}" if found else ""


def _text(answer: Answered, shape: Shape, write: Write) -> Written:
    names = [visible(name) for name in answer.columns]
    default = "NULL" if shape.output == "line" else ""
    null = default if shape.null is None else shape.null
    cells = islice(cells_of(answer, null, has_quotes=False), shape.limit)
    if shape.output == "line":
        return Written(_written(cells, lambda row, number: ("\n" if number else "") + line_block(names, row), write))
    separator = "\t" if shape.separator is None else shape.separator
    if shape.has_header:
        write(plain_line(names, separator).encode())
    return Written(_written(cells, lambda row, _: plain_line(row.flat(), separator), write))


def _written(rows: Iterator[Row], draw: Callable[[Row, int], str], write: Write) -> int:
    count = 0
    while some := list(islice(rows, _AT_ONCE)):
        write("".join(draw(row, count + x) for x, row in enumerate(some)).encode())
        count += len(some)
    return count


def _drawn(text: str) -> str:
    return "".join(f"{visible(line)}\n" for line in text.splitlines())
