"""Pull the partitions of a workspace: those of its config, and those that only their stores know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tailpipe.catalog.catalog import Catalog
from tailpipe.errors import LockedError, TailpipeError
from tailpipe.model.store import Store
from tailpipe.storage.objects import Objects
from tailpipe.stores.follow import far
from tailpipe.stores.log import ahead, read_ahead
from tailpipe.stores.part import Part
from tailpipe.stores.pull import bring, logged, pull, remote_files
from tailpipe.stores.pulled import PullReport


class Pulling:
    """Pulls partitions as one host; a failure never goes further than the report of its partition."""

    def __init__(self, stores: Iterable[Store], host: str, open_store: Callable[[Store], Objects]) -> None:
        self.host = host
        self._objects = {store.name: open_store(store) for store in stores}

    def found(self) -> Mapping[str, str]:
        """The partitions of which stores have logs, with the name of the store."""
        return {partition: name for name, objects in self._objects.items() for partition in sorted(logged(objects))}

    def preview(self, catalog: Catalog, stores: Mapping[str, str], part: Part, *, with_data: bool) -> list[PullReport]:
        """What a pull would bring. With data the log is read, as a pull does, and nothing is kept of it."""
        return [self._preview(catalog, name, store, part, with_data) for name, store in stores.items()]

    def _preview(self, catalog: Catalog, partition: str, store: str, part: Part, with_data: bool) -> PullReport:
        made, objects, run = PullReport(partition, store), self._objects[store], catalog.database.connection.execute
        (known,) = run(
            "SELECT max(version) FROM stores WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)",
            (partition,),
        ).fetchone()
        is_met = run("SELECT 1 FROM facts WHERE name = ?", (f"store:{objects.location}",)).fetchone()
        try:
            found = ahead(objects, partition, known or 0, far=far(known or 0))
            unread = read_ahead(objects, partition, found) if with_data else ()
            files = remote_files(catalog, partition, part, unread) if with_data else []
        except (TailpipeError, OSError) as error:
            return replace(made, error=error.with_hint if isinstance(error, TailpipeError) else str(error))
        # A listing, the name of a store that is new here, the log, and the files.
        requests = 1 + (is_met is None) + found.requests + len(files)
        size, commits = sum(file.size for file in files), found.head - (known or 0)
        return replace(made, version=found.head, commits=commits, files=len(files), bytes=size, requests=requests)

    def pull(self, catalog: Catalog, stores: Mapping[str, str], part: Part, *, with_data: bool) -> list[PullReport]:
        """Fetch the logs of partitions, and on request the files of a part."""
        return [self._pull(catalog, name, store, part, with_data) for name, store in stores.items()]

    def _pull(self, catalog: Catalog, partition: str, store: str, part: Part, with_data: bool) -> PullReport:
        made, objects = PullReport(partition, store), self._objects[store]
        before = sum(objects.requests.values())
        try:
            with catalog.writer(partition) as writer:
                version, found = pull(writer, objects, self.host)
                made = replace(
                    made, version=version, commits=found.pulled, conflicts=(*map(str, found.conflicts), *found.notes)
                )
                if with_data:
                    files, size = bring(writer, objects, part)
                    made = replace(made, files=files, bytes=size)
        except LockedError as error:
            made = replace(made, locked=error.message)
        except (TailpipeError, OSError) as error:
            made = replace(made, error=error.with_hint if isinstance(error, TailpipeError) else str(error))
        return replace(made, requests=sum(objects.requests.values()) - before)
