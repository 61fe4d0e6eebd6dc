"""Secrets that no option holds: a token that a service has given out must not be shown either."""

from __future__ import annotations

from tailpipe.model.redaction import REDACTOR

__all__ = ["hide_secrets", "without_secrets"]


def hide_secrets(*values: str) -> None:
    """Know these secrets in this process from now on: its logs have dots for them, and so has `without_secrets`."""
    REDACTOR.learn(values)


def without_secrets(text: str) -> str:
    """The text with dots in place of every known secret, and of what has the shape of one."""
    return REDACTOR(text)
