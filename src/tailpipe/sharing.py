"""Data in stores: pushed there, pulled from there, pinned here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.data import Data
from tailpipe.frozen import frozen
from tailpipe.model.nearest import named
from tailpipe.model.selector import Selection, select
from tailpipe.model.window import EVER, Window

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    from tailpipe.config.dataset import Dataset
    from tailpipe.stores.part import Holding, Part
    from tailpipe.stores.pulled import PullReport
    from tailpipe.stores.push import Progress
    from tailpipe.stores.pushed import PushReport

__all__ = ["Sharing"]


@frozen
class Sharing:
    """What a workspace has in stores, and what of it is here; one method for each verb."""

    data: Data

    def push(
        self,
        partitions: Selection = (),
        *,
        dry_run: bool = False,
        bytes_per_second: float | None = None,
        emit: Callable[[Progress], None] = lambda _: None,
    ) -> list[PushReport]:
        """Push the selected partitions to their stores, or all of them; those without a store are left out.

        Then files leave this disk that need not stay. What could not be pushed is in the report.
        """
        from tailpipe.stores.upload import Limits

        names, pushing = self.data.select(partitions), self.data.pushing(limits=Limits(bytes_per_second), emit=emit)
        if pushing is None or self.data.begun() is None:
            return []
        with self.data.catalog() as catalog:  # not read only: an older catalog knows nothing of stores
            if dry_run:
                return pushing.preview(catalog, names)
            return list(pushing.finish(catalog, names).values())

    def pull(
        self,
        partitions: Selection = (),
        window: Window = EVER,
        *,
        indexes: Sequence[str] = (),
        with_data: bool = False,
        dry_run: bool = False,
    ) -> list[PullReport]:
        """Fetch what other hosts have pushed; with data also the files of a window, which are pinned here.

        Without a selection these are all partitions that the stores have.
        """
        from tailpipe.model.coverage import DaySet
        from tailpipe.stores.part import Part

        part = Part(DaySet.touched(window), tuple(indexes))
        return self._pull(lambda found: select(partitions, found), part, with_data=with_data, dry_run=dry_run)

    def pull_dataset(self, name: str, *, dry_run: bool = False) -> list[PullReport]:
        """Fetch what other hosts have pushed to the partitions of a dataset, and its files, which are pinned here."""
        from tailpipe.stores.part import Part

        dataset = self._dataset(name)
        part = Part.of(dataset, dataset.window(datetime.now(UTC)))
        return self._pull(dataset.select, part, with_data=True, dry_run=dry_run)

    def _pull(
        self, choose: Callable[[list[str]], list[str]], part: Part, *, with_data: bool, dry_run: bool
    ) -> list[PullReport]:
        """Pull those that `choose` takes of the partitions in the stores."""
        pulling = self.data.pulling()
        stores = {
            name: store
            for name, store in pulling.found().items()
            if (wanted := self.data.store_of(name)) is None or wanted.name == store
        }
        chosen = {name: stores[name] for name in choose(sorted(stores))}
        with self.data.catalog() as catalog:
            if dry_run:
                return pulling.preview(catalog, chosen, part, with_data=with_data)
            return self.data.followed(pulling.pull(catalog, chosen, part, with_data=with_data))

    def pin(self, partitions: Selection, window: Window = EVER, *, is_pinned: bool) -> dict[str, int]:
        """Pin the files of the dates that a window touches, or let go of them; how many have changed, by partition."""
        from tailpipe.model.coverage import DaySet
        from tailpipe.stores.part import Part
        from tailpipe.stores.tiers import pin

        part = Part(DaySet.touched(window))
        names = [name for name in self.data.select(partitions) if name in self.data.held()]
        done = {}
        with self.data.catalog() as catalog:
            for name in names:
                with catalog.writer(name) as writer:
                    done[name] = pin(writer, part, is_pinned=is_pinned)
        return done

    def datasets(self) -> list[tuple[Dataset, list[Holding]]]:
        """The datasets of the config with their files, by partition, as far as they are known here."""
        from tailpipe.stores.part import holdings

        known, now = [one for _, one in sorted(self.data.config.datasets.items())], datetime.now(UTC)
        if self.data.begun() is None:
            return [(dataset, []) for dataset in known]
        with self.data.catalog() as catalog:  # not read only: an older catalog knows nothing of stores
            return [(dataset, holdings(catalog, dataset, now)) for dataset in known]

    def drop_dataset(self, name: str) -> dict[str, int]:
        """Unpin the files of a dataset that no other of the config wants; how many, by partition."""
        from tailpipe.stores.part import Part
        from tailpipe.stores.tiers import pin

        dataset, now = self._dataset(name), datetime.now(UTC)
        part, done = Part.of(dataset, dataset.reach(now)), {}
        others = [one for one in self.data.config.datasets.values() if one is not dataset]
        names = list(filter(dataset.has, self.data.held()))
        if not names:
            return {}
        with self.data.catalog() as catalog:
            for held in names:
                kept = [Part.of(one, one.window(now)) for one in others if one.has(held)]
                with catalog.writer(held) as writer:
                    done[held] = pin(writer, part, is_pinned=False, but=kept)
        return done

    def _dataset(self, name: str) -> Dataset:
        return named("dataset", name.removeprefix("dataset."), self.data.config.datasets)
