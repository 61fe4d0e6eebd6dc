"""Hide pandas from DuckDB and Arrow, which import it to inspect values: that takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _NoPandas:
    """Finds no pandas, as if it were not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Refuse pandas, and leave other modules to the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Let nothing import pandas; where it was imported before, it stays."""
    finder: Any = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
