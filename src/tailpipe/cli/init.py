"""`tailpipe init`: look at logs and write the config that collects them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailpipe.cli import render
from tailpipe.cli.again import located
from tailpipe.cli.options import common, examples, home_of
from tailpipe.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tailpipe.home.home import Home
    from tailpipe.infer.inference import Inference, Known
    from tailpipe.model.connection import Connection

_SHOWN = 8
"""So many files that were skipped are named."""


@click.command(
    "init",
    epilog=examples(
        "tailpipe init /var/log/nginx",
        "tailpipe init app.log --dry-run",
        "tailpipe init s3://my-logs/AWSLogs/",
        "tailpipe init gs://my-logs/cloudaudit.googleapis.com/",
        "tailpipe init abfss://insights-activity-logs@acmelogs.dfs.core.windows.net/",
    ),
)
@click.argument("target", metavar="[FILE|DIRECTORY|s3://…|gs://…|az://…]", required=False)
@click.option("--name", metavar="NAME", help="Name of the new table; of the partition, if the table is shipped.")
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File to write. Defaults to NAME.tpc in the config directory.",
)
@click.option("--connection", metavar="NAME", help="Connection of the config, for buckets [default: default].")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--dry-run", is_flag=True, help="Print the config to stdout without writing it.")
@common
def command(
    context: click.Context,
    target: str | None,
    name: str | None,
    output: Path | None,
    connection: str | None,
    force: bool,
    dry_run: bool,
) -> None:
    """Look at logs and write the config that collects them.

    Recognizes the tables that are shipped, or else guesses format, columns, time and file layout from a sample of each
    kind of log. Reports what is sure and what is guessed. Without an argument, lists the usual places of logs.
    """
    if target is None:
        _suggest()
        return
    home = home_of(context)
    known, inference = inferred(home, target, name, connection)
    text = "\n".join(found.text(known.presets) for found in inference.found)
    if dry_run:
        render.data(text)
    else:
        file = output if output is not None else _file(home, inference, name)
        _write(file, text, force=force)
    report(inference)
    if not dry_run:
        render.say(f"\nwrote {_short(file)}")
        _next(inference, home, file)


def inferred(home: Home, target: str, name: str | None, connection: str | None = None) -> tuple[Known, Inference]:
    """What is known already, and what the target holds."""
    from tailpipe.infer.inference import Known, infer
    from tailpipe.infer.places import connection_type, open_target
    from tailpipe.model.names import check_name
    from tailpipe.model.nearest import named

    if name is not None:
        check_name(name)
    known = Known(home.registry.tables, home.registry.presets)
    connections: Mapping[str, Connection] = {}
    try:
        connections = home.config.connections
        known = replace(known, tables=home.tables, partitions=tuple(home.config.partitions))
    except ConfigError as broken:
        render.say(f"warning: {broken.message}; names in it are not known here (see: tailpipe config check)")
    kind = connection_type(target)
    if connection and kind is None:
        raise UsageError("--connection needs a bucket", hint="such as s3://bucket/folder/")
    chosen = (
        named("connection", f"{kind}.{connection}", connections) if connection else connections.get(f"{kind}.default")
    )
    return known, infer(open_target(target, home.registry.sources, chosen), known, datetime.now(UTC), name)


def report(inference: Inference) -> None:
    """Say what was found, how sure each point is, and what was skipped."""
    for found in inference.found:
        size = render.size(sum(one.size or 0 for one in found.artifacts))
        size = f"{render.counted(len(found.artifacts), 'file')}, {size}"
        render.say(f"\n{found.partition.address}: {size}")
        for point in found.points:
            render.say(f"  {point.confidence + ':':<9}{render.shown(point.text)}")
    for line in inference.skipped[:_SHOWN]:
        render.say(f"skipped: {line}")
    if len(inference.skipped) > _SHOWN:
        render.say(f"skipped: {len(inference.skipped) - _SHOWN:,} more")


def _suggest() -> None:
    """Name the usual places that have logs on this machine, and the command for each."""
    from tailpipe.infer.places import usual_places

    places = list(usual_places(Path.cwd()))
    readable = [place for place in places if place.is_readable]
    if readable:
        render.say("logs on this machine:")
        for place in readable:
            render.say(f"  tailpipe init {place.path:<28} {render.counted(place.files, 'file')}")
    for place in places:
        if not place.is_readable:
            render.say(f"  {place.path}: not readable by this user")
    render.say("run one of these, or name a file, a directory or a bucket (s3://, gs://, az://): tailpipe init PATH")


def _file(home: Home, inference: Inference, name: str | None) -> Path:
    """The file of the config directory that the config goes into."""
    places = home.environment.config_paths
    directory = next((path for path in places if path.is_dir()), None)
    if directory is None:
        raise UsageError(f'"{places[0]}" is not a directory', hint="name the file to write with --output")
    first = inference.found[0].partition
    found = Path(inference.target.rstrip("/").partition("@")[0]).stem if len(inference.found) > 1 else first.table
    return Path(directory / f"{name or found or 'logs'}.tpc")


def _write(file: Path, text: str, *, force: bool) -> None:
    """Write the file; an existing one only if forced."""
    mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with os.fdopen(os.open(file, mode, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        hint = "overwrite it with --force, or choose another file or name with --output or --name"
        raise UsageError(f'"{_short(file)}" exists', hint=hint) from None
    except OSError as error:
        raise UsageError(f'cannot write "{_short(file)}": {(error.strerror or str(error)).lower()}') from None


def _next(inference: Inference, home: Home, file: Path) -> None:
    """The two commands that come next."""
    paths = home.environment.config_paths
    is_there = any(file.resolve() == path.resolve() or file.resolve().parent == path.resolve() for path in paths)
    where = "" if is_there else f" --config-path {file}"
    addresses = " ".join(found.partition.address for found in inference.found)
    starts = [found.start for found in inference.found if found.start is not None]
    since = f" --from {min(starts)}" if starts else ""
    first = inference.found[0].partition.table
    render.say("next:")
    own = str if where else located
    render.say(own(f"  tailpipe collect {addresses}{since}{where}"))
    render.say(own(f'  tailpipe query "SELECT * FROM {first} LIMIT 10"{where}'))  # noqa: S608 - words for a person


def _short(path: Path) -> str:
    """The path with `~` for the home directory."""
    home = str(Path.home())
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text
