"""Documents: rows in columns, records, rejected rows and damage, for any format that reads whole files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from tailpipe.model.table import Column, Table
from tailpipe.plugin import (
    Document,
    DocumentParser,
    Format,
    Found,
    LineParser,
    ParseContext,
    Records,
    Rejected,
    Rows,
    TailpipeError,
    line_parser,
)
from tests.unit.kernel.support import run

TIMES = Table(name="things", map_fields=("*",), common={"tp_timestamp": "TIMESTAMP '2024-01-31'"})


class Blocks(Format):
    """Documents of four bytes to a row, which are no text."""

    type = "blocks"
    noun = "block"

    @property
    def encoding(self) -> str | None:
        return None

    def parser(self, context: ParseContext) -> DocumentParser:
        return _Blocks()


class _Blocks(DocumentParser):
    def read(self, document: Document) -> Iterator[Found]:
        rest = b""
        for chunk in document.chunks():
            whole = rest + chunk
            if whole.startswith(b"damaged"):
                raise TailpipeError(f'"{document.name}" is damaged')
            blocks = [int.from_bytes(whole[n : n + 4]) for n in range(0, len(whole) - 3, 4)]
            rest = whole[4 * len(blocks) :]
            yield Rows(pa.table({"n": pa.array(blocks, pa.int64())}))
        if rest:
            yield Rejected("is cut off", rest.hex(), is_unfinished=True)


NUMBERS = replace(TIMES, columns=[Column("n", "bigint"), Column("double", "bigint", transform="n * 2")])


def test_rows_of_a_binary_format_have_types_of_their_own_also_where_some_are_rejected() -> None:
    done = run(b"\0\0\0\1\0\0\0\2\xff", format=Blocks(), of=NUMBERS)
    assert done.accounts == (3, 2, 0, 1, 0)
    assert done.column("double") == [2, 4]
    assert (done.rejected[0]["ordinal"], done.rejected[0]["reason"], done.rejected[0]["raw"]) == (3, "is cut off", "ff")


def test_the_end_of_a_document_that_may_go_on_is_left_for_the_next_run() -> None:
    done = run(b"\0\0\0\1\xff", format=Blocks(), of=NUMBERS, reading={"is_closed": False})
    assert done.accounts == (1, 1, 0, 0, 0)
    (result,) = done.outcome.results
    assert (result.committed_ordinals, result.unread_bytes) == (1, 2)


def test_a_document_that_is_damaged_spoils_nothing_but_its_artifact() -> None:
    done = run({"/logs/a": b"\0\0\0\1", "/logs/b": b"damaged", "/logs/c": b"\0\0\0\3"}, format=Blocks(), of=NUMBERS)
    assert done.accounts == (2, 2, 0, 0, 0)
    assert [result.error for result in done.outcome.results] == [None, '"/logs/b" is damaged', None]


class Mixed(Format):
    """Pairs, and blocks where a name says so."""

    type = "mixed"

    def read_as(self) -> Format:
        return _MIXED_LINES


class MixedLines(Format):
    """Pairs, unless the artifact is one of blocks."""

    type = "mixed_lines"

    def parser(self, context: ParseContext) -> LineParser:
        return line_parser(lambda line: dict([line.split(": ")]))

    def for_artifact(self, uri: str) -> Format:
        return Blocks() if uri.endswith(".blocks") else self


_MIXED_LINES = MixedLines()


def test_a_format_names_the_format_of_an_artifact_by_its_name() -> None:
    contents = {"/logs/a.txt": b"n: 7\n", "/logs/b.blocks": b"\0\0\0\1", "/logs/c.txt": b"n: 8\n"}
    done = run(contents, format=Mixed(), of=replace(TIMES, columns=[Column("n", "bigint")]))
    assert done.column("n") == [7, 1, 8]


class Texts(Format):
    """Documents whose rows are JSON objects behind a length."""

    type = "texts"
    is_json = True

    def parser(self, context: ParseContext) -> DocumentParser:
        return _Texts(context)


class _Texts(DocumentParser):
    gives_records = True
    gathers = True

    def __init__(self, context: ParseContext) -> None:
        from tailpipe.formats import Jsonl

        parser = Jsonl().parser(context)
        assert not isinstance(parser, DocumentParser)
        self.parse = parser.parse  # type: ignore[method-assign]

    def read(self, document: Document) -> Iterator[Found]:
        yield Records(pa.array([text.decode() for text in b"".join(document.chunks()).split(b"|")]))


def test_records_of_small_documents_are_parsed_together_and_new_keys_become_columns() -> None:
    contents = {f"/logs/{n}": b'{"n": %d, "more": "x"}|7' % n for n in range(5)}
    done = run(contents, format=Texts(), of=TIMES, types={"n": "bigint", "more": "varchar"})
    assert done.accounts == (10, 5, 0, 5, 0)
    assert done.column("n") == list(range(5))
    assert {row["reason"] for row in done.rejected} == {"the line is a JSON number, not an object"}
    found = run(contents, format=Texts(), of=TIMES, types={"n": "bigint"}).outcome.widenings
    assert [(one.field, one.type) for one in found] == [("more", "varchar")]
