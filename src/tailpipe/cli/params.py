"""Values of parameters from the command line: `--param NAME=VALUE`, typed as `NAME:TYPE=VALUE` where that is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from tailpipe.cli.statements import Statement
from tailpipe.errors import UsageError

__all__ = ["named_in", "param", "parsed", "typed", "with_params"]


def param(complete: Callable[[click.Context, click.Parameter, str], list[str]] | None = None) -> Callable[..., Any]:
    """Let a command take `--param`, any number of times."""
    return click.option(
        "--param",
        "params",
        metavar="NAME=VALUE",
        multiple=True,
        shell_complete=complete,
        help="Value of a $NAME parameter. NAME:TYPE=VALUE sets its type. Repeatable.",
    )


def parsed(words: Sequence[str]) -> dict[str, Any]:
    """The values by name: as text, which DuckDB takes for what the place wants, or of the type that is said."""
    found: dict[str, Any] = {}
    for word in words:
        left, equals, value = word.partition("=")
        name, colon, type_ = left.partition(":")
        if not equals or not name or (colon and not type_):
            raise UsageError(f'"{word}" is not NAME=VALUE', hint="write --param who=alice, or --param days:integer=7")
        if name.lower() in (one.lower() for one in found):
            raise UsageError(f'--param "{name}" is repeated')
        found[name] = typed(name, type_, value) if type_ else value
    return found


def typed(name: str, type_: str, text: str) -> Any:
    """A text as a value of that type."""
    from tailpipe.model.parameter import check_parameter_type, value_of  # late, because most statements have none

    check_parameter_type(type_)
    return value_of(name, type_, text, now=datetime.now(UTC))


def with_params(statements: Sequence[Statement], given: Mapping[str, Any]) -> list[Statement]:
    """The statements, each with the values that it names; a value that none of them names is refused."""
    if not given:
        return list(statements)
    if len(statements) == 1:  # the session refuses what it does not name
        return [replace(statements[0], params=given)]
    chosen = [named_in(statement.sql, given) for statement in statements]
    for name in given:
        if not any(name in values for values in chosen):
            raise UsageError(f'no statement has a parameter "{name}"', hint="write it as $name in one of them")
    return [replace(statement, params=values) for statement, values in zip(statements, chosen, strict=True)]


def named_in(sql: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values that a statement names."""
    if not given:
        return {}
    from tailpipe.model.parameter import names_in

    named = {one.name.lower() for one in names_in(sql)}
    return {name: value for name, value in given.items() if name.lower() in named}
