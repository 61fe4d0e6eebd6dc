"""Answers for programs, written as they come: csv, JSON, JSON lines, Arrow and parquet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Protocol

from tailpipe.query.exact import Exact

FORMATS = ("csv", "json", "jsonl", "parquet", "arrow")
ARRAY_END = b"\n]\n"
"""What the output json writes last."""
ROWS_AT_ONCE = 20_000
"""Rows to a batch: enough to be fast, few enough for wide ones."""
_ROW_GROUP = 122_880

Write = Callable[[bytes], None]


class Batched(Protocol):
    """What a statement gave, as Arrow."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def types(self) -> tuple[str, ...]:
        """Their types, as DuckDB writes them."""

    def batches(self, rows: int, /) -> Iterator[Any]:
        """The rows as Arrow batches of about that many."""


def write_exact(
    answer: Batched,
    output: str,
    write: Write,
    interrupt: Callable[[], None],
    limit: int | None = None,
    *,
    has_header: bool = True,
    separator: str = ",",
    null: str = "",
) -> int:
    """Write rows in one of `FORMATS`; how many there were. `interrupt` ends a statement whose rows are not needed."""
    fetched = _fetched_ahead(answer.batches(ROWS_AT_ONCE), interrupt)
    with Exact(answer.columns, answer.types) as exact, closing(fetched):
        batches = _first(fetched, limit)
        if output == "csv":
            return _csv(batches, exact, write, has_header, separator, null)
        if output in ("json", "jsonl"):
            return _json(batches, exact, write, is_array=output == "json")
        return _arrow(batches, exact, write) if output == "arrow" else _parquet(batches, exact, write)


def _csv(batches: Iterator[Any], exact: Exact, write: Write, has_header: bool, separator: str, null: str) -> int:
    header = exact.csv_header(separator, null)
    if has_header:
        write(header)
    count = 0
    for batch in batches:
        write(exact.csv(batch, separator, null))
        count += batch.num_rows
    return count


def _json(batches: Iterator[Any], exact: Exact, write: Write, *, is_array: bool) -> int:
    count = 0
    if is_array:
        write(b"[\n\t")
    for batch in batches:
        text = exact.json(batch)
        if is_array:  # no line break stands inside of an object
            text = (b",\n\t" if count else b"") + text.rstrip(b"\n").replace(b"\n", b",\n\t")
        write(text)
        count += batch.num_rows
    if is_array:
        write(ARRAY_END)
    return count


def _arrow(batches: Iterator[Any], exact: Exact, write: Write) -> int:
    import pyarrow

    count = 0
    with pyarrow.ipc.new_file(_Writable(write), exact.portable_schema()) as writer:
        for batch in batches:
            writer.write_table(exact.portable(batch))
            count += batch.num_rows
    return count


def _parquet(batches: Iterator[Any], exact: Exact, write: Write) -> int:
    import pyarrow
    import pyarrow.parquet

    count, waiting, size = 0, [], 0
    with pyarrow.parquet.ParquetWriter(_Writable(write), exact.portable_schema(), compression="zstd") as writer:
        for batch in batches:
            waiting.append(exact.portable(batch))
            count += batch.num_rows
            size += batch.num_rows
            if size >= _ROW_GROUP:
                writer.write_table(pyarrow.concat_tables(waiting))
                waiting, size = [], 0
        if waiting:
            writer.write_table(pyarrow.concat_tables(waiting))
    return count


class _Writable:
    """What pyarrow takes for a file to write to."""

    def __init__(self, write: Write) -> None:
        self._write, self.closed = write, False

    def write(self, data: Any) -> int:
        self._write(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        self.closed = True


def _first(batches: Iterator[Any], limit: int | None) -> Iterator[Any]:
    """Batches up to a number of rows, none of them empty."""
    left = limit
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        taken = batch if left is None else batch.slice(0, left)
        if taken.num_rows:
            yield taken
        left = None if left is None else left - taken.num_rows


def _fetched_ahead(batches: Iterator[Any], interrupt: Callable[[], None]) -> Generator[Any]:
    """Fetch batches in another thread, because Python handles no signal during a fetch; leaving early interrupts it."""
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
