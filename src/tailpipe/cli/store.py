"""`tailpipe store`: places outside the workspace that hold files, and whether they can."""

from __future__ import annotations

from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import store_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import common, completes, examples, output, workspace_of
from tailpipe.errors import EXIT_FAILED, ConfigError, TailpipeError
from tailpipe.model.nearest import named
from tailpipe.model.option import unresolved_in
from tailpipe.model.store import Store
from tailpipe.workspace import Workspace

__all__ = ["command"]

STEPS = {"store": "store", "step": "step", "result": "result", "message": "message", "needs": "needs"}


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    users: dict[str, list[str]] = {}
    for address in workspace.config.partitions:
        if store := workspace.data.store_of(address):
            users.setdefault(store.name, []).append(address)
    return [store_record(store, users.get(name, [])) for name, store in sorted(workspace.config.stores.items())]


command = noun_group(
    "store",
    _records,
    {"name": "store", "location": "location", "connection": "connection", "partitions": "partitions"},
    example="lake",
    also_named="store.",
)
command.help = "List, show and check stores."


@command.command("check", epilog=examples("tailpipe store check lake", "tailpipe store check --output json"))
@click.argument("name", required=False, shell_complete=completes(lambda w: list(w.config.stores)))
@output
@common
@click.pass_context
def check(context: click.Context, name: str | None, output: str) -> None:
    """Prove that the store NAME, or every store, can be used.

    Writes, reads, lists and deletes small objects below probe/, and proves that of several conditional writes of one
    key exactly one succeeds. Exits with 1 if something is missing, and names the permission that it takes.
    """
    config = workspace_of(context).config
    wanted = [named("store", name.removeprefix("store."), config.stores)] if name else list(config.stores.values())
    if not wanted:
        render.say('no stores found; add one to the config: store "NAME" { location = "…" }')
    if missing := unresolved_in(wanted):
        raise ConfigError(missing)
    rows = [row for store in wanted for row in _checked(store)]
    if rows or output != "pretty":
        render.records(rows, output, STEPS)
    hints = dict.fromkeys(f"{row['store']}: {row['hint']}" for row in rows if row["hint"])
    for hint in hints:
        render.say(hint)
    failed = dict.fromkeys(row["store"] for row in rows if row["result"] != "ok")
    if output == "pretty":
        for store in wanted:
            render.say(f"{store.name} {'cannot be used' if store.name in failed else 'can be used'}: {store.location}")
    if failed:
        context.exit(EXIT_FAILED)


def _checked(store: Store) -> list[dict[str, Any]]:
    from tailpipe.stores.check import Step, check_store
    from tailpipe.stores.open import open_store

    try:
        steps = check_store(open_store(store))
    except TailpipeError as error:
        steps = [Step("open", "failed", "", error.message, error.hint)]
    return [
        {
            "store": store.name,
            "location": store.location,
            "step": step.name,
            "result": step.result,
            "message": step.message,
            "needs": step.needs if step.result == "failed" else "",
            "hint": step.hint,
        }
        for step in steps
    ]
