"""Many hosts push to one log at once, with faults and killed writers: nothing is lost, and nothing is duplicated."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.doctor import examine
from tailpipe.errors import ObjectStoreError
from tailpipe.storage.objects import Objects
from tests.object_faults import Busy, Fault, FaultyObjects, Kill, KilledError, Lost, seeded
from tests.stores.conftest import Shared
from tests.stores.test_rebase import rows_of, take

HOSTS = 4
COMMITS = int(os.environ.get("TAILPIPE_COMMITS", "100"))
FIRST = date(2024, 1, 1)


def _day(number: int) -> date:
    """An object is always of the same day, as by a layout."""
    return FIRST + timedelta(days=number % 7)


def _collect(host: Shared, chosen: random.Random, known: range) -> None:
    """Take objects of one day that this host does not know to be taken."""
    day = _day(chosen.choice(known))
    taken = {str(origin) for (origin,) in host.ask("SELECT origin FROM artifacts")}
    free = [f"s3://b/{number}" for number in known if _day(number) == day and f"s3://b/{number}" not in taken]
    if free:
        take(host, chosen.sample(free, min(len(free), chosen.randint(1, 3))), day=day)


def _live(host: Shared, objects: Objects, seed: int, known: range, problems: list[str]) -> None:
    """Collect and push again and again, die now and then, and go on."""
    chosen = random.Random(seed)
    faults: list[Fault] = [Lost(), Busy(), Kill(), Kill(is_done=True)]
    try:
        for number in range(COMMITS // HOSTS):
            host.objects = FaultyObjects(objects, seeded(seed * 1000 + number, 0.03, faults), sleep=lambda _: None)
            try:
                _collect(host, chosen, known)
                if chosen.random() < 0.8:
                    host.push()
            except (KilledError, ObjectStoreError):
                continue
    except BaseException as error:  # noqa: BLE001 - the main thread has to know
        problems.append(f"{host.host}: {error!r}")


@pytest.mark.slow
def test_hosts_that_take_the_same_objects_end_with_equal_rows(tmp_path: Path, objects: Objects) -> None:
    known = range(COMMITS)
    hosts = [Shared(tmp_path / f"web-{number}", objects, f"web-{number}") for number in range(HOSTS)]
    problems: list[str] = []
    threads = [
        threading.Thread(target=_live, args=(host, objects, seed, known, problems)) for seed, host in enumerate(hosts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    for host in (*hosts, *hosts):
        host.objects = objects
        host.push()
    expected = hosts[0].rows()
    assert expected
    assert max(expected.values()) == 1
    reader = Shared(tmp_path / "reader", objects, "reader")
    reader.push()
    taken = sorted(str(origin) for (origin,) in reader.ask("SELECT origin FROM artifacts"))
    assert expected == rows_of(taken)  # the rows of each artifact of the ledger, once
    named = {str(key) for (key,) in reader.ask("SELECT key FROM files WHERE state = 'live'")}
    assert named <= {one.key for one in objects.list("data")}
    for host in (*hosts, reader):
        assert host.rows() == expected
        assert sorted(str(origin) for (origin,) in host.ask("SELECT origin FROM artifacts")) == taken
        assert Counter(one.problem for one in examine(host.home)) == Counter()
    # What no host has taken can be taken by any of them.
    rest = [one for one in known if f"s3://b/{one}" not in taken]
    for day in {_day(one) for one in rest}:
        take(hosts[0], [f"s3://b/{one}" for one in rest if _day(one) == day], day=day)
    hosts[0].push()
    reader.push()
    assert reader.rows() == rows_of([f"s3://b/{one}" for one in known])
