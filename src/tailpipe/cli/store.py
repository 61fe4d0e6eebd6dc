"""`tailpipe store`: places outside the workspace that hold files, and whether they can."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import store_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import common, completes, examples, fail_if, home_of, output
from tailpipe.errors import ConfigError, TailpipeError, UsageError
from tailpipe.home.home import Home
from tailpipe.model.option import unresolved_in
from tailpipe.model.store import Store
from tailpipe.operations import push
from tailpipe.operations.facts import table_names

STEPS = render.columns("store", "step", "result", "message", "needs")
CLEANED = render.columns("store", "objects:deleted", "bytes:size", "kept_objects:kept", "older_than:older than")
PUBLISHED = render.columns("store", "table", "partitions", "files", "rows", "location")


def _records(home: Home) -> list[dict[str, Any]]:
    users: dict[str, list[str]] = {}
    for address in home.config.partitions:
        if store := home.stores.of(address):
            users.setdefault(store.name, []).append(address)
    return [store_record(store, users.get(name, [])) for name, store in sorted(home.config.stores.items())]


command = noun_group(
    "store",
    _records,
    render.columns("name:store", "location", "connection", "partitions"),
    example="lake",
    also_named="store.",
)


@command.command("check", epilog=examples("tailpipe store check lake", "tailpipe store check --output json"))
@click.argument("name", required=False, shell_complete=completes(lambda w: list(w.config.stores)))
@output
@common
def check(context: click.Context, name: str | None, output: str) -> None:
    """Prove that the store NAME, or every store, can be used.

    Writes, reads, lists and deletes small objects below probe/, and proves that of several conditional writes of one
    key exactly one succeeds. Exits with 1 if something is missing, and names the permission that it takes.
    """
    wanted = _wanted(home_of(context), name)
    rows = [row for store in wanted for row in _checked(store)]
    render.records(rows, output, STEPS, nothing="")
    for hint in dict.fromkeys(f"{row['store']}: {row['hint']}" for row in rows if row["hint"]):
        render.say(hint)
    failed = {row["store"] for row in rows if row["result"] != "ok"}
    if output == "pretty":
        for store in wanted:
            render.say(f"{store.name} {'cannot be used' if store.name in failed else 'can be used'}: {store.location}")
    fail_if(failed)


@command.command("publish", epilog=examples("tailpipe store publish", "tailpipe store publish lake app_log"))
@click.argument("name", required=False, metavar="[STORE]", shell_complete=completes(lambda w: list(w.config.stores)))
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=completes(table_names))
@output
@common
def publish(context: click.Context, name: str | None, tables: tuple[str, ...], output: str) -> None:
    """Publish tables for other engines from scratch.

    Deletes the Delta logs of a store, or of every store, and writes new ones over all live files. Needed only after
    another program has written to a Delta log, when a log is damaged, or to move a table of an earlier version: every
    push publishes what is new.
    """
    home = home_of(context)
    wanted = _wanted(home, name)
    if name and wanted[0].publish == "none":
        raise UsageError(f'store "{wanted[0].name}" is not published', hint='add to its block: publish = "delta"')
    rows = [
        {"store": store.name, **asdict(one)}
        for store in wanted
        if store.publish != "none"
        for one in push.publish(home, store, tables)
    ]
    if unknown := sorted(set(tables) - {row["table"] for row in rows}):
        raise UsageError(f"table not found in the store: {', '.join(unknown)}", hint="see: tailpipe status")
    render.records(rows, output, PUBLISHED, nothing="nothing to publish: no published store has data")
    for row in rows:
        if row["earlier_location"]:
            render.say(
                f"{row['table']}: {row['earlier_location']} stays as it was and gets no updates; use the new location,"
                " then delete _delta_log there"
            )
        for reason in row["omitted_columns"]:
            render.say(f"{row['table']}: column not published: {reason}")


@command.command("clean", epilog=examples("tailpipe store clean --dry-run", "tailpipe store clean lake"))
@click.argument("name", required=False, metavar="[STORE]", shell_complete=completes(lambda w: list(w.config.stores)))
@click.option("--dry-run", is_flag=True, help="Print what would be deleted without deleting it.")
@output
@common
def clean(context: click.Context, name: str | None, dry_run: bool, output: str) -> None:
    """Delete objects that nothing needs any more.

    Cleans one store, or every store. Keeps all files of the versions within history and of tags, and everything that
    is younger than 7 days. Safe while other hosts push.
    """
    home = home_of(context)
    rows = [
        {"store": store.name, **asdict(done), "older_than": render.moment(done.older_than)}
        for store in _wanted(home, name)
        if (done := push.clean_store(home, store, dry_run=dry_run)) is not None
    ]
    render.records(rows, output, CLEANED, nothing="nothing to clean: nothing was pushed yet")
    if rows and dry_run:
        render.say("dry run: nothing deleted")


def _wanted(home: Home, name: str | None) -> list[Store]:
    """The store of that name, or all, none of which lacks anything on this machine."""
    wanted = home.stores.named(name)
    if not wanted:
        render.say('no stores found; add one to the config: store "NAME" { location = "…" }')
    if missing := unresolved_in(wanted):
        raise ConfigError(missing)
    return wanted


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
