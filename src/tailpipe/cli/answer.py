"""The answer to a query, printed as it comes: a table for people, csv and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tailpipe.cli import render
from tailpipe.model.visible import visible

__all__ = ["ANSWERS", "print_answer"]

ANSWERS = ("pretty", "csv", "json", "jsonl")
_MOST_ROWS = 10_000
"""What a table for people shows at most: its columns can only be sized when all rows are there."""
_AT_ONCE = 1000
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINY", "USMALL", "UINT", "UBIG", "UHUGE")
_NUMBERS = (*_WHOLE, "FLOAT", "DOUBLE", "DECIMAL")
_PLAN = ("explain_key", "explain_value")
"""What EXPLAIN gives: a drawing of several lines."""

Row = Sequence[Any]


def print_answer(names: Sequence[str], types: Sequence[str], rows: Iterable[Row], output: str) -> tuple[str, str]:
    """Print the rows; in words how many they were, and what was left out, if anything."""
    if output == "pretty":
        return _pretty(names, types, rows)
    if output == "csv":
        render.data(_csv([names]))
        return _counted(_printed(rows, _csv)), ""
    encode = _encoder(names, types)
    if output == "jsonl":
        return _counted(_printed(rows, lambda some: "".join(f"{encode(row)}\n" for row in some))), ""
    render.data("[\n")
    count = _printed(_with_commas(encode(row) for row in rows), "".join)
    render.data("]\n")
    return _counted(count), ""


def _pretty(names: Sequence[str], types: Sequence[str], rows: Iterable[Row]) -> tuple[str, str]:
    found = list(islice(rows, _MOST_ROWS + 1))
    shown = found[:_MOST_ROWS]
    if tuple(names) == _PLAN:
        render.data("\n".join(str(text) for _, text in shown))
        return _counted(len(shown)), ""
    cells = [["NULL" if value is None else _text(value) for value in row] for row in shown]
    numbers = {x for x, kind in enumerate(types) if kind.startswith(_NUMBERS) and not kind.endswith("]")}
    nulls = {(y, x) for y, row in enumerate(shown) for x, value in enumerate(row) if value is None}
    text, columns = render.grid([visible(name) for name in names], cells, numbers, nulls)
    render.data(text)
    left_out = []
    if len(found) > len(shown):
        left_out.append("there are more, --output csv prints all")
    if columns < len(names):
        left_out.append(f"{columns} of {len(names)} columns fit, so name those you want, or use another --output")
    return _counted(len(shown)), "; ".join(left_out)


def _counted(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _printed(items: Iterable[Any], join: Callable[[list[Any]], str]) -> int:
    count, waiting = 0, iter(items)
    while some := list(islice(waiting, _AT_ONCE)):
        render.data(join(some))
        count += len(some)
    return count


def _with_commas(texts: Iterable[str]) -> Iterator[str]:
    """Each text on a line, with a comma behind all but the last."""
    before: str | None = None
    for text in texts:
        if before is not None:
            yield f" {before},\n"
        before = text
    if before is not None:
        yield f" {before}\n"


def _csv(rows: Iterable[Row]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in rows:
        writer.writerow(_nested(value) if isinstance(value, dict | list | bytes) else value for value in row)
    return buffer.getvalue()


def _encoder(names: Sequence[str], types: Sequence[str]) -> Callable[[Row], str]:
    """One row → one JSON object; columns of the type JSON are values in it, not text."""
    keys = _distinct(names)
    documents = {x for x, kind in enumerate(types) if kind == "JSON"}

    def encode(row: Row) -> str:
        values = (_document(value) if x in documents else _plain(value) for x, value in enumerate(row))
        return json.dumps(dict(zip(keys, values, strict=True)), ensure_ascii=False)

    return encode


def _distinct(names: Sequence[str]) -> list[str]:
    """A query may name two columns alike, an object cannot."""
    keys: list[str] = []
    for name in names:
        key, number = name, 1
        while key in keys:
            number += 1
            key = f"{name}_{number}"
        keys.append(key)
    return keys


def _document(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def _nested(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else json.dumps(_plain(value), ensure_ascii=False)


def _text(value: Any) -> str:
    return visible(_nested(value) if isinstance(value, dict | list | bytes) else str(value))
