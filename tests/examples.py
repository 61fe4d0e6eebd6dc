"""How many examples a property is tried with: a few in `make test`, all of them in `make soak`."""

from __future__ import annotations

import os

__all__ = ["examples"]

_SHARE = 5


def examples(number: int) -> int:
    """The whole number if TAILPIPE_EXAMPLES is `all`, else a fifth of it, but no less than ten."""
    return number if os.environ.get("TAILPIPE_EXAMPLES") == "all" else max(min(number, 10), number // _SHARE)
