"""The views of a session in its connection: each is made when a statement names it, over the files that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailpipe.errors import UsageError
from tailpipe.query.shown import Address, Needed, Shown
from tailpipe.query.views import CATALOG
from tailpipe.sql.duck import duckdb


class MadeViews:
    """Which views one connection has over one snapshot."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._made: dict[Address | str, object] = {}
        self._is_outlined = False

    def make(
        self,
        connection: duckdb.DuckDBPyConnection,
        needed: Sequence[Needed],
        paths: Mapping[Address, Sequence[str]],
        explain: Callable[[Exception], BaseException],
        is_about_known: bool,
    ) -> None:
        """Make these views; `paths` are those of files that are not all on this disk."""
        for view, files in needed:
            address, made = view.address, (files, is_about_known or bool(view.conditions))
            if self._made.get(address) == made and address not in paths:
                continue
            is_plain = not made[1] or address in paths
            places = paths[address] if address in paths else [view.place(file) for file in files]
            try:
                connection.execute(view.over_paths(places, is_plain=is_plain))
            except (duckdb.BinderException, duckdb.CatalogException) as error:
                if not (view.conditions and view.schema in self._shown.own_schemas):
                    raise  # else it is a mistake of the schema, not of the statement
                failure = explain(error)
                hint = getattr(failure, "hint", "") or "see where with: tailpipe config check --sql"
                raise UsageError(f'the where of schema "{view.schema}" cannot be used: {failure}', hint=hint) from error
            self._made[address] = made

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
        """Make the views that no statement has named yet, without rows."""
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
