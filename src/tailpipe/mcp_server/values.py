"""Values of DuckDB → JSON that no reader misunderstands, and that is not longer than it may be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

__all__ = ["parsed_json", "plain", "shortened"]

_EXACT = 2**53
"""Whole numbers beyond it are texts, because many readers of JSON take numbers for floating-point ones."""


def plain(value: Any) -> Any:
    """The value as JSON has it; times are UTC in ISO 8601, and bytes are hexadecimal."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.isoformat() + ("" if value.tzinfo else "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    return str(value)  # decimals, intervals, UUIDs


def parsed_json(value: Any, kind: str) -> Any:
    """A value of a JSON column as what it says."""
    if kind != "JSON" or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


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
