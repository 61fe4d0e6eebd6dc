"""The data of a workspace: its directories, its catalog, and what has to follow each change of them."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailpipe.catalog.home import is_begun, make_directories, refuse_foreign
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.live import newer_live, open_live
from tailpipe.catalog.snapshot import LiveFile, Snapshot, current
from tailpipe.config.config import Config
from tailpipe.config.environment import Settings
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.detection import HITS
from tailpipe.model.host import check_host
from tailpipe.model.nearest import named
from tailpipe.model.option import unresolved_in
from tailpipe.model.selector import Selection, select
from tailpipe.model.store import PARTITION_BY, Store, partition_by_of
from tailpipe.model.table import Table
from tailpipe.model.window import day_before
from tailpipe.storage.scratch import make_scratch
from tailpipe.stores.version import NOW, Version

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    from tailpipe.catalog.catalog import Catalog
    from tailpipe.catalog.doctor import Finding, Repaired
    from tailpipe.catalog.read import PartitionTotals
    from tailpipe.catalog.rebuild import Rebuilt
    from tailpipe.model.store import Store
    from tailpipe.query.databases import Databases, Wish
    from tailpipe.query.narrowing import Narrowing
    from tailpipe.query.session import Session
    from tailpipe.spark.object_source import Destination
    from tailpipe.stores.depot import StoreDepot
    from tailpipe.stores.fetch import Fetched, Reader
    from tailpipe.stores.fetch import Limits as FetchLimits
    from tailpipe.stores.pulling import Pulling
    from tailpipe.stores.push import Progress
    from tailpipe.stores.pushing import Pushing, StoreUse
    from tailpipe.stores.republish import Republished
    from tailpipe.stores.sweep import Swept
    from tailpipe.stores.upload import Limits

    OnFetch = Callable[[Fetched], None]

__all__ = ["Data", "Say", "own_host"]

Say = Callable[[str], None]
T = TypeVar("T")


def own_host() -> str:
    """The host name of this machine, if stores can use it."""
    import socket  # late, because few workspaces have a store

    name = socket.gethostname()
    try:
        check_host(name)
    except UsageError as error:
        hint = 'name it in the config: workspace "default" { host = "…" }'
        raise UsageError(f'the host name of this machine, "{name}", cannot be used in stores', hint=hint) from error
    return name


@frozen
class Data:
    """What was collected, and who looks at it; `say` gets what a person should know."""

    settings: Settings
    config: Config
    tables: Mapping[str, Table]
    say: Say
    unpushed: list[str] = field(default_factory=list, compare=False)
    """The partitions whose changes are committed here, but could not be pushed."""

    def prepare(self) -> Layout:
        """Make the directories, or refuse one that holds someone else's data."""
        directories = (self.settings.location, self.settings.data_dir)
        for directory in set(directories):
            refuse_foreign(directory, self.settings.workspace.name)
        make_directories(directories, self.say)
        return replace(Layout.of(*directories), wanted=self._wanted(), **self._hive())

    def _wanted(self) -> dict[str, Path]:
        """Where the config wants the local files of its partitions; what it does not name stays where it is."""
        stores = {name: self.store_of(name) for name in self.config.partitions}
        paths = {name: store.here.path if store and store.here else None for name, store in stores.items()}
        return {
            name: Path(path) if path else self.settings.data_dir.absolute()
            for name, path in paths.items()
            if not unresolved_in(path)
        }

    def _hive(self) -> dict[str, Any]:
        """How the directories of the hive are named, if not as usual."""
        names = self.settings.workspace.partition_by
        if tuple(names) == PARTITION_BY:
            return {}
        partitions = self.config.partitions.items()
        hive = {name: partition_by_of(names, partition.tp_index) for name, partition in partitions}
        return {"hive": hive, "hive_of_others": partition_by_of(names, None)}

    def begun(self) -> Layout | None:
        """The same; None if nothing was ever collected."""
        layout = self.prepare()
        return layout if is_begun(layout) else None

    def held(self) -> Mapping[str, PartitionTotals]:
        """How much each partition holds, by `table.partition`; also those that no config names any more."""
        return self.read(lambda catalog: {totals.name: totals for totals in catalog.partitions()}, {})

    def select(self, partitions: Selection = ()) -> list[str]:
        """The selected partitions, of those in the config and those that hold data."""
        return select(partitions, sorted({*self.config.partitions, *self.held()}))

    def store_of(self, partition: str) -> Store | None:
        """The store of a `table.partition`: its own or the workspace's; None if it has none.

        A partition that the config does not name has that of the workspace, or else the only one of the config. Hits
        have none: how far the detections of a host have come is nobody else's business.
        """
        if partition == HITS:
            return None
        known = self.config.partitions.get(partition)
        default = self.settings.workspace.store
        if known is not None or default is not None or len(self.config.stores) != 1:
            return (known.store if known else None) or default
        return next(iter(self.config.stores.values()))

    @property
    def host(self) -> str | None:
        """The name that this host collects under; None if nothing is in a store."""
        workspace = self.settings.workspace
        partitions = self.config.partitions
        is_reader = bool(self.config.stores) and not partitions
        if workspace.store is None and not is_reader and not any(one.store for one in partitions.values()):
            return None
        return workspace.host or own_host()

    def pushing(
        self, *, limits: Limits | None = None, emit: Callable[[Progress], None] = lambda _: None, is_off: bool = False
    ) -> Pushing | None:
        """What pushes partitions to their stores; None if none has a store."""
        host = self.host
        if host is None:
            return None
        from tailpipe.stores.open import open_store
        from tailpipe.stores.pushing import AUTO_SECONDS, Pushing
        from tailpipe.stores.upload import Limits

        return Pushing(self._use_of, host, open_store, limits or Limits(seconds=AUTO_SECONDS), emit, is_off)

    def depot(self, name: str) -> StoreDepot:
        """A store of the config as tasks on other hosts use it."""
        from tailpipe.stores.depot import StoreDepot

        return StoreDepot(self.config.stores[name])

    def address(self, file: LiveFile) -> str:
        """The name of a file in its store, for tasks on other hosts."""
        from tailpipe.kernel.delivery import address_of

        store = self.store_of(file.partition)
        if store is None or file.key is None:
            hint = "run: tailpipe push" if store else "give the partition a store, or remove --engine spark"
            raise UsageError(f"{file.partition} has files on this disk only, which a cluster cannot read", hint=hint)
        return address_of(store.name, file.key, file.sha256)

    def destination(self, location: str) -> Destination:
        """A bucket or directory that takes an answer, with the connection of a store that is there, too."""
        from tailpipe.spark.object_source import Destination
        from tailpipe.storage.locations import parse_location

        place = parse_location(location)
        near = [one for one in self.config.stores.values() if parse_location(one.location).host == place.host]
        if not near and place.scheme == "s3":
            raise UsageError(
                f'no connection is known for "{place.plain}"', hint="add a store with a location in that bucket"
            )
        return Destination(location, near[0].connection if near else None)

    def pulling(self) -> Pulling:
        """What pulls partitions from the stores of the config."""
        from tailpipe.stores.open import open_store
        from tailpipe.stores.pulling import Pulling

        if not self.config.stores:
            raise UsageError("the config has no store", hint='add one: store "lake" { location = … }')
        host = self.settings.workspace.host or own_host()
        return Pulling(self.config.stores.values(), host, open_store)

    def _use_of(self, partition: str) -> StoreUse | None:
        """How a partition uses its store."""
        from tailpipe.stores.here import staying
        from tailpipe.stores.pushing import StoreUse

        store, known = self.store_of(partition), self.config.partitions.get(partition)
        if store is None:
            return None
        return StoreUse(
            store,
            tuple(partition_by_of(store.partition_by, known.tp_index if known else None)),
            lambda files: [file.path for file in staying(store.here, files, now=datetime.now(UTC))],
        )

    def pushed(self, catalog: Catalog, outcome: T, partitions: Iterable[str]) -> T:
        """The outcome of a change, once it was pushed to the stores of its partitions.

        The change is committed, so a failure is only reported, and noted in `unpushed`.
        """
        pushing = self.pushing()
        for report in pushing.finish(catalog, partitions).values() if pushing else ():
            if reason := report.failure:
                self.unpushed.append(report.partition)
                self.say(f"warning: {report.partition} was not pushed: {reason}; to push it: tailpipe push")
        return outcome

    def stores(self, name: str | None = None) -> list[Store]:
        """The store of that name, or all."""
        known = self.config.stores
        return [named("store", name.removeprefix("store."), known)] if name else list(known.values())

    def publish(self, store: Store, tables: Collection[str] = ()) -> list[Republished]:
        """Delete what other engines see of tables of a store, or of all, and publish it anew."""
        from tailpipe.stores.open import open_store
        from tailpipe.stores.republish import republish

        with self.catalog() as catalog:
            return republish(catalog, open_store(store), tables)

    def clean_store(self, store: Store, *, dry_run: bool = False) -> Swept | None:
        """Delete objects of a store that nothing needs any more; None if nothing was ever pushed to it."""
        from tailpipe.stores.log import store_id
        from tailpipe.stores.open import open_store
        from tailpipe.stores.sweep import sweep

        objects, now = open_store(store), datetime.now(UTC)
        history = now - datetime.combine(day_before(store.history, now=now), time.min, UTC)
        with self.catalog(is_read_only=dry_run) as catalog:
            identity = store_id(catalog.database, objects, may_make=False)
            host, layout = self.host or own_host(), catalog.database.layout
            return sweep(layout, objects, identity, host, history=history, dry_run=dry_run) if identity else None

    @contextmanager
    def catalog(self, *, is_read_only: bool = False) -> Iterator[Catalog]:
        """The catalog, opened; the databases of other clients follow its commits."""
        from tailpipe.catalog.catalog import Catalog

        layout = self.prepare()
        opened = partial(Catalog.open, layout, is_read_only=is_read_only, host=self.host, bring=self.bring)
        with self.databases().following() as follow, opened(on_commit=follow) as catalog:
            yield catalog

    def read(self, ask: Callable[[Catalog], T], nothing: T) -> T:
        """What the catalog answers, or `nothing` if nothing was ever collected."""
        if self.begun() is None:
            return nothing
        with self.catalog(is_read_only=True) as catalog:
            return ask(catalog)

    def examine(self, *, with_checksums: bool) -> list[Finding]:
        """What differs between the disk and the catalog; nothing if nothing was ever collected."""
        from tailpipe.catalog import doctor

        if (layout := self.begun()) is None:
            return []
        return doctor.examine(layout, with_checksums=with_checksums)

    def repair(self, *, with_checksums: bool, accept_loss: bool = False) -> Repaired:
        """Mend what the doctor finds; with `accept_loss` also if a disk that is not mounted is lost."""
        from tailpipe.catalog import doctor

        layout, pushing = self.prepare(), self.pushing()
        fetch = pushing.fetch if pushing else None
        done = doctor.repair(
            layout, with_checksums=with_checksums, fetch=fetch, host=self.host, accept_loss=accept_loss
        )
        if pushing:
            with self.catalog() as catalog:
                self.pushed(catalog, done, self.config.partitions)
        return done

    def examine_stores(self, *, with_checksums: bool, is_repaired: bool = False) -> tuple[list[Finding], int]:
        """What the stores of partitions lack, and how many objects were put back if it is repaired."""
        from tailpipe.stores.examine import examine_store, repair_store
        from tailpipe.stores.open import open_store

        if self.begun() is None:
            return [], 0
        found, count = [], 0
        with self.catalog(is_read_only=not is_repaired) as catalog:
            names = [totals.name for totals in catalog.partitions()]
            for store in self.config.stores.values():
                own = [name for name in names if (used := self.store_of(name)) and used.name == store.name]
                objects = open_store(store)
                some = examine_store(catalog.database, objects, own, with_checksums=with_checksums) if own else []
                count += repair_store(catalog.database, objects, some) if is_repaired else 0
                found += some
        return found, count

    def rebuild(self, *, accept_loss: bool) -> Rebuilt:
        """Write the catalog anew from the manifests; with `accept_loss` also if some of them are lost."""
        from tailpipe.catalog.rebuild import rebuild

        layout = self.prepare()
        return rebuild(layout, accept_loss=accept_loss)

    def session(
        self,
        narrowing: Narrowing | None,
        *,
        is_unsafe: bool = False,
        has_copies: bool = True,
        timeout_seconds: float | None = None,
        limits: FetchLimits | None = None,
        on_fetch: OnFetch = lambda _: None,
        version: Version = NOW,
        hides_places: bool = False,
    ) -> Session:
        """A session for queries over what is there now or was there, or over a part of it."""
        from tailpipe.query.session import Session

        layout, is_past = self.prepare(), version != NOW
        snapshot = self.past(version, self.say) if is_past else open_live(layout)
        if narrowing is not None:
            narrowing.check(snapshot, self.config.partitions)
        return Session(
            snapshot,
            self.tables,
            schemas=self.config.schemas.values(),
            narrowing=narrowing,
            newer=(lambda _: None) if is_past else partial(newer_live, layout),
            is_unsafe=is_unsafe,
            has_copies=has_copies and not is_past,  # copies are of what is there now
            timeout_seconds=timeout_seconds,
            open_reader=lambda: self.reader(limits, on_fetch),
            hides_places=hides_places,
        )

    def reader(self, limits: FetchLimits | None = None, on_fetch: OnFetch = lambda _: None) -> Reader:
        """What gives files wherever they are; close it."""
        from tailpipe.stores.cache import CACHE_BYTES, Cache
        from tailpipe.stores.fetch import Reader

        directory = self.prepare().cache
        if not os.access(directory if directory.exists() else directory.parent, os.W_OK):
            # Somebody else's workspace: what is fetched for this session is kept for it alone.
            directory = make_scratch(Path(tempfile.gettempdir()), "tailpipe-cache-").path
        cache = Cache(directory, self.settings.workspace.cache_bytes or CACHE_BYTES)
        return Reader(cache, self.store_of, limits, emit=on_fetch, say=self.say)

    def bring(self, files: Sequence[LiveFile], place: Callable[[LiveFile], str]) -> list[str]:
        """The paths of files on this disk until the process ends; those in a store alone are fetched whole."""
        if all(file.is_here for file in files):
            return [place(file) for file in files]
        reader = self.reader()
        atexit.register(reader.close)
        return reader.local(files, place)

    def past(self, version: Version, warn: Say = lambda _: None) -> Snapshot:
        """What was there at a time, or what a tag names; `warn` is called if that is before all commits."""
        from tailpipe.stores.versions import past

        if self.begun() is None:
            return current(self.prepare())
        with self.catalog(is_read_only=True) as catalog:
            found = past(catalog.database, version, self.store_of, self.config.stores.values(), datetime.now(UTC), warn)
        return replace(found, bring=self.bring)

    def databases(self) -> Databases:
        """The databases of other clients."""
        from tailpipe.query.databases import Databases

        return Databases(self.prepare(), self.client_statements)

    def client_statements(self, wish: Wish) -> list[str]:
        """The statements that make the views of a wish in a client's own database."""
        from tailpipe.query.client_views import statements_of

        hive, schemas = self.settings.data_dir, self.config.schemas.values()
        snapshot = self.past(wish.version) if wish.version != NOW else current(self.prepare())
        return statements_of(wish, snapshot, self.tables, schemas, hive, now=datetime.now(UTC))

    def followed(self, outcome: T, dry_run: bool = False) -> T:
        """The outcome of a change, once the copies of materialized schemas have followed it."""
        from tailpipe.query.materialized import refresh

        if not dry_run:
            try:
                snapshot = replace(current(self.prepare()), bring=self.bring)
                refresh(snapshot, self.tables, self.config.schemas.values(), now=datetime.now(UTC))
            except Exception as error:  # noqa: BLE001 - the views themselves still answer
                self.say(f"warning: a materialized schema could not be copied, its views are used instead: {error}")
        return outcome
