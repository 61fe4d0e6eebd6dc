"""Values as text for people: nothing in it can steer a terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from tailpipe.cli.grid import named_lines
from tailpipe.frozen import frozen
from tailpipe.model.visible import visible, visible_lines

if TYPE_CHECKING:
    from tailpipe.cli.answer import Answered

ROWS_AT_ONCE = 20_000
"""Rows to a batch: enough to be fast, few enough for wide ones."""
_INEXACT = re.compile(r"INTERVAL|FLOAT|ZONE|_NS|UNION|VARIANT")
"""Types whose values in Python are less than what DuckDB holds, or other than what it shows."""


@frozen
class Cells:
    """A row to be shown: its texts with their line breaks, and the places of its nulls."""

    texts: list[str]
    nulls: tuple[int, ...]

    def flat(self) -> list[str]:
        """The texts in one line each."""
        return [visible(text) for text in self.texts]


def cells_of(answer: Answered, null: str, *, has_quotes: bool) -> Iterator[Cells]:
    """The rows as text; `has_quotes` puts quotes around a text that reads as null does.

    Arrow takes a quarter of a second to load, so it is used only where Python's values are not exact.
    """
    if any(_INEXACT.search(kind) for kind in answer.types):
        return _exact_cells(answer, null, has_quotes)
    return (_cells(row, null, has_quotes) for row in answer.rows)


def _exact_cells(answer: Answered, null: str, has_quotes: bool) -> Iterator[Cells]:
    from tailpipe.query.exact import Exact  # late, because few types need it

    with Exact(answer.columns, answer.types) as exact:
        for batch in answer.batches(ROWS_AT_ONCE):
            for row in exact.texts(batch):
                yield _cells(row, null, has_quotes)


def _cells(row: Sequence[Any], null: str, has_quotes: bool) -> Cells:
    texts = []
    for value in row:
        text = null if value is None else visible_lines(_text(value))
        if has_quotes and value is not None and text.upper() == null.upper():
            text = f'"{text}"'
        texts.append(text)
    return Cells(texts, tuple(x for x, value in enumerate(row) if value is None))


def plain_line(texts: Iterable[str], separator: str) -> str:
    """A row of the output `plain`."""
    return separator.join(texts) + "\n"


def line_block(names: Sequence[str], cells: Cells) -> str:
    """A row of the output `line`: each column begins a line, and goes on below its beginning if it has several."""
    return named_lines(names, cells.texts)


def _text(value: Any) -> str:
    """A value as DuckDB shows it; what is nested is JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return json.dumps(_plain(value), ensure_ascii=False)
    if isinstance(value, bytes):
        return "".join(chr(b) if 32 <= b < 127 and b not in b"\\'\"" else f"\\x{b:02X}" for b in value)
    if isinstance(value, datetime | date | time):
        return _moment(value)
    return f"{value:f}" if type(value).__name__ == "Decimal" else str(value)  # else with an exponent, if it is small


def _moment(value: datetime | date | time) -> str:
    if value == datetime.max:  # noqa: DTZ901 - so DuckDB gives it; of dates, the same one is written for «for ever»
        return "infinity"
    text = value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return text.rstrip("0") if "." in text else text


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _text(value)
