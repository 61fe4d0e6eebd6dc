"""Coverage as changes: a replay of the manifests gives what the commits gave, and no host erases days of another."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailpipe.catalog import manifest
from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.coverage import load_coverage
from tailpipe.catalog.database import open_database
from tailpipe.catalog.enter import enter
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.rebuild import rebuild
from tailpipe.model.coverage import Coverage, DaySet
from tailpipe.model.staged import Covered
from tailpipe.model.window import Window
from tests.examples import examples

PARTITION = "app_log.prod"
FIRST = date(2024, 1, 1)
SOURCES = ("file", "live")
DAYS = st.integers(0, 12).map(lambda number: FIRST + timedelta(days=number))
SETS = st.lists(DAYS, min_size=1, max_size=4).map(DaySet.of)
NAMES = st.sampled_from(SOURCES)
FEW = settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))

Deed = Callable[[Writer], object]


def _run(requests: dict[str, DaySet], frontiers: dict[str, date]) -> Deed:
    return lambda writer: writer.begin_run(Window.of_day(FIRST), requests, frontiers=frontiers)


RUNS = st.builds(_run, st.dictionaries(NAMES, SETS), st.dictionaries(NAMES, DAYS))
COVERS = st.builds(
    lambda source, days, day: lambda writer: writer.note((), [Covered(source, days, day)]), NAMES, SETS, DAYS
)
DELETES = SETS.map(lambda days: lambda writer: writer.delete(days))
HISTORIES = st.lists(st.one_of(RUNS, RUNS, COVERS, COVERS, DELETES), max_size=10)


def _end(writer: Writer) -> None:
    """The last commit takes along what runs have requested before it."""
    writer.note()


@contextmanager
def _place() -> Iterator[Path]:
    # In memory, if there is one: fsync costs nothing there.
    place = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _do(home: Path, deeds: list[Deed], host: str | None = None) -> list[Manifest]:
    """Do one deed after the other; returns the manifests in their order."""
    with Catalog.open(home, host=host) as catalog:
        for deed in deeds:
            with catalog.writer(PARTITION) as writer:
                deed(writer)
    found = [manifest.read(path) for path in sorted(Layout.of(home).manifests.glob("*.manifest"))]
    return sorted(found, key=lambda one: one.sequence)


def _known(home: Path) -> dict[str, Coverage]:
    with closing(open_database(Layout.of(home), is_read_only=True)) as database, database.reading() as connection:
        return load_coverage(connection, 1)


@given(deeds=HISTORIES, host=st.sampled_from([None, "web-1"]))
@FEW
def test_a_rebuild_gives_the_coverage_that_the_commits_gave(deeds: list[Deed], host: str | None) -> None:
    with _place() as place:
        _do(place, [*deeds, _end], host)
        before = _known(place)
        rebuild(place)
        assert _known(place) == before


@given(ours=HISTORIES, theirs=HISTORIES, order=st.lists(st.booleans()))
@FEW
def test_changes_of_two_hosts_never_erase_days_of_each_other(
    ours: list[Deed], theirs: list[Deed], order: list[bool]
) -> None:
    with _place() as place:
        # One of them had collected before it had a store, and so its manifests name no host.
        logs = [_do(place / "one", [*ours, _end], "web-1"), _do(place / "two", [*theirs, _end])]
        with Catalog.open(place / "third", host="web-3") as catalog:
            for is_first in [*order, *([True] * len(logs[0])), *([False] * len(logs[1]))]:
                log = logs[0] if is_first else logs[1]
                if log:
                    with catalog.database.writing() as connection:
                        enter(connection, log.pop(0), pushed_by="web-1" if is_first else "web-2")
            assert catalog.coverage(PARTITION) == {}
        two = {f"{key}@web-2": coverage for key, coverage in _known(place / "two").items()}
        assert _known(place / "third") == _known(place / "one") | two
