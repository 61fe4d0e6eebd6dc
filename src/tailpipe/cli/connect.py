"""`tailpipe connect`: the tables for other clients, as a DuckDB database or as SQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tailpipe.cli import render
from tailpipe.cli.narrowing import rows_chosen, version_chosen
from tailpipe.cli.options import common, examples, home_of, output_of, warn_of_schemas
from tailpipe.errors import UsageError

if TYPE_CHECKING:
    from tailpipe.stores.version import Version


@click.command(
    "connect",
    epilog=examples(
        'duckdb -readonly "$(tailpipe connect)"',
        "tailpipe connect --from T-7d --partition app_log.shop",
        "tailpipe connect --format sql > views.sql",
        "tailpipe connect --output json",
    ),
)
@click.option(
    "--live", is_flag=True, help="Create views that glob the hive, so that they see files as they are at query time."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["duckdb", "sql"]),
    default="duckdb",
    show_default=True,
    help="Write a database, or print the SQL that creates the views.",
)
@output_of("text", "json", help="Print the path, or JSON with the paths of the database and an init script.")
@rows_chosen
@version_chosen
@common
def command(
    context: click.Context,
    live: bool,
    form: str,
    output: str,
    start: str | None,
    end: str | None,
    partitions: tuple[str, ...],
    indexes: tuple[str, ...],
    version: Version,
) -> None:
    """Create a DuckDB database with a view per table and print its path.

    The views list the current files. Every commit replaces the database atomically: open it again to see new
    days.
    """
    from tailpipe.query.databases import ClientViews
    from tailpipe.query.narrowing import Narrowing
    from tailpipe.sql.inet import wants_inet
    from tailpipe.stores.version import NOW

    if live and version != NOW:
        raise UsageError("--live shows the current files", hint="remove --live")
    moment = version.as_of.isoformat() if version.as_of else None
    views = ClientViews(start, end, partitions, indexes, live, moment, version.tag)
    home = home_of(context)
    narrowing = Narrowing.parse(start, end, partitions, indexes, now=datetime.now(UTC))
    snapshot = home.snapshot(version, render.say)
    narrowing.check(snapshot, home.config.partitions)  # as a query does
    if elsewhere := [file for file in narrowing.files(snapshot.files) if not file.is_here]:
        from tailpipe.stores.fetch import described

        render.say(f"warning: the views do not include {described(elsewhere, home.stores.of)}")
    warn_of_schemas(home)
    if form == "sql" and output == "json":
        raise UsageError("--output json prints the path of a database, not of --format sql")
    if form == "sql":
        statements = home.followers.statements(views)
        if wants_inet(schema.where for schema in home.config.schemas.values()):
            statements = ["INSTALL inet", "LOAD inet", *statements]
        render.data(";\n".join([*statements, ""]).rstrip("\n"))
    else:
        databases = home.followers.databases()
        path = databases.make(views)
        if output == "json":
            found = {"database_filepath": path, "init_script_path": databases.script(path)}
            render.data(json.dumps({name: str(one) for name, one in found.items()}))
        else:
            render.data(str(path))
