"""`tailpipe init`: look at logs and write the config that collects them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.again import located
from tailpipe.cli.options import common, examples, home_of
from tailpipe.errors import ConfigError, UsageError
from tailpipe.sql.without_pandas import without_pandas

if TYPE_CHECKING:
    from tailpipe.home.home import Home
    from tailpipe.infer.inference import Inference, Known
    from tailpipe.model.connection import Connection

_SHOWN = 8
"""So many files that were skipped are named."""


def chosen_by_user(command: Any) -> Any:
    """The options that correct a guess."""
    for option in (
        click.option("--multiline", metavar="REGEX", help="Pattern of the lines that begin an event."),
        click.option("--table", metavar="NAME", help="Table to use, whether it is recognized or not."),
        click.option("--format", metavar="NAME", help="Format to use, such as jsonl.default or logfmt.default."),
        click.option(
            "--time",
            metavar="FORMAT|FIELD",
            help="How times are written, such as '%d/%m/%Y %H:%M:%S' or epoch_ms, or the field that holds them.",
        ),
    ):
        command = option(command)
    return command


@click.command(
    "init",
    epilog=examples(
        "tailpipe init /var/log/nginx",
        "tailpipe init app.log --dry-run",
        "tailpipe init app.log --time '%d/%m/%Y %H:%M:%S'",
        "tailpipe init /var/log --collect --serve",
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
@chosen_by_user
@click.option("--collect", "collects", is_flag=True, help="Collect the logs, too.")
@click.option("--serve", "serves", is_flag=True, help="Collect the logs and open the explorer. Implies --collect.")
@common
def command(
    context: click.Context,
    /,
    target: str | None,
    name: str | None,
    output: Path | None,
    connection: str | None,
    force: bool,
    dry_run: bool,
    collects: bool,
    serves: bool,
    **choices: str | None,
) -> None:
    """Look at logs and write the config that collects them.

    Recognizes the tables that are shipped, or else guesses format, columns, time and file layout from a sample of each
    kind of log. Reports what is sure and what is guessed, and the first rows. Correct a wrong guess with --time,
    --format, --table or --multiline. Without an argument, lists the usual places of logs.
    """
    if target is None:
        _suggest()
        return
    if dry_run and (collects or serves):
        raise UsageError("--dry-run cannot be combined with --collect or --serve")
    home = home_of(context)
    with without_pandas():
        known, inference = inferred(home, target, name, connection, choices)
    text = "\n".join(found.text(known.presets) for found in inference.found)
    if dry_run:
        render.data(text)
    else:
        file = output if output is not None else _file(home, inference, name)
        _write(file, text, force=force)
    report(inference)
    if dry_run:
        return
    render.say(f"\nwrote {_short(file)}")
    arguments = _arguments(home, file)
    if collects or serves:
        _run(context, "collect", [*_addresses(inference), *_since(inference), *arguments])
        if serves:
            _run(context, "serve", arguments)
    else:
        _next(inference, home, file)


def inferred(
    home: Home,
    target: str,
    name: str | None,
    connection: str | None = None,
    choices: Mapping[str, str | None] = MappingProxyType({}),
) -> tuple[Known, Inference]:
    """What is known already, and what the target holds."""
    from tailpipe.infer.choices import Choices
    from tailpipe.infer.inference import Known, infer
    from tailpipe.infer.places import connection_type, open_target
    from tailpipe.model.names import check_name
    from tailpipe.model.nearest import named

    if name is not None:
        check_name(name)
    chosen_by = Choices(**choices)
    chosen_by.check()
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
    opened = open_target(target, home.registry.sources, chosen)
    return known, infer(opened, known, datetime.now(UTC), name, chosen_by)


def report(inference: Inference) -> None:
    """Say what was found, how sure each point is, and what was skipped."""
    for found in inference.found:
        size = render.size(sum(one.size or 0 for one in found.artifacts))
        size = f"{render.counted(len(found.artifacts), 'file')}, {size}"
        render.say(f"\n{found.partition.address}: {size}")
        for point in found.points:
            render.say(f"  {point.confidence + ':':<9}{render.shown(point.text)}")
        for number, row in enumerate(found.kind.rows):
            render.say_line(f"  {'rows:' if number == 0 else '':<9}{_preview(row)}")
    for line in inference.skipped[:_SHOWN]:
        render.say(f"skipped: {line}")
    if len(inference.skipped) > _SHOWN:
        render.say(f"skipped: {len(inference.skipped) - _SHOWN:,} more")


def _preview(row: Mapping[str, Any]) -> str:
    """A row on one line: its time, level and message, then other columns."""
    texts = {name: render.shown(str(value)) for name, value in row.items() if value not in (None, "", [], {})}
    message = next((texts[name] for name in ("tp_message", "message", "msg") if name in texts), None)
    level = next((texts[name] for name in ("tp_level", "level", "severity") if name in texts), None)
    shown = {texts.get("tp_timestamp"), message, level}
    others = [f"{name}={text}" for name, text in texts.items() if not name.startswith("tp_") and text not in shown]
    return "  ".join(filter(None, (texts.get("tp_timestamp"), level, message, *others)))


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


def _addresses(inference: Inference) -> list[str]:
    return [found.partition.address for found in inference.found]


def _since(inference: Inference) -> list[str]:
    """The first day, if a first collection does not go back as far."""
    starts = [found.start for found in inference.found if found.start is not None]
    return ["--from", str(min(starts))] if starts else []


def _arguments(home: Home, file: Path) -> list[str]:
    """The arguments with which another command finds the config."""
    paths = home.environment.config_paths
    is_there = any(file.resolve() == path.resolve() or file.resolve().parent == path.resolve() for path in paths)
    return [] if is_there else ["--config-path", str(file)]


def _run(context: click.Context, name: str, arguments: list[str]) -> None:
    """Run another command as it would be typed."""
    group = context.find_root().command
    command = group.get_command(context, name) if isinstance(group, click.Group) else None
    assert command is not None  # noqa: S101 - commands of this package
    render.say(located(f"tailpipe {name} {' '.join(arguments)}".rstrip()))
    command.main(arguments, f"tailpipe {name}", standalone_mode=False, parent=context.parent)


def _next(inference: Inference, home: Home, file: Path) -> None:
    """The two commands that come next."""
    where = "".join(f" {argument}" for argument in _arguments(home, file))
    since = "".join(f" {argument}" for argument in _since(inference))
    first = inference.found[0].partition.table
    render.say("next:")
    own = str if where else located
    render.say(own(f"  tailpipe collect {' '.join(_addresses(inference))}{since}{where}"))
    render.say(own(f'  tailpipe query "SELECT * FROM {first} LIMIT 10"{where}'))  # noqa: S608 - words for a person


def _short(path: Path) -> str:
    """The path with `~` for the home directory."""
    home = str(Path.home())
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text
