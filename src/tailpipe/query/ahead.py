"""Batches fetched one ahead, in a thread of their own: Ctrl-C is heard meanwhile, and two cores have work."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future


def fetched_ahead(batches: Iterator[Any], interrupt: Callable[[], None]) -> Generator[Any]:
    """Fetch batches in another thread, because Python handles no signal during a fetch; leaving early interrupts it."""
    from concurrent.futures import ThreadPoolExecutor  # late, as a short answer needs no thread

    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        coming: Future[Any] = thread.submit(next, batches, None)
        try:
            while (batch := coming.result()) is not None:
                coming = thread.submit(next, batches, None)
                yield batch
        finally:
            if not coming.done():
                interrupt()
                coming.exception()  # that it was interrupted is no news
