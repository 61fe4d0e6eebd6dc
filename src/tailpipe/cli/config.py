"""`tailpipe config`: is it right, and what does it say?"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, home_of, output_of, warn_of_schemas
from tailpipe.errors import ConfigError
from tailpipe.model.nearest import listed

_SQL = (".filter", ".transform", ".tp_index", ".dedupe_key", ".here.where")
"""The arguments that only DuckDB can check."""


command = click.Group("config", help="Validate and show the config.")


@command.command(
    "check", epilog=examples("tailpipe config check", "tailpipe config check --sql --config-path ./config")
)
@click.option("--sql", is_flag=True, help="Also check filters and transforms with DuckDB, as collect does.")
@common
def check(context: click.Context, sql: bool) -> None:
    """Validate all .tpc files and report every problem.

    Prints a summary if the config is valid. Exits with 2 on errors and 0 on warnings. Changes nothing.
    """
    from tailpipe.config.suspicions import broken_layouts, ignored_columns, odd_layouts, undated_files

    home = home_of(context)
    config, settings = home.config, home.settings
    if broken := (*broken_layouts(config), *config.unresolved):
        raise ConfigError(broken)
    if sql:
        from tailpipe.operations.trial import check_config_sql

        check_config_sql(home)
    where = ", ".join(str(path) for path in home.environment.config_paths)
    render.data(f"config    {where}")
    render.data(f"workspace {settings.workspace.name} in {settings.location}")
    for name in ("file", "workspace", "connection", "store", "format", "table", "partition", "schema"):
        if things := getattr(config, f"{name}s"):
            shown = "" if name == "file" else f": {listed(sorted(things), 8)}"
            render.data(f"{len(things):>9,} {name}{'s' if len(things) != 1 else ''}{shown}")
    if not config.files:
        render.say("no .tpc files found; run tailpipe collect for an example")
    undated = undated_files(config, home.registry.tables, datetime.now(UTC).date())
    odd = [*odd_layouts(config), *ignored_columns(config), *undated]
    render.warnings(odd)
    warnings = len(odd) + warn_of_schemas(home)
    render.data("no problems found" + (f", {render.counted(warnings, 'warning')}" if warnings else ""))
    if not sql and any(address.endswith(_SQL) for address in config.spans):
        render.say("filters and transforms were not checked; to check them with DuckDB: --sql")


@command.command("show", epilog=examples("tailpipe config show --output json"))
@common
@output_of("text", "json", help="Output format: .tpc text or JSON.")
def show(context: click.Context, output: str) -> None:
    """Print the resolved config.

    References are resolved, expressions evaluated, and secrets masked.
    """
    from tailpipe.config.encoder import config_data, config_text

    config = home_of(context).config
    if output == "json":
        render.record(config_data(config), output)
    else:
        render.data(config_text(config))
