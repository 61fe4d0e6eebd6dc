"""The routes of the explorer, as an ASGI application."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tailpipe.errors import UsageError
from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.http_guard.guard import App, Guard, RefusedError, Reply
from tailpipe.query.session import Session
from tailpipe.serve import dashboards, hits, row, statements, status
from tailpipe.serve.assets import Assets
from tailpipe.serve.body import Body
from tailpipe.serve.facets import top_values
from tailpipe.serve.headers import SafeHeaders
from tailpipe.serve.histogram import histogram
from tailpipe.serve.limits import Limits
from tailpipe.serve.meta import meta
from tailpipe.serve.pool import Cache, Pool, encoded
from tailpipe.serve.problems import LeftError, Problems
from tailpipe.serve.rows import newest_rows
from tailpipe.serve.streaming import Streaming, gone
from tailpipe.workspace import Workspace

__all__ = ["Explorer"]

Work = Callable[[Session, Body], dict[str, Any]]
Endpoint = Callable[[Request], Awaitable[Response]]
LEFT = 499
"""The status of a request whose client has left; nobody sees it."""


class Explorer:
    """A workspace that is shown in the browser."""

    def __init__(
        self, workspace: Workspace, access: BrowserAccess, limits: Limits, *, is_read_only: bool = False
    ) -> None:
        self.workspace = workspace
        self.access = access
        self.limits = limits
        self.is_read_only = is_read_only
        settings = workspace.settings
        self.problems = Problems.hiding((settings.location, settings.data_dir, workspace.environment.home))
        self.pool = Pool(lambda: workspace.session(timeout_seconds=limits.seconds), limits)
        self._cache = Cache(limits.cached_bytes)
        self._assets = Assets(Path(__file__).parent / "static")

    @property
    def app(self) -> App:
        """The application behind its guard."""
        workspace, limits = self.workspace, self.limits
        # What is kept depends on the request and the newest commit alone.
        kept: dict[str, Work] = {
            "GET meta": lambda session, body: meta(session, workspace, body, limits, is_read_only=self.is_read_only),
            "POST histogram": lambda session, body: histogram(session, body, status.missing_days(workspace)),
            "POST fields": top_values,
            "POST rows": lambda session, body: newest_rows(session, body, limits),
            "POST row": row.whole_row,
            "POST related": row.related,
        }
        fresh: dict[str, Work] = {
            "POST panel": lambda session, body: statements.panel(session, workspace, body, limits),
            "GET saved": lambda _, body: dashboards.saved(workspace, body),
            "GET dashboards": lambda _, body: dashboards.dashboards(workspace, body),
            "GET status": lambda _, body: status.status(workspace, body),
            "GET coverage": lambda session, body: status.coverage(workspace, session, body),
            "GET runs": lambda _, body: status.runs(workspace, body),
            "GET rejected": lambda _, body: status.rejected(workspace, body, limits),
            "GET detections": lambda _, body: hits.detections(workspace, body),
            "GET hits": lambda session, body: hits.hits(session, workspace, body),
            "POST hits/ack": lambda session, body: hits.acknowledge(
                session, workspace, body, is_read_only=self.is_read_only
            ),
        }
        routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/static/{name:path}", self._asset, methods=["GET"]),
            Route("/api/sql", self._streamed(self._sql), methods=["POST"]),
            Route("/api/export", self._streamed(self._export), methods=["POST"]),
            *(self._route(name, work, is_kept=True) for name, work in kept.items()),
            *(self._route(name, work, is_kept=False) for name, work in fresh.items()),
        ]
        inner = Starlette(routes=routes, exception_handlers={Exception: self._failed, HTTPException: self._failed})
        return SafeHeaders(Guard(inner, self.access, self._refusal, limits.header_bytes))

    def _route(self, name: str, work: Work, *, is_kept: bool) -> Route:
        method, _, path = name.partition(" ")
        return Route(f"/api/{path}", self._computed(work, is_kept=is_kept), methods=[method])

    async def _page(self, request: Request) -> Response:
        try:
            return Response(self._assets.page(request.scope["nonce"]), media_type="text/html")
        except RefusedError as failure:
            return self._failure(failure)

    async def _asset(self, request: Request) -> Response:
        try:
            content, kind = self._assets.file(request.path_params["name"])
        except RefusedError as failure:
            return self._failure(failure)
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"content-type": kind, "cache-control": "no-cache", "etag": tag}
        is_known = request.headers.get("if-none-match") == tag
        return Response(b"" if is_known else content, 304 if is_known else 200, headers)

    def _computed(self, work: Work, *, is_kept: bool) -> Endpoint:
        """A route whose answer is made with a session."""

        async def answer(request: Request) -> Response:
            begun = time.monotonic()
            try:
                body = await self._body(request)
                asked = f"{request.url.path} {json.dumps(dict(body.values), sort_keys=True)}"

                def working(session: Session) -> bytes:
                    key = session.sequence, asked
                    if is_kept and (found := self._cache.get(key)) is not None:
                        return found
                    made = work(session, body)
                    made["ms"] = round((time.monotonic() - begun) * 1000)
                    content = encoded(made)
                    if is_kept:
                        self._cache.put(key, content)
                    return content

                content = await self.pool.run(gone(request.receive), working)
            except (LeftError, ClientDisconnect):
                return Response(status_code=LEFT)
            except Exception as failure:  # noqa: BLE001 - every failure is an answer
                return self._failure(failure)
            return Response(content, media_type="application/json")

        return answer

    def _streamed(self, make: Callable[[Body], Streaming]) -> Endpoint:
        """A route whose answer is sent while it is made."""

        async def answer(request: Request) -> Response:
            try:
                return make(await self._body(request))
            except ClientDisconnect:
                return Response(status_code=LEFT)
            except Exception as failure:  # noqa: BLE001 - every failure is an answer
                return self._failure(failure)

        return answer

    def _sql(self, body: Body) -> Streaming:
        statement = statements.Statement.of(self.workspace, body.only("sql", "query", "params", "limit"))
        limit = body.number("limit", min(1_000, self.limits.rows), 1, self.limits.rows)
        return Streaming(
            self.pool,
            self.problems,
            lambda session, give: statements.stream(session, statement, limit, self.limits, give),
            self.limits.seconds,
            {"content-type": "application/x-ndjson"},
            tells_failures=True,
        )

    def _export(self, body: Body) -> Streaming:
        statement = statements.Statement.of(self.workspace, body.only("sql", "query", "params", "format"))
        output = body.text("format", longest=20)
        if output not in statements.EXPORTS:
            raise UsageError(f'unknown format "{output}"', hint=f"formats are: {', '.join(statements.EXPORTS)}")
        name = f"tailpipe-{datetime.now(UTC):%Y%m%d-%H%M%S}.{output}"
        return Streaming(
            self.pool,
            self.problems,
            lambda session, give: statements.export(session, statement, output, self.limits, give),
            self.limits.export_seconds,
            {"content-type": statements.EXPORTS[output], "content-disposition": f'attachment; filename="{name}"'},
            tells_failures=False,
        )

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
