"""`format test` and `table test`: tools for authors of formats and tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from tailpipe.cli import render
from tailpipe.cli.advice import about_field, about_layout, about_time, about_width, empty_columns, type_errors
from tailpipe.errors import TailpipeError
from tailpipe.model.assumed_years import assumed_years_text
from tailpipe.model.table import Table

_OF_A_KIND = 3

NOWHERE = Table(
    name="test",
    description="Every field as it is.",
    map_fields=("*",),
    common={"tp_timestamp": "TIMESTAMP '1970-01-01'"},
)
"""A table for trying a format alone: it takes every field, and it needs no time."""


def show_trial(trial: Any, output: str, *, is_format: bool) -> None:
    """The first rows, then the rows that do not fit with place and reason, then the accounts."""
    rows = [] if trial.rows is None else trial.rows.to_pylist()
    if is_format:
        rows = [{name: value for name, value in row.items() if not name.startswith("tp_")} for row in rows]
    shown = [{name: one.hex() if isinstance(one, bytes) else one for name, one in row.items()} for row in rows]
    if output == "pretty" and not is_format:
        shown = _for_people(shown)
    if rows or output in ("json", "jsonl"):
        render.records(shown, output)
    if shown and len(shown[0]) < len(rows[0]):
        render.say("empty common columns are hidden; to show all columns: --output line")
    samples = _some(trial.rejected)
    for sample in samples:
        render.say_line(f"{Path(sample.uri).name} {sample.position}: {sample.reason}: {render.shown(sample.text)}")
    if more := trial.accounts.rejected - len(samples):
        render.say(f"{render.counted(more, 'more rejected row')} not shown")
    for line in (*type_errors(trial.nulls), *empty_columns(trial.unfilled), *assumed_years_text(trial.years)):
        render.say(line)
    accounts = trial.accounts
    part = "" if trial.is_whole else " from the start of the file"
    read = render.counted(accounts.read, "row")
    render.say(f"{read} read{part}: {accounts.kept:,} accepted, {accounts.rejected:,} rejected")
    if any("\ufffd" in value for row in rows for value in row.values() if isinstance(value, str)):
        render.say("invalid bytes were replaced by \ufffd; set the encoding of the format")
    if trial.error is not None:
        raise TailpipeError(trial.error)


def fits_nothing(trial: Any) -> bool:
    """Whether there are rows, and none of them fits."""
    return bool(trial.accounts.read and not trial.accounts.kept)


def advise(trial: Any, fields: Callable[[], Collection[str]]) -> None:
    """Say what to do if no row fits; `fields` returns the names of the fields in the file."""
    if trial.accounts.kept or not trial.rejected:
        return
    reasons = [sample.reason for sample in trial.rejected]
    if hint := about_time(reasons) or about_width(reasons) or about_layout(reasons) or about_field(reasons, fields()):
        render.say(f"  = {hint}")


def _for_people(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their time in front and without common columns that are empty in all of them."""
    every = rows[0] if rows else {}
    names = [name for name in every if not name.startswith("tp_") or any(row[name] is not None for row in rows)]
    names.sort(key=lambda name: name != "tp_timestamp")
    return [{name: row[name] for name in names} for row in rows]


def _some(samples: Iterable[Any]) -> list[Any]:
    """The first few rows of each kind of reason: the tenth line of invalid JSON adds nothing."""
    seen: dict[str, int] = {}
    some = []
    for sample in samples:
        kind = sample.reason.partition(":")[0]
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= _OF_A_KIND:
            some.append(sample)
    return some
