"""Documents: artifacts that are read as a whole, and their rows in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailpipe.errors import PluginError, TailpipeError
from tailpipe.kernel.checked_parser import CheckedParser
from tailpipe.kernel.columns import Columns
from tailpipe.kernel.documents import MemberDocument
from tailpipe.kernel.feed import BadRow, Batch, Failed, Held
from tailpipe.kernel.format_faults import MACHINE_FAULTS, describe, format_fault
from tailpipe.kernel.intake import Intake, Open
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.shape import RAW_BYTES
from tailpipe.kernel.task import Fault, Task
from tailpipe.model.format import Format
from tailpipe.model.meter import Meter
from tailpipe.model.parsing import DocumentParser, Found, Lines, Records, Rejected, Rows

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb


class DocumentFeed:
    """Has documents read by a parser, numbers what it finds, and hands rows on in batches.

    A document is always read from its beginning. If it has grown, the rows that were taken are left out.
    """

    def __init__(
        self,
        task: Task,
        format: Format,
        parser: DocumentParser,
        failed: Mapping[int, Fault],
        connection: duckdb.DuckDBPyConnection,
        fields: Mapping[str, str],
        meter: Meter | None = None,
    ) -> None:
        self._limits = task.limits
        self._format = format
        self._parser = parser
        self._spill = task.spill
        self._waiting: list[MemberDocument] = []
        """Small documents that are read together."""
        self._held = Held(CheckedParser(parser, format, format.noun, connection), fields)
        self._columns = Columns(format, connection)
        self._intake = Intake(task, failed, meter, as_files=format.encoding is None)
        self.progress: Sequence[Progress] = self._intake.progress

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of about `batch_bytes`."""
        yield from self._intake.each(self._read, self._drop)
        yield from self._flush()

    def _drop(self, artifact: int) -> None:
        self._waiting = [document for document in self._waiting if document.place != artifact]
        self._held.drop(artifact)
        self._columns.drop(artifact)

    def _flush(self) -> Iterator[Batch]:
        self._read_waiting()
        for batch in self._columns.batches():
            self._held.learn(batch.parsed)
            yield batch
        yield from self._held.parse()

    def _grown(self, size: int) -> Iterator[Batch]:
        self._held.size += size
        if self._held.size + self._columns.size >= self._limits.batch_bytes:
            yield from self._flush()

    def _read(self, place: int, open_: Open) -> Iterator[Batch]:
        progress = self.progress[place]
        for member in self._intake.members(place, open_):
            plain = None if member.is_packed else self._intake.plain
            document = MemberDocument(place, progress, member, self._format.encoding, plain, self._spill)
            if self._parser.gathers and document.gather():
                self._waiting.append(document)
                yield from self._grown(document.size)
                continue
            self._read_waiting()
            try:
                size = 0
                for found in self._found(document):
                    self._take(document, found)
                    yield from self._grown(_size(found, document.size - size))
                    size = document.size
                document.finish()
            finally:
                document.close()

    def _found(self, document: MemberDocument) -> Iterator[Found]:
        """What the parser finds. What it raises is its fault, unless the bytes could not be read or are damaged."""
        try:
            yield from self._parser.read(document)
        except Exception as error:
            if document.failure is not None:
                raise document.failure from None
            if isinstance(error, (*MACHINE_FAULTS, TailpipeError)):
                raise
            raise self._failed(document.name, error) from error

    def _read_waiting(self) -> None:
        documents, self._waiting = self._waiting, []
        if not documents:
            return
        own = {id(document): document for document in documents}
        try:
            for document, found in self._parser.read_small(documents):
                if id(document) not in own:
                    raise format_fault(self._format, "gave rows of a document that it was not given")
                self._take(own[id(document)], found)
        except (*MACHINE_FAULTS, PluginError):
            raise
        except Exception as error:
            raise self._failed(documents[0].name, error) from error

    def _failed(self, name: str, error: Exception) -> TailpipeError:
        return format_fault(self._format, f'failed to read "{name}": {describe(error, self._format)}')

    def _take(self, document: MemberDocument, found: Found) -> None:
        match found:
            case Records(texts):
                if not self._parser.gives_records:
                    raise format_fault(self._format, "gave records without saying so by gives_records")
                self._check_texts(texts)
                self._hold(document, texts)
            case Rows(table):
                if not isinstance(table, pa.Table):
                    raise format_fault(self._format, f"gave a {type(table).__name__} as rows, expected a pyarrow Table")
                first, skip = self._number(document.progress, table.num_rows)
                self._columns.add(document.place, first + skip, table.slice(skip))
            case Rejected():
                self._reject(document, found)
            case _:
                raise format_fault(self._format, f"gave a {type(found).__name__}, expected Records, Rows or Rejected")

    def _check_texts(self, texts: pa.Array) -> None:
        kinds = (pa.string(), pa.large_string(), pa.string_view())
        if not isinstance(texts, pa.Array) or texts.type not in kinds or texts.null_count:
            raise format_fault(self._format, "gave records that are not a pyarrow Array of strings without nulls")

    def _number(self, progress: Progress, count: int) -> tuple[int, int]:
        """The ordinal of the first of so many rows, and how many of them were taken before."""
        first = progress.committed_ordinals + 1
        progress.committed_ordinals += count
        return first, min(count, max(0, progress.reading.offset_rows - first + 1))

    def _hold(self, document: MemberDocument, texts: pa.Array) -> None:
        first, skip = self._number(document.progress, len(texts))
        if skip < len(texts):
            ordinals = np.arange(first + skip, first + len(texts), dtype=np.int64)
            self._held.runs.append(Lines(texts.slice(skip), ordinals, document.place))

    def _reject(self, document: MemberDocument, found: Rejected) -> None:
        progress = document.progress
        if not (isinstance(found.reason, str) and isinstance(found.text, str)):
            raise format_fault(self._format, "rejected a row with a reason or a text that is not text")
        if found.is_unfinished and not progress.is_closed:
            progress.unread_bytes = max(1, len(found.text.encode("utf-8", "surrogatepass")))
            return
        first, skip = self._number(progress, 1)
        if not skip:
            raw = found.text.encode("utf-8", "replace")[:RAW_BYTES].decode("utf-8", "replace")
            reason = found.reason.encode("utf-8", "replace").decode()
            self._held.bad.append(BadRow(document.place, first, reason, raw))


def _size(found: Found, read: int) -> int:
    """How much a batch grows: by the text of records, not by columns, which are counted where they are held."""
    match found:
        case Rows():
            return 0
        case Records(texts) if texts.type != pa.string_view():  # it may be longer than what was read
            return max(read, int(texts.nbytes))
        case Rejected(text=text):
            return max(read, len(text))
    return read
