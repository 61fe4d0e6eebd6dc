"""Parsers made of a function: of one line, or of one document."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, BinaryIO
from uuid import UUID

from tailpipe.kernel.task import Limits
from tailpipe.model.table import Column, Table
from tailpipe.plugin import (
    DocumentParser,
    Format,
    LineParser,
    ParseContext,
    Rejected,
    document_parser,
    line_parser,
    option,
)
from tailpipe.testing import read_bytes
from tests.unit.formats.parsing import bad, parse
from tests.unit.kernel.support import run

TIMES = Table(name="things", map_fields=("*",), common={"tp_timestamp": "TIMESTAMP '2024-01-31'"})


class Pairs(Format):
    """Lines of `name: value`."""

    type = "pairs"

    def parser(self, context: ParseContext) -> LineParser:
        return line_parser(self._fields)

    def _fields(self, line: str) -> dict[str, Any] | None:
        if line.startswith("#"):
            return None
        name, colon, value = line.partition(": ")
        if not colon:
            raise ValueError("has no colon")
        return {name: value}


def test_a_function_gives_the_fields_of_a_line_or_says_why_it_cannot() -> None:
    read = read_bytes(Pairs(), b"a: 1\n# comment\n\nnothing\nb: x\nA: 2\n_raw: y\n")
    assert read.rows == [
        {"a": 1, "b": None, "_raw_2": None},
        {"a": None, "b": "x", "_raw_2": None},
        {"a": 2, "b": None, "_raw_2": None},
        {"a": None, "b": None, "_raw_2": "y"},
    ]
    assert read.rejected == [("line 4", "has no colon")]


def test_a_line_is_a_row_however_the_artifact_is_cut_into_batches() -> None:
    content = b"".join(b"n: %d\n%s" % (n, b"bad\n" if n % 3 == 0 else b"") for n in range(500))
    small = Limits(chunk_bytes=64, batch_bytes=256, flush_bytes=1024)
    whole = run(content, format=Pairs(), of=replace(TIMES, columns=[Column("n", "integer")]))
    cut = run(content, format=Pairs(), of=replace(TIMES, columns=[Column("n", "integer")]), limits=small)
    assert whole.accounts == cut.accounts == (667, 500, 0, 167, 0)
    assert whole.rows == cut.rows
    assert whole.rejected == cut.rejected


def values(**fields: Any) -> list[Any]:
    """What a function's values become, as text."""
    parser = line_parser(lambda line: fields)
    (row,) = parse(parser, ["x"])
    return [row["_bad"], *(row[name] for name in fields if row["_bad"] is None)]


def test_values_become_text_that_the_table_types() -> None:
    assert values(a=True, b=7, c=0.5, d=Decimal("1.10"), e=None, f="é") == [None, "true", "7", "0.5", "1.10", None, "é"]
    assert values(a=date(2024, 1, 31), b=datetime(2024, 1, 31, 10, tzinfo=UTC), c=UUID(int=1)) == [
        None,
        "2024-01-31",
        "2024-01-31T10:00:00+00:00",
        "00000000-0000-0000-0000-000000000001",
    ]
    assert values(a=[1, "x"], b={"k": [True]}) == [None, '[1, "x"]', '{"k": [true]}']
    assert values(a="half \ud800") == [None, "half ?"]


def test_a_value_that_is_too_long_rejects_its_row_alone() -> None:
    assert values(a="x" * (16 * 1024 * 1024 + 1)) == ['the value of "a" has more than 16,777,216 bytes']
    assert values(a=10**5000)[0].startswith("Exceeds the limit")


def test_a_row_that_brings_too_many_fields_is_rejected() -> None:
    numbers = iter(range(3000))
    parser = line_parser(lambda line: {f"k{next(numbers)}": line})
    rows = parse(parser, ["x"] * 2001)
    assert bad(rows) == [(2001, "brings more than 2000 different keys", "x")]


class Pages(Format):
    """Documents of lines with a last line that says how many there are."""

    type = "pages"
    noun = "page"

    def parser(self, context: ParseContext) -> DocumentParser:
        return document_parser(self._pages)

    def _pages(self, file: BinaryIO) -> Iterator[dict[str, Any] | Rejected]:
        for line in file:
            text = line.decode().strip()
            if text.startswith("bad"):
                yield Rejected("is bad", text)
            elif text == "stop":
                raise ValueError("stops here")
            else:
                yield {"page": text} if text else {}


def test_a_function_gives_the_rows_of_a_document_or_says_why_it_cannot() -> None:
    read = read_bytes(Pages(), b"a\nbad 1\n\nb\nstop\nc\n")
    assert read.rows == [{"page": "a"}, {"page": "b"}]
    assert read.rejected == [("page 2", "is bad"), ("page 3", "the row has no fields"), ("page 5", "stops here")]


def test_rows_of_a_document_that_has_grown_are_taken_once() -> None:
    table = replace(TIMES, columns=[Column("page", "varchar")])
    done = run(b"a\nbad\nb\n", format=Pages(), of=table, reading={"offset_rows": 2})
    assert done.accounts == (1, 1, 0, 0, 0)
    assert [(row["page"], row["tp_id"].partition("-")[2]) for row in done.rows] == [("b", "3")]


def test_members_of_an_archive_are_documents_of_their_own() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("one", b"a\nbad\n"), ("two", b"stop\nb\n"), ("three", b"c\n")):
            facts = tarfile.TarInfo(name)
            facts.size = len(text)
            archive.addfile(facts, io.BytesIO(text))
    read = read_bytes(Pages(), packed.getvalue(), name="/a.tar.gz")
    assert read.rows == [{"page": "a"}, {"page": "c"}]
    assert read.rejected == [("page 2", "is bad"), ("page 3", "stops here")]


def test_many_rows_of_a_document_come_in_order() -> None:
    content = b"".join(b"%d\n" % n for n in range(40_000))
    done = run(content, format=Pages(), of=replace(TIMES, columns=[Column("page", "integer")]))
    assert done.accounts == (40_000, 40_000, 0, 0, 0)
    assert done.column("page") == list(range(40_000))


class Zoned(Pairs):
    """Pairs whose options take the place of what a format declares."""

    type = "zoned"
    timezone: str = option("Zone of the times.")
    encoding: str = option("Encoding of the text.", default="latin-1")


def test_an_option_takes_the_place_of_what_a_format_declares() -> None:
    zoned = Zoned(timezone="Europe/Berlin")
    assert (zoned.timezone, zoned.encoding, Pairs().timezone, Pairs().encoding) == (
        "Europe/Berlin",
        "latin-1",
        None,
        "utf-8",
    )
    assert read_bytes(zoned, "a: é\n".encode("latin-1")).rows == [{"a": "é"}]
    table = Table(name="things", common={"tp_timestamp": "a"})
    assert run(b"a: 2024-01-31 10:00:00\n", format=zoned, of=table).column("tp_timestamp") == [datetime(2024, 1, 31, 9)]
