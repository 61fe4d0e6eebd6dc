"""No key of a JSON log is lost: what no column knows is in the column of all the rest, at any depth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tailpipe.formats import Json, Jsonl
from tests.aws_tables.golden import TABLES, Case, cases
from tests.aws_tables.inputs import rows_of


def json_cases() -> list[Case]:
    found = [case for case in cases() if isinstance(TABLES[case.table].format, Json | Jsonl)]
    return [case for case in found if case.beside("rows.jsonl").exists() and documents(case)]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value, itself included."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def documents(case: Case) -> list[Any]:
    """The documents or lines of a case that are JSON objects."""
    text = case.input.read_text(encoding="utf-8")
    found = []
    decoder, place = json.JSONDecoder(), 0
    if isinstance(TABLES[case.table].format, Jsonl):
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return [one for one in found if isinstance(one, dict)]
    while place < len(text.rstrip()):
        try:
            one, end = decoder.raw_decode(text[place:].lstrip())
        except ValueError:
            break
        place += len(text[place:]) - len(text[place:].lstrip()) + end
        found.append(one)
    return found


def with_new_keys(value: Any, mark: str) -> list[str]:
    """Put a key of its own into each object; gives the values to look for."""
    added = []
    for number, one in enumerate(list(objects(value))):
        added.append(f"{mark}-{number}-kept")
        one["zzNew"] = {"in": [added[-1]]}
    return added


@pytest.mark.slow
@pytest.mark.parametrize("case", json_cases(), ids=str)
def test_a_new_key_at_any_depth_is_kept(case: Case) -> None:
    whole = documents(case)
    records = [record for document in whole for record in records_of(case.table, document)]
    added = {n: with_new_keys(record, f"r{n}") if fits(case.table, record) else [] for n, record in enumerate(records)}
    rows = rows_of(case.table, "\n".join(map(json.dumps, whole)))
    assert rows
    for row in rows:
        told = json.dumps(row, default=str)
        record = int(row["tp_id"].rpartition("-")[2]) - 1
        assert [one for one in added[record] if one not in told] == []


def test_a_new_key_around_the_findings_of_an_event_is_kept() -> None:
    finding = {"Id": "f", "CreatedAt": "2024-01-31T10:00:00Z"}
    event = {"id": "e", "new": {"a": "kept-1"}, "detail": {"findings": [finding], "newer": "kept-2"}}
    (row,) = rows_of("aws_securityhub_finding", json.dumps(event))
    assert json.loads(row["additional"]) == {"event": {"new": {"a": "kept-1"}, "detail": {"newer": "kept-2"}}}


def records_of(table: str, document: Any) -> list[Any]:
    """The records in a document; a line is one itself."""
    format = TABLES[table].format
    if not isinstance(format, Json):
        return [document]
    for key in format.record_paths[0]:
        document = document.get(key, [])
    return list(document)


def fits(table: str, record: Any) -> bool:
    """Whether each struct is an object in the record: if not, its column is null, and the report says so."""
    names = [column for column in TABLES[table].columns if (column.type or "").startswith("struct(")]
    values = [record.get(column.source or column.name) if isinstance(record, dict) else "" for column in names]
    return all(value is None or isinstance(value, dict) for value in values)
