"""Pull: fetch what other hosts have pushed, and pin files on this disk."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.model.nearest import named
from tailpipe.model.selector import Selection, select
from tailpipe.model.window import EVER, Window

if TYPE_CHECKING:
    from tailpipe.config.dataset import Dataset
    from tailpipe.stores.part import Holding
    from tailpipe.stores.pulled import PullReport


@frozen
class Pull:
    """A request to pull, of all partitions in the stores without a selection.

    `with_data` also fetches the files of the window and pins them. A `dataset` selects partitions and window itself.
    """

    partitions: Selection = ()
    window: Window = EVER
    indexes: tuple[str, ...] = ()
    with_data: bool = False
    dataset: str | None = None
    dry_run: bool = False


def pull(home: Home, request: Pull) -> list[PullReport]:
    """Fetch the logs of partitions, and the requested files."""
    from tailpipe.model.coverage import DaySet
    from tailpipe.stores.part import Part

    choose: Callable[[list[str]], list[str]] = lambda found: select(request.partitions, found)  # noqa: E731
    part, with_data = Part(DaySet.touched(request.window), request.indexes), request.with_data
    if request.dataset is not None:
        dataset = _dataset(home, request.dataset)
        choose, part, with_data = dataset.select, Part.of(dataset, dataset.window(datetime.now(UTC))), True
    pulling = home.stores.pulling()
    stores = {
        name: store
        for name, store in pulling.found().items()
        if (wanted := home.stores.of(name)) is None or wanted.name == store
    }
    chosen = {name: stores[name] for name in choose(sorted(stores))}
    with home.catalog() as catalog:
        if request.dry_run:
            return pulling.preview(catalog, chosen, part, with_data=with_data)
        return home.followers.refresh_copies(pulling.pull(catalog, chosen, part, with_data=with_data))


def pin(home: Home, partitions: Selection, window: Window = EVER, *, is_pinned: bool) -> dict[str, int]:
    """Pin or unpin the files of the dates that a window touches; returns how many changed, by partition."""
    from tailpipe.model.coverage import DaySet
    from tailpipe.stores.part import Part
    from tailpipe.stores.tiers import pin

    part, held = Part(DaySet.touched(window)), home.held()
    names = [name for name in home.select(partitions) if name in held]
    done = {}
    with home.catalog() as catalog:
        for name in names:
            with catalog.writer(name) as writer:
                done[name] = pin(writer, part, is_pinned=is_pinned)
    return done


def datasets(home: Home) -> list[tuple[Dataset, list[Holding]]]:
    """The datasets of the config with their known files, by partition."""
    from tailpipe.stores.part import holdings

    known, now = [one for _, one in sorted(home.config.datasets.items())], datetime.now(UTC)
    if home.is_empty:
        return [(dataset, []) for dataset in known]
    with home.catalog() as catalog:  # not read only: an older catalog knows nothing of stores
        return [(dataset, holdings(catalog, dataset, now)) for dataset in known]


def drop_dataset(home: Home, name: str) -> dict[str, int]:
    """Unpin the files of a dataset that no other of the config wants; returns how many, by partition."""
    from tailpipe.stores.part import Part
    from tailpipe.stores.tiers import pin

    dataset, now = _dataset(home, name), datetime.now(UTC)
    part, done = Part.of(dataset, dataset.reach(now)), {}
    others = [one for one in home.config.datasets.values() if one is not dataset]
    names = list(filter(dataset.has, home.held()))
    if not names:
        return {}
    with home.catalog() as catalog:
        for held in names:
            kept = [Part.of(one, one.window(now)) for one in others if one.has(held)]
            with catalog.writer(held) as writer:
                done[held] = pin(writer, part, is_pinned=False, but=kept)
    return done


def _dataset(home: Home, name: str) -> Dataset:
    return named("dataset", name.removeprefix("dataset."), home.config.datasets)
