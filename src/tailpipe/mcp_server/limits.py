"""Limits of an answer: rows, bytes and seconds, and what was truncated because of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.query.json_values import plain

CELL = 2_000
"""Characters of one text in an answer."""
_SMALL_CELL = 200
"""Of a row that is too large otherwise."""


@frozen
class Limits:
    """What an answer may be at most; `rows` is what it is if nothing else is requested."""

    rows: int = 100
    most_rows: int = 1_000
    bytes: int = 65_536
    seconds: float = 30.0

    def rows_for(self, requested: int | None, usual: int | None = None) -> int:
        """How many rows an answer has at most, or a `UsageError`; `usual` is for answers with fewer than others."""
        if requested is None:
            return min(usual or self.rows, self.most_rows)
        if not 1 <= requested <= self.most_rows:
            raise UsageError(f"limit must be from 1 to {self.most_rows}")
        return requested


@dataclass
class Rows:
    """Rows that are taken until a limit is reached, and what was truncated."""

    limits: Limits
    limit: int
    kept: list[Any] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
    size: int = 500
    """Bytes so far; it begins with what the rest of an answer has."""

    def take(self, rows: Iterable[Any]) -> Rows:
        """Take rows of plain data, or of values of DuckDB; one more than the limit is looked at, and no others."""
        for row in rows:
            if len(self.kept) == self.limit:
                self.truncated.append(f"only the first {self.limit} rows are shown; there are more")
                break
            if not self._add(row):
                break
        return self

    def _add(self, row: Any) -> bool:
        value, is_shortened = shortened(plain(row), CELL)
        size = _size(value)
        if self.size + size > self.limits.bytes and not self.kept:
            value, is_shortened = shortened(plain(row), _SMALL_CELL)
            size = _size(value)
        if self.size + size > self.limits.bytes:
            if not self.kept:
                raise UsageError(f"one row is larger than {self.limits.bytes} bytes", hint="name fewer columns")
            self.truncated.append(
                f"only the first {len(self.kept)} rows are shown, because an answer has at most {self.limits.bytes}"
                " bytes; name fewer columns, or aggregate"
            )
            return False
        if is_shortened and not any("long texts" in one for one in self.truncated):
            self.truncated.append("long texts are shortened; use substr() to read the rest of one")
        self.kept.append(value)
        self.size += size
        return True


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) + 1


def answer(rows: Rows, **facts: Any) -> dict[str, Any]:
    """An answer with rows, and what was truncated of it."""
    return {**facts, "rows": rows.kept, **joined(rows.truncated)}


def joined(messages: Sequence[str]) -> dict[str, Any]:
    """What was truncated, if anything was."""
    return {"truncated": list(dict.fromkeys(messages))} if messages else {}


def shortened(value: Any, most: int) -> tuple[Any, bool]:
    """Plain data without texts of more than so many characters; whether some were longer."""
    if isinstance(value, str):
        if len(value) <= most:
            return value, False
        return f"{value[:most]}… ({len(value) - most} more characters)", True
    if isinstance(value, dict):
        inner = {key: shortened(one, most) for key, one in value.items()}
        return {key: one for key, (one, _) in inner.items()}, any(cut for _, cut in inner.values())
    if isinstance(value, list):
        items = [shortened(one, most) for one in value]
        return [one for one, _ in items], any(cut for _, cut in items)
    return value, False
