"""Directories of this machine, which clients need not know."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from tailpipe.frozen import frozen


@frozen
class Places:
    """Directories whose paths are not shown, the longest first."""

    paths: tuple[str, ...]

    @classmethod
    def hiding(cls, places: Iterable[Path]) -> Places:
        """Hide these directories, that of temporary files and the home directory."""
        known = {str(one) for one in (*places, Path(tempfile.gettempdir()), Path.home()) if len(one.parts) > 1}
        return cls(tuple(sorted(known, key=len, reverse=True)))

    def shown(self, text: str) -> str:
        """A text without the directories."""
        for path in self.paths:
            text = text.replace(path, "…")
        return text
