"""The tables of the reference pages: `python -m tests.reference_pages` writes them from the declarations.

A table of options is below the heading of its block. `tests.command_page` writes the commands. Other text is written
by hand.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from tailpipe.cli.render import OUTPUTS as RECORD_OUTPUTS
from tailpipe.config.encoder import plain_data
from tailpipe.config.printer import literal, print_expression, quote
from tailpipe.formats.delimited import Delimited
from tailpipe.model.connection import Connection
from tailpipe.model.option import Option, type_name
from tailpipe.model.source import Source
from tailpipe.plugin import Registry
from tests.command_page import COMMANDS, EVERYWHERE, with_commands
from tests.declared_blocks import BLOCKS, described_options
from tests.unit.docs.pages import built_in

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
OPTION_HEAD = "| option | type | default | meaning |"
PRESET_HEAD = "| preset | meaning |"
FLAG_HEAD = "| flag | description |"
_CODE = re.compile(r"(?<![\w`/.-])(--[a-z][a-z-]*|tp_[a-z]+|\.tpc|s3://|[A-Z]+\.tpc)(?![\w`])")
_SECTION = re.compile(r"^#+ (.+)$", re.MULTILINE)
_INTRO = re.compile(r'^(#+ ((\w+) "(\w+)")\n)\n(?:[^\n|].*\n)+', re.MULTILINE)
_LINKS = {
    "Output format": "#outputs",
    "End time": "types.md#times-and-windows",
    "Start time": "types.md#times-and-windows",
}


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

    page = with_tables(_INTRO.sub(_intro, page), OPTION_HEAD, rows_of)
    return with_tables(page, PRESET_HEAD, lambda title, _: preset_rows() if title == "Presets" else None)


def preset_rows() -> list[str]:
    """The rows of the predefined formats: reference and description."""
    presets = Registry(built_in()).presets
    return [f"| `format.{name}` | {_escaped(one.description or '')} |" for name, one in sorted(presets.items())]


def config_by_hand(page: str) -> str:
    """The page of the config language without its generated parts."""
    without = _INTRO.sub(lambda found: f"{found[1]}\n" if found[2] in BLOCKS else found[0], page)
    return re.sub(r"^\| (?:option|preset) \|.*\n(?:\|.*\n)+", "", without, flags=re.MULTILINE)


def _intro(found: re.Match[str]) -> str:
    """The heading of a type, with its first paragraph: usage, description, and where to read on."""
    if found[2] not in BLOCKS:
        return found[0]
    declared, kind, name = BLOCKS[found[2]], found[3], found[4]
    usage = f'{kind} "{name}"' + ("" if kind in ("auth", "pagination") else ' "NAME"')
    inside = {"source": " in a `partition`", "auth": ' in a `connection "http"`', "pagination": ' in a `source "http"`'}
    base = next((one for one in declared.__mro__[1:] if vars(one).get("type")), None)
    described = " ".join((declared.__doc__ or "").split("\n\n")[0].split())
    link = ""
    if base is not None and base is not Delimited and issubclass(base, Connection | Source):
        known = f'[`{kind} "{base.type}"`](#{kind}-{base.type})'
        is_preset = "artifacts" not in vars(declared)
        link = f" A preset of {known}, with all its options; see [Services](../apis/README.md)."
        link = link if is_preset else f" It has all options of {known}, too. See [{name}]({kind}s.md#{name})."
    elif kind in ("format", "source"):
        link = f" See [{name}]({kind}s.md#{name})."
    text = f"`{usage} {{ … }}`{inside.get(kind, '')}. {described}{link}"
    return f"{found[1]}\n{text}\n"


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
    """The page of the command line with its commands and flags."""

    def rows_of(title: str, _: str) -> list[str] | None:
        return flag_rows([COMMANDS[title]], everywhere=True) if title == "tailpipe" else None

    return with_tables(with_commands(page, flag_rows), FLAG_HEAD, rows_of)


def flag_rows(commands: Sequence[click.Command], *, everywhere: bool = False) -> list[str]:
    """The rows of the flags of some commands, each once."""
    flags = {flag.opts[0]: flag for one in commands for flag in one.params if isinstance(flag, click.Option)}
    return [flag_row(flag) for name, flag in flags.items() if everywhere or name not in EVERYWHERE]


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
    return f" {flag.make_metavar(click.Context(COMMANDS['tailpipe'])).strip('[]')}"


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
