"""What a service does beside answering: limits, refusals, cuts, redirects. Rows stay exact, messages helpful."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.http.server import Asked, Events, Reply, Server, refusal, served
from tests.http.world import SOURCE, FakeTime, actors, config, world
from tests.unit.collect.support import World

DAY = ("2024-03-09", "2024-03-09")
LINKS = SOURCE + 'pagination "link_header" {}'
TOKEN = "t0ken-of-the-test"
BEARER = f'auth "bearer" {{ token = "{TOKEN}" }}'


@pytest.fixture
def api(server: Server) -> Events:
    made = Events(server)
    made.say("2024-03-09", "ada", "bob", "cy")
    return made


def collected(api: Events, tmp_path: Path, connection: str = "", source: str = LINKS) -> World:
    made = world(tmp_path, config(api.server.url, source, connection))
    summary = made.collect(*DAY)
    assert summary.is_done, summary
    assert actors(made) == ["ada", "bob", "cy"]
    return made


# Limits of the service


def test_retry_after_in_seconds_is_obeyed(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [None, refusal(429, Retry_After="7")]
    collected(api, tmp_path)
    assert sum(clock.slept) == pytest.approx(7, abs=0.5)
    assert len(api.server.asked) == 3


def test_retry_after_as_a_date_is_held_against_the_clock_of_the_service(
    api: Events, tmp_path: Path, clock: FakeTime
) -> None:
    there = datetime.now(UTC) - timedelta(hours=5)  # its clock is behind ours
    later = format_datetime(there + timedelta(seconds=40), usegmt=True)
    api.server.faults = [refusal(503, Retry_After=later, Date=format_datetime(there, usegmt=True))]
    collected(api, tmp_path)
    assert sum(clock.slept) == pytest.approx(40, abs=1.5)


@pytest.mark.parametrize("kind", ["epoch", "epoch_ms", "delta"])
def test_a_reset_header_is_obeyed(api: Events, tmp_path: Path, clock: FakeTime, kind: str) -> None:
    moment = datetime.now(UTC).timestamp() + 30
    reset = {"epoch": f"{moment:.0f}", "epoch_ms": f"{moment * 1000:.0f}", "delta": "30"}[kind]
    api.server.faults = [refusal(429, X_Quota_Left="0", X_Quota_Reset=reset)]
    limits = 'rate_limit { remaining = "X-Quota-Left" reset = "X-Quota-Reset" }'
    collected(api, tmp_path, limits)
    assert sum(clock.slept) == pytest.approx(30, abs=2)


def test_nobody_sends_a_request_while_none_remains(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    answer = api.answer

    def counting(asked: Asked) -> Reply:
        reply = answer(asked)
        return Reply(reply.body, headers=(*reply.headers, ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "20")))

    api.server.answer = counting
    collected(api, tmp_path)
    assert sum(clock.slept) == pytest.approx(20, abs=1)


def test_waiting_as_told_is_no_failure_however_often(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [refusal(429, Retry_After="2")] * 12
    collected(api, tmp_path, "max_retries = 1")
    assert len(api.server.asked) == 14


def test_a_pause_that_is_too_long_fails_the_day(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [refusal(429, Retry_After="5000")]
    made = world(tmp_path, config(api.server.url, LINKS, 'max_wait = "1m"'))
    summary = made.collect(*DAY)
    assert "/logs answered 429" in str(summary)
    assert "raise max_wait" in str(summary)


def test_a_403_of_a_limit_is_waited_for(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [refusal(403, Retry_After="9"), refusal(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="5")]
    collected(api, tmp_path, BEARER)
    assert sum(clock.slept) >= 13


# Failures


def test_5xx_is_repeated_with_longer_and_longer_pauses(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [refusal(500), refusal(502), refusal(504)]
    collected(api, tmp_path)
    assert clock.slept == [0.25, 0.5, 1.0]


def test_a_service_that_stays_down_fails_the_day(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [refusal(500, b"the database is down")] * 99
    made = world(tmp_path, config(api.server.url, LINKS, "max_retries = 2"))
    summary = made.collect(*DAY)
    assert "/logs answered 500 Internal Server Error: the database is down (gave up after 3 attempts)" in str(summary)
    assert made.rows("id", "audit.x") == []


CUTS = {
    "in the middle": lambda reply: Reply(reply.body, headers=reply.headers, cut=10),
    "before it begins": lambda reply: Reply(reply.body, headers=reply.headers, cut=0),
    "without a length": lambda reply: Reply(reply.body, headers=reply.headers, cut=10, has_length=False),
    "in gzip": lambda reply: Reply(
        __import__("gzip").compress(reply.data)[:-9], headers=(*reply.headers, ("Content-Encoding", "gzip"))
    ),
}


@pytest.mark.parametrize("name", CUTS)
def test_a_body_that_is_cut_is_requested_again(api: Events, tmp_path: Path, clock: FakeTime, name: str) -> None:
    answer, asked = api.answer, []

    def cutting(one: Asked) -> Reply:
        asked.append(one)
        reply = answer(one)
        return CUTS[name](reply) if len(asked) == 2 else reply

    api.server.answer = cutting
    collected(api, tmp_path)
    assert len(asked) == 3


def test_a_socket_that_the_server_has_closed_is_no_failure(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    answer = api.answer

    def closing(asked: Asked) -> Reply:
        reply = answer(asked)
        return Reply(reply.body, headers=(*reply.headers, ("Connection", "close")), has_length=False)

    api.server.answer = closing
    collected(api, tmp_path)
    assert clock.slept == []


def test_a_service_that_says_nothing_is_not_waited_for(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.answer = lambda _: Reply([{"id": "1"}] * 10, pause=0.6)
    made = world(tmp_path, config(api.server.url, LINKS, 'timeout = "200ms"\n max_retries = 1'))
    summary = made.collect(*DAY)
    assert "no answer within 200ms (gave up after 2 attempts)" in str(summary)


def test_a_server_that_is_not_there_is_named(tmp_path: Path, clock: FakeTime) -> None:
    made = world(tmp_path, config("http://127.0.0.1:9", LINKS, "max_retries = 0"))
    summary = made.collect(*DAY)
    assert "http://127.0.0.1:9/logs: Connection refused" in str(summary)


def test_a_404_is_not_repeated_and_says_where(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.faults = [refusal(404, {"message": "no such thing"})]
    summary = world(tmp_path, config(api.server.url, LINKS)).collect(*DAY)
    assert '/logs answered 404 Not Found: {"message": "no such thing"}' in str(summary)
    assert "check base_url and path" in str(summary)
    assert len(api.server.asked) == 1


# Redirects


@pytest.fixture
def other() -> object:
    with served() as made:
        yield made


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_server_keeps_the_login(api: Events, tmp_path: Path, status: int) -> None:
    api.server.faults = [refusal(status, Location="/moved?since=2024-03-09&until=2024-03-10")]
    collected(api, tmp_path, BEARER)
    assert api.server.paths[1] == "/moved"
    assert {one.headers.get("authorization") for one in api.server.asked} == {f"Bearer {TOKEN}"}


def test_a_redirect_to_another_server_is_followed_without_the_login(api: Events, tmp_path: Path, other: Server) -> None:
    other.answer = api.answer
    api.style = "page"  # no links, which would lead back
    api.size = 9
    api.server.faults = [refusal(302, Location=f"{other.url}/elsewhere?since=2024-03-09&until=2024-03-10")]
    source = SOURCE + 'records = "items"\n headers = { X-Tenant = "secret-of-mine" }'
    collected(api, tmp_path, BEARER, source)
    assert api.server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    [there] = other.asked
    assert {"authorization", "x-tenant"}.isdisjoint(there.headers)


def test_a_post_is_not_redirected_to_another_server(api: Events, tmp_path: Path, other: Server) -> None:
    api.server.faults = [refusal(307, Location=f"{other.url}/x")]
    source = SOURCE.replace("params", 'method = "POST"\n body')
    summary = world(tmp_path, config(api.server.url, source)).collect(*DAY)
    assert "redirects a POST to another server" in str(summary)
    assert other.asked == []


def test_endless_redirects_end(api: Events, tmp_path: Path) -> None:
    api.server.faults = [refusal(302, Location="/logs?n=1")] * 99
    summary = world(tmp_path, config(api.server.url, LINKS)).collect(*DAY)
    assert "redirects more than 5 times" in str(summary)
    assert len(api.server.asked) == 6
