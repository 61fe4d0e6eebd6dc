"""The progress of fetching files from a store while a query waits for them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tailpipe.cli.bar import redraw
from tailpipe.model.size import shown_size

if TYPE_CHECKING:
    from tailpipe.stores.fetch import Fetched

_SOON = 1.0
_LATE = 10.0
_AGAIN = 0.2


class FetchProgress:
    """Draws one line on a terminal while a fetch takes long; elsewhere, a line every ten seconds."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._shown = 0.0

    def __call__(self, fetched: Fetched) -> None:
        """Show how far it is, if that was not done just now; the end removes the line."""
        now, is_terminal = time.monotonic(), sys.stderr.isatty()
        if fetched.files >= fetched.all_files:
            if is_terminal and self._shown:
                redraw()
            self._begun, self._shown = None, 0.0
            return
        if self._begun is None:
            self._begun = now
        soon, again = (_SOON, _AGAIN) if is_terminal else (_LATE, _LATE)
        if now - self._begun < soon or now - self._shown < again:
            return
        self._shown = now
        text = (
            f"fetching from the store: {fetched.files:,} of {fetched.all_files:,} files,"
            f" {shown_size(fetched.size)} of {shown_size(fetched.all_size)}"
        )
        if is_terminal:
            redraw(f"{text}; Ctrl-C ends it")
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
