"""The tables of the reference pages: `python -m tests.reference_pages` writes them from the declarations.

A table of options stands under the heading of its block, a table of flags under the heading of its command. The text
around them is written by hand.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from tailpipe.cli.app import app
from tailpipe.cli.render import OUTPUTS as RECORD_OUTPUTS
from tailpipe.config.encoder import plain_data
from tailpipe.config.printer import literal, print_expression, quote
from tailpipe.model.connection import Connection
from tailpipe.model.option import Option, type_name
from tests.declared_blocks import BLOCKS, described_options

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
OPTION_HEAD = "| option | type | default | meaning |"
FLAG_HEAD = "| flag | description |"
EVERYWHERE = ("--config-path", "--workspace")
"""The flags of every command, described once."""

_CODE = re.compile(r"(?<![\w`/.-])(--[a-z][a-z-]*|tp_[a-z]+|\.tpc|s3://|[A-Z]+\.tpc)(?![\w`])")
_SECTION = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINKS = {
    "Output format": "#outputs",
    "End time": "types.md#times-and-windows",
    "Start time": "types.md#times-and-windows",
}


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


def with_tables(page: str, head: str, rows_of: Callable[[str, str], list[str] | None]) -> str:
    """The page with every table of that head written again, from the title and the text of its section."""
    titles = [*_SECTION.finditer(page), None]
    parts = [page[: titles[0].start()] if titles[0] else page]
    for found, following in itertools.pairwise(titles):
        assert found is not None
        text = page[found.start() : following.start() if following else len(page)]
        rows = rows_of(found[1], text) if head in text else None
        parts.append(_replaced(text, head, rows) if rows is not None else text)
    return "".join(parts)


def _replaced(text: str, head: str, rows: list[str]) -> str:
    before, _, after = text.partition(head)
    separator, _, rest = after.lstrip("\n").partition("\n")
    kept = re.sub(r"\A(?:\|.*\n)+", "", rest)
    return f"{before}{head}\n{separator}\n" + "".join(f"{row}\n" for row in rows) + kept


def config_page(page: str) -> str:
    """The page of the config language with its option tables."""

    def rows_of(title: str, _: str) -> list[str] | None:
        if title not in BLOCKS:
            return None
        return [option_row(one) for one in described_options(BLOCKS[title]) if one.kind != "label"]

    return with_tables(page, OPTION_HEAD, rows_of)


def option_row(option: Option) -> str:
    """The row of an option: name, type, default and meaning."""
    is_block = option.kind == "block"
    kind = "block" if is_block else type_name(option.annotation)
    name = option.block if is_block else option.name
    return f"| `{name}` | {_escaped(kind)} | {_default(option)} | {_escaped(option.description)} |"


def _default(option: Option) -> str:
    if option.is_required:
        return "required"
    default: Any = option.default
    if isinstance(default, Connection):
        return f"`{default.address}`"
    if option.kind == "block" or default is None:
        return "–"
    value = plain_data(default)
    return f"`{_escaped(quote(value) if isinstance(value, str) else print_expression(literal(value)))}`"


def command_page(page: str) -> str:
    """The page of the command line with its flag tables."""

    def rows_of(title: str, text: str) -> list[str] | None:
        usages = re.findall(r"^(?:- )?`(tailpipe[a-z -]*)", text, re.MULTILINE)
        named = [one.strip() for one in (title, *usages) if one.strip() in COMMANDS]
        flags = {flag.opts[0]: flag for one in named for flag in COMMANDS[one].params if isinstance(flag, click.Option)}
        return [flag_row(flag) for name, flag in flags.items() if title == "tailpipe" or name not in EVERYWHERE]

    return with_tables(page, FLAG_HEAD, rows_of)


def flag_row(flag: click.Option) -> str:
    """The row of a flag: how it is typed, and its help."""
    names = [*sorted(flag.opts, key=len), *flag.secondary_opts]
    typed = ", ".join(f"`{name}{_escaped(_value(flag))}`" for name in names)
    text = _linked(_CODE.sub(r"`\1`", _escaped(flag.help or "")))
    if flag.show_default and not flag.is_flag and flag.default not in (None, ()):
        text += f" Default: `{flag.default}`."
    return f"| {typed} | {text} |"


def _value(flag: click.Option) -> str:
    """What follows the name of a flag."""
    if flag.is_flag or flag.count:
        return ""
    if isinstance(flag.type, click.Choice) and tuple(flag.type.choices) == RECORD_OUTPUTS:
        return " OUTPUT"
    return f" {flag.make_metavar(click.Context(app)).strip('[]')}"


def _linked(text: str) -> str:
    for phrase, place in _LINKS.items():
        text = re.sub(rf"^{phrase}\b", f"[{phrase}]({place})", text)
    return text


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the tables of all pages."""
    for name, write in (("config.md", config_page), ("cli.md", command_page)):
        path = REFERENCE / name
        path.write_text(write(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
