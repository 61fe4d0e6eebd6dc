"""Attacks on the explorer: each is refused or bounded; those on any HTTP server are in `tests/http_attacks.py`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tailpipe.errors import TimeLimitError, UsageError
from tailpipe.frozen import frozen
from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.serve.limits import Limits
from tailpipe.serve.listen import bind
from tailpipe.serve.run import Listening
from tailpipe.serve.work import Opened
from tailpipe.workers.worker import Call
from tests.unit.detect.world import World
from tests.unit.query.attempts import ATTEMPTS
from tests.unit.serve.support import Client, serving

TABLE = {"table": "app_log", "q": "", "from": "2024-01-08", "to": "2024-01-11"}
SLOW = "SELECT count(*) FROM range(100000000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
PATHS = ("/", "/api/meta", "/api/hits", "/static/vendor/core.js")


def message(content: bytes) -> str:
    return str(json.loads(content)["error"]["message"])


# Who asks


def test_the_page_itself_may_ask(client: Client) -> None:
    own: dict[str, str | None] = {"Origin": f"http://127.0.0.1:{client.port}", "Sec-Fetch-Site": "same-origin"}
    assert client.request("POST", "/api/sql", {"sql": "SELECT 42"}, own)[0] == 200
    local: dict[str, str | None] = {"Host": f"localhost:{client.port}", "Origin": f"http://localhost:{client.port}"}
    assert client.request("GET", "/api/meta", headers=local)[0] == 200


@pytest.mark.parametrize("token", ["", "x", "%00", "é", "a" * 5000])
def test_a_wrong_token_is_refused(client: Client, token: str) -> None:
    status, headers, content = client.request("GET", f"/?token={quote(token)}", headers={"Cookie": None})
    assert status in (401, 403)  # an empty one is none
    assert "set-cookie" not in headers
    assert client.access.token.encode() not in content


def test_the_token_is_exchanged_for_a_cookie_that_no_script_and_no_site_can_use(client: Client) -> None:
    status, headers, _ = client.request("GET", f"/?token={client.access.token}", headers={"Cookie": None})
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert client.access.token not in cookie
    assert client.request("GET", "/api/meta", headers={"Cookie": cookie.partition(";")[0]})[0] == 200
    assert "Secure" in BrowserAccess.to(["x"], 443, is_secure=True).set_cookie
    status, headers, _ = client.request("GET", f"/api/meta?token={client.access.token}", headers={"Cookie": None})
    assert (status, "set-cookie" in headers) == (401, False)


def test_the_token_that_a_browser_is_started_with_works_once(client: Client) -> None:
    code = client.access.new_code()
    assert code != client.access.token
    found = [client.request("GET", f"/?token={code}", headers={"Cookie": None})[0] for _ in range(2)]
    assert found == [303, 403]


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "a/b"]
)
def test_a_form_of_another_page_cannot_post(client: Client, kind: str | None) -> None:
    status, _, content = client.request("POST", "/api/sql", b'{"sql": "SELECT 42"}', {"Content-Type": kind})
    assert (status, message(content)) == (415, "the content type must be application/json")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.request(method, "/api/sql")[0] == 405


# Headers of answers


@pytest.mark.parametrize("path", [*PATHS, "/api/nothing", "/static/nothing", "/?token=x"])
def test_every_answer_has_the_headers(client: Client, path: str) -> None:
    _, headers, _ = client.request("GET", path)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == ("no-cache" if path == PATHS[3] else "no-store")
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_the_page_has_no_inline_code_and_a_nonce_of_its_own(client: Client) -> None:
    pages = [client.request("GET", "/") for _ in range(2)]
    nonces = {headers["content-security-policy"].partition("'nonce-")[2].partition("'")[0] for _, headers, _ in pages}
    assert len(nonces) == 2
    for _, _, content in pages:
        assert b"__CSP_NONCE__" not in content
        assert b"<script>" not in content
        assert b"<style" not in content
        assert b" on" + b"click" not in content


# Files


@pytest.mark.parametrize(
    "name",
    [
        "../app.py",
        "../../errors.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "%2e%2e%2fapp.py",
        "..%252fapp.py",
        "%c0%ae%c0%ae/app.py",
        "app/../../app.py",
        "app/..%2f..%2fapp.py",
        "/etc/passwd",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "file:///etc/passwd",
        "..\\app.py",
        "..%5capp.py",
        "app/main.js%00.css",
        "app/main.js/",
        "app",
        "",
        ".",
        "index.html",
        "vendor/vendor.lock",
        "app/" + "a/" * 2000,
    ],
)
def test_no_path_leaves_the_assets(client: Client, name: str) -> None:
    status, _, content = client.request("GET", f"/static/{name}")
    assert status in (400, 404)
    assert b"import" not in content
    assert b"root:" not in content


# SQL


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("outside")
    (directory / "secret.csv").write_text("a\nthe secret of the machine\n")
    return directory


def test_the_jail_holds_for_every_statement(client: Client, world: World, outside: Path) -> None:
    files = world.home / "data" / "default" / ".tailpipe" / "files"
    before = sorted(outside.iterdir())
    for attempt in ATTEMPTS:
        sql = attempt.replace("{outside}", str(outside)).replace("{files}", str(files))
        for path in ("sql", "export"):
            body = {"sql": sql} if path == "sql" else {"sql": sql, "format": "csv"}
            if path == "export" and ATTEMPTS.index(attempt) % 10:
                continue  # one way leads through the same session
            status, _, content = client.request("POST", f"/api/{path}", body)
            assert b"the secret of" not in content, sql
            assert b"Traceback" not in content
            assert status in (200, 400, 500), (sql, content)
    assert sorted(outside.iterdir()) == before
    assert client.lines("SELECT count(*) AS n FROM app_log")[1]["rows"] == [[72]]


HOSTILE = [
    "x'; DROP TABLE app_log; --",
    'x"; DROP TABLE app_log; --',
    "x' OR '1'='1",
    'user" OR 1=1 --',
    "(SELECT content FROM read_text('/etc/passwd'))",
    "read_text('/etc/passwd')",
    "user, (SELECT 42)",
    "tp_id\0",
    "\\",
    "$$; SELECT 1; $$",
    "/* */",
    "*",
    "app_log.user",
    "ünïcödé ☃",
    "{{7*7}}",
    "%s%s%n",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_values_never_become_sql(client: Client, text: str) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("rows", {"search": TABLE, "columns": [text]}),
        ("rows", {"search": {**TABLE, "table": text}}),
        ("rows", {"search": TABLE, "after": text}),
        ("fields", {"search": TABLE, "fields": [text]}),
        ("histogram", {"search": TABLE, "color": text}),
        ("row", {"table": text, "tp_id": text, "tp_date": "2024-01-08"}),
        ("related", {"table": "app_log", "tp_id": text, "tp_date": "2024-01-08"}),
        ("row", {"table": "app_log", "tp_id": "x", "tp_date": text}),
        ("panel", {"dashboard": text, "panel": text}),
        ("panel", {"dashboard": "shop", "panel": "users", "params": {"least": text}}),
        ("hits/ack", {"ids": [text], "acknowledged": True}),
    ]
    for path, body in asked:
        status, _, content = client.request("POST", f"/api/{path}", body)
        assert status in (400, 404) or (path == "rows" and text == "*"), (path, status, content)
        assert b"Traceback" not in content
        assert b"root:" not in content
    word = '"' + text.replace("\0", "").replace("\\", "\\\\").replace('"', '\\"') + '"'
    for q in (word, f"user:{word}", f"-event:{word}", f"tp_usernames:{word}"):
        found = client.post("rows", search={**TABLE, "q": q})
        assert len(found["rows"]) == (72 if q[0] == "-" else 0)
    for query in (f"detection={quote(text)}", f"severity={quote(text)}", f"after={quote(text)}"):
        assert client.request("GET", f"/api/hits?{query}")[0] in (200, 400)
    assert client.post("histogram", search=TABLE)["total"] == 72


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("rows", b""),
        ("rows", b"{"),
        ("rows", b"[]"),
        ("rows", b"\xff"),
        ("rows", b"[" * 100_000),
        ("rows", {}),
        ("rows", {"search": 1}),
        ("rows", {"search": {"table": 1}}),
        ("rows", {"search": {**TABLE, "from": "x"}}),
        ("rows", {"search": {**TABLE, "from": "9999-99-99"}}),
        ("rows", {"search": {**TABLE, "from": "2024-01-11", "to": "2024-01-10"}}),
        ("rows", {"search": {**TABLE, "extra": 1}}),
        ("rows", {"search": TABLE, "limit": 0}),
        ("rows", {"search": TABLE, "limit": 10**9}),
        ("rows", {"search": TABLE, "limit": True}),
        ("rows", {"search": TABLE, "columns": ["x"] * 1000}),
        ("rows", {"search": {**TABLE, "q": "(" * 3000}}),
        ("rows", {"search": {**TABLE, "q": "\ud800"}}),
        ("fields", {"search": TABLE, "fields": ["user"] * 100}),
        ("histogram", {"search": TABLE, "buckets": 10**9}),
        ("sql", {"sql": ""}),
        ("sql", {"sql": "SELECT 1; SELECT 2"}),
        ("sql", {"sql": "SELECT 1\0"}),
        ("sql", {"sql": "SELECT 1", "params": []}),
        ("sql", {"sql": "SELECT 1", "params": {"a": {"b": 1}}}),
        ("sql", {"sql": "SELECT 1", "limit": -1}),
        ("export", {"sql": "SELECT 1", "format": "exe"}),
        ("hits/ack", {"ids": [], "acknowledged": True}),
        ("hits/ack", {"ids": ["0" * 32] * 5000, "acknowledged": True}),
    ],
)
def test_a_bad_request_is_a_message(client: Client, path: str, body: Any) -> None:
    status, headers, content = client.request("POST", f"/api/{path}", body)
    assert status == 400, content
    assert headers["content-type"] == "application/json"
    assert message(content)


def test_messages_name_no_directory_of_this_machine(client: Client, world: World) -> None:
    broken = next((world.home / "data").rglob("*.parquet"), None)
    assert broken is not None
    text = f"cannot open {world.home}/data/default/.tailpipe/files/x and {Path.home()}/y"
    assert str(world.home) not in client.explorer.problems.places.shown(text)
    status, body = client.explorer.problems.of(ValueError("the password is 123"))
    assert (status, body["error"]["message"]) == (500, "internal error")
    assert "123" not in json.dumps(body)


# Too much


def test_rows_and_bytes_of_an_answer_are_bounded(world: World) -> None:
    with serving(world.open(), Limits(rows=50, bytes=100_000)) as client:
        assert client.failure("sql", {"sql": "SELECT 1", "limit": 51})["message"]
        end = client.lines("FROM range(1000)", limit=50)[-1]["end"]
        assert (end["rows"], end["reason"]) == (50, "rows")
        end = client.lines("SELECT repeat('x', 50000) FROM range(50)", limit=50)[-1]["end"]
        assert (end["reason"], end["rows"] < 10) == ("bytes", True)
        panel = client.post("panel", dashboard="shop", panel="users")
        assert not panel["truncated"]


@pytest.mark.slow
def test_a_statement_that_takes_too_long_is_ended(world: World) -> None:
    with serving(world.open(), Limits(seconds=1)) as client:
        wrong = client.failure("sql", {"sql": SLOW}, 504)
        assert wrong["message"] == "stopped at the time limit of 1 s"
        assert wrong["hint"] is None  # it would name flags of the command line
        assert client.lines("SELECT 1 AS x")[-1]["end"]["rows"] == 1


@frozen
class Many:
    """A request with many statements."""

    statement = ""

    def __call__(self, opened: Opened, call: Call, /) -> bytes:
        with opened.session(call, 0.3) as session:
            for _ in range(100):
                list(session.run("SELECT count(*) FROM range(20000000)").rows)
        return b""


def test_many_statements_of_a_request_have_the_time_of_one(world: World) -> None:
    with serving(world.open(), Limits(seconds=0.3)) as client:

        async def forever() -> None:
            await asyncio.Event().wait()

        with pytest.raises(TimeLimitError, match="the time limit of"):
            asyncio.run(client.explorer.pool.run(forever, Many()))
        assert not client.explorer.pool._running


def test_a_statement_ends_when_the_browser_leaves(world: World) -> None:
    with serving(world.open(), Limits(statements=1)) as client:
        for path, body in (("sql", {"sql": SLOW}), ("export", {"sql": SLOW, "format": "csv"})):
            with client.raw() as connection:
                _post(connection, client, path, body)
                _until(lambda: client.explorer.pool._running)
            _until(lambda: not client.explorer.pool._running)
            assert client.lines("SELECT 1 AS x")[-1]["end"]["rows"] == 1


@pytest.mark.slow
def test_a_client_that_leaves_while_it_waits_gives_up_its_turn(world: World) -> None:
    with serving(world.open(), Limits(statements=1)) as client, client.raw() as first:
        _post(first, client, "sql", {"sql": SLOW})
        _until(lambda: client.explorer.pool._running)
        with client.raw() as second:
            _post(second, client, "panel", {"dashboard": "shop", "panel": "users"})
            _until(lambda: client.explorer.pool._waiting == 1)
        _until(lambda: client.explorer.pool._waiting == 0)


@pytest.mark.slow
def test_a_hundred_requests_at_once_are_answered_or_refused(world: World) -> None:
    limits = Limits(statements=2, waiting=20)
    with serving(world.open(), limits) as client:
        running: list[int] = []

        def ask(number: int) -> int:
            body = {"sql": f"SELECT {number} AS n, count(*) FROM app_log"}
            status = client.request("POST", "/api/sql", body)[0]
            running.append(len(client.explorer.pool._running))
            return status

        with ThreadPoolExecutor(100) as threads:
            found = list(threads.map(ask, range(100)))
        assert set(found) <= {200, 503}
        assert found.count(200) >= 22
        assert max(running) <= 2
        assert len(client.explorer.pool.workers._free) <= 2
        assert client.get("meta")["tables"]


def test_connections_are_bounded_and_the_slow_are_cut(world: World) -> None:
    with serving(world.open(), Limits(connections=8, patience_seconds=3)) as client:
        slow = [client.raw() for _ in range(10)]
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        try:
            assert client.request("GET", "/api/meta")[0] == 503
            for connection in slow:
                connection.settimeout(10)
                with contextlib.suppress(ConnectionError):
                    assert connection.recv(1) == b""
        finally:
            for connection in slow:
                connection.close()
        assert client.request("GET", "/api/meta")[0] == 200


def test_a_body_that_does_not_come_is_not_waited_for(world: World) -> None:
    with serving(world.open(), Limits(patience_seconds=0.5)) as client, client.raw() as connection:
        head = (
            f"POST /api/sql HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nCookie: {client.cookie}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        connection.sendall(head.encode())
        assert b" 408 " in connection.recv(1000)


def test_a_client_that_takes_nothing_is_cut(world: World) -> None:
    with serving(world.open(), Limits(patience_seconds=0.5, export_seconds=60)) as client:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", client.port))
        with connection:
            _post(
                connection,
                client,
                "export",
                {"sql": "SELECT i, repeat('x', 500) FROM range(2000000) t(i)", "format": "csv"},
            )
            _until(lambda: client.explorer.pool._running)
            _until(lambda: not client.explorer.pool._running)


def test_the_server_ends_at_once(world: World) -> None:
    with serving(world.open()) as client:
        connection = client.raw()
        _post(connection, client, "sql", {"sql": SLOW})
        _until(lambda: client.explorer.pool._running)
        begun = time.monotonic()
    assert time.monotonic() - begun < 10
    connection.close()


# Where it listens


def test_a_port_in_use_is_a_message_and_the_next_is_taken() -> None:
    with bind("127.0.0.1", 0) as taken:
        with pytest.raises(UsageError, match="is in use") as caught:
            bind("127.0.0.1", taken.getsockname()[1])
        assert "--port" in caught.value.hint
    with bind("127.0.0.1", None) as first, bind("127.0.0.1", None) as second:
        assert first.getsockname()[1] < second.getsockname()[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "127.0.0.1.evil.example"])
def test_others_reach_it_with_tls_alone(host: str) -> None:
    with pytest.raises(UsageError, match="needs TLS"):
        Listening(host).check()
    Listening("127.0.0.1").check()
    Listening("::1").check()
    with pytest.raises(UsageError, match="go together"):
        Listening(host, certificate="x").check()
    with pytest.raises(UsageError, match="there is no file"):
        Listening(host, certificate="/nowhere/x", key="/nowhere/y").check()


def test_a_certificate_that_is_none_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "x.pem"
    wrong.write_text("no certificate")
    with pytest.raises(UsageError, match="cannot be used"):
        Listening("0.0.0.0", certificate=str(wrong), key=str(wrong)).check()


def test_names_of_the_machine_are_those_that_were_given() -> None:
    assert Listening("192.168.1.2", names=("logs.example",)).known_as == ["192.168.1.2", "logs.example"]
    assert "logs.example" in Listening("0.0.0.0", names=("logs.example",)).known_as
    assert Listening("::1", names=()).known_as[0] == "127.0.0.1"


def _post(connection: socket.socket, client: Client, path: str, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    head = (
        f"POST /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nCookie: {client.cookie}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    connection.sendall(head.encode() + data)


def _until(is_so: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)
