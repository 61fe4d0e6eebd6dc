"""Answers as JSON."""

from __future__ import annotations

import json
from typing import Any


def encoded(answer: Any) -> bytes:
    """An answer as JSON."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
