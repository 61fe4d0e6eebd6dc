"""The type `inet` and its operators, from an extension of DuckDB that is installed with us: nothing is downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tailpipe.errors import TailpipeError
from tailpipe.kernel.duck import duckdb
from tailpipe.kernel.sql import literal

__all__ = ["INET_WORDS", "load_statement"]

INET_WORDS = frozenset({"inet", "html_escape", "html_unescape"})
"""Loading takes longer than most answers, so it is done for statements with one of these words alone."""


def load_statement() -> str:
    """The statement that loads the extension from its file."""
    spec = find_spec("duckdb_extension_inet")
    places = spec.submodule_search_locations or () if spec else ()
    for place in places:
        path = Path(place) / "extensions" / f"v{duckdb.__version__}" / "inet.duckdb_extension"
        if path.is_file():
            return f"LOAD {literal(str(path))}"
    raise TailpipeError(
        "the functions for addresses are not installed",
        hint=f"install them with: pip install duckdb-extension-inet=={duckdb.__version__}",
    )
