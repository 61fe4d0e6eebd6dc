"""Limits of the explorer and its clients, and the size and encoding of answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tailpipe.frozen import frozen


@frozen
class Limits:
    """Bounds on answers, requests and connections."""

    rows: int = 10_000
    """Rows of one answer."""
    bytes: int = 32_000_000
    """Bytes of one answer."""
    seconds: float = 30.0
    """Time of one statement."""
    statements: int = 4
    """Statements that run at once."""
    waiting: int = 60
    """Requests that wait for their turn; others are refused."""
    export_seconds: float = 600.0
    export_bytes: int = 2_000_000_000
    body_bytes: int = 1_000_000
    header_bytes: int = 32_000
    connections: int = 128
    patience_seconds: float = 10.0
    """How long a client may take to send a request, or to take a part of an answer."""
    cached_bytes: int = 64_000_000


def size_of(row: Sequence[Any]) -> int:
    """About how many bytes a row takes in an answer."""
    return sum(len(one) if isinstance(one, str) else 16 if not isinstance(one, list | dict) else 200 for one in row)


def encoded(answer: Any) -> bytes:
    """An answer as JSON."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
