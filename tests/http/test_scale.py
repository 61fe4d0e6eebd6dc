"""A year of days, a thousand pages, many tasks: requests, memory and limits stay as they should."""

from __future__ import annotations

import multiprocessing
import threading
import time
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.collect.collect import preview
from tailpipe.collect.job import Job
from tailpipe.model.request import Collect
from tailpipe.model.window import requested_window
from tailpipe.plugin import Artifact, Window
from tailpipe.plugins.http.connection import HttpConnection, RateLimit
from tailpipe.plugins.http.pagination import LinkHeader
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.source import HttpSource
from tests.counting import calls
from tests.http.server import Asked, Events, Reply, Server
from tests.http.world import SOURCE, FakeTime, config, world
from tests.unit.collect.support import World

PARAMS = {"since": "{from}", "until": "{to}"}
DAY = date(2024, 3, 9)


def source_of(server: Server, **facts: object) -> HttpSource:
    limit = facts.pop("rate_limit", None)
    connection = HttpConnection(base_url=server.url, rate_limit=limit)  # type: ignore[arg-type]
    return HttpSource(connection=connection, path="/logs", params=PARAMS, **facts)  # type: ignore[arg-type]


def test_a_year_of_days_is_listed_without_a_request(server: Server) -> None:
    source = source_of(server)
    year = Window(datetime(2023, 3, 11, tzinfo=UTC), datetime(2024, 3, 10, tzinfo=UTC))
    assert len(list(source.artifacts(year))) == 365
    assert server.asked == []


def plan_of(made: World, days: int) -> int:
    """How many functions a plan of so many days calls; it has a unit for each of them."""
    now = made.now
    window = requested_window(str(now.date() - timedelta(days=days - 1)), None, now=now)
    [partition] = made.config.partitions.values()
    request = Collect(now, window)
    with made.catalog() as catalog:
        table = made.config.tables["audit"]
        found = []
        count = calls(lambda: found.extend(preview([Job(partition, table, catalog, made.engine, request)])))
    assert len(found[0][1].plan.units) == days
    return count


def test_a_plan_of_a_year_is_one_step_for_each_day_and_sends_no_request(server: Server, tmp_path: Path) -> None:
    made = world(tmp_path, config(server.url, SOURCE))
    plan_of(made, 1)  # imports what is needed
    first, second = plan_of(made, 365) - plan_of(made, 1), plan_of(made, 730) - plan_of(made, 366)
    assert server.asked == []
    assert first < 364 * 400  # about 160 calls for a day, far below a second
    assert second < first * 1.1  # the second year costs what the first one does


def test_a_plain_run_requests_what_may_have_changed_and_nothing_else(server: Server, tmp_path: Path) -> None:
    made = world(tmp_path, config(server.url, SOURCE))
    made.collect("2024-03-01", "2024-03-10")
    assert len(server.asked) == 10
    server.asked.clear()
    made.collect("2024-03-01")
    assert sorted(set(server.params("since"))) == [f"2024-03-{day}T00:00:00Z" for day in ("08", "09", "10")]


def peak_of(server: Server, pages: int) -> int:
    """The most memory that reading so many pages takes, of which each has 200 kB."""
    row = {"id": "x", "text": "y" * 1000}

    def answer(asked: Asked) -> Reply:
        server.asked.clear()  # the memory of the test itself
        number = int(asked.params.get("n", 0))
        rows = [{**row, "id": f"{number}-{place}"} for place in range(200)]
        link = (("Link", f'</logs?n={number + 1}>; rel="next"'),) if number + 1 < pages else ()
        return Reply(rows, headers=link)

    server.answer = answer
    source = source_of(server, pagination=LinkHeader(), key="id")
    [artifact] = source.artifacts(Window.of_day(DAY))
    count = 0
    tracemalloc.start()
    for _ in source.open(artifact):
        count += 1
        if count == 400:
            tracemalloc.reset_peak()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == pages * 200
    return peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pages(server: Server) -> None:
    few, many = peak_of(server, 5), peak_of(server, 200)
    assert many < few + 400_000  # the digests of addresses that were seen, and far less than another page of objects


@pytest.mark.slow
def test_memory_is_flat_over_a_thousand_pages(server: Server) -> None:
    few, many = peak_of(server, 5), peak_of(server, 1000)
    assert many < few + 1_000_000


def _read(source: HttpSource, artifact: Artifact) -> None:
    for _ in source.open(artifact):
        pass


@pytest.mark.slow
def test_processes_together_send_no_more_at_a_time_than_config_says(server: Server) -> None:
    def slow(_: Asked) -> Reply:
        time.sleep(0.05)
        return Reply([])

    server.answer = slow
    source = source_of(server, rate_limit=RateLimit(parallel=2))
    days = Window(datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 6, tzinfo=UTC))
    context = multiprocessing.get_context("spawn")
    tasks = [context.Process(target=_read, args=(source, one)) for one in source.artifacts(days)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(120)
        assert task.exitcode == 0
    assert len(server.asked) == 5
    assert server.most_at_once <= 2


def test_threads_together_send_no_more_in_a_minute_than_config_says(server: Server, clock: FakeTime) -> None:
    source = source_of(server, rate_limit=RateLimit(requests=30, per="1m"))
    days = Window(datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 11, tzinfo=UTC))
    tasks = [threading.Thread(target=_read, args=(source, one)) for one in source.artifacts(days)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(60)
    assert len(server.asked) == 10
    assert clock.ahead >= 2 * 8  # two seconds between two requests; the first need not wait


def test_what_is_not_there_yet_is_not_requested(server: Server) -> None:
    source = source_of(server, window=TimeRange(step="1h", delay="2h", max_age="3d"))
    now = datetime.now(UTC)
    span = Window(now - timedelta(days=4), now + timedelta(days=1))
    listed = [one for one in source.artifacts(span) if not one.unavailable]
    for artifact in listed:
        _read(source, artifact)
    assert max(server.params("until")) <= (now - timedelta(hours=2) + timedelta(minutes=1)).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    assert min(server.params("since")) >= (now - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert all(one.params["since"] < one.params["until"] for one in server.asked)


def test_events_are_given_a_page_at_a_time(server: Server) -> None:
    Events(server).say("2024-03-09", "ada", "bob", "cy")
    source = source_of(server, pagination=LinkHeader(), key="id")
    [artifact] = source.artifacts(Window.of_day(DAY))
    events = source.open(artifact)
    next(events)
    assert len(server.asked) == 1
    next(events), next(events)
    assert len(server.asked) == 2
