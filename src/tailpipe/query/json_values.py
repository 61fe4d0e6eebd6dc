"""Values of DuckDB as JSON: what JSON cannot hold exactly is text.

`json_of` writes text as DuckDB does and cuts very long values, for people. `plain` writes times and bytes in the forms
that programs parse: ISO 8601 and hexadecimal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailpipe.query.answer import Answer

LONGEST = 65_536
"""Characters of a value that people are shown."""
_EXACT_INTEGERS = 2**53
"""Larger integers are text, because many readers of JSON take numbers for floating-point ones."""
_INEXACT = re.compile(r"INTERVAL|ZONE|_NS|UNION|VARIANT")
"""Types whose values in Python are less than what DuckDB holds."""
_NUMBERS = re.compile(r"U?(?:TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|BOOLEAN")
_AT_ONCE = 2_000


def columns_of(answer: Answer) -> list[dict[str, str]]:
    """Names and types of the columns of an answer."""
    return [{"name": name, "type": kind} for name, kind in zip(answer.columns, answer.types, strict=True)]


def rows_of(answer: Answer) -> Iterator[list[Any]]:
    """The rows of an answer as `json_of` writes them."""
    if not any(_INEXACT.search(kind) for kind in answer.types):
        for row in answer.rows:
            yield [json_of(value, kind) for value, kind in zip(row, answer.types, strict=True)]
        return
    from tailpipe.query.exact import Exact  # late, because few types need it

    with Exact(answer.columns, answer.types) as exact:
        for batch in answer.batches(_AT_ONCE):
            for row in exact.texts(batch):
                yield [_of_text(text, kind) for text, kind in zip(row, answer.types, strict=True)]


def _of_text(text: str | None, kind: str) -> Any:
    if text is not None and (_NUMBERS.fullmatch(kind) or kind.endswith("]") or kind.startswith(("STRUCT(", "MAP("))):
        with suppress(ValueError, RecursionError):
            return json_of(json.loads(text), "")
    return json_of(text, kind)


def json_of(value: Any, kind: str = "") -> Any:
    """One value of a column of that type; cut if it is longer than anybody reads."""
    if isinstance(value, str) and len(value) <= LONGEST:
        value = _iso(value) if kind.startswith("TIMESTAMP") else parsed_json(value, kind)
    found = _json(value, _duckdb_text)
    if isinstance(found, str):
        return found if len(found) <= LONGEST else _truncated(found)
    if isinstance(found, list | dict):
        text = json.dumps(found, ensure_ascii=False)
        return found if len(text) <= LONGEST else _truncated(text)
    return found


def _iso(text: str) -> str:
    """DuckDB's text of a time as ISO 8601, also of years that Python does not know."""
    is_plain = text[:1].isdigit() and "(BC)" not in text
    return text.replace(" ", "T").removesuffix("+00") + "Z" if is_plain else text


def plain(value: Any) -> Any:
    """One value, whole; times are UTC in ISO 8601, and bytes are hexadecimal."""
    return _json(value, _iso_text)


def parsed_json(value: Any, kind: str) -> Any:
    """A value of a JSON column as the value that its text describes; other values as they are."""
    if kind == "JSON" and isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def instant(moment: datetime) -> str:
    """A time in UTC as ISO 8601, with the digits that it has; columns have no zone, and mean UTC."""
    if moment == datetime.max:  # noqa: DTZ901 - so DuckDB gives infinity
        return "infinity"
    utc = (moment.astimezone(UTC) if moment.tzinfo else moment).replace(tzinfo=None)
    text = utc.isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def _truncated(text: str) -> dict[str, Any]:
    return {"truncated": True, "text": text[:LONGEST], "length": len(text)}


def _json(value: Any, text: Callable[[Any], str]) -> Any:
    """A value as JSON; `text` writes what JSON has no type for."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half of a surrogate is no JSON
    if isinstance(value, int):
        return value if -_EXACT_INTEGERS <= value <= _EXACT_INTEGERS else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(_json(key, text)): _json(item, text) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json(item, text) for item in value]
    return text(value)


def _duckdb_text(value: Any) -> str:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, bytes | bytearray):
        return "".join(chr(b) if 32 <= b < 127 and b not in b"\\'\"" else f"\\x{b:02X}" for b in value)
    return _usual_text(value)


def _iso_text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat() + ("" if value.tzinfo else "Z")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return _usual_text(value)


def _usual_text(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)  # without an exponent
