"""A file that is collected twice: once when it is cut short and may still grow, then whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tailpipe.model.format import Format
from tailpipe.plugin import Column, Table
from tests.unit.kernel.support import Run, shared, task


def grown_rows(format: Format, data: bytes, cut: int, columns: Sequence[Column]) -> tuple[list[Any], list[Any]]:
    """The rows of two runs together, and those of one run over the whole file, each with its id; then the rejected."""
    of = Table(name="things", columns=list(columns), common={"tp_timestamp": "TIMESTAMP '2024-01-01'"})
    first = Run(_reading(task(data[:cut], format=format, of=of), is_closed=False))
    (before,) = first.outcome.results
    known = {"offset_bytes": before.committed_bytes, "offset_rows": before.committed_ordinals}
    second = Run(_reading(task(data, format=format, of=of), **known))
    whole = Run(task(data, format=format, of=of))
    assert first.outcome.results[0].accounts.is_balanced
    assert second.outcome.results[0].accounts.is_balanced
    assert second.outcome.results[0].committed_bytes == len(data)
    names = ["tp_id", *(column.name for column in columns)]
    return _values(names, first, second), _values(names, whole)


def _values(names: Sequence[str], *runs: Run) -> list[Any]:
    rows = [tuple(row[name] for name in names) for run in runs for row in run.rows]
    return rows + [(row["ordinal"], row["reason"]) for run in runs for row in run.rejected]


def _reading(made: Any, **facts: Any) -> Any:
    return shared(made, readings=tuple(replace(reading, **facts) for reading in made.readings))
