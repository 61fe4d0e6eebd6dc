"""Test a detection on its example events: those in `must_hit` must hit, those in `must_not_hit` must not."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tailpipe.detect.evaluate import evaluate
from tailpipe.detect.jail import Jail, open_jail, why
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.kernel.trial import try_file
from tailpipe.model.detection import NEW_ROWS, Detection
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.model.types import ColumnType, ListType, StructType
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import literal, quoted

_LIMIT = 10_000
_START = datetime(2024, 1, 1)  # noqa: DTZ001 - as in the files, without a zone


@frozen
class Case:
    """One case of a detection: what was expected, how many hits there were, and why it failed, if it did."""

    kind: str
    number: int
    hits: int = 0
    failure: str = ""

    @property
    def is_passed(self) -> bool:
        """Whether it is as expected."""
        return not self.failure and (self.hits > 0) == (self.kind == "must_hit")


def try_detection(detection: Detection, table: Table, files: type[Source], now: datetime) -> list[Case]:
    """What the events of a detection make; a statement that reads other tables finds them empty."""
    cases = []
    with open_jail([], {table.name: table}, [detection]) as jail:
        for kind, given in (("must_hit", detection.must_hit), ("must_not_hit", detection.must_not_hit)):
            for number, case in enumerate(given, 1):
                events = list(case) if isinstance(case, tuple | list) else [case]
                try:
                    cases.append(Case(kind, number, _hits(jail, detection, table, files, events, now)))
                except (TailpipeError, duckdb.Error) as error:
                    cases.append(Case(kind, number, failure=why(error)))
    return cases


def _hits(
    jail: Jail, detection: Detection, table: Table, files: type[Source], events: Sequence[Any], now: datetime
) -> int:
    _show(jail, table, [row for event in events for row in _rows(event, table, files, now)])
    columns = [column.name for column in table.columns if not column.name.startswith("tp_")]
    (found,) = evaluate(jail, [detection], columns, lambda *_: NEW_ROWS, {})
    if found.failure:
        raise UsageError(found.failure)
    return len(found.hits)


def _rows(event: Any, table: Table, files: type[Source], now: datetime) -> list[dict[str, Any]]:
    """The rows of an event: columns as they are given, or what the table makes of log text."""
    if not isinstance(event, str):
        return [dict(event)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "events.log"
        path.write_text(event if event.endswith("\n") else f"{event}\n", encoding="utf-8")
        trial = try_file(path, files, table, None, _LIMIT, now)
    if trial.error or trial.rejected or trial.rows is None:
        reason = trial.error or (trial.rejected[0].reason if trial.rejected else "it has no row")
        raise UsageError(f"the text is not a log of {table.name}: {reason}")
    nested = {column.name for column in table.columns if column.type == "json"}
    rows: list[dict[str, Any]] = trial.rows.to_pylist()
    return [
        {name: json.loads(value) if name in nested and value is not None else value for name, value in row.items()}
        for row in rows
    ]


def _show(jail: Jail, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Make the rows to examine, in the types of the table; those without a time or id get one."""
    own = {column.name: kind for column in table.columns if (kind := column.column_type) is not None}
    kinds = {**own, **COMMON_TYPES}
    known = {name.lower(): name for name in kinds}  # an event may write columns in another case
    texts = []
    for number, row in enumerate(rows):
        moment = _START + timedelta(seconds=number)
        given = {"tp_id": f"event-{number:06d}", "tp_timestamp": moment, "tp_partition": "test"}
        given |= {known.get(str(name).lower(), str(name)): value for name, value in row.items() if value is not None}
        texts.append(json.dumps(given, default=str, ensure_ascii=False))
    types = {name: "VARCHAR" if kind.name == "inet" else kind.duckdb for name, kind in kinds.items()}
    items = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in types.items())
    shape = json.dumps({name: _shape(kind) for name, kind in kinds.items()})
    values = ", ".join(f"({literal(text)})" for text in texts)
    jail.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {NEW_ROWS} AS SELECT {items} FROM (SELECT unnest(from_json(t.text,"
        f" {literal(shape)})) FROM (VALUES {values}) t(text))"
    )


def _shape(kind: ColumnType) -> Any:
    if isinstance(kind, ListType):
        return [_shape(kind.element)]
    if isinstance(kind, StructType):
        return {name: _shape(inner) for name, inner in kind.fields}
    return "JSON" if kind.name == "json" else "VARCHAR"
