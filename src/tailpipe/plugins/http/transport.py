"""One exchange over a socket: TLS, proxies, redirects, compressed bodies.

Certificates are always checked. What logs in is sent to the service itself only: a redirect to another server is
followed without it, and never from https to http.
"""

from __future__ import annotations

import base64
import gzip
import http.client
import io
import ipaddress
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from tailpipe.plugin import TailpipeError, UsageError, hide_secrets
from tailpipe.plugins.http.messages import Answer, CutError, Request, origin_of, shown

if TYPE_CHECKING:
    from tailpipe.plugins.http.connection import HttpConnection

MAX_BODY = 256 * 1024 * 1024
_CHUNK = 64 * 1024
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_PATIENCE = 10
"""A whole answer may take so many times the timeout of one read."""
_LAYERS = 2
"""A file may be compressed, and its transfer again; a file may even unpack to itself."""
_CLOSED = (http.client.BadStatusLine, ConnectionError, ssl.SSLEOFError)
_SAFE = "%/:=&?~#+!$,;'@()*[]"
_COMMON = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "tailpipe"}

Sign = Callable[[Request], Request]


class _Proxy(NamedTuple):
    host: str
    port: int
    headers: Mapping[str, str]


class Transport:
    """Sends requests for a connection; keeps its socket open between them. Not for several threads."""

    def __init__(self, connection: HttpConnection) -> None:
        self._facts = connection
        self._own = origin_of(connection.base_url)
        self._timeout = connection.timeout_seconds
        self._open: dict[tuple[str, str, int | None], http.client.HTTPConnection] = {}

    def close(self) -> None:
        """Close all sockets."""
        for one in self._open.values():
            one.close()
        self._open.clear()

    def exchange(self, request: Request, sign: Sign) -> Answer:
        """The answer, after redirects; `sign` adds what logs in, to each request that stays on the same server."""
        home = origin_of(request.url)
        for _ in range(_MOST_REDIRECTS + 1):
            is_home = origin_of(request.url) == home
            sent = sign(request) if is_home else Request(request.method, request.url)
            answer = self._send(sent)
            target = answer.headers.get("Location")
            if answer.status not in _REDIRECTS or not target:
                return answer
            request = _redirected(request, answer.status, urljoin(request.url, target), home)
        raise TailpipeError(f"{shown(request.url)} redirects more than {_MOST_REDIRECTS} times")

    def _send(self, request: Request) -> Answer:
        origin = origin_of(request.url)
        if (kept := self._open.get(origin)) is not None:
            try:
                return self._roundtrip(kept, request)
            except BaseException as error:
                self._drop(origin)
                if isinstance(error, CutError) or not isinstance(error, _CLOSED):
                    raise
                # The server has closed a socket that was idle, which is no failure.
        self._open[origin] = self._connection(request.url)
        try:
            return self._roundtrip(self._open[origin], request)
        except BaseException:
            self._drop(origin)
            raise

    def _drop(self, origin: tuple[str, str, int | None]) -> None:
        if (kept := self._open.pop(origin, None)) is not None:
            kept.close()

    def _roundtrip(self, connection: http.client.HTTPConnection, request: Request) -> Answer:
        parts = urlsplit(request.url)
        target = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
        headers = _once({**_COMMON, **request.headers})
        if parts.scheme == "http" and (proxy := self._proxy(request.url)) is not None:
            target = f"http://{parts.netloc}{target}"
            headers |= proxy.headers
        connection.request(request.method, target, body=request.body, headers=headers)
        response = connection.getresponse()
        raw = self._body(response)
        if response.will_close:
            self._drop(origin_of(request.url))
        has_length = response.headers.get("Content-Length", "").isdecimal()
        chunked = response.headers.get("Transfer-Encoding", "").lower() == "chunked"
        return Answer(
            response.status, response.reason, response.headers, _unpacked(response, raw), has_length or chunked
        )

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        parts, size = [], 0
        expected = response.length
        while chunk := response.read(_CHUNK):
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_BODY:
                raise TailpipeError(f"a page has more than {MAX_BODY:,} bytes", hint="request smaller pages")
        if expected is not None and size < expected:
            raise CutError(f"the answer ended after {size:,} of {expected:,} bytes")
        return b"".join(parts)

    # Sockets

    def _connection(self, url: str) -> http.client.HTTPConnection:
        scheme, host, port = origin_of(url)
        proxy = self._proxy(url)
        if scheme == "http":
            place = (proxy.host, proxy.port) if proxy else (host, port)
            return _paced(http.client.HTTPConnection(*place, timeout=self._timeout))
        context = self._context(is_own=origin_of(url) == self._own)
        if proxy is None:
            return _paced(http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context))
        made = http.client.HTTPSConnection(proxy.host, proxy.port, timeout=self._timeout, context=context)
        made.set_tunnel(host, port, headers=dict(proxy.headers))
        return _paced(made)

    def _context(self, *, is_own: bool) -> ssl.SSLContext:
        """How TLS is spoken; the certificate of this client is shown to the service alone."""
        facts = self._facts
        context = ssl.create_default_context()
        try:
            if facts.ca_file:
                context.load_verify_locations(cafile=facts.path(facts.ca_file))
            if facts.client_certificate and is_own:
                secret = facts.client_key_password
                key = facts.path(facts.client_key) if facts.client_key else None
                password = secret.reveal() if secret else ""
                context.load_cert_chain(facts.path(facts.client_certificate), key, lambda: password)
        except (OSError, ssl.SSLError) as error:
            what = "ca_file" if not facts.client_certificate else "ca_file, client_certificate or client_key"
            why = getattr(error, "strerror", None) or type(error).__name__
            raise UsageError(f"cannot load {what} of {facts.address}: {why}") from None
        return context

    def _proxy(self, url: str) -> _Proxy | None:
        facts, (scheme, host, _) = self._facts, origin_of(url)
        address = facts.proxy
        if address is None:
            from urllib.request import getproxies, proxy_bypass

            address = "" if proxy_bypass(host) else getproxies().get(scheme, "")
        if not address:
            return None
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            port = parts.port or 8080
        except ValueError:  # its text has a part of the address, perhaps of the password
            parts, port = urlsplit(""), 0
        if parts.scheme != "http" or not parts.hostname or not port:
            hint = "write it as http://host:port"
            raise UsageError(f"the proxy of {facts.address} is not the address of an HTTP proxy", hint=hint)
        user, secret = facts.proxy_username or unquote(parts.username or ""), facts.proxy_password
        password = secret.reveal() if secret else unquote(parts.password or "")
        if not user:
            return _Proxy(parts.hostname, port, {})
        login = base64.b64encode(f"{user}:{password}".encode()).decode()
        hide_secrets(login, password)
        return _Proxy(parts.hostname, port, {"Proxy-Authorization": f"Basic {login}"})


class _Paced(io.RawIOBase):
    """What comes over a socket, until a deadline: a server that drips never exceeds the limit of one read."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._timeout = sock, sock.gettimeout() or 60.0
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = time.monotonic() + _PATIENCE * self._timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        rest = self._deadline - time.monotonic()
        if rest <= 0:
            raise TimeoutError(f"the answer took longer than {_PATIENCE * self._timeout:g} seconds")
        self._sock.settimeout(min(self._timeout, rest))
        try:
            return self._raw.readinto(buffer)
        finally:
            if self._sock.fileno() >= 0:
                self._sock.settimeout(self._timeout)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _PacedResponse(http.client.HTTPResponse):
    """A response whose headers and body have the same deadline."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Paced(sock))


def _paced(connection: http.client.HTTPConnection) -> http.client.HTTPConnection:
    connection.response_class = _PacedResponse
    return connection


def _once(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, of each name the last one: names that differ in case only are the same."""
    return dict({name.lower(): (name, value) for name, value in headers.items()}.values())


def _redirected(request: Request, status: int, url: str, home: tuple[str, str, int | None]) -> Request:
    """The request that a redirect leads to; one that would lose its secrecy or its meaning is refused."""
    there = origin_of(url)
    if there[0] not in ("http", "https"):
        raise TailpipeError(f"{shown(request.url)} redirects to an address that is not http: {there[0]}")
    if _depth(there[1]) > _depth(home[1]):
        raise TailpipeError(f"{shown(request.url)} redirects into a private network: {there[1]}")
    if home[0] == "https" and there[0] != "https":
        raise TailpipeError(f"{shown(request.url)} redirects to {there[0]}://{there[1]}, which is not encrypted")
    method, body = request.method, request.body
    if method != "GET" and (status == 303 or (status in (301, 302) and there == home)):
        method, body = "GET", None
    if there != home and request.method != "GET":
        raise TailpipeError(
            f"{shown(request.url)} redirects a {request.method} to another server: {there[1]}",
            hint="set base_url to that one",
        )
    return Request(method, url, request.headers if there == home else {}, body)


def _depth(host: str) -> int:
    """How private the most private address of a host is: of the internet, of a network, of this machine, of the cloud.

    A service of the internet must not lead us to what only we can reach, such as the credentials of a machine.
    """
    try:
        found = {one[4][0] for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return 0  # the request will fail, unless a proxy knows the host
    return max(_rank(ipaddress.ip_address(str(one).partition("%")[0])) for one in found)


def _rank(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> int:
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_link_local:
        return 3
    return 2 if address.is_loopback or address.is_unspecified else int(not address.is_global)


def _unpacked(response: http.client.HTTPResponse, raw: bytes) -> bytes:
    """The body without its compression, whether the header names it or the file is one."""
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise TailpipeError(f'the response is encoded as "{encoding[:40]}", which was not requested')
    for _ in range(_LAYERS):
        if raw[:2] == b"\x1f\x8b":
            raw = _gunzipped(raw)
    return raw


def _gunzipped(raw: bytes) -> bytes:
    parts, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            while part := file.read(_CHUNK * 16):
                parts.append(part)
                size += len(part)
                if size > MAX_BODY:
                    raise TailpipeError(f"a page has more than {MAX_BODY:,} bytes", hint="request smaller pages")
    except EOFError:
        raise CutError("the compressed answer ended too early") from None
    except (OSError, zlib.error) as error:
        raise CutError(f"the compressed answer is damaged: {error}") from None
    return b"".join(parts)
