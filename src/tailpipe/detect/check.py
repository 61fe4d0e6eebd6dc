"""Check the SQL of the config's detections, and report problems with their places in the config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tailpipe.catalog.snapshot import Snapshot
from tailpipe.config.config import Config
from tailpipe.detect.hit_table import DETECTION_HIT
from tailpipe.detect.jail import open_jail, why
from tailpipe.errors import Diagnostic, TailpipeError
from tailpipe.model.detection import NEW_ROWS, Detection
from tailpipe.model.table import Table
from tailpipe.query.views import table_views
from tailpipe.sql.check import check_condition
from tailpipe.sql.duck import duckdb

_NOTHING = Snapshot(Path("/"), (), {}, 0)


def check_detections(config: Config, tables: Mapping[str, Table]) -> Iterator[Diagnostic]:
    """Every problem in conditions, expressions and statements."""
    for one in config.detections.values():
        (view,) = table_views(_NOTHING, {one.table: tables[one.table]}, only=[one.table])
        is_closed = not tables[one.table].map_fields
        parts = [("where", one.where, False), ("distinct", one.distinct, True)]
        parts += [(name, text, True) for name in ("group_by", "first_seen") for text in getattr(one, name)]
        parts += [("steps", text, False) for text in one.steps]
        for argument, text, is_value in parts:
            if text is None:
                continue
            condition = f"({text}\n) IS NOT NULL" if is_value else text
            for problem in check_condition(argument, condition, view.columns, is_closed=is_closed):
                address = f"detection.{one.name}.{argument}"
                if is_value or argument == "steps":
                    place = config.place_of(address, text)
                else:
                    place = config.place(address, problem.position, problem.length)
                if place is not None:
                    yield Diagnostic(problem.message, place, problem.hint)
        yield from _statement_problems(config, one, tables)


def _statement_problems(config: Config, one: Detection, tables: Mapping[str, Table]) -> Iterator[Diagnostic]:
    place = config.place(f"detection.{one.name}.sql")
    if one.sql is None or place is None:
        return
    known = {**tables, DETECTION_HIT.name: DETECTION_HIT}
    with open_jail([], known, [one]) as jail:
        try:
            jail.check(one)
            jail.show(NEW_ROWS, one.table, _NOTHING)
            for table in known:
                if table in one.sql:
                    jail.show(table, table, _NOTHING)
            jail.connection.execute(f"EXPLAIN SELECT tp_id FROM (\n{one.sql}\n)")
        except (duckdb.Error, TailpipeError) as error:
            yield Diagnostic(why(error), place)
