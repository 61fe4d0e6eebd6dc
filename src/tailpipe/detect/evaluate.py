"""Evaluate the detections of one table over the rows to examine: one scan for all of them, and candidates of hits.

The condition of each detection becomes one bit of a number, so that all of them share a scan, and only rows that some
of them found are read whole. If the statement fails or crashes, each condition is tried alone: one broken detection
fails alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tailpipe.detect.counting import count_groups
from tailpipe.detect.hit_table import Hit, hit_id
from tailpipe.detect.jail import Jail, why
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.detection import NEW_ROWS, Detection
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import literal, quoted

_BITS = 62
_MASKS = "tp__masks"
_ROWS = "tp__rows"
_SQL = "tp__sql"
SEEN_LIMIT = 100_000
"""So many values of `first_seen` are kept for a detection; a column with more of them gives no useful hits."""
TOO_MANY_VALUES = f"first_seen has more than {SEEN_LIMIT:,} values; narrow where, or name other columns"

Context = Callable[[Detection, Sequence[datetime]], str]
"""Makes the relation in which a threshold is counted around these times, and gives its name."""


@dataclass
class Found:
    """What one detection has found: candidates of hits, later only the new ones, in the order of time; or a failure."""

    detection: Detection
    hits: list[Hit] = field(default_factory=list)
    known: int = 0
    seen: set[str] = field(default_factory=set)
    """Prints of values that `first_seen` has met for the first time."""
    failure: str = ""


def evaluate(
    jail: Jail, detections: Sequence[Detection], columns: Sequence[str], context: Context, seen: Mapping[str, set[str]]
) -> list[Found]:
    """What these detections of one table find in the view `new_rows`.

    `columns` are those of the table itself, `seen` the values that a `first_seen` knows, by detection.
    """
    found, run = {one.name: Found(one) for one in detections}, jail.connection.execute
    for one in detections:
        try:
            jail.check(one)
        except TailpipeError as error:
            found[one.name].failure = error.message
    checked = [one for one in detections if not found[one.name].failure]
    places = _match(jail, [one for one in checked if one.sql is None], found)
    for one in checked:
        result = found[one.name]
        if result.failure:
            continue
        try:
            jail.attempt.begin(one.name)
            relation, condition = _ROWS, places.get(one.name)
            if one.sql is not None:
                run(f"CREATE OR REPLACE TEMP TABLE {_SQL} AS SELECT DISTINCT tp_id FROM (\n{one.sql}\n)")
                relation, condition = NEW_ROWS, f"tp_id IN (SELECT tp_id FROM {_SQL})"
            if condition:
                rows = f"FROM {relation} WHERE {condition}"
                _collect(jail, result, rows, columns, context, seen.get(one.name, set()))
        except (duckdb.Error, TailpipeError) as error:
            result.failure = why(error)
    jail.attempt.begin()
    for name in (_MASKS, _ROWS, _SQL):
        run(f"DROP TABLE IF EXISTS {name}")
    return list(found.values())


def key_sql(expressions: Sequence[str]) -> str:
    """The values of expressions as one JSON text."""
    return "to_json([" + ", ".join(f"({text}\n)::VARCHAR" for text in expressions) + "]::VARCHAR[])::VARCHAR"


def _match(jail: Jail, detections: list[Detection], found: Mapping[str, Found]) -> dict[str, str]:
    """Find the rows of all conditions at once, or each alone if that fails; the condition on them by detection."""
    if not detections:
        return {}
    jail.attempt.begin()
    try:
        conditions = {} if jail.attempt.is_repeated else _scan(jail, detections)
    except (duckdb.Error, RuntimeError):
        conditions = {}
    if not conditions:
        for one in detections:
            jail.attempt.begin(one.name)
            found[one.name].failure = _failure(jail, one)
        jail.attempt.begin()
        detections = [one for one in detections if not found[one.name].failure]
        conditions = _scan(jail, detections) if detections else {}
    return conditions


def _scan(jail: Jail, detections: Sequence[Detection]) -> dict[str, str]:
    """Mark the rows of all conditions in one scan; the condition on the marks by detection, empty without rows."""
    run, masks = jail.connection.execute, []
    for start in range(0, len(detections), _BITS):
        cases = (
            f"CASE WHEN ({one.condition}\n) THEN {1 << place}::BIGINT ELSE 0::BIGINT END"
            for place, one in enumerate(detections[start : start + _BITS])
        )
        masks.append(f"({' | '.join(cases)}) AS tp__m{start // _BITS}")
    names = [f"tp__m{number}" for number in range(len(masks))]
    some = " OR ".join(f"{name} <> 0" for name in names)
    run(
        f"CREATE OR REPLACE TEMP TABLE {_MASKS} AS SELECT * FROM"
        f" (SELECT tp_id, {', '.join(masks)} FROM {NEW_ROWS}) WHERE {some}"
    )
    bits = [f"(tp__m{number // _BITS} & {1 << number % _BITS}) <> 0" for number in range(len(detections))]
    (row,) = run(f"SELECT {', '.join(f'count_if({bit})' for bit in bits)} FROM {_MASKS}").fetchall()
    if any(row):
        run(
            f"CREATE OR REPLACE TEMP TABLE {_ROWS} AS SELECT r.*, {', '.join(f'm.{name}' for name in names)}"
            f" FROM {NEW_ROWS} r JOIN {_MASKS} m ON r.tp_id = m.tp_id"
        )
    return {one.name: bit if count else "" for one, bit, count in zip(detections, bits, row, strict=True)}


def _failure(jail: Jail, detection: Detection) -> str:
    """Why a condition cannot be evaluated; empty if it can."""
    try:
        jail.connection.execute(f"SELECT count(*) FROM {NEW_ROWS} WHERE ({detection.condition}\n)").fetchall()
    except (duckdb.Error, RuntimeError) as error:
        return why(error)
    return ""


def _collect(jail: Jail, result: Found, fresh: str, columns: Sequence[str], context: Context, seen: set[str]) -> None:
    """Make candidates of the new rows, `FROM … WHERE …`, that a detection has found."""
    one = result.detection
    items = ", ".join(f"{quoted(name)} := {quoted(name)}" for name in one.show or columns)
    event = f"to_json(struct_pack({items}))::VARCHAR" if items else "'{}'"
    if one.is_counting:
        result.hits = _counted(jail, one, fresh, event, context)
        return
    keys = one.first_seen or one.group_by
    source = f"SELECT *, {key_sql(keys) if keys else 'NULL'} AS tp__key {fresh}"
    if one.first_seen:  # the first row of each value is enough
        source += " QUALIFY row_number() OVER (PARTITION BY tp__key ORDER BY tp_timestamp, tp_id) = 1"
    rows = jail.connection.execute(
        f"SELECT tp_id, tp_timestamp, tp_partition, tp__key, {event} FROM ({source}) ORDER BY tp_timestamp, tp_id"
    ).fetchall()
    for tp_id, at, partition, key, text in rows:
        identity = [tp_id]
        if one.first_seen:
            value = hit_id(key)[:16]
            if value in seen:
                continue
            result.seen.add(value)
            identity = ["first", key]
        result.hits.append(Hit.of(one, identity, partition, tp_id, at, key=key, event=_filled(json.loads(text)) or {}))
    if len(seen) + len(result.seen) > SEEN_LIMIT:
        raise UsageError(TOO_MANY_VALUES)


def _counted(jail: Jail, one: Detection, fresh: str, event: str, context: Context) -> list[Hit]:
    """The episodes of a threshold; the row that begins one is read from where it was counted."""
    times = jail.connection.execute(f"SELECT DISTINCT tp_timestamp {fresh} ORDER BY 1").fetchall()
    counted_in = context(one, [at for (at,) in times])
    episodes = count_groups(jail.connection, one, counted_in, f"SELECT tp_id {fresh}", key_sql(one.group_by))
    if not episodes:
        return []
    ids = ", ".join(literal(episode.tp_id) for episode in episodes)
    rows = jail.connection.execute(
        f"SELECT tp_id, tp_partition, {event} FROM {counted_in} WHERE tp_id IN ({ids})"
    ).fetchall()
    firsts = {tp_id: (partition, _filled(json.loads(text)) or {}) for tp_id, partition, text in rows}
    hits = []
    for episode in episodes:
        partition, values = firsts[episode.tp_id]
        facts = {"first_at": episode.first_at, "last_at": episode.last_at, "count": episode.count, "event": values}
        identity = [episode.key, episode.tp_id]
        hits.append(Hit.of(one, identity, partition, episode.tp_id, episode.at, key=episode.key, **facts))
    return hits


def _filled(value: Any) -> Any:
    """A JSON value without nulls and empty objects, at all depths."""
    if isinstance(value, dict):
        kept = {key: _filled(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None} or None
    return value
