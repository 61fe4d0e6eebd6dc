"""What a format makes of bytes, and checks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.format import Format
from tailpipe.model.option import options_of
from tailpipe.model.table import Table
from tailpipe.plugin import Plugin
from tailpipe.testing.memory import Memory, garbage

__all__ = ["ReadRows", "check_format", "format_problems", "read_bytes"]

_SOME_BYTES = 512
"""So much of some garbage is read: a table of every field would get a column for each word of it."""
_ANY_FIELD = Table(
    name="test", description="Every field.", map_fields=("*",), common={"tp_timestamp": "TIMESTAMP '1970-01-01'"}
)


@frozen
class ReadRows:
    """What a format makes of some bytes: rows of fields, and for each rejected row its place and the reason."""

    rows: Sequence[Mapping[str, Any]]
    rejected: Sequence[tuple[str, str]]
    """Such as `("line 3", "has no key=value pair")`."""
    error: str | None = None
    """Why the artifact as a whole cannot be read."""


def read_bytes(format: Format, data: bytes, *, name: str = "/test.log") -> ReadRows:
    """Read bytes as an artifact of that name, as a collection does; types are inferred from the values."""
    from tailpipe.kernel.task import Reading, Task
    from tailpipe.kernel.trial import try_task

    source = Memory(name="test", content=data)
    reading = Reading(Artifact(name, size=len(data)), name)
    now = datetime(2024, 1, 31, tzinfo=UTC)
    trial = try_task(Task.of("test.test", _ANY_FIELD, source, format, (reading,), now), limit=1_000_000)
    rows = [] if trial.rows is None else trial.rows.to_pylist()
    fields = [{key: value for key, value in row.items() if not key.startswith("tp_")} for row in rows]
    return ReadRows(fields, [(one.position, one.reason) for one in trial.rejected], trial.error)


def check_format(
    format: Format, data: bytes, rows: Sequence[Mapping[str, Any]], rejected: Sequence[tuple[str, str]] = ()
) -> None:
    """Raise `AssertionError` unless a format reads these bytes as these rows, and rejects these places.

    Fields that are null may be left out of `rows`.
    """
    found = read_bytes(format, data)
    if found.error is not None:
        raise AssertionError(found.error)
    given = [{key: value for key, value in row.items() if value is not None} for row in found.rows]
    expected = [{key: value for key, value in row.items() if value is not None} for row in rows]
    if given != expected:
        raise AssertionError(f"{format.address} reads\n  {given}\nexpected\n  {expected}")
    if list(found.rejected) != list(rejected):
        raise AssertionError(f"{format.address} rejects\n  {found.rejected}\nexpected\n  {list(rejected)}")


def format_problems(plugin: Plugin) -> Iterator[str]:
    """Have each format that needs no options read what no format expects; it must reject that, not fail."""
    declared = plugin.loaded("format")
    formats = [one() for one in declared if not any(option.is_required for option in options_of(one).values())]
    for format in (*formats, *plugin.loaded("preset")):
        for what, data in garbage().items():
            try:
                read_bytes(format, data[:_SOME_BYTES])
            except Exception as error:  # noqa: BLE001 - whatever it is, the author wants to know
                kind = "" if isinstance(error, TailpipeError) else f"{type(error).__name__}: "
                yield f"{format.address}: fails on {what}: {kind}{error}"
                break
