"""The routes of the explorer, as an ASGI application."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.http_guard.guard import App, Guard, RefusedError, Reply
from tailpipe.serve import statements, work
from tailpipe.serve.assets import Assets
from tailpipe.serve.body import Body
from tailpipe.serve.headers import SafeHeaders
from tailpipe.serve.limits import Limits, encoded
from tailpipe.serve.pool import Cache, Pool
from tailpipe.serve.problems import LeftError, Problems
from tailpipe.serve.streaming import Streaming, gone
from tailpipe.workers.places import Places
from tailpipe.workers.pool import Workers

Endpoint = Callable[[Request], Awaitable[Response]]
LEFT = 499
"""The status of a request whose client has left; nobody sees it."""


class Explorer:
    """A workspace that is shown in the browser."""

    def __init__(self, home: Home, access: BrowserAccess, limits: Limits, *, is_read_only: bool = False) -> None:
        self.home = home
        self.access = access
        self.limits = limits
        self.is_read_only = is_read_only
        settings = home.settings
        self.problems = Problems(Places.hiding((settings.location, settings.data_dir, home.environment.home)))
        prepare = partial(work.open_home, home.environment)
        self.pool = Pool(Workers(prepare, limits.statements, (work.__name__,)), limits)
        self._cache = Cache(limits.cached_bytes)
        self._assets = Assets(Path(__file__).parent / "static")

    @property
    def app(self) -> App:
        """The application behind its guard."""
        routes = [
            Route("/", self._answering(self._page), methods=["GET"]),
            Route("/static/{name:path}", self._answering(self._asset), methods=["GET"]),
            Route("/api/sql", self._answering(self._sql), methods=["POST"]),
            Route("/api/export", self._answering(self._export), methods=["POST"]),
        ]
        for name in (*work.KEPT, *work.FRESH):
            method, _, path = name.partition(" ")
            routes.append(Route(f"/api/{path}", self._answering(partial(self._computed, name)), methods=[method]))
        inner = Starlette(routes=routes, exception_handlers={Exception: self._failed, HTTPException: self._failed})
        return SafeHeaders(Guard(inner, self.access, self._refusal, self.limits.header_bytes))

    def _answering(self, make: Endpoint) -> Endpoint:
        """A route whose failures are answers."""

        async def answer(request: Request) -> Response:
            try:
                return await make(request)
            except (LeftError, ClientDisconnect):
                return Response(status_code=LEFT)
            except Exception as failure:  # noqa: BLE001 - every failure is an answer
                return self._failure(failure)

        return answer

    async def _page(self, request: Request) -> Response:
        return Response(self._assets.page(request.scope["nonce"]), media_type="text/html")

    async def _asset(self, request: Request) -> Response:
        content, kind = self._assets.file(request.path_params["name"])
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"content-type": kind, "cache-control": "no-cache", "etag": tag}
        is_known = request.headers.get("if-none-match") == tag
        return Response(b"" if is_known else content, 304 if is_known else 200, headers)

    async def _computed(self, name: str, request: Request) -> Response:
        """A whole answer, from the cache if nothing was committed since."""
        begun = time.monotonic()
        body = await self._body(request)
        key = f"{name} {json.dumps(dict(body.values), sort_keys=True)}"
        known, held = (name in work.KEPT and self._cache.get(key)) or (None, b"")
        wanted = work.Computed(name, body, self.limits, begun, self.is_read_only, known)
        commit, content = wanted.parsed(await self.pool.run(gone(request.receive), wanted))
        if content and name in work.KEPT:
            self._cache.put(key, commit, content)
        return Response(content or held, media_type="application/json")

    async def _sql(self, request: Request) -> Response:
        body = (await self._body(request)).only("sql", "query", "params", "limit")
        statement = statements.Statement.of(self.home, body)
        limit = body.number("limit", min(1_000, self.limits.rows), 1, self.limits.rows)
        rows = work.Streamed(statement, self.limits, limit)
        headers = {"content-type": "application/x-ndjson"}
        return Streaming(self.pool, self.problems, rows, self.limits.seconds, headers, reports_failures=True)

    async def _export(self, request: Request) -> Response:
        body = (await self._body(request)).only("sql", "query", "params", "format")
        statement = statements.Statement.of(self.home, body)
        output = body.text("format", longest=20)
        if output not in statements.EXPORTS:
            raise UsageError(f'unknown format "{output}"', hint=f"formats are: {', '.join(statements.EXPORTS)}")
        name = f"tailpipe-{datetime.now(UTC):%Y%m%d-%H%M%S}.{output}"
        headers = {"content-type": statements.EXPORTS[output], "content-disposition": f'attachment; filename="{name}"'}
        rows = work.Streamed(statement, self.limits, output=output)
        return Streaming(self.pool, self.problems, rows, self.limits.export_seconds, headers, reports_failures=False)

    async def _body(self, request: Request) -> Body:
        if request.method != "POST":
            return Body(dict(request.query_params))
        data = bytearray()
        try:
            async with asyncio.timeout(self.limits.patience_seconds):
                async for part in request.stream():
                    data += part
                    if len(data) > self.limits.body_bytes:
                        raise RefusedError(413, f"the request is larger than {self.limits.body_bytes:,} bytes")
        except TimeoutError:
            raise RefusedError(408, "the request was not sent in time") from None
        return Body.parse(bytes(data))

    async def _failed(self, _: Request, failure: Exception) -> Response:
        if isinstance(failure, HTTPException):
            failure = RefusedError(failure.status_code, failure.detail.lower())
        return self._failure(failure)

    def _refusal(self, failure: RefusedError) -> Reply:
        status_, body = self.problems.of(failure)
        return Reply(status_, (("content-type", "application/json"),), encoded(body))

    def _failure(self, failure: BaseException) -> Response:
        status_, body = self.problems.of(failure)
        headers = {"retry-after": "1"} if status_ == 503 else {}
        return Response(encoded(body), status_, headers, media_type="application/json")
