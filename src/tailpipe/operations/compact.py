"""Compact: merge the small files of days."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.config.config import choose
from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.model.selector import Selection
from tailpipe.model.window import Window

if TYPE_CHECKING:
    from tailpipe.collect.job import Emit
    from tailpipe.lifecycle.compact import Compacted


@frozen
class Compact:
    """A request to merge files: of all days, or of those that the window touches."""

    partitions: Selection = ()
    window: Window | None = None
    reindex: bool = False
    dry_run: bool = False


def compact(home: Home, request: Compact, emit: Emit = lambda _: None) -> list[Compacted]:
    """Merge small files, also of partitions that the config no longer names."""
    from tailpipe.collect.check import check_sql
    from tailpipe.lifecycle.compact import compact_all, subjects_of
    from tailpipe.model.coverage import DaySet

    names = home.select(request.partitions)
    days = None if request.window is None else DaySet.touched(request.window)
    subjects = subjects_of(names, home.config.partitions, home.tables, days, reindex=request.reindex)
    if request.reindex:
        check_sql(home.config, choose(home.config, home.tables, names))
    if home.is_empty:
        return []
    with home.working(emit, is_read_only=request.dry_run) as (catalog, engine):
        landing_of = home.landing_of(engine)
        done = compact_all(catalog, engine, subjects, dry_run=request.dry_run, landing_of=landing_of)
        if not request.dry_run:
            home.followers.push(catalog, done, names)
    return home.followers.refresh_copies(done, is_changed=not request.dry_run)
