"""`format test` and `table test`: the tools for whoever writes a format or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.errors import TailpipeError
from tailpipe.model.table import Table

__all__ = ["NOWHERE", "limit_option", "show_trial"]

NOWHERE = Table(
    name="test",
    description="Every field as it is.",
    map_fields=("*",),
    common={"tp_timestamp": "TIMESTAMP '1970-01-01'"},
)
"""A table for trying a format alone: it takes every field, and no time is asked for."""


def show_trial(trial: Any, output: str, *, is_format: bool) -> None:
    """The first rows, then the rows that do not fit with place and reason, then the accounts."""
    rows = [] if trial.rows is None else trial.rows.to_pylist()
    if is_format:
        rows = [{name: value for name, value in row.items() if not name.startswith("tp_")} for row in rows]
    if rows or output in ("json", "jsonl"):
        render.records([{name: _plain(value) for name, value in row.items()} for row in rows], output)
    for sample in trial.rejected:
        render.say(f"{Path(sample.uri).name} {sample.position}: {sample.reason}: {render.shown(sample.text)}")
    accounts = trial.accounts
    part = "" if trial.is_whole else " in the beginning of the file"
    render.say(f"{accounts.read:,} rows read{part}: {accounts.kept:,} fit, {accounts.rejected:,} do not")
    if trial.error is not None:
        raise TailpipeError(trial.error)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    return value


def limit_option(command: Any) -> Any:
    """Let a command take `--limit`."""
    kind = click.IntRange(min=0)
    return click.option("--limit", type=kind, default=20, show_default=True, help="How many rows are shown.")(command)
