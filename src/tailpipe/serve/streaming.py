"""Answers that are sent while they are made: a client that leaves, or is too slow, ends the statement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import Response

from tailpipe.http_guard.guard import Receive, Scope, Send
from tailpipe.serve.limits import encoded
from tailpipe.serve.pool import Pool
from tailpipe.serve.problems import LeftError, Problems
from tailpipe.workers.worker import Request


def gone(receive: Receive) -> Callable[[], Awaitable[None]]:
    """What returns when the client has left."""

    async def left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return left


class Streaming(Response):
    """The parts of an answer; a failure before the first is an answer of its own, a later one a last line or a cut."""

    def __init__(
        self,
        pool: Pool,
        problems: Problems,
        request: Request,
        seconds: float,
        headers: Mapping[str, str],
        *,
        reports_failures: bool,
    ) -> None:
        super().__init__(headers=dict(headers))
        self._pool, self._problems, self._request, self._seconds = pool, problems, request, seconds
        self._reports_failures = reports_failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        leaving = asyncio.ensure_future(gone(receive)())
        is_begun = False

        async def left() -> None:
            await asyncio.shield(leaving)

        try:
            async with self._pool.stream(left, self._request, self._seconds) as parts:
                headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
                while True:
                    part = await _next(parts, leaving)
                    if not is_begun:
                        await send({"type": "http.response.start", "status": 200, "headers": headers})
                        is_begun = True
                    await send({"type": "http.response.body", "body": part or b"", "more_body": part is not None})
                    if part is None:
                        return
        except LeftError:
            return
        except Exception as failure:  # noqa: BLE001 - every failure is an answer
            await self._fail(failure, scope, receive, send, is_begun=is_begun)
        finally:
            leaving.cancel()

    async def _fail(self, failure: Exception, scope: Scope, receive: Receive, send: Send, *, is_begun: bool) -> None:
        status, body = self._problems.of(failure)
        if not is_begun:
            answer = Response(encoded(body), status, media_type="application/json")
            await answer(scope, receive, send)
            return
        if not self._reports_failures:
            raise failure  # the connection is cut, so that nobody takes a part for the whole
        await send({"type": "http.response.body", "body": encoded(body) + b"\n", "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _next(parts: AsyncIterator[bytes], leaving: asyncio.Future[Any]) -> bytes | None:
    """The next part, None at the end; `LeftError` if the client is quicker."""
    coming = asyncio.ensure_future(anext(parts, None))
    try:
        await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not coming.done():
            coming.cancel()
    if not coming.done() or coming.cancelled():
        raise LeftError
    found: bytes | None = coming.result()
    return found
