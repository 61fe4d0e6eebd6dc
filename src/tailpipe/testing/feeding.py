"""What `check_plugin` feeds to a plugin: garbage, golden files, and the artifacts of its sources."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from tailpipe.errors import TailpipeError
from tailpipe.kernel.content import byte_stream, events_of, opened
from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import Trial, try_task
from tailpipe.model.artifact import Artifact
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.source import Source
from tailpipe.model.table import OPTIONAL_COLUMNS, PATH_COLUMNS, Table
from tailpipe.model.window import Window
from tailpipe.plugin import Plugin
from tailpipe.testing.memory import Memory, garbage

__all__ = ["NOW", "OMITTED", "garbage_problems", "golden_problems", "sample_problems", "source_problems"]

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
_ARTIFACTS, _PIECES = 3, 100_000
_OPTIONAL = frozenset(column.name for column in OPTIONAL_COLUMNS)
OMITTED = frozenset(COMMON_TYPES) - {"tp_timestamp", *PATH_COLUMNS, *_OPTIONAL} | {"tp_source_name"}
"""Columns that golden files omit: they say where a row comes from, not what it is."""
_ROWS = 100_000


def garbage_problems(plugin: Plugin) -> Iterator[str]:
    """Tables that fail on garbage: bad rows are rejected, a bad artifact has an error, and nothing else happens."""
    for table in plugin.loaded("table"):
        for what, content in garbage().items() if table.format is not None else ():
            try:
                trial = _tried(table, "garbage", content)
            except Exception as error:  # noqa: BLE001 - whatever it is, the author wants to know
                yield f'table "{table.name}": fails on {what}: {type(error).__name__}: {error}'
            else:
                if not trial.accounts.is_balanced:
                    yield f'table "{table.name}": loses rows of {what}: {trial.accounts}'


def golden_problems(plugin: Plugin, directory: Path) -> Iterator[str]:
    """Golden files whose rows are others than those that were written down."""
    tables = {table.name: table for table in plugin.loaded("table")}
    inputs = sorted(path for path in directory.glob("*/*.in.*") if path.is_file())
    if not inputs:
        yield f'there is no golden file TABLE/CASE.in.EXTENSION in "{directory}"'
    for path in inputs:
        name, case = path.parent.name, path.name.partition(".in.")[0]
        expected = path.with_name(f"{case}.rows.jsonl")
        if name not in tables or not expected.is_file():
            what = f"{expected.name} is missing" if name in tables else f'there is no table "{name}"'
            yield f"golden file {name}/{path.name}: {what}"
            continue
        yield from sample_problems(f"golden file {name}/{path.name}", tables[name], path, expected)


def sample_problems(what: str, table: Table, path: Path, expected: Path) -> Iterator[str]:
    """What is different between the rows that a table makes of a log and those that were written down."""
    trial = _tried(table, path.name, path.read_bytes())
    rows = [] if trial.rows is None else trial.rows.to_pylist()
    found = [{key: value for key, value in row.items() if value is not None and key not in OMITTED} for row in rows]
    if trial.error is not None:
        yield f"{what}: {trial.error}"
    given = [json.loads(line) for line in expected.read_text(encoding="utf-8").splitlines() if line.strip()]
    plain = json.loads(json.dumps(found, default=_text))
    yield from _differences(what, _with_json(table, plain), _with_json(table, given))


def _with_json(table: Table, rows: list[Any]) -> list[Any]:
    """Rows whose JSON columns are values, so that the order of keys does not matter; they may be written as either."""
    names = {column.name for column in table.columns if column.type == "json"}
    return [
        {key: json.loads(value) if key in names and isinstance(value, str) else value for key, value in row.items()}
        for row in rows
    ]


def source_problems(source: Source, window: Window | None) -> Iterator[str]:
    """What is wrong with what a source lists, and with what it opens; some artifacts are read."""
    what = f'source "{source.type}"'
    window = window or Window.of_day(datetime.now(UTC).date() - timedelta(days=1))
    if pickle.loads(pickle.dumps(source)) != source:  # noqa: S301 - our own bytes
        yield f"{what}: it does not survive pickling"
    listed = list(islice(source.artifacts(window), _PIECES))
    if not listed:
        yield f"{what}: it lists nothing for {window}"
    if [one.uri for one in listed] != [one.uri for one in islice(source.artifacts(window), _PIECES)]:
        yield f"{what}: a second listing has other artifacts"
    uris = [one.uri for one in listed]
    if len(set(uris)) < len(uris):
        yield f"{what}: it lists {next(uri for uri in uris if uris.count(uri) > 1)} twice"
    for artifact in listed[:_ARTIFACTS]:
        if (artifact.kind == "range") != source.yields_events:
            yield f"{what}: ranges yield events, and nothing else does: {artifact.uri} is of the kind {artifact.kind}"
        else:
            yield from _opening_problems(what, source, artifact)


def _opening_problems(what: str, source: Source, artifact: Artifact) -> Iterator[str]:
    with source.opener([artifact]) as open_:
        try:
            if source.yields_events:
                events = list(islice(events_of(artifact, open_), _PIECES))
                keys = {event.key for event in events}
                if not all(isinstance(key, str) and key for key in keys):
                    yield f"{what}: an event of {artifact.uri} has no key"
                elif len(keys) < len(events):
                    yield f"{what}: two events of {artifact.uri} have the same key"
                if any(event.time is not None and event.time.tzinfo is None for event in events):
                    yield f"{what}: an event of {artifact.uri} has a time without a zone"
                if unknown := {name for event in events for name in event.fields} - {*source.event_fields}:
                    yield f"{what}: event_fields does not declare {', '.join(sorted(unknown))}"
            else:
                with byte_stream(artifact, opened(artifact, open_)) as given:
                    stream: Any = given
                    while data := stream.read(1 << 20):
                        if not isinstance(data, bytes):
                            yield f"{what}: {artifact.uri} gives {type(data).__name__}, not bytes"
                            break
        except TailpipeError as error:
            yield f"{what}: {error.with_hint}"


def _tried(table: Table, uri: str, content: bytes) -> Trial:
    assert table.format is not None  # noqa: S101 - tables without one are left out
    artifact = Artifact(uri, size=len(content), kind="object")
    source = Memory(name="memory", content=content)
    return try_task(Task.of(f"{table.name}.test", table, source, table.format, (Reading(artifact, uri),), NOW), _ROWS)


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def _differences(what: str, found: list[Any], expected: list[Any]) -> Iterator[str]:
    if len(found) != len(expected):
        yield f"{what}: {len(found)} rows, expected {len(expected)}"
    for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
        for name in sorted({*one, *other}):
            if one.get(name) != other.get(name):
                yield f"{what}: row {number}: {name} is {one.get(name)!r}, expected {other.get(name)!r}"
