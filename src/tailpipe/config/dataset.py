"""Datasets: named working sets, which a machine keeps on its disk of what the stores have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from tailpipe.errors import UsageError
from tailpipe.model.names import check_reference_name
from tailpipe.model.nearest import listed
from tailpipe.model.option import Declared, label, option
from tailpipe.model.selector import check_selectors
from tailpipe.model.window import EVER, Window, check_moment, parse_moment, window_between


class Dataset(Declared):
    """A named working set: the files of some partitions, dates and indexes."""

    name: str = label("Name of the dataset.", check=check_reference_name)
    description: str | None = option("What the dataset is for, in a sentence.", default=None)
    tables: Sequence[str] = option("Tables to fetch; wildcards are allowed.", default=("*",), check=check_selectors)
    partitions: Sequence[str] = option(
        "Partitions to fetch, by name or by table and name; wildcards are allowed.",
        default=("*",),
        check=check_selectors,
    )
    from_: str | None = option("Only days from this time on.", default=None, check=check_moment)
    to: str | None = option(
        "Only days before this time; a bare date includes that day.", default=None, check=check_moment
    )
    indexes: Sequence[str] = option("Values of `tp_index` to fetch; wildcards are allowed.", default=("*",))

    def has(self, partition: str) -> bool:
        """Whether a `table.partition` belongs to it."""
        table, _, name = partition.partition(".")
        is_named = any(fnmatchcase(partition if "." in one else name, one) for one in self.partitions)
        return is_named and any(fnmatchcase(table, one) for one in self.tables)

    def select(self, partitions: Iterable[str]) -> list[str]:
        """Those that belong to it; none is an error, because a wrong name must not look like «nothing to do»."""
        known = list(partitions)
        chosen = list(filter(self.has, known))
        if not chosen:
            hint = f"the stores have: {listed(known, 5)}" if known else "the stores have no partition yet"
            raise UsageError(f'no partition in the stores belongs to dataset "{self.name}"', hint=hint)
        return chosen

    def window(self, now: datetime) -> Window:
        """The span between its two times; relative ones count from `now`."""
        return window_between(self.from_, self.to, now=now)

    def reach(self, now: datetime) -> Window:
        """All that its window may have held until now: one whose beginning moves has left earlier days behind."""
        window, before = self.window(now), now - timedelta(days=2)
        moves = self.from_ is not None and parse_moment(self.from_, now=now) != parse_moment(self.from_, now=before)
        return Window(EVER.start, window.end) if moves else window
