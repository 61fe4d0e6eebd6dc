"""What the shell does besides SQL: the commands that begin with a dot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.cli import render
from tailpipe.cli.answer import OUTPUTS
from tailpipe.cli.params import parsed
from tailpipe.cli.statements import read_file
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.window import Window, parse_moment
from tailpipe.query.limit import parse_timeout

if TYPE_CHECKING:
    from tailpipe.cli.shell import Shell

OFF = "off"
_ALL = "all"


class LeaveShell(Exception):  # noqa: N818 - a command, no error
    """The person wants to go."""


@frozen
class ShellCommand:
    """A command: its argument, its help, the function that runs it with a word or "", and the words to complete."""

    argument: str
    help: str
    run: Callable[[Shell, str], None]
    choices: Callable[[Shell], Sequence[str]] = lambda _: ()


def _help(_: Shell, __: str) -> None:
    rows = [{"command": f"{name} {one.argument}".rstrip(), "action": one.help} for name, one in COMMANDS.items()]
    render.records(rows, "pretty", render.columns("command", "action"), is_wrapped=True)
    render.say("end SQL statements with ; and use Tab to complete names, Ctrl-C to cancel, Ctrl-D to leave")


def _tables(shell: Shell, which: str) -> None:
    if which not in ("", _ALL):
        raise UsageError(f'"{which}" is not a valid argument', hint=f"write .tables, or .tables {_ALL}")
    shell.session.refresh()
    config = shell.home.config
    every = shell.session.tables()
    known = {
        *config.tables,
        *(one.table for one in config.partitions.values()),
        *(one.name for one in every if one.rows != 0),
    }
    shown = [one for one in every if which == _ALL or one.name in known]
    shown += shell.session.catalog_tables() if which == _ALL else ()
    rows = [{"table": _address(shell, one), "columns": len(one.columns), "rows": one.rows} for one in shown]
    render.records(rows, "pretty", render.columns("table", "columns", "rows"))
    if which != _ALL and (count := len(every) - len(shown)):
        render.say(f"{render.counted(count, 'empty table')} of plugins not shown; to list them: .tables {_ALL}")


def _inspect(shell: Shell, name: str) -> None:
    if not name:
        _tables(shell, "")
        return
    shell.session.refresh()
    tables = (*shell.session.tables(), *shell.session.catalog_tables())
    shapes = {_address(shell, one).lower(): one for one in tables}
    wanted = name.lower().removeprefix(f"{shell.session.schema}.")
    if wanted not in shapes:
        raise UsageError(f"table not found: {name}", hint=did_you_mean(wanted, list(shapes), "see: .tables"))
    render.records([{"column": column.name, "type": column.type} for column in shapes[wanted].columns], "pretty")


def _schemas(shell: Shell, _: str) -> None:
    counts = Counter(one.schema for one in shell.session.tables())
    render.records([{"schema": name, "tables": count} for name, count in counts.items()], "pretty")


def _output(shell: Shell, file: str) -> None:
    if file:
        shell.write_to(None if file == OFF else Path(file).expanduser())
    render.say("results go to the screen" if shell.file is None else f'results go to "{shell.file}"')


def _mode(shell: Shell, output: str) -> None:
    if output:
        wanted = "pretty" if output == "table" else output
        if wanted not in OUTPUTS:
            raise UsageError(f'unknown output format "{output}"', hint="choose one of: " + ", ".join(OUTPUTS))
        # What was set for another output does not hold for this one.
        shell.shape = replace(shell.shape, output=wanted, separator=None, null=None)
    render.say(f"output format: {shell.shape.output}")


def _timing(shell: Shell, word: str) -> None:
    if word not in ("", "on", OFF):
        raise UsageError(f'"{word}" is neither on nor off')
    if word:
        shell.timing = word == "on"
    render.say("timing is " + {None: "on for the screen", True: "on", False: OFF}[shell.timing])


def _timeout(shell: Shell, word: str) -> None:
    if word:
        shell.limit_to(None if word == OFF else parse_timeout(word))
    seconds = shell.timeout_seconds
    render.say("statements have no time limit" if seconds is None else f"statements are stopped after {seconds:g} s")


def _param(shell: Shell, word: str) -> None:
    if word == OFF:
        shell.params.clear()
    elif word and "=" not in word:
        shell.params.pop(word, None)
    elif word:
        shell.params.update(parsed([word]))
    for name, value in shell.params.items():
        render.say(f"${name} = {value!r}")
    if not shell.params:
        render.say("no parameter has a value")


def _read(shell: Shell, file: str) -> None:
    if not file:
        raise UsageError("name a file", hint="type: .read FILE")
    shell.answer(read_file(Path(file).expanduser()))


def _exit(_: Shell, __: str) -> None:
    raise LeaveShell


def _moment(*, is_end: bool = False) -> Callable[[str], datetime]:
    return lambda word: parse_moment(word, now=datetime.now(UTC), is_end=is_end)


def _narrow(name: str, read: Callable[[str], Any], nothing: Any) -> Callable[[Shell, str], None]:
    """A command that shows a part of the data: by its word, all of it again with `off`."""

    def run(shell: Shell, word: str) -> None:
        if word:
            value, now = nothing if word == OFF else read(word), shell.narrowing.window
            # Both times are ends of one window.
            windows = {"start": (value, now.end), "end": (now.start, value)}
            shell.narrow(**({"window": Window.between(*windows[name])} if name in windows else {name: value}))
        window = shell.narrowing.window
        settings = {
            "from": f"{window.start:%Y-%m-%d %H:%M:%S}" if window.has_start else "",
            "to": f"{window.end:%Y-%m-%d %H:%M:%S}" if window.has_end else "",
            "partitions": ", ".join(shell.narrowing.partitions),
            "indexes": ", ".join(shell.narrowing.indexes),
            "schema": shell.narrowing.schema,
        }
        shown = ", ".join(f"{key} {value}" for key, value in settings.items() if value)
        render.say(f"statements see: {shown or 'everything'}")

    return run


def _several(word: str) -> tuple[str, ...]:
    return tuple(part for part in word.split(",") if part)


def _address(shell: Shell, table: Any) -> str:
    """A table as it can be written in a statement."""
    return str(table.name) if table.schema == shell.session.schema else f"{table.schema}.{table.name}"


def _table_names(shell: Shell) -> list[str]:
    return [_address(shell, one) for one in shell.session.tables()]


def _schema_names(shell: Shell) -> list[str]:
    return [OFF, *dict.fromkeys(one.schema for one in shell.session.tables())]


def _partition_names(shell: Shell) -> list[str]:
    return [OFF, *shell.home.select(())]


COMMANDS: dict[str, ShellCommand] = {
    ".help": ShellCommand("", "List the commands.", _help),
    ".tables": ShellCommand(
        f"[{_ALL}]", "List the tables; with all, also the empty tables of plugins.", _tables, lambda _: [_ALL]
    ),
    ".inspect": ShellCommand("[TABLE]", "Show the columns of a table, or list the tables.", _inspect, _table_names),
    ".schemas": ShellCommand("", "List the schemas.", _schemas),
    ".mode": ShellCommand("[OUTPUT]", "Set the output format: " + ", ".join(OUTPUTS) + ".", _mode, lambda _: OUTPUTS),
    ".output": ShellCommand("[FILE|off]", "Write results to a file, or to the screen.", _output, lambda _: (OFF,)),
    ".timing": ShellCommand("[on|off]", "Show elapsed times.", _timing, lambda _: ("on", OFF)),
    ".timeout": ShellCommand("[DURATION|off]", "Set the time limit, such as 30s or 5m.", _timeout, lambda _: (OFF,)),
    ".param": ShellCommand(
        "[NAME=VALUE|NAME|off]", "Set the value of $NAME, remove it, or remove all.", _param, lambda s: (OFF, *s.params)
    ),
    ".read": ShellCommand("FILE", "Run the statements of a file.", _read),
    ".from": ShellCommand("[TIME|off]", "Show only rows from this time on.", _narrow("start", _moment(), None)),
    ".to": ShellCommand(
        "[TIME|off]",
        "Show only rows before this time; a bare date includes that day.",
        _narrow("end", _moment(is_end=True), None),
    ),
    ".partition": ShellCommand(
        "[NAME,…|off]", "Show only these partitions.", _narrow("partitions", _several, ()), _partition_names
    ),
    ".index": ShellCommand("[VALUE,…|off]", "Show only these values of tp_index.", _narrow("indexes", _several, ())),
    ".schema": ShellCommand("[NAME|off]", "Set the default schema.", _narrow("schema", str, None), _schema_names),
    ".exit": ShellCommand("", "Leave.", _exit),
    ".quit": ShellCommand("", "Leave.", _exit),
}
"""All commands by their names."""
