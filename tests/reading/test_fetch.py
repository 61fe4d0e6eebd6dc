"""Queries over files that are in a store alone: what is fetched, how often, and what is refused."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from tailpipe.errors import ObjectStoreError, TimeLimitError, UsageError
from tailpipe.query.narrowing import Narrowing
from tailpipe.stores.fetch import Fetched, Limits
from tests.reading.support import FIRST, Remote, asked, large, requests_of

SUM = "SELECT count(*), sum(n) FROM app_log"


def test_one_day_takes_a_request_for_each_of_its_files_and_the_second_time_none(remote: Remote) -> None:
    for day in range(5):
        for index in ("a", "b"):
            remote.add(day, index=index)
    with remote.session() as session:
        assert asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-03'") == [(20, 40_000_090)]
        assert requests_of(session) == {"get": 2}
    with remote.session() as session:
        assert asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-03'") == [(20, 40_000_090)]
        assert requests_of(session).get("get", 0) == 0


def test_one_day_of_ten_thousand_remote_files_takes_the_requests_of_that_day(here: Remote) -> None:
    day = [here.add(7, index=str(number)) for number in range(3)]
    stranger = day[0]
    many = [
        stranger._replace(path=f"{stranger.path}-{number}", tp_date=FIRST, key=f"data/absent-{number}")
        for number in range(10_000)
    ]
    here.files += many
    with here.session() as session:
        assert asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-08'") == [(30, 210_000_135)]
        assert requests_of(session) == {"get": 3}


def test_a_few_files_are_pruned_too_if_they_are_not_here(here: Remote) -> None:
    here.add(0)
    here.add(1)
    with here.session() as session:
        assert asked(session, f"{SUM} WHERE tp_timestamp >= '2024-01-02'") == [(10, 10_000_045)]
        assert requests_of(session) == {"get": 1}


def test_files_that_are_here_are_read_without_a_request(here: Remote) -> None:
    here.add(0, is_here=True)
    here.add(1)
    with here.session() as session:
        assert asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-01'") == [(10, 45)]
        assert requests_of(session) == {}


def test_files_here_and_there_are_one_table(remote: Remote) -> None:
    remote.add(0, is_here=True)
    remote.add(1)
    large(remote, 2)
    with remote.session() as session:
        assert asked(session, SUM) == [(400_020, 45 + 10_000_045 + 2_000_000 * 400_000 + 399_999 * 200_000)]


def test_a_large_file_is_read_in_parts(remote: Remote) -> None:
    file = large(remote, 0)
    with remote.session() as session:
        assert asked(session, "SELECT max(n) FROM app_log") == [(399_999,)]
        reader = session._files
        assert reader is not None
        assert reader._reader is not None
        assert reader._reader._gate is not None
        assert 0 < reader._reader._gate.sent < file.size / 2
    assert not list((remote.root / "cache").glob("?" * 64))


def test_columns_are_told_without_a_request(here: Remote) -> None:
    here.add(0)
    with here.session() as session:
        assert ("n", "BIGINT") in [row[:2] for row in asked(session, "DESCRIBE app_log")]
        assert session.describe("SELECT n + 1 AS m FROM app_log") == (("m",), ("BIGINT",))
        assert requests_of(session) == {}


def test_a_view_keeps_the_columns_of_files_that_are_not_fetched(here: Remote) -> None:
    here.columns[2] = {**here.columns[1], "added": "VARCHAR", "n": "BIGINT"}
    here.add(0)
    here.add(1, more=", 'new' AS added", columns_id=2)
    with here.session() as session:
        assert asked(session, "SELECT n, added FROM app_log WHERE tp_date = DATE '2024-01-01' LIMIT 1") == [(0, None)]
        assert requests_of(session) == {"get": 1}
        assert asked(session, "SELECT DISTINCT added FROM app_log ORDER BY ALL") == [("new",), (None,)]


def test_too_much_is_refused_with_numbers_and_what_to_narrow(here: Remote) -> None:
    sizes = [here.add(day).size for day in range(3)]
    with here.session(Limits(fetch_bytes=sum(sizes) - 1)) as session:
        with pytest.raises(UsageError) as refused:
            asked(session, SUM)
        assert "3 files" in refused.value.message
        assert "about 3 requests" in refused.value.message
        assert 'store "lake"' in refused.value.message
        assert "tp_date" in refused.value.hint
        assert "--fetch-limit" in refused.value.hint
        assert requests_of(session) == {}
        assert asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-01'") == [(10, 45)]
        assert asked(session, f"{SUM} WHERE tp_date >= DATE '2024-01-02'") == [(20, 30_000_090)]
        assert asked(session, SUM) == [(30, 30_000_135)], "what is in the cache does not count"


def test_a_narrowed_session_fetches_its_part_alone(here: Remote) -> None:
    here.add(0)
    here.add(1, partition="app_log.dev")
    with here.session(narrowing=Narrowing(partitions=("dev",))) as session:
        assert asked(session, SUM) == [(10, 10_000_045)]
        assert requests_of(session) == {"get": 1}


def test_a_store_that_is_gone_is_reported_with_what_is_only_there(here: Remote) -> None:
    here.add(0, is_here=True)
    here.add(1)
    shutil.rmtree(here.store.location)
    with here.session() as session:
        assert asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-01'") == [(10, 45)]
        with pytest.raises(ObjectStoreError) as failed:
            asked(session, SUM)
    assert "1 file of app_log.prod (2024-01-02" in failed.value.message
    assert "--offline" in failed.value.hint


def test_a_store_that_is_gone_is_reported_for_large_files_too(here: Remote) -> None:
    large(here, 0)
    shutil.rmtree(here.store.location)
    with here.session() as session, pytest.raises(ObjectStoreError, match="which is only in store"):
        asked(session, SUM)


def test_offline_gives_what_is_here_and_reports_what_is_not(here: Remote) -> None:
    here.add(0, is_here=True)
    here.add(1)
    here.add(2)
    large(here, 3)
    with here.session() as session:
        asked(session, f"{SUM} WHERE tp_date = DATE '2024-01-02'")
    shutil.rmtree(here.store.location)
    with here.session(Limits(is_offline=True)) as session:
        assert asked(session, SUM) == [(20, 10_000_090)], "what is in the cache is here too"
    (said,) = here.said
    assert "offline" in said
    assert "2 files of app_log.prod (2024-01-03 to 2024-01-04" in said


def test_an_object_with_other_bytes_is_never_read(remote: Remote) -> None:
    file = remote.add(0)
    assert file.key is not None
    remote.objects.replace(file.key, b"x" * file.size)
    with remote.session() as session, pytest.raises(ObjectStoreError, match="not the file that was stored"):
        asked(session, SUM)
    assert not list((remote.root / "cache").glob("?" * 64))


def test_an_object_that_was_deleted_is_reported(remote: Remote) -> None:
    file = remote.add(0)
    assert file.key is not None
    remote.objects.delete([file.key])
    with remote.session() as session, pytest.raises(ObjectStoreError, match="does not exist"):
        asked(session, SUM)


def test_a_damaged_entry_of_the_cache_is_fetched_again(here: Remote) -> None:
    file = here.add(0)
    with here.session() as session:
        asked(session, SUM)
    (entry,) = (here.root / "cache").glob("?" * 64)
    entry.write_bytes(b"\0" * file.size)
    with here.session() as session:
        assert asked(session, SUM) == [(10, 45)]
        assert requests_of(session) == {"get": 1}


def test_progress_ends_with_all_files(here: Remote) -> None:
    files = [here.add(day) for day in range(3)]
    seen: list[Fetched] = []
    reader = here.reader(emit=seen.append)
    reader.local(files, here.snapshot().place)
    reader.close()
    assert seen[-1] == Fetched(3, 3, sum(file.size for file in files), sum(file.size for file in files))


class Stuck:
    """A store that never answers, until it is let go."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.go_on = threading.Event()
        self.is_asked = threading.Event()

    def fetch(self, key: str, target: Path) -> str:
        self.is_asked.set()
        self.go_on.wait()
        raise ObjectStoreError("too late", location=self.location)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        return self.fetch(key, Path()).encode()


@pytest.mark.parametrize("is_large", [False, True], ids=["cache", "gate"])
def test_a_time_limit_does_not_wait_for_the_store(here: Remote, is_large: bool) -> None:
    large(here, 0) if is_large else here.add(0)
    stuck = Stuck(here.store.location)
    reader = here.reader()
    reader._opened["lake"] = stuck  # type: ignore[assignment] # it has what is asked of it
    begun = time.monotonic()
    try:
        with here.session(timeout_seconds=0.5) as session:
            session._open_reader = lambda: reader
            with pytest.raises(TimeLimitError):
                asked(session, SUM)
            assert stuck.is_asked.is_set()
    finally:
        stuck.go_on.set()
    assert time.monotonic() - begun < 60, "it would have waited for ever"


def test_an_interrupt_ends_a_fetch(here: Remote) -> None:
    here.add(0)
    stuck = Stuck(here.store.location)
    reader = here.reader()
    reader._opened["lake"] = stuck  # type: ignore[assignment]
    with here.session() as session:
        session._open_reader = lambda: reader

        def interrupt() -> None:
            stuck.is_asked.wait()
            session.interrupt()

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            asked(session, SUM)
        thread.join()
    stuck.go_on.set()


def test_a_partition_whose_store_the_config_does_not_name_is_reported(here: Remote) -> None:
    here.add(0)
    reader = here.reader()
    reader._store_of = lambda _: None
    with here.session() as session:
        session._open_reader = lambda: reader
        with pytest.raises(UsageError, match="that the config does not name"):
            asked(session, SUM)
