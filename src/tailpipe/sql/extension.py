"""Extensions of DuckDB that are installed with us, as packages of their own: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from tailpipe.errors import TailpipeError
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import literal


def load_extension(name: str, purpose: str) -> str:
    """The statement that loads an extension from its file; `purpose` is for the message if it is not installed."""
    from importlib.util import find_spec  # late, because few statements need an extension

    spec = find_spec(f"duckdb_extension_{name}")
    places = spec.submodule_search_locations or () if spec else ()
    for place in places:
        path = Path(place) / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
        if path.is_file():
            return f"LOAD {literal(str(path))}"
    hint = f"install them with: pip install duckdb-extension-{name}=={duckdb.__version__}"
    raise TailpipeError(f"{purpose} not installed", hint=hint)
