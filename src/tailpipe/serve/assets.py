"""The files of the page, by the names that they have in the package: no path of a request ever reaches the disk."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from tailpipe.http_guard.guard import RefusedError

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
PAGE = "index.html"
NONCE = "__CSP_NONCE__"
"""The placeholder in the page for the nonce of its answer."""


class Assets:
    """The files below a directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _known(self) -> dict[str, Path]:
        paths = [one for one in sorted(self._root.rglob("*")) if one.suffix in _TYPES and one.is_file()]
        return {path.relative_to(self._root).as_posix(): path for path in paths}

    def file(self, name: str) -> tuple[bytes, str]:
        """The content and the type of a file; a name that no file has is refused."""
        path = self._known.get(name)
        if path is None or name == PAGE:
            raise RefusedError(404, "not found")
        return path.read_bytes(), _TYPES[path.suffix]

    def page(self, nonce: str) -> bytes:
        """The page with the nonce of this answer."""
        path = self._known.get(PAGE)
        if path is None:
            raise RefusedError(404, "the page is not installed")
        return path.read_text(encoding="utf-8").replace(NONCE, nonce).encode()
