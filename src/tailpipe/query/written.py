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
    fetched, count = _fetched_ahead(answer.batches(ROWS_AT_ONCE), interrupt), 0

    def batches() -> Iterator[Any]:
        """Batches up to the limit, none of them empty."""
        nonlocal count
        while limit is None or count < limit:
            if (batch := next(fetched, None)) is None:
                return
            taken = batch if limit is None else batch.slice(0, limit - count)
            count += taken.num_rows
            if taken.num_rows:
                yield taken

    with Exact(answer.columns, answer.types) as exact, closing(fetched):
        if output == "csv":
            header = exact.csv_header(separator, null)
            if has_header:
                write(header)
            for batch in batches():
                write(exact.csv(batch, separator, null))
        elif output in ("json", "jsonl"):
            _write_json(batches(), exact, write, is_array=output == "json")
        elif output == "arrow":
            _write_arrow(batches(), exact, write)
        else:
            _write_parquet(batches(), exact, write)
    return count


def _write_json(batches: Iterator[Any], exact: Exact, write: Write, *, is_array: bool) -> None:
    separator = b""
    if is_array:
        write(b"[\n\t")
    for batch in batches:
        text = exact.json(batch)
        if is_array:  # no line break is inside of an object
            text = separator + text.rstrip(b"\n").replace(b"\n", b",\n\t")
            separator = b",\n\t"
        write(text)
    if is_array:
        write(ARRAY_END)


def _write_arrow(batches: Iterator[Any], exact: Exact, write: Write) -> None:
    import pyarrow

    with pyarrow.ipc.new_file(_Writable(write), exact.portable_schema()) as writer:
        for batch in batches:
            writer.write_table(exact.portable(batch))


def _write_parquet(batches: Iterator[Any], exact: Exact, write: Write) -> None:
    import pyarrow
    import pyarrow.parquet

    waiting, size = [], 0
    with pyarrow.parquet.ParquetWriter(_Writable(write), exact.portable_schema(), compression="zstd") as writer:
        for batch in batches:
            waiting.append(exact.portable(batch))
            size += batch.num_rows
            if size >= _ROW_GROUP:
                writer.write_table(pyarrow.concat_tables(waiting))
                waiting, size = [], 0
        if waiting:
            writer.write_table(pyarrow.concat_tables(waiting))


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
