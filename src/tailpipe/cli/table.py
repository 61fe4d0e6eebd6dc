"""`tailpipe table`: what logs become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import table_record
from tailpipe.cli.init import inferred, report
from tailpipe.cli.listing import COLUMNS, noun_group
from tailpipe.cli.options import common, completes, examples, fail_if, home_of, limited, output, with_built_ins
from tailpipe.cli.trial import NOWHERE, advise, fits_nothing, show_trial
from tailpipe.home.home import Home
from tailpipe.model.format import Format
from tailpipe.operations.trial import try_file


def _records(home: Home) -> list[dict[str, Any]]:
    registry, config = home.registry, home.config
    records = []
    for name, table in sorted(home.tables.items()):
        plugin = None if name in config.tables else registry.owner("table", name)
        partitions = [partition.address for partition in config.partitions.values() if partition.table == name]
        records.append(table_record(table, plugin, partitions))
    return records


def _text(home: Home, name: str) -> str:
    from tailpipe.config.encoder import table_text

    return table_text(home.table(name), home.registry.presets)


command = noun_group(
    "table",
    _records,
    render.columns("name:table", "plugin", "partitions", "description"),
    example="app_log",
    parts={"columns": COLUMNS},
    has_built_ins=True,
    text=_text,
)


def _format(home: Home, name: str | None) -> Format | None:
    return home.format(name.removeprefix("format.")) if name else None


@command.command("test", epilog=examples("tailpipe table test access_log access.log"))
@click.argument(
    "name", metavar="TABLE", shell_complete=completes(lambda home: [*home.registry.tables, *home.config.tables])
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format", "format_name", metavar="NAME", help="Format of the file. Defaults to the format of the table."
)
@limited("rows", least=0)
@output
@common
def test(context: click.Context, name: str, file: Path, format_name: str | None, limit: int, output: str) -> None:
    """Parse FILE into TABLE and print the first rows.

    Also prints rejected rows, with position and reason. Collects and writes nothing. Exits with 1 if every row is
    rejected.
    """
    home = home_of(context)
    table, format_ = with_built_ins(home, lambda known: (known.table(name), _format(known, format_name)))
    trial = try_file(home, file, table, format_, limit)
    show_trial(trial, output, is_format=False)
    advise(trial, lambda: _fields(try_file(home, file, NOWHERE, format_ or table.format, limit)))
    fail_if(fits_nothing(trial))


def _fields(trial: Any) -> list[str]:
    """The fields of the first rows, as the format names them."""
    return [name for name in (trial.rows.column_names if trial.rows else ()) if not name.startswith("tp_")]


@command.command("infer", epilog=examples("tailpipe table infer access.log", "tailpipe table infer app.log > app.tpc"))
@click.argument("file", metavar="FILE")
@click.option("--name", metavar="NAME", help="Name of the table. Defaults to a name made from that of the file.")
@common
def infer(context: click.Context, file: str, name: str | None) -> None:
    """Print the table that fits FILE, as config.

    Prints the table that is shipped if it recognizes one, or else a table with the format and the columns that a sample
    shows, as `tailpipe init` writes it. Reports on stderr what is sure and what is guessed.
    """
    from tailpipe.config.encoder import table_text

    known, inference = inferred(home_of(context), file, name)
    for found in inference.found:
        render.data(table_text(found.kind.table, known.presets))
    report(inference)
