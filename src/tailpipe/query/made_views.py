"""The views of a session in its connection: each is made when a statement names it, over the files that it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.errors import UsageError
from tailpipe.query.shown import Address, Needed, Shown
from tailpipe.query.views import CATALOG, View
from tailpipe.sql.duck import duckdb

__all__ = ["MadeViews"]

Told = Callable[[Exception], BaseException]


class MadeViews:
    """Which views one connection has over one snapshot; `own_schemas` are those of the config."""

    def __init__(self, shown: Shown, own_schemas: Collection[str]) -> None:
        self._shown = shown
        self._own_schemas = own_schemas
        self._made: dict[Address | str, object] = {}
        self._is_outlined = False

    def make(
        self,
        connection: duckdb.DuckDBPyConnection,
        needed: Sequence[Needed],
        paths: Mapping[Address, Sequence[str]],
        told: Told,
        *,
        is_about_known: bool,
    ) -> None:
        """Make these views; `paths` are those of files that are not all on this disk."""
        for view, files in needed:
            made = files, is_about_known or bool(view.conditions)
            if self._made.get(view.address) != made or view.address in paths:
                self._make(connection, view if made[1] else view.plain, files, paths.get(view.address), told)
                self._made[view.address] = made

    def _make(
        self,
        connection: duckdb.DuckDBPyConnection,
        view: View,
        files: Sequence[LiveFile],
        paths: Sequence[str] | None,
        told: Told,
    ) -> None:
        """Make one view; a mistake in its condition is an error of its schema, not of the statement."""
        try:
            connection.execute(view.over(files) if paths is None else view.plain.over_paths(paths))
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            if not (view.conditions and view.schema in self._own_schemas):
                raise
            failure = told(error)
            hint = getattr(failure, "hint", "") or "see where with: tailpipe config check --sql"
            raise UsageError(f'the where of schema "{view.schema}" cannot be used: {failure}', hint=hint) from error

    def make_catalog(
        self, connection: duckdb.DuckDBPyConnection, read_tables: Callable[[Sequence[str]], list[str]]
    ) -> None:
        """Fill the tables of the catalog's own facts; `read_tables` says which of them the statement reads."""
        from tailpipe.query.summary import make_large_summary, make_summary  # late, because few statements ask for it

        large = self._shown.large_whole
        if large is None:
            if CATALOG not in self._made:
                make_summary(connection, self._shown.all_files())
                self._made[CATALOG] = True
            return
        with_files = read_tables(("days", "files")) != ["days"]
        if CATALOG not in self._made or (with_files and not self._made[CATALOG]):
            make_large_summary(connection, large, with_files=with_files)
            self._made[CATALOG] = with_files

    def outline(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the views that nobody has named yet, without rows."""
        if self._is_outlined:
            return
        if CATALOG not in self._made:
            from tailpipe.query.summary import outline_summary

            outline_summary(connection)
        from tailpipe.query.ocsf import ocsf_outlines

        for statement in ocsf_outlines():
            connection.execute(statement)
        for view in self._shown.views:
            if view.address not in self._made:
                connection.execute(view.outline)
                self._made[view.address] = None
        self._is_outlined = True
