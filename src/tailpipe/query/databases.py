"""Databases for other clients: DuckDB files whose views are the tables, each replaced whole after every commit."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from errno import EACCES, ENOSPC
from functools import partial
from pathlib import Path
from time import monotonic

from tailpipe.catalog.layout import Layout
from tailpipe.errors import StorageError, TailpipeError, WorkspaceError
from tailpipe.frozen import frozen
from tailpipe.sql.quoting import literal
from tailpipe.stores.version import NOW, Version

_log = logging.getLogger(__name__)
_NAMES = re.compile(r'"\w+"')
"""The names in a statement that makes a view: first its schema, then its own."""
_SHORT = 0.5
"""How many seconds writing the databases may take after each commit."""
_REST = 9
"""If it takes longer: so many times as long, commits do not have it done again."""


@frozen
class ClientViews:
    """A request for a database, with times as typed: `T-7d` is seven days back at each commit."""

    start: str | None = None
    end: str | None = None
    partitions: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    is_live: bool = False
    as_of: str | None = None
    tag: str | None = None

    @property
    def version(self) -> Version:
        """The state of the data that it shows."""
        return Version(datetime.fromisoformat(self.as_of) if self.as_of else None, self.tag)

    @property
    def name(self) -> str:
        """The name of its database: the same for equal requests."""
        if self == ClientViews():
            return "tailpipe"
        if self == ClientViews(is_live=True):
            return "tailpipe-live"
        return f"tailpipe-{hashlib.sha256(self.text().encode()).hexdigest()[:8]}"

    def text(self) -> str:
        """The request as JSON, in which it is stored."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> ClientViews:
        """The request that was stored as JSON."""
        given = json.loads(text)
        narrowed = tuple(given["partitions"]), tuple(given["indexes"])
        return cls(given["start"], given["end"], *narrowed, given["is_live"], given.get("as_of"), given.get("tag"))


Statements = Callable[[ClientViews], Sequence[str]]
"""The SQL that creates the requested views, over the current files."""


@frozen
class Databases:
    """The databases of a workspace. A request is stored next to its database, and dropped after that was deleted."""

    layout: Layout
    statements: Statements

    def make(self, views: ClientViews | None = None) -> Path:
        """Write the database of the requested views, or of all tables, and keep it up to date from now on."""
        views = views or ClientViews()
        directory = self.layout.clients
        try:
            for one in (directory.parent, directory):  # `parents=True` would leave the mode to the umask
                one.mkdir(mode=0o700, exist_ok=True)
            if not os.access(directory, os.W_OK) or not os.access(self.layout.home, os.W_OK):
                raise PermissionError(EACCES, os.strerror(EACCES))  # DuckDB would say so in many words
            path = self._write(views)
            kept = directory / f"{views.name}.json"
            draft = kept.with_suffix(f".{secrets.token_hex(4)}")
            draft.write_text(views.text(), encoding="utf-8")
            draft.replace(kept)
        except OSError as error:
            hint = "it is made by the owner of the workspace; tailpipe connect --format sql writes nothing"
            message = f"cannot write a database into {self.layout.home}: {error.strerror}"
            raise WorkspaceError(message, path=str(self.layout.home), hint=hint) from error
        return path

    def script(self, path: Path) -> Path:
        """Write the statements that attach one of the databases to a DuckDB of a client's own, such as Powerpipe's."""
        script = self.layout.clients / f"{path.stem}.sql"
        script.write_text(f"ATTACH IF NOT EXISTS {literal(str(path))} AS tailpipe (READ_ONLY);\nUSE tailpipe;\n")
        return script

    @contextmanager
    def following(self, clock: Callable[[], float] = monotonic) -> Iterator[Callable[[], None]]:
        """A function to call after each commit, which rewrites the databases; slow ones are skipped until the end.

        The views name every live file: with very many files, a run of a thousand commits would do nothing else.
        """
        is_behind, until = False, 0.0

        def follow() -> None:
            nonlocal is_behind, until
            begun = clock()
            is_behind = begun < until
            if not is_behind:
                self.refresh()
                ended = clock()
                until = ended + _REST * (ended - begun) if ended - begun > _SHORT else ended

        try:
            yield follow
        finally:
            if is_behind:
                self.refresh()

    def refresh(self) -> None:
        """Write all databases again. One that cannot be written stays as it is: a commit must not fail because of it.

        A view whose schema is wrong is left out, because the others would soon name files that are gone.
        """
        for views in (one for one in self._kept() if one.version == NOW):  # the past does not change
            path = self.layout.client_database(views.name)
            try:
                if path.exists():
                    self._write(views, partial(_log.warning, "%s lacks a view: %s", path))
                else:
                    (self.layout.clients / f"{views.name}.json").unlink(missing_ok=True)
            except (OSError, TailpipeError) as error:
                _log.warning("%s is out of date: %s", path, error)

    def _kept(self) -> Iterator[ClientViews]:
        for path in sorted(self.layout.clients.glob("*.json")):
            try:
                yield ClientViews.from_text(path.read_text(encoding="utf-8"))
            except (OSError, ValueError, KeyError, TypeError) as error:
                _log.warning("%s cannot be read: %s", path, error)

    def _write(self, views: ClientViews, refused: Callable[[TailpipeError], None] | None = None) -> Path:
        from tailpipe.sql.duck import duckdb, first_line
        from tailpipe.sql.inet import load_for

        path = self.layout.client_database(views.name)
        draft = self.layout.clients / f"{views.name}.{secrets.token_hex(4)}.duckdb"
        try:
            with duckdb.connect(str(draft), config={"autoload_known_extensions": "false"}) as connection:
                statements = self.statements(views)
                load_for(connection, statements)
                for statement in statements:
                    try:
                        connection.execute(statement)
                    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
                        failure = _mistake(statement, first_line(error))
                        if refused is None:
                            raise failure from error
                        refused(failure)
            draft.chmod(0o600)
            os.replace(draft, path)  # noqa: PTH105 - the exchange is the point
        except duckdb.Error as error:
            if os.strerror(ENOSPC) in str(error):
                home = str(self.layout.home)
                hint = "free some space, then run it again"
                raise StorageError(f"no space left for a database in {home}", path=home, hint=hint) from error
            raise TailpipeError(first_line(error), hint="see what is wrong with: tailpipe doctor") from error
        finally:
            draft.unlink(missing_ok=True)
            draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)
        return path


def _mistake(statement: str, reason: str) -> TailpipeError:
    schema, table = _NAMES.findall(statement)[:2]
    hint = f"correct the where of schema {schema}, or leave out that schema: tailpipe config check --sql"
    cause = reason.partition(": ")[2].rstrip("!")
    return TailpipeError(f"the view {schema}.{table} cannot be created: {cause}", hint=hint)
