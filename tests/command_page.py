"""The page of the command line: `python -m tests.reference_pages` writes its commands from their declarations.

A section has usage, help, flags and examples of one command, or of `list` and `show` of a group. What is below the
examples, up to the next heading, is written by hand and kept.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence

import click

from tailpipe.cli.app import app

COMMAND_HEAD = "| command | description |"
EVERYWHERE = ("--config-path", "--workspace")
"""The flags of every command, described once."""

_CODE = re.compile(
    r"(?<![\w`/.-])(--[a-z][a-z-]*|tp_[a-z]+|detection_hit|must_(?:not_)?hit|\.tpc|s3://|[A-Z]+\.tpc|[a-z]+_log(?:\.[a-z]+)?|"
    r"'[^'\s]*\*[^'\s]*')(?![\w`])"
)
_TABLE = re.compile(rf"^{re.escape(COMMAND_HEAD)}\n(?:\|.*\n)+", re.MULTILINE)
_FIRST = re.compile(r"^## tailpipe \w", re.MULTILINE)
_SECTION = re.compile(r"^#+ (tailpipe [a-z ]+)$", re.MULTILINE)
_EXAMPLES = re.compile(r"^```sh\n.*?^```\n", re.MULTILINE | re.DOTALL)


def all_commands(path: str = "tailpipe", command: click.Command = app) -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that name it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from all_commands(f"{path} {name}", inner)


COMMANDS = dict(all_commands())


def written_by_hand(page: str) -> str:
    """The page without the parts that are generated."""
    head, notes = _parts(page)
    return "\n".join(
        [re.sub(rf"^{re.escape(COMMAND_HEAD)}\n(?:\|.*\n)+", "", head, flags=re.MULTILINE), *notes.values()]
    )


def with_commands(page: str, flag_rows: Callable[[Sequence[click.Command]], list[str]]) -> str:
    """The page with the list of commands and all sections of commands written again."""
    head, notes = _parts(page)
    rows = [
        f"| [`{path}`](#{path.replace(' ', '-')}) | {command.get_short_help_str(200)} |" for path, command in _outer()
    ]
    table = "\n".join([COMMAND_HEAD, "|---|---|", *rows, ""])
    head = re.sub(rf"^{re.escape(COMMAND_HEAD)}\n(?:\|.*\n)+", lambda _: table, head, flags=re.MULTILINE)
    parts = [head.rstrip("\n")]
    for title, level, paths in _titles():
        commands = {path: COMMANDS[path] for path in paths}
        text = [f"{'#' * level} {title}", *_described(commands, flag_rows), notes.get(title, "").strip()]
        parts.append("\n\n".join(filter(None, text)))
    return "\n\n".join(parts) + "\n"


def _parts(page: str) -> tuple[str, dict[str, str]]:
    """What is before the commands, and by title what is below the examples of each command."""
    first = _FIRST.search(page)
    start = first.start() if first else len(page)
    titles = list(_SECTION.finditer(page, start))
    notes = {}
    for number, found in enumerate(titles):
        text = page[found.end() : titles[number + 1].start() if number + 1 < len(titles) else len(page)]
        examples = _EXAMPLES.search(text)
        notes[found[1]] = text[examples.end() :] if examples else text
    return page[:start], notes


def _row(path: str, command: click.Command) -> str:
    return f"| [`{path}`](#{path.replace(' ', '-')}) | {command.get_short_help_str(200)} |"


def _outer() -> list[tuple[str, click.Command]]:
    return [(path, command) for path, command in COMMANDS.items() if path.count(" ") == 1]


def _titles() -> Iterator[tuple[str, int, list[str]]]:
    """The heading, its level and the commands of each section."""
    for path, command in _outer():
        inner = [one for one in COMMANDS if one.startswith(f"{path} ")]
        pair = [one for one in inner if one.endswith((" list", " show"))]
        if not isinstance(command, click.Group):
            yield path, 2, [path]
        elif inner == pair and len(pair) == 2:
            yield path, 2, pair
        else:
            yield path, 2, []
            joined = pair if len(pair) == 2 else []
            if joined:
                yield joined[0], 3, joined
            yield from ((one, 3, [one]) for one in inner if one not in joined)


def _described(
    commands: dict[str, click.Command], flag_rows: Callable[[Sequence[click.Command]], list[str]]
) -> Iterator[str]:
    if not commands:
        return
    yield ", ".join(f"`{_usage(path, command)}`" for path, command in commands.items())
    if len(commands) == 1:
        yield from _paragraphs(next(iter(commands.values())).help or "")
    else:
        yield _marked(" ".join((command.help or "").split("\n\n")[0].strip() for command in commands.values()))
    if rows := flag_rows(list(commands.values())):
        yield "\n".join(["| flag | description |", "|---|---|", *rows])
    examples = [line.strip() for command in commands.values() for line in _examples(command)]
    yield "\n".join(["```sh", *examples, "```"])


def _usage(path: str, command: click.Command) -> str:
    return " ".join([path, *(_typed(one) for one in command.params if isinstance(one, click.Argument))])


def _typed(argument: click.Argument) -> str:
    if isinstance(argument.type, click.Choice):
        return "|".join(map(str, argument.type.choices))
    return argument.metavar or argument.human_readable_name


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; what click must not wrap becomes a block."""
    first, _, rest = text.partition("\n\n")
    for paragraph in [first, *textwrap.dedent(rest).split("\n\n")]:
        if paragraph.lstrip().startswith("\b"):
            title, *lines = paragraph.lstrip().removeprefix("\b").strip("\n").splitlines()
            yield _marked(title.strip())
            yield "\n".join(["```text", textwrap.dedent("\n".join(lines)).rstrip(), "```"])
        elif paragraph.strip():
            yield "\n".join(textwrap.wrap(_marked(" ".join(paragraph.split())), 120, break_on_hyphens=False))


def _examples(command: click.Command) -> list[str]:
    return (command.epilog or "").replace("\b", "").strip().splitlines()[1:]


def _marked(text: str) -> str:
    marked = _CODE.sub(r"`\1`", text)
    return re.sub(r"\bSELECTOR\b", "[SELECTOR](types.md#selectors)", marked, count=1)
