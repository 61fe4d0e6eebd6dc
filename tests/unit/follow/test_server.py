"""Health and metrics over HTTP: what they say, whom they answer, and what is refused."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tailpipe.errors import UsageError
from tailpipe.follow.facts import CachedFacts
from tailpipe.follow.metrics import Facts, PartitionFacts, metrics_text
from tailpipe.follow.server import StatusServer, parse_address
from tailpipe.follow.status import PartitionStatus, State, Status
from tailpipe.model.artifact import Accounts

ODD = 'a."b\\\n'


@pytest.fixture
def status() -> Status:
    one = PartitionStatus(Accounts(10, 5, 2, 1, 1, 1), 2048, 3, 4, 1, 6.5, 0.5, 1700.25)
    return Status(State({"app.x": one, ODD: PartitionStatus()}, hits={("root_login", "high"): 2}, is_ready=True))


@pytest.fixture
def server(status: Status) -> Iterator[StatusServer]:
    facts = Facts({"app.x": PartitionFacts(5, 1, 1000.5, 2, "lake", 3, 1990.0)}, 4, 1)
    made = StatusServer(
        ("127.0.0.1", 0),
        lambda: status.state,
        lambda: metrics_text(status.state, facts, now=2000, version="1.2"),
        poll_seconds=0.01,
    )
    yield made
    made.close()


def _get(server: StatusServer, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    host, _, port = server.address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def _samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_are_what_prometheus_reads(server: StatusServer) -> None:
    code, text = _get(server, "/metrics?x=1")
    found = _samples(text)
    assert code == 200
    of = ("partition", "app.x")
    for outcome, count in {"kept": 5, "filtered": 2, "rejected": 1, "out_of_window": 1, "duplicate": 1}.items():
        assert found["tailpipe_rows_total", (("outcome", outcome), of)] == count
    expected = {
        "bytes_total": 2048,
        "artifacts_total": 3,
        "last_success_timestamp_seconds": 1700.25,
        "run_duration_seconds_sum": 6.5,
        "run_duration_seconds_count": 4,
        "newest_event_timestamp_seconds": 1000.5,
        "lag_seconds": 999.5,
        "gap_days": 2,
    }
    assert {name: found[f"tailpipe_{name}", (of,)] for name in expected} == expected
    assert found["tailpipe_store_lag_seconds", (of, ("store", "lake"))] == 10
    assert found["tailpipe_store_unpushed_commits", (of, ("store", "lake"))] == 3
    assert found["tailpipe_hits_total", (("detection", "root_login"), ("severity", "high"))] == 2
    assert (found["tailpipe_alerts_waiting", ()], found["tailpipe_alerts_given_up", ()]) == (4, 1)
    assert found["tailpipe_partition_healthy", (("partition", ODD),)] == 1
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation and family.type != "unknown" for family in families)


def test_a_catalog_that_cannot_be_read_leaves_its_metrics_out(status: Status) -> None:
    found = _samples(metrics_text(status.state, None, now=0, version="1"))
    assert ("tailpipe_lag_seconds", (("partition", "app.x"),)) not in found
    assert ("tailpipe_rows_total", (("outcome", "kept"), ("partition", "app.x"))) in found


def test_health_is_red_with_the_reason_as_long_as_something_fails(server: StatusServer, status: Status) -> None:
    assert _get(server, "/healthz")[0] == 200
    status.change("app.x", error="no such bucket")
    code, text = _get(server, "/healthz")
    assert (code, json.loads(text)["problems"]) == (503, {"app.x": "no such bucket"})
    status.change("app.x", error="", is_stuck=True)
    assert json.loads(_get(server, "/healthz")[1])["problems"] == {"app.x": "the run is stuck"}
    status.change("app.x", is_stuck=False)
    status.task("push", "no route to host")
    assert _get(server, "/healthz")[0] == 503
    status.task("push", "")
    assert _get(server, "/healthz") == (200, _get(server, "/healthz")[1])


def test_it_is_ready_once_all_were_tried_and_until_it_stops(server: StatusServer, status: Status) -> None:
    assert _get(server, "/readyz")[0] == 200
    status.set(is_stopping=True)
    assert _get(server, "/readyz")[0] == 503
    status.set(is_stopping=False, is_ready=False)
    assert _get(server, "/readyz")[0] == 503


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io:9464", "", "8.8.8.8", "[x"]
)
def test_a_page_of_the_web_that_leads_here_gets_nothing(server: StatusServer, host: str) -> None:
    code, text = _get(server, "/metrics", Host=host)
    assert (code, "tailpipe_" in text) == (421, False)


@pytest.mark.parametrize("host", ["localhost", "localhost:9464", "127.0.0.1:9464", "[::1]:9464"])
def test_this_machine_is_answered_by_all_its_names(server: StatusServer, host: str) -> None:
    assert _get(server, "/healthz", Host=host)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("GET", "/", 404), ("GET", "/../etc/passwd", 404), ("POST", "/metrics", 501), ("DELETE", "/healthz", 501)],
)
def test_other_pages_and_methods_are_refused(server: StatusServer, method: str, path: str, code: int) -> None:
    assert _get(server, path, method)[0] == code


def test_head_has_no_page(server: StatusServer) -> None:
    assert _get(server, "/healthz", "HEAD") == (200, "")


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x00\xff" + b"\xff" * 200 + b"\r\n\r\n",
    ],
    ids=["blank", "0.9", "no host", "two hosts", "long", "many headers", "tls"],
)
def test_nonsense_is_refused_and_the_server_goes_on(server: StatusServer, sent: bytes) -> None:
    host, _, port = server.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    assert b"tailpipe_rows" not in answer
    assert b"Traceback" not in answer
    assert _get(server, "/healthz")[0] == 200


def test_many_that_say_nothing_do_not_pile_up(server: StatusServer) -> None:
    host, _, port = server.address.rpartition(":")
    silent = [socket.create_connection((host, int(port)), timeout=10) for _ in range(30)]
    assert sum("process_request_thread" in thread.name for thread in threading.enumerate()) <= 8
    for client in silent:
        client.close()
    for _ in range(50):
        try:
            assert _get(server, "/healthz")[0] == 200
            break
        except (OSError, http.client.HTTPException):
            continue
    else:
        raise AssertionError("it does not answer any more")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("localhost:0", ("127.0.0.1", 0)),
        ("[::1]:80", ("::1", 80)),
        ("0.0.0.0:9464", ("0.0.0.0", 9464)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "host:1", ":-1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not an address"):
        parse_address(text)


def test_a_port_that_is_taken_is_refused(server: StatusServer) -> None:
    with pytest.raises(UsageError, match="cannot listen on 127"):
        StatusServer(parse_address(server.address), State, str)


def test_the_catalog_is_read_once_in_a_few_seconds() -> None:
    now, calls = [0.0], list[int]()

    def read() -> Facts:
        calls.append(1)
        if len(calls) == 2:
            raise UsageError("no catalog")
        return Facts()

    facts = CachedFacts(read, lambda: now[0])
    assert [facts(), facts()] == [Facts(), Facts()]
    now[0] = 6
    assert facts() is None
    now[0] = 12
    assert (facts(), len(calls)) == (Facts(), 3)
