"""`tailpipe saved`: lists and shows saved queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, home_of, output, output_of, with_built_ins
from tailpipe.cli.saved_statements import complete_names, find_saved
from tailpipe.model.parameter import Parameter
from tailpipe.model.saved import SavedQuery

if TYPE_CHECKING:
    from tailpipe.home.home import Home

COLUMNS = render.columns("name:query", "title", "params:parameters", "plugin")
PARAMS = render.columns("name:parameter", "type", "default", "description:meaning")


command = click.Group("saved", help="List and show saved queries.")


@command.command(
    "list",
    epilog=examples("tailpipe saved list", "tailpipe saved list --tag cloudtrail", "tailpipe saved list --output json"),
)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only queries with this tag. Repeatable.")
@output
@common
def list_(context: click.Context, tags: tuple[str, ...], output: str) -> None:
    """List all saved queries: those of the config, and those of plugins."""
    home = home_of(context)
    records = with_built_ins(home, _records)
    chosen = [record for record in records if set(tags) <= set(record["tags"])]
    if output == "pretty":
        chosen = [{**record, "params": ", ".join(one["name"] for one in record["params"])} for record in chosen]
    render.records(chosen, output, COLUMNS)


@command.command(
    "show",
    epilog=examples(
        "tailpipe saved show cloudtrail_failed_logins", "tailpipe saved show cloudtrail_failed_logins --output sql"
    ),
)
@click.argument("name", shell_complete=complete_names)
@output_of(*render.OUTPUTS, "sql", help="Output format; sql prints the statement alone.")
@common
def show(context: click.Context, name: str, output: str) -> None:
    """Show the saved query NAME, its parameters and its statement."""
    home = home_of(context)
    query, record = with_built_ins(home, lambda known: ((query := find_saved(known, name)), _record(known, query)))
    if output == "sql":
        render.data(query.text)
    else:
        render.record(record, output, {"params": PARAMS})


def _records(home: Home) -> list[dict[str, Any]]:
    """All of them, those of the config first."""
    names = sorted(home.queries, key=lambda name: (name not in home.config.queries, name))
    return [_record(home, home.queries[name]) for name in names]


def _record(home: Home, query: SavedQuery) -> dict[str, Any]:
    is_own = query.name in home.config.queries
    return {
        "name": query.name,
        "plugin": None if is_own else home.registry.owner("query", query.name),
        "title": query.title,
        "description": query.description,
        "tags": list(query.tags),
        "file": (query.origin or query.file) if is_own else None,
        "params": [_parameter(one) for one in query.params],
        "sql": query.text,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "type": parameter.type,
        "required": parameter.default is None,
        "default": parameter.default,
        "description": parameter.description,
    }
