"""`list` and `show`, which are the same for every noun: one function makes both commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.app import COMMANDS
from tailpipe.cli.options import common, completes, examples, home_of, output, output_with_tpc, with_built_ins
from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean

if TYPE_CHECKING:
    from tailpipe.home.home import Home

Records = Callable[[Any], list[dict[str, Any]]]
"""All records of a noun in a workspace."""

OPTIONS = render.columns("name:option", "type", "required", "default", "description:meaning")
COLUMNS = render.columns("name:column", "type", "description:meaning")


def noun_group(
    noun: str,
    records: Records,
    columns: Mapping[str, str],
    *,
    example: str,
    parts: Mapping[str, Mapping[str, str]] | None = None,
    label: str = "",
    also_named: str = "",
    has_built_ins: bool = False,
    text: Callable[[Any, str], str] | None = None,
    more: Callable[[Any, dict[str, Any]], dict[str, Any]] = lambda _, record: record,
) -> click.Group:
    """The group of commands of a noun, with `list` and `show NAME`.

    `columns` are shown of each record, `parts` are lists inside one. A name may start with `also_named`, as in config.
    `more` adds to a record what only `show` prints. A noun that `has_built_ins` answers with those if the config is
    broken. `text` prints one as config.
    """
    many = f"{label or noun}s"

    answer = with_built_ins if has_built_ins else (lambda home, read: read(home))

    def find(home: Home, name: str) -> dict[str, Any]:
        found = {record["name"]: record for record in records(home)}
        wanted = name.removeprefix(also_named)
        if wanted not in found:
            hint = did_you_mean(wanted, found, f"see: tailpipe {noun} list")
            raise UsageError(f"{noun} not found: {name}", hint=hint)
        return found[wanted]

    group = click.Group(noun, help=COMMANDS[noun])

    @group.command("list", help=f"List all {many}.", epilog=examples(f"tailpipe {noun} list --output json"))
    @output
    @common
    def list_(context: click.Context, output: str) -> None:
        render.records(answer(home_of(context), records), output, columns)

    @group.command("show", help=f"Show the {label or noun} NAME.", epilog=examples(f"tailpipe {noun} show {example}"))
    @click.argument("name", shell_complete=completes(lambda w: [record["name"] for record in records(w)]))
    @(output if text is None else output_with_tpc)
    @common
    def show(context: click.Context, name: str, output: str) -> None:
        home = home_of(context)
        if text is not None and output == "tpc":
            render.data(answer(home, lambda known: text(known, find(known, name)["name"])).rstrip("\n"))
            return
        record = more(home, answer(home, lambda known: find(known, name)))
        shown = {key: value for key, value in (parts or {}).items() if isinstance(record.get(key), list)}
        render.record(record, output, shown)

    return group
