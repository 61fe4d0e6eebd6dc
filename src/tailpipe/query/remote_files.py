"""Files that are not all on this disk, for the DuckDB of a session: where to read them, and how to let it in.

DuckDB never gets a credential. It reads links to the cache and ranges through the gate, which is an address of this
process; the extension that speaks HTTP is loaded without any secret and may reach no other address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.errors import TailpipeError, WorkspaceError
from tailpipe.model.types import stored_type
from tailpipe.query.views import View
from tailpipe.sql.duck import blank, duckdb
from tailpipe.sql.extension import load_extension
from tailpipe.sql.quoting import literal, quoted

if TYPE_CHECKING:
    from tailpipe.stores.fetch import Reader

_SETTINGS = (
    "http_proxy = ''",  # else one of the environment would get the requests to the gate
    "http_proxy_username = ''",
    "http_proxy_password = ''",
    "httpfs_client_implementation = 'httplib'",  # curl would take a proxy of the environment by itself
    "http_retries = 0",  # the gate has done so
    "http_timeout = 600",
    "http_keep_alive = true",
    "enable_http_metadata_cache = true",  # files never change
    "validate_external_file_cache = 'NO_VALIDATION'",
)


class RemoteFiles:
    """The files of one session that are in a store alone, and empty files for columns that no file here has."""

    def __init__(self, open_reader: Callable[[], Reader] | None, scratch: Path) -> None:
        self._open_reader = open_reader
        self._reader: Reader | None = None
        self._empty = scratch / "columns"
        self._allowed: list[str] = []

    def paths(self, view: View, files: Sequence[LiveFile]) -> list[str]:
        """What to read for these files of a view, with all columns of the view among it."""
        if all(file.is_here for file in files):
            found = [view.place(file) for file in files]
        else:
            found = self._opened().readable(files, view.place)
        lacking = sorted(view.sets.keys() - {file.columns_id for file in files}) if found else ()
        return [*found, *(self._columns_alone(view.sets[number]) for number in lacking)]

    def local(self, files: Sequence[LiveFile], place: Callable[[LiveFile], str]) -> list[str]:
        """The paths of files on this disk, fetched whole."""
        return self._opened().local(files, place, is_limited=True)

    @property
    def is_to_be_let_in(self) -> bool:
        """Whether DuckDB has to be allowed more than it was the last time."""
        return self._places() != self._allowed

    def allowed(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        """Get a connection ready, and say what it must be allowed to read."""
        self._allowed = self._places()
        if self._reader is not None and self._reader.gate_prefix is not None:
            connection.execute(load_extension("httpfs", "the parts of DuckDB that read large files of a store are"))
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}")
        return self._allowed

    def begin(self) -> None:
        """A new statement begins."""
        if self._reader is not None:
            self._reader.begin()

    def interrupt(self) -> None:
        """End what is being fetched."""
        if self._reader is not None:
            self._reader.interrupt()

    def failure(self) -> TailpipeError | None:
        """Why a store could not be read: DuckDB only knows that a request failed."""
        return self._reader.failure() if self._reader is not None else None

    def close(self) -> None:
        """Let go of the files."""
        if self._reader is not None:
            self._reader.close()

    def _opened(self) -> Reader:
        if self._reader is None:
            if self._open_reader is None:
                raise WorkspaceError("some files are only in a store, and no store is configured here", path="")
            self._reader = self._open_reader()
        return self._reader

    def _places(self) -> list[str]:
        places = [f"{self._empty}/"] if self._empty.exists() else []
        if self._reader is not None:
            places.append(f"{self._reader.directory}/")
            if (prefix := self._reader.gate_prefix) is not None:
                places.append(prefix)
        return places

    def _columns_alone(self, columns: Mapping[str, str]) -> str:
        """A file of these columns without rows: it gives a view its columns, and nothing has to be fetched for them."""
        import hashlib

        name = hashlib.sha256(repr(sorted(columns.items())).encode()).hexdigest()
        path = self._empty / name
        if not path.exists():
            self._empty.mkdir(mode=0o700, exist_ok=True)
            items = ", ".join(f"NULL::{stored_type(kind)} AS {quoted(column)}" for column, kind in columns.items())
            with blank() as connection:
                connection.execute(f"COPY (SELECT {items} WHERE false) TO {literal(str(path))} (FORMAT parquet)")
        return str(path)
