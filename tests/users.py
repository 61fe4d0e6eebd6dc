"""A user to whom directories can be closed: nothing is closed to root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[Path]:
    """A directory of a user who is not root, and the rest of the block as that user."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        if is_root:
            os.chown(root, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        try:
            yield root
        finally:
            if is_root:
                os.seteuid(0)
