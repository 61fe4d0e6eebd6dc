"""The pool that runs requests of the explorer in workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.serve.limits import Limits
from tailpipe.serve.pool import Pool
from tailpipe.workers.pool import Workers


class Immediate(Executor):
    """Runs everything in the thread of its caller, as if a thread had been quicker."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future = Future[Any]()
        try:
            future.set_result(work(*args, **named))
        except TailpipeError as error:
            future.set_exception(error)
        return future


class Nothing:
    statement = "SELECT 1"

    def __call__(self, shared: Any, call: Any, /) -> bytes:
        return b""


def broken() -> None:
    raise TailpipeError("the config is broken")


async def never() -> None:
    await asyncio.Event().wait()


async def first_part(pool: Pool) -> bytes | None:
    async with asyncio.timeout(10), pool.stream(never, Nothing(), 10) as parts:
        return await anext(parts, None)


@pytest.mark.parametrize("is_immediate", [True, False])
def test_a_request_that_ends_at_once_does_not_stop_the_server(is_immediate: bool) -> None:
    pool = Pool(Workers(broken, 1), Limits())
    if is_immediate:
        pool._threads.shutdown()
        pool._threads = Immediate()  # type: ignore[assignment]
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            asyncio.run(first_part(pool))
        except TailpipeError as error:
            caught.append(error)

    thread = threading.Thread(target=ask, daemon=True)  # a loop that hangs cannot be ended
    thread.start()
    thread.join(30)
    assert [str(error) for error in caught] == ["the config is broken"]
    pool.close()
