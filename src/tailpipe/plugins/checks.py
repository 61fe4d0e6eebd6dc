"""Checks of options that several built-in plugins have."""

from __future__ import annotations

from tailpipe.plugin import UsageError


def check_overlap(days: int) -> None:
    """Whether so many days may be requested again."""
    if not 0 <= days <= 30:
        raise UsageError("overlap_days must be between 0 and 30")


def check_retries(count: int) -> None:
    """Whether a request may be repeated that often."""
    if not 0 <= count <= 100:
        raise UsageError("max_retries must be between 0 and 100")
