"""Checks of options that several built-in plugins have."""

from __future__ import annotations

from tailpipe.plugin import UsageError

__all__ = ["check_retries"]


def check_retries(count: int) -> None:
    """Whether a request may be repeated that often."""
    if not 0 <= count <= 100:
        raise UsageError("max_retries must be between 0 and 100")
