"""What follows a commit: pushes to stores, published tables, the databases of other clients, copies of schemas.

    | follower            | when                                    | lock                                    |
    |---------------------|-----------------------------------------|-----------------------------------------|
    | 1 store, Delta      | each commit of `collect`; the end of    | the partition's                         |
    |                     | every operation that changes data       |                                         |
    | 2 client databases  | each commit; at the end if one was left | none: they are replaced by a rename     |
    |                     | out because writing them takes long     |                                         |
    | 3 copies of schemas | the end of the operation, catalog closed | none: their names are hashes of content |

On a cluster that writes to the store, the store comes before the commit and not after it: see `stores/landing.py`.
Readers do not subscribe: sessions and the explorer compare the number of the newest commit when they are used.
A failure of a follower never undoes or hides the commit: it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from tailpipe.catalog.snapshot import current
from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen

if TYPE_CHECKING:
    from tailpipe.catalog.catalog import Catalog
    from tailpipe.home.home import Home
    from tailpipe.query.databases import ClientViews, Databases

T = TypeVar("T")


@frozen
class Followers:
    """The followers of the commits of a workspace, in the order of the table above."""

    home: Home

    @contextmanager
    def announced(self) -> Iterator[Callable[[], None]]:
        """What the catalog calls after each commit."""
        with self.databases().following() as follow:
            yield follow

    def push(self, catalog: Catalog, outcome: T, partitions: Iterable[str]) -> T:
        """The outcome of a change, once it was pushed to the stores of its partitions; `unpushed` notes a failure."""
        pushing = self.home.stores.pushing()
        for report in pushing.finish(catalog, partitions).values() if pushing else ():
            if reason := report.failure:
                self.home.unpushed.append(report.partition)
                self.home.warn(f"{report.partition} was not pushed: {reason}; to push it: tailpipe push")
        return outcome

    def refresh_copies(self, outcome: T, *, is_changed: bool = True) -> T:
        """The outcome of a change, once the copies of materialized schemas have followed it."""
        from tailpipe.query.materialized import refresh
        from tailpipe.sql.duck import duckdb

        home = self.home
        if is_changed:
            try:
                snapshot = replace(current(home.layout()), bring=home.bring)
                refresh(snapshot, home.tables, home.config.schemas.values(), now=datetime.now(UTC))
            except (TailpipeError, duckdb.Error, OSError) as error:  # the views themselves still work
                home.warn(f"a materialized schema could not be copied, its views are used instead: {error}")
        return outcome

    def databases(self) -> Databases:
        """The databases of other clients."""
        from tailpipe.query.databases import Databases

        return Databases(self.home.layout(), self.statements)

    def statements(self, views: ClientViews) -> list[str]:
        """The statements that create the requested views in a client's own database."""
        from tailpipe.query.client_views import statements_of

        home = self.home
        snapshot = home.snapshot(views.version)
        return statements_of(
            views, snapshot, home.tables, home.config.schemas.values(), home.settings.data_dir, now=datetime.now(UTC)
        )
