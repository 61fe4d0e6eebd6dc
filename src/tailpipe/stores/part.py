"""Parts of partitions: which of their files are wanted on this disk, and what datasets have of them."""

from __future__ import annotations

from datetime import date, datetime
from fnmatch import fnmatchcase

from tailpipe.catalog.catalog import Catalog
from tailpipe.config.dataset import Dataset
from tailpipe.frozen import frozen
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.window import Window


@frozen
class Part:
    """Which files of a partition are wanted here: by their dates and, if any are named, their indexes."""

    days: DaySet = EVERY_DAY
    indexes: tuple[str, ...] = ()
    """Values, which may have wildcards."""

    @classmethod
    def of(cls, dataset: Dataset, window: Window) -> Part:
        """What a dataset wants of each of its partitions in a window."""
        return cls(DaySet.touched(window), () if "*" in dataset.indexes else tuple(dataset.indexes))

    def has(self, day: str, index: str | None) -> bool:
        """Whether a file of that date, as the catalog writes it, and that index belongs to it."""
        if date.fromisoformat(day) not in self.days:
            return False
        return not self.indexes or (
            index is not None and (index in self.indexes or any(fnmatchcase(index, one) for one in self.indexes))
        )


WHOLE = Part()
"""All files of a partition."""


@frozen
class Holding:
    """The live files of a part of a partition: those on this disk, and those that are in its store alone."""

    partition: str
    here_files: int = 0
    here_size: int = 0
    pinned_files: int = 0
    """Files on this disk that no rule lets leave."""
    store_files: int = 0
    store_size: int = 0

    def __add__(self, other: Holding) -> Holding:
        return Holding(
            self.partition,
            self.here_files + other.here_files,
            self.here_size + other.here_size,
            self.pinned_files + other.pinned_files,
            self.store_files + other.store_files,
            self.store_size + other.store_size,
        )


def holdings(catalog: Catalog, dataset: Dataset, now: datetime) -> list[Holding]:
    """What the catalog knows of the files of a dataset, for each of its partitions."""
    part, found = Part.of(dataset, dataset.window(now)), dict[str, Holding]()
    rows = catalog.database.connection.execute(
        "SELECT partitions.name, tp_date, tp_index, sum(here), sum(here * bytes), sum(here * is_pinned),"
        " sum(1 - here), sum((1 - here) * bytes) FROM files JOIN partitions ON partitions.id = files.partition_id"
        " WHERE state = 'live' AND role = 'data' GROUP BY 1, 2, 3 ORDER BY 1"
    )
    for name, day, index, *numbers in rows:
        if dataset.has(name) and part.has(day, index):
            found[name] = found.get(name, Holding(name)) + Holding(name, *numbers)
    return list(found.values())
