"""JSON in a column of a CSV: exports of audit logs have a few facts as columns, and the whole event as JSON in one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

_BLANKS = b"\xef\xbb\xbf \t\r\n"
_TYPE = b"#TYPE "
"""How a line begins that PowerShell puts before the header."""


def without_csv(chunks: Iterable[bytes], column: str, limit: int) -> Iterator[bytes]:
    """The values of a column, each on a line of its own; text that is no CSV with this column stays as it is.

    A value has at most `limit` bytes.
    """
    chunks = iter(chunks)
    first = next(chunks, b"")
    text = first.lstrip(_BLANKS)
    if text.startswith(_TYPE):
        text = text.partition(b"\n")[2]
    header = next(csv.reader([text.partition(b"\n")[0].decode("utf-8", "replace")]), [])
    if text[:1] in (b"{", b"[") or column not in header:
        yield from chain([first], chunks)
        return
    place = header.index(column)
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    rows = csv.reader(_lines(chain([text], chunks)))
    next(rows)
    for row in rows:
        value = row[place] if len(row) > place else ",".join(row)  # a row that was cut off is shown as rejected
        yield value.encode() + b"\n"


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a text, with their ends: a quoted value may have several."""
    rest = ""
    for chunk in chunks:  # each is text by itself
        *lines, rest = (rest + chunk.decode("utf-8", "replace")).split("\n")
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest
