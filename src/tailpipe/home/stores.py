"""The stores of a workspace: which partition uses which, under which host name, and what pushes and pulls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.config.config import Config
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.detection import HITS
from tailpipe.model.host import check_host
from tailpipe.model.nearest import named
from tailpipe.model.store import Store, partition_by_of

if TYPE_CHECKING:  # few workspaces have a store
    from tailpipe.catalog.snapshot import LiveFile
    from tailpipe.config.settings import WorkspaceSettings
    from tailpipe.spark.object_source import Destination
    from tailpipe.stores.depot import StoreDepot
    from tailpipe.stores.pulling import Pulling
    from tailpipe.stores.push import Progress
    from tailpipe.stores.pushing import Pushing, StoreUse
    from tailpipe.stores.upload import Limits


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
class HomeStores:
    """The stores that the config names."""

    workspace: WorkspaceSettings
    config: Config

    def of(self, partition: str) -> Store | None:
        """The store of a `table.partition`: its own or the workspace's; None if it has none.

        A partition that the config does not name has that of the workspace, or else the only one of the config. Hits
        have none: how far the detections of a host have come is nobody else's business.
        """
        if partition == HITS:
            return None
        known = self.config.partitions.get(partition)
        default = self.workspace.store
        if known is not None or default is not None or len(self.config.stores) != 1:
            return (known.store if known else None) or default
        return next(iter(self.config.stores.values()))

    def named(self, name: str | None = None) -> list[Store]:
        """The store of that name, or all."""
        known = self.config.stores
        return [named("store", name.removeprefix("store."), known)] if name else list(known.values())

    @property
    def host(self) -> str | None:
        """The name that this host collects under; None if nothing is in a store."""
        partitions = self.config.partitions
        is_reader = bool(self.config.stores) and not partitions
        if self.workspace.store is None and not is_reader and not any(one.store for one in partitions.values()):
            return None
        return self.workspace.host or own_host()

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

    def pulling(self) -> Pulling:
        """What pulls partitions from the stores of the config."""
        from tailpipe.stores.open import open_store
        from tailpipe.stores.pulling import Pulling

        if not self.config.stores:
            raise UsageError("the config has no store", hint='add one: store "lake" { location = … }')
        return Pulling(self.config.stores.values(), self.workspace.host or own_host(), open_store)

    def _use_of(self, partition: str) -> StoreUse | None:
        """How a partition uses its store."""
        from tailpipe.stores.here import staying
        from tailpipe.stores.pushing import StoreUse

        store, known = self.of(partition), self.config.partitions.get(partition)
        if store is None:
            return None
        return StoreUse(
            store,
            tuple(partition_by_of(store.partition_by, known.tp_index if known else None)),
            lambda files: [file.path for file in staying(store.here, files, now=datetime.now(UTC))],
        )

    def depot(self, name: str) -> StoreDepot:
        """A store of the config as tasks on other hosts use it."""
        from tailpipe.stores.depot import StoreDepot

        return StoreDepot(self.config.stores[name])

    def address(self, file: LiveFile) -> str:
        """The name of a file in its store, for tasks on other hosts."""
        from tailpipe.kernel.delivery import address_of

        store = self.of(file.partition)
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
