"""Values of parameters from the command line: `--param NAME=VALUE`, typed as `NAME:TYPE=VALUE` where that is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from tailpipe.errors import UsageError


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
        found[name] = value
        if type_:
            from tailpipe.model.parameter import check_parameter_type, value_of  # late, as most statements have none

            check_parameter_type(type_)
            found[name] = value_of(name, type_, value, now=datetime.now(UTC))
    return found


def named_in(sql: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values that a statement names."""
    if not given:
        return {}
    from tailpipe.model.parameter import names_in

    named = {one.name.lower() for one in names_in(sql)}
    return {name: value for name, value in given.items() if name.lower() in named}
