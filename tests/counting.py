"""Counting instead of timing: how much work a deed does, as a number that is the same on every machine."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["calls", "calls_of", "statements", "steps"]


def calls(deed: Callable[[], Any]) -> int:
    """How many functions are called meanwhile, those of Python and those of C."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    _profiled(note, deed)
    return count


def calls_of(name: str, deed: Callable[[], Any]) -> int:
    """How often a function of that name is called meanwhile."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_name == name

    _profiled(note, deed)
    return count


def _profiled(note: Callable[[FrameType, str, object], None], deed: Callable[[], Any]) -> None:
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        deed()
    finally:
        sys.setprofile(before)


def steps(connection: sqlite3.Connection, deed: Callable[[], Any]) -> int:
    """How many steps SQLite takes meanwhile: each row that it looks at is a few."""
    count = 0

    def note() -> int:
        nonlocal count
        count += 1
        return 0

    connection.set_progress_handler(note, 1)
    try:
        deed()
    finally:
        connection.set_progress_handler(None, 0)
    return count


def statements(connection: sqlite3.Connection, deed: Callable[[], Any]) -> int:
    """How many statements are executed meanwhile."""
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    try:
        deed()
    finally:
        connection.set_trace_callback(None)
    return len(seen)
