"""Attacks on the HTTP servers of the product: each is a good request with changes, and is refused by all of them."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

LOG_TABLE = "app_log"
"""What is in the answers to good requests, and in no other."""
UNKNOWN_HOST = {"explorer": (421, "unknown host"), "mcp": (421, "unknown host")}
FOREIGN_PAGE = {
    "explorer": (403, "requests of other sites are refused"),
    "mcp": (403, "browsers are not served"),
}
NOT_LOGGED_IN = {"explorer": (401, "not logged in"), "mcp": (401, "the token is missing or wrong")}
TWO_LENGTHS = dict.fromkeys(("explorer", "mcp"), (400, "the request has two lengths"))
REPEATED_ORIGIN = dict.fromkeys(("explorer", "mcp"), (400, "the header origin is repeated"))
NO_HTTP = {"explorer": (400, ""), "mcp": (400, "")}
"""Refused by the HTTP server, before the guard."""
LONG_HEAD = {
    "explorer": (431, "the headers are larger than 32,000 bytes"),
    "mcp": (431, "the headers are larger than "),
}
"""The HTTP server itself refuses it if it comes in several parts."""
TOO_LARGE = {"explorer": (413, "the request is larger than 1,000,000 bytes"), "mcp": (413, "")}
_CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
CUT = (ConnectionError, ssl.SSLError)
"""How a closed connection shows."""
POST = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Attack:
    """Changes to a good request; a header of None is left out, and one of several texts is repeated.

    `refusals` has status and message of each server that refuses it.
    """

    name: str
    refusals: Mapping[str, tuple[int, str]]
    headers: Mapping[str, str | Sequence[str] | None] = field(default_factory=dict)
    is_anonymous: bool = False
    """Whether the credentials are left out."""
    query: str = ""
    address: str = ""
    """Before the path."""
    version: str = "HTTP/1.1"
    body: str = ""
    is_chunked: bool = False
    is_endless: bool = False
    """Whether the head of the request does not end."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Target:
    """A server that runs, and requests that it answers."""

    kind: str
    port: int
    token: str
    requests: tuple[tuple[str, str, str], ...]
    """Method, path and body."""
    trust: ssl.SSLContext | None = None

    @property
    def session(self) -> str:
        return hashlib.sha256(f"tailpipe session {self.token}".encode()).hexdigest()

    @property
    def names(self) -> dict[str, str]:
        """What the texts of an attack may name."""
        scheme, other = ("https", "http") if self.trust else ("http", "https")
        facts = {"port": str(self.port), "token": self.token, "session": self.session, "half": self.token[:12]}
        return {**facts, "scheme": scheme, "other_scheme": other, "cookie": f"tailpipe_session_{self.port}"}

    @property
    def credentials(self) -> dict[str, str]:
        """The header that lets a request in."""
        if self.kind == "mcp":
            return {"Authorization": f"Bearer {self.token}"}
        return {"Cookie": f"tailpipe_session_{self.port}={self.session}"}

    def send(self, method: str, path: str, body: str, attack: Attack) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of the answer to a request that is changed so."""
        data = (attack.body or body).encode()
        headers: dict[str, str | Sequence[str] | None] = {"Host": "127.0.0.1:{port}", "Connection": "close"}
        headers |= {} if attack.is_anonymous else self.credentials
        headers |= POST if method == "POST" else {}
        headers |= {"Transfer-Encoding": "chunked"} if attack.is_chunked else {"Content-Length": str(len(data))}
        headers |= attack.headers
        lines = [f"{method} {attack.address}{path}{attack.query} {attack.version}".format(**self.names)]
        for name, value in headers.items():
            for text in [value] if isinstance(value, str) else value or ():
                lines.append(f"{name}: {text.format(**self.names)}")
        if attack.is_chunked:
            data = f"{len(data):x}\r\n".encode() + data + b"\r\n0\r\n\r\n"
        with self.connected() as connection:
            with suppress(*CUT):  # whoever refuses a request need not read all of it
                connection.sendall("\r\n".join([*lines, "" if attack.is_endless else "\r\n"]).encode() + data)
            return _answer(connection)

    def connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return self.trust.wrap_socket(connection, server_hostname="127.0.0.1") if self.trust else connection

    def check(self, attack: Attack) -> None:
        """Send the attack with each request: it must be refused, and the answer must give nothing away."""
        status, message = attack.refusals[self.kind]
        for method, path, body in self.requests:
            if "token" in attack.query and path == "/":
                continue  # there the explorer takes its token
            if attack.body and (method != "POST" or path.endswith("/nothing")):
                continue  # no body is read there
            got, headers, content = self.send(method, path, body, attack)
            text = content.decode()
            if status == 431 and got == 400:
                continue
            assert got == status, (method, path, got, text)
            assert message in text, (method, path, text)
            assert "set-cookie" not in headers
            for secret in (self.token, self.session, LOG_TABLE):
                assert secret not in text + str(headers)
            if self.kind == "explorer" and attack.refusals is not NO_HTTP:
                assert json.loads(text)["error"]["message"] == message
                assert headers["content-security-policy"].startswith("default-src 'none'")
            if self.kind == "mcp" and status == 401:
                assert headers["www-authenticate"] == "Bearer"


def _answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The answer to a request after which the server closes the connection."""
    received = b""
    with suppress(*CUT):
        while part := connection.recv(65_536):
            received += part
    head, _, content = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split(" ")[1]), headers, content


def explorer_target(port: int, token: str, trust: ssl.SSLContext | None = None) -> Target:
    """`tailpipe serve`."""
    requests = (
        ("POST", "/api/sql", json.dumps({"sql": "SELECT 42"})),
        ("GET", "/", ""),
        ("GET", "/api/meta", ""),
        ("GET", "/api/hits", ""),
        ("GET", "/api/nothing", ""),
        ("GET", "/static/vendor/core.js", ""),
        ("POST", "/api/hits/ack", json.dumps({"ids": [], "acknowledged": True})),
    )
    return Target("explorer", port, token, requests[:1] if trust else requests, trust)  # with TLS each takes a while


def mcp_target(port: int, token: str) -> Target:
    """`tailpipe mcp --http`."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CLIENT})
    methods = [(method, "/mcp", body if method == "POST" else "") for method in ("POST", "GET", "DELETE", "OPTIONS")]
    return Target("mcp", port, token, (*methods, ("POST", "/nothing", body)))


def _by(refusals: Mapping[str, tuple[int, str]], kind: str) -> dict[str, tuple[int, str]]:
    """Only this server refuses it; the other has no reason to."""
    return {kind: refusals[kind]}


def _hosts() -> Iterator[Attack]:
    foreign = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "", ":{port}"]
    rebound = [
        "localhost.evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1.nip.io:{port}",
        "7f000001.c0a80001.rbndr.us:{port}",
        "localtest.me:{port}",
        "localhost.localdomain:{port}",
        "localhost.:{port}",
        "evil.example@127.0.0.1:{port}",
        "127.0.0.1:{port}@evil.example",
        "127.0.0.1:{port},evil.example",
        "127.0.0.1:0{port}",
    ]
    other_loopback = ["127.1:{port}", "127.0.0.2:{port}", "0.0.0.0:{port}", "2130706433:{port}", "0x7f.1:{port}"]
    loopback_v6 = [
        "[::1]",
        "[::1]:1",
        "::1",
        "::1:{port}",
        "[::]:{port}",
        "[0:0:0:0:0:0:0:1]:{port}",
        "[::0001]:{port}",
        "[::1%25lo]:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "[::ffff:7f00:1]:{port}",
        "[::1.evil.example]:{port}",
    ]
    for host in (*foreign, *rebound, *other_loopback, *loopback_v6):
        yield Attack(f"host {host}", UNKNOWN_HOST, {"Host": host})
    yield Attack("host by a proxy", UNKNOWN_HOST, {"Host": "evil.example", "X-Forwarded-Host": "127.0.0.1:{port}"})
    yield Attack("host in the address", UNKNOWN_HOST, {"Host": "evil.example"}, address="http://127.0.0.1:{port}")
    yield Attack("no host in HTTP/1.0", UNKNOWN_HOST, {"Host": None}, version="HTTP/1.0")
    yield Attack("no host", NO_HTTP, {"Host": None})
    yield Attack("two hosts", NO_HTTP, {"Host": ["127.0.0.1:{port}", "evil.example"]})
    upgrade = {"Host": "evil.example", "Upgrade": "websocket", "Connection": "Upgrade, close", "Sec-WebSocket-Key": "x"}
    yield Attack("web socket of another host", UNKNOWN_HOST, upgrade)
    yield Attack("IPv6, on which it does not listen", _by(UNKNOWN_HOST, "mcp"), {"Host": "[::1]:{port}"})


def _pages() -> Iterator[Attack]:
    origins = [
        "https://evil.example",
        "null",
        "",
        "file://",
        "{scheme}://127.0.0.1:1",
        "{scheme}://127.0.0.1",
        "{scheme}://127.0.0.1:{port}/",
        "{scheme}://127.0.0.1:{port}.evil.example",
        "{scheme}://localhost:{port}",
        "{scheme}://[::1]:{port}",
        "{other_scheme}://127.0.0.1:{port}",
        "{scheme}://127.0.0.1:{port} {scheme}://evil.example",
    ]
    for origin in origins:
        yield Attack(f"origin {origin}", FOREIGN_PAGE, {"Origin": origin})
    for site in ("cross-site", "same-site", "", "nonsense", "None", "none, cross-site"):
        yield Attack(f"fetch site {site}", FOREIGN_PAGE, {"Sec-Fetch-Site": site})
    yield Attack("navigation", FOREIGN_PAGE, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    yield Attack("two fetch sites", FOREIGN_PAGE, {"Sec-Fetch-Site": ["none", "cross-site"]})
    yield Attack("two fetch sites, reversed", FOREIGN_PAGE, {"Sec-Fetch-Site": ["cross-site", "none"]})
    own = "{scheme}://127.0.0.1:{port}"
    yield Attack("own origin, other site", FOREIGN_PAGE, {"Origin": own, "Sec-Fetch-Site": "cross-site"})
    yield Attack("own origin", _by(FOREIGN_PAGE, "mcp"), {"Origin": own})
    yield Attack("own origin of a page", _by(FOREIGN_PAGE, "mcp"), {"Origin": own, "Sec-Fetch-Site": "same-origin"})
    yield Attack("own page", _by(FOREIGN_PAGE, "mcp"), {"Sec-Fetch-Site": "same-origin"})
    yield Attack("two origins", REPEATED_ORIGIN, {"Origin": [own, "https://evil.example"]})


def _credentials() -> Iterator[Attack]:
    def without(
        name: str,
        headers: Mapping[str, str | Sequence[str]],
        query: str = "",
        refusals: Mapping[str, tuple[int, str]] = NOT_LOGGED_IN,
    ) -> Attack:
        return Attack(name, refusals, headers, is_anonymous=True, query=query)

    yield without("no token", {})
    tokens = ["", "Bearer", "Bearer wrong", "Bearer {token}x", "Bearer {half}", "Bearer  {token}", "bearer {token}"]
    tokens += ["Basic {token}", "{token}", "Bearer {session}", "Bearer ü", "Bearer " + "a" * 5000, "Token {token}"]
    for token in tokens:
        yield without(f"header {token[:40]}", {"Authorization": token})
    yield without("the right token", {"Authorization": "Bearer {token}"}, refusals=_by(NOT_LOGGED_IN, "explorer"))
    yield without("two headers", {"Authorization": ["Bearer {token}", "Bearer wrong"]})
    yield without("two headers, reversed", {"Authorization": ["Bearer wrong", "Bearer {token}"]})
    for name in ("X-Token", "X-Api-Key", "Proxy-Authorization", "Token"):
        yield without(f"header {name}", {name: "Bearer {token}"})
    cookies = ["", "tailpipe_session=1", "tailpipe_session={session}", "tailpipe_session_1={session}"]
    cookies += ["{cookie}=wrong", "{cookie}={token}", '{cookie}="\\"', "{cookie}={session}x", "{cookie}=", "{cookie}"]
    cookies += ["token={token}", "Authorization=Bearer {token}", "{cookie}={session}; {cookie}=wrong"]
    for cookie in cookies:
        yield without(f"cookie {cookie}", {"Cookie": cookie})
    yield without("the right cookie", {"Cookie": "{cookie}={session}"}, refusals=_by(NOT_LOGGED_IN, "mcp"))
    yield without("two cookies", {"Cookie": ["{cookie}={session}", "{cookie}=wrong"]})
    queries = ["token={token}", "access_token={token}", "Authorization=Bearer+{token}", "{cookie}={session}"]
    queries += ["token=", "token=%00", "&" * 100 + "token={token}"]
    for query in queries:
        yield without(f"query {query[:40]}", {}, f"?{query}")
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade, close", "Sec-WebSocket-Key": "x"}
    yield without("web socket", {**upgrade, "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "{token}"})


def _sizes() -> Iterator[Attack]:
    yield Attack("a long header", LONG_HEAD, {"X": "a" * 70_000})
    yield Attack("many headers", LONG_HEAD, {f"X-{number}": "a" * 20 for number in range(2_500)})
    yield Attack("a long host", LONG_HEAD, {"Host": "a" * 70_000})
    yield Attack("a long cookie", LONG_HEAD, {"Cookie": "{cookie}=" + "a" * 70_000}, is_anonymous=True)
    yield Attack("a long address", LONG_HEAD, query="?" + "a" * 70_000)
    yield Attack("a header without end", NO_HTTP, {"X": "a" * 100_000}, is_endless=True)
    for length in ("0", "4", "1000"):
        yield Attack(f"chunks and a length of {length}", TWO_LENGTHS, {"Content-Length": length}, is_chunked=True)
    for coding in ("identity", "xchunked", "gzip, chunked"):
        yield Attack(f"transfer encoding {coding}", NO_HTTP, {"Transfer-Encoding": coding, "Content-Length": None})
    yield Attack(
        "two transfer encodings", NO_HTTP, {"Transfer-Encoding": ["chunked", "identity"], "Content-Length": None}
    )
    yield Attack("two lengths that differ", NO_HTTP, {"Content-Length": ["0", "5"]})
    for length in ("+0", "-1", "0, 5", "0x0", "1e1"):
        yield Attack(f"length {length}", NO_HTTP, {"Content-Length": length})
    yield Attack("a blank before the colon", NO_HTTP, {"Transfer-Encoding ": "chunked"})
    large = json.dumps({"sql": "x" * 1_100_000})
    yield Attack("a large body", TOO_LARGE, body=large)
    yield Attack("a large body in chunks", TOO_LARGE, {"Content-Length": None}, body=large, is_chunked=True)
    yield Attack("a large body without token", NOT_LOGGED_IN, body=large, is_anonymous=True)


SENDERS: tuple[Attack, ...] = (*_hosts(), *_pages(), *_credentials())
"""Who sends a request, and how."""
ATTACKS: tuple[Attack, ...] = (*SENDERS, *_sizes())
