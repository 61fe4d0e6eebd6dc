"""Feeds: the artifacts of a task as batches of parsed rows, whatever their format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tailpipe.frozen import frozen
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.task import Fault
from tailpipe.model.parsing import LineParser, Lines, Parsed
from tailpipe.sql.quoting import quoted


@frozen
class Batch:
    """Rows that are shaped by one query; `size` is about how many bytes of text they had."""

    parsed: Parsed
    size: int
    artifacts: Collection[int]


@frozen
class Failed:
    """An artifact could not be read to its end: the rows that it gave before must not be kept."""

    artifact: int
    fault: Fault


class Feed(Protocol):
    """Reads the artifacts of a task, in their order."""

    progress: Sequence[Progress]

    def events(self) -> Iterator[Batch | Failed]:
        """Batches, and failures between them."""


class JointFeed:
    """Several feeds over the artifacts of one task, each with the places of those that it reads."""

    def __init__(self, feeds: Sequence[tuple[Feed, Collection[int]]]) -> None:
        self._feeds = [feed for feed, _ in feeds]
        readers = {place: feed for feed, places in feeds for place in places}
        self.progress: Sequence[Progress] = [readers[place].progress[place] for place in sorted(readers)]

    def events(self) -> Iterator[Batch | Failed]:
        """The events of one feed after the other."""
        for feed in self._feeds:
            yield from feed.events()


class BadRow(NamedTuple):
    """A row that never gets to the parser: its place, why, and its text as far as it is known."""

    artifact: int
    ordinal: int
    reason: str
    raw: str | None


def bad_rows(rows: Sequence[BadRow], fields: Mapping[str, str] = {}) -> Batch:
    """Rows to reject, as a batch whose fields, by name and DuckDB type, are all null."""
    import pyarrow as pa

    artifacts, ordinals, reasons, texts = zip(*rows, strict=True)
    table = pa.table(
        {
            "_artifact": pa.array(artifacts, pa.int32()),
            "_ordinal": pa.array(ordinals, pa.int64()),
            "_bad": pa.array(reasons, pa.string()),
            "_raw": pa.array(texts, pa.string()),
        }
    )
    nulls = "".join(f", NULL::{kind} AS {quoted(name)}" for name, kind in fields.items())
    sql = f"SELECT _artifact, _ordinal, _bad, _raw{nulls} FROM bad_rows"
    return Batch(Parsed(sql, {"bad_rows": table}, fields, len(rows)), 0, set(artifacts))


@dataclass
class Held:
    """What is read but not parsed yet: rows of several artifacts wait to be parsed together."""

    parser: LineParser
    fields: Mapping[str, str] = field(default_factory=dict)
    """The DuckDB types of the fields that expressions count on, if they are not all text."""
    runs: list[Lines] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    size: int = 0

    def drop(self, artifact: int) -> None:
        """Let go of what is held of an artifact."""
        self.runs = [run for run in self.runs if run.artifact != artifact]
        self.bad = [row for row in self.bad if row.artifact != artifact]

    def learn(self, parsed: Parsed) -> None:
        """Note the types of fields that are not text: expressions over bad rows count on them too."""
        typed = {name: kind for name, kind in parsed.fields.items() if kind != "VARCHAR" and name not in self.fields}
        if typed:
            self.fields = {**self.fields, **typed}

    def parse(self) -> Iterator[Batch]:
        """All of it as batches; nothing is held after."""
        runs, bad, size = self.runs, self.bad, self.size
        self.runs, self.bad, self.size = [], [], 0
        if runs:
            parsed = self.parser.parse(runs)
            self.learn(parsed)
            yield Batch(parsed, size, {run.artifact for run in runs})
        if bad:
            yield bad_rows(bad, self.fields)
