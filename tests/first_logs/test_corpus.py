"""Logs of well-known programs: `init` finds the time, the level and the message of their lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tailpipe.formats.grok import compile_layout
from tailpipe.infer.kind import kind_of
from tailpipe.infer.places import groups_of, open_target
from tailpipe.infer.recognise import Recogniser
from tailpipe.infer.sample import read_sample
from tailpipe.infer.trial import try_table
from tailpipe.plugin import Registry
from tests.first_logs.gaps import KNOWN_GAPS, WRONG_TABLES

HERE = Path(__file__).parent
ANSWERS: Mapping[str, Any] = json.loads((HERE / "answers.json").read_text())
"""For each layout: its file, when that was written, how many events it has, and what some of them say."""
SHIPPED = Registry.installed()
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
CLAIMANTS = ("syslog", "zeek_conn_log")
"""Tables that many logs are taken for wrongly. To ask all of them takes too long for each log."""
COSTLY = ("otlp_json", "traefik_access_json")
"""Layouts whose tables have so many expressions that reading a few rows takes seconds."""


@dataclass(frozen=True)
class Seen:
    """What became of a log."""

    table: str | None
    """The table, if it is shipped."""
    rows: list[dict[str, Any]]


@cache
def recogniser(tables: frozenset[str]) -> Recogniser:
    """What knows these tables, or all that are shipped if none is named."""
    return Recogniser({name: SHIPPED.tables[name] for name in sorted(tables) or SHIPPED.tables}, NOW)


def seen(directory: Path, answer: Mapping[str, Any], tables: Iterable[str]) -> Seen:
    """Infer the table of a log as `init` does, and read the whole log with it."""
    path = directory / answer["file"]
    path.write_bytes((HERE / "corpus" / answer["file"]).read_bytes())
    written = datetime.fromisoformat(answer["written"]).timestamp()
    os.utime(path, (written, written))
    target = open_target(str(path), SHIPPED.sources, None)
    ((artifact,),) = (group.artifacts for group in groups_of(target.artifacts()))
    layout = groups_of([artifact])[0].template.layout
    match = compile_layout(layout).fullmatch(artifact.path)
    year, month, day = (match.groupdict().get(part) if match else None for part in ("year", "month", "day"))
    if year and month and day:
        artifact = replace(artifact, day=date(int(year), int(month), int(day)))
    sample = read_sample(target.source, artifact)
    kind = kind_of(sample, target.source, recogniser(frozenset(tables)), SHIPPED.presets, "made", NOW)
    assert kind.table.format is not None
    rows = try_table(kind.table, kind.table.format, sample, NOW).rows
    return Seen(kind.table.name if kind.is_shipped else None, rows.to_pylist() if rows is not None else [])


def first_of(row: Mapping[str, Any], *names: str) -> Any:
    """The first of some columns that has a value."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def faults(answer: Mapping[str, Any], log: Seen) -> list[str]:
    """What is not as it should be, one line for each."""
    found = []
    if log.table != answer.get("table"):
        found.append(f"table: {log.table}, not {answer.get('table')}")
    counts = listed(answer["events"])
    if len(log.rows) not in counts:
        found.append(f"events: {len(log.rows)}, not {answer['events']}")
    header = len(log.rows) - counts[0] if len(log.rows) in counts else 0
    for right in answer["rows"]:
        if right["row"] + header < len(log.rows):
            found += [f"row {right['row']}: {fault}" for fault in row_faults(right, log.rows[right["row"] + header])]
    return found


def row_faults(right: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """What a row has instead of the right time, level and message, and the values that should have a column."""
    found = []
    if "time" in right:
        time = row["tp_timestamp"].isoformat()
        if datetime.fromisoformat(time) != datetime.fromisoformat(right["time"]).replace(tzinfo=None):
            found.append(f"time: {time}, not {right['time']}")
    if "level" in right:
        level = first_of(row, "tp_level", "level", "severity", "log_level", "levelname", "lvl")
        if fold(level) != fold(right["level"]):
            found.append(f"level: {level!r}, not {right['level']!r}")
    if "message" in right:
        message = str(first_of(row, "tp_message", "message", "msg", "text")).strip()
        if message not in [text.strip() for text in listed(right["message"])]:
            found.append(f"message: {message!r}, not {right['message']!r}")
    texts = {str(value).strip() for value in row.values()}
    found += [f"no column has {value!r}" for value in right.get("has", ()) if str(value) not in texts]
    return found


def fold(level: Any) -> str | None:
    return None if level is None else str(level).strip().lower()


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def cases(gaps: Mapping[str, str]) -> list[Any]:
    """Each layout; `make test` tries one of six, and `make test-slow` all of them."""
    late = {*COSTLY, *(name for number, name in enumerate(ANSWERS) if number % 6)}
    marks: dict[str, list[pytest.MarkDecorator]] = {name: [pytest.mark.slow] for name in ANSWERS if name in late}
    for name, reason in gaps.items():
        marks.setdefault(name, []).append(pytest.mark.xfail(reason=reason, strict=True))
    return [pytest.param(name, marks=marks.get(name, ())) for name in ANSWERS]


@pytest.mark.parametrize("name", cases(KNOWN_GAPS))
def test_time_level_and_message_of_a_log_are_found(name: str, tmp_path: Path) -> None:
    answer = ANSWERS[name]
    tables = {*CLAIMANTS, *filter(None, [answer.get("table")])}
    assert faults(answer, seen(tmp_path, answer, tables)) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", cases(KNOWN_GAPS | WRONG_TABLES))
def test_no_other_table_takes_the_log(name: str, tmp_path: Path) -> None:
    answer = ANSWERS[name]
    assert faults(answer, seen(tmp_path, answer, ())) == []


def test_each_file_has_an_answer_and_each_gap_a_layout() -> None:
    assert {path.name for path in (HERE / "corpus").iterdir()} == {answer["file"] for answer in ANSWERS.values()}
    assert (KNOWN_GAPS | WRONG_TABLES).keys() <= ANSWERS.keys()
