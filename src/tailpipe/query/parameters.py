"""Parameters: the values that are bound to the `$name`s of a statement. None of them ever becomes part of its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

Params = Mapping[str, Any]
"""Values by name, without the `$`; names do not differ by case, as in DuckDB."""


def bound(statements: Iterable[duckdb.Statement], params: Params) -> dict[str, Any]:
    """The values for the parameters of these statements; missing and unknown ones are refused."""
    named = {name.lower(): name for statement in statements for name in statement.named_parameters}
    given: dict[str, Any] = {}
    for name, value in params.items():
        if name.lower() in given:
            raise UsageError(f'the parameter "{name}" is repeated', hint="parameter names are case-insensitive")
        given[name.lower()] = _plain(name, value)
    for name in params:
        if name.lower() not in named:
            there = "there are: " + ", ".join(f"${one}" for one in sorted(named.values()))
            hint = did_you_mean(name, named.values(), there if named else "it has none")
            raise UsageError(f'the statement has no parameter "{name}"', hint=hint)
    if missing := sorted(named.keys() - given.keys()):
        name = named[missing[0]]
        if name.isdigit():
            raise UsageError("parameters must be named", hint="write $name instead of ? and $1")
        raise UsageError(f'the parameter "{name}" has no value', hint=f"give one: --param {name}=VALUE")
    return {name: given[lower] for lower, name in named.items()}


def _plain(name: str, value: Any) -> Any:
    """A value that means the same on both engines: a time with a zone becomes one in UTC, as the columns have it."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f'the parameter "{name}" is not UTF-8: see its character {error.start + 1}') from error
    return value
