"""Parsers: what a task requests of a format, what the parser reads, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol

from tailpipe.frozen import frozen
from tailpipe.model.paths import Path
from tailpipe.model.types import ColumnType

if TYPE_CHECKING:
    import _duckdb as duckdb
    import numpy as np
    import pyarrow as pa

_MEGABYTE = 1024 * 1024


@frozen
class ParseContext:
    """What a task wants of a parser. A parser may give more fields, and need not give any of these."""

    fields: Mapping[str, ColumnType] = field(default_factory=dict)
    """The fields that columns and expressions take, each with the shape in which it is wanted: text for any scalar
    column. A name that ends with `*` stands for all fields that nobody names, as JSON."""
    nested: Mapping[str, ColumnType] = field(default_factory=dict)
    """The keys that are known inside fields that are read as text."""
    paths: Mapping[str, Path] = field(default_factory=dict)
    """For JSON, the fields that are inside others, and their paths; no key of a record has their names."""
    unclaimed: Collection[str] = frozenset()
    """Fields that belong to `*` all the same."""
    numbers: Collection[str] = frozenset()
    """Fields, in lower case, that all who take them want as whole numbers: a parser may give them as BIGINT."""
    noun: str = "line"
    """What a row is called in the reason why it is rejected."""
    has_line_ends: bool = False
    """Whether a text may hold line ends: an event of many lines, or a message."""
    max_record_bytes: int = 64 * _MEGABYTE
    """How long a record of a document may be; a longer one is rejected."""
    connection: duckdb.DuckDBPyConnection | None = None
    """The DuckDB of the task, for queries of the parser's own; None outside a task."""


@frozen
class Lines:
    """A run of whole lines of one artifact. Blank lines are left out; they are no rows.

    `text` is an Arrow array of strings (views into one buffer), valid UTF-8, without line ends. `ordinals` are line
    numbers in the decompressed text, from 1; an event of many lines is one entry with the ordinal of its first line.
    """

    text: pa.Array
    ordinals: np.ndarray
    artifact: int
    """Place of the artifact in the task."""
    head: Sequence[str] = field(default=())
    """The first lines of the artifact, if this run does not begin with them: a header may be among them."""


@frozen
class Parsed:
    """Rows with named fields, as a DuckDB query over Arrow tables, so that the next step is one query with it.

    The query gives `_artifact` (integer), `_ordinal` (bigint), `_bad` (why it cannot be read, or null), `_raw` (its
    text, at least where `_bad` is not null), then fields by name. Bad lines are rows, headers and comments are not.
    Each row has the artifact and the ordinal of a line that was given, and no two rows have the same.
    """

    sql: str
    tables: Mapping[str, pa.Table]
    fields: Mapping[str, str]
    """The DuckDB type of each field as it is read: VARCHAR unless the format itself has types."""
    rows: int
    misfits: Mapping[str, str] = field(default_factory=dict)
    """Boolean columns of the query that say, for a field, that its value was there but of another shape."""
    records: str = ""
    """For JSON, a query that gives `_artifact`, `_ordinal` and the text of each record as `_raw`: keys that are no
    field yet are found there."""


class LineParser(Protocol):
    """Takes lines apart. One instance serves one task, and may remember what it saw of an artifact."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of all the lines, in their order."""
        ...


class Document(Protocol):
    """One file to read: an artifact, or a file in an archive, decompressed. It is read once, in one of two ways."""

    @property
    def name(self) -> str:
        """Its URI, and the path in the archive behind a `!`; for messages."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """The bytes in order. If the format has an encoding, they are valid UTF-8, cut between characters."""
        ...

    def open(self) -> BinaryIO:
        """The bytes as a seekable file."""
        ...


@frozen
class Records:
    """Texts of records, as an Arrow array of strings: `parse` takes them apart with those of other documents."""

    texts: pa.Array


@frozen
class Rows:
    """Rows in columns, of any Arrow type that DuckDB knows."""

    table: pa.Table


@frozen
class Rejected:
    """One row that cannot be read, and why. It has a place among the rows like any other."""

    reason: str
    text: str = ""
    is_unfinished: bool = False
    """Whether it is the end of a document that may go on: if its file may still grow, it is left for the next run."""


Found = Records | Rows | Rejected


class DocumentParser(ABC):
    """Reads whole documents. One instance serves one task.

    Rows, records and rejected rows are numbered in the order in which they are given. If a document has grown since
    it was last collected, it is read from its beginning, and the rows that are known are left out.
    """

    gathers: bool = False
    """Whether small documents are better read many at once: then `read_small` gets those of one chunk."""
    gives_records: ClassVar[bool] = False
    """Whether it gives `Records`, and so has a `parse` of its own."""

    @abstractmethod
    def read(self, document: Document) -> Iterator[Found]:
        """What is in a document. Raise `TailpipeError` if it is damaged: then nothing of its artifact is kept."""

    def read_small(self, documents: Sequence[Document]) -> Iterator[tuple[Document, Found]]:
        """What is in documents that came in one chunk each, one document after the other."""
        for document in documents:
            for found in self.read(document):
                yield document, found

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of records, in their order."""
        raise NotImplementedError(f"{type(self).__name__} gives no records")
