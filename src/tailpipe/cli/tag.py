"""`tailpipe tag`: names for versions of partitions in stores."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, home_of, output, selectors
from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean

if TYPE_CHECKING:
    from tailpipe.home.home import Home
    from tailpipe.model.store import Store
    from tailpipe.stores.tags import Tag

COLUMNS = render.columns("name:tag", "store", "created_at:created", "host", "partitions")
VERSIONS = render.columns("partition", "version")


command = click.Group("tag", help="Create, list, show and drop tags.")


@command.command("create", epilog=examples("tailpipe tag create q1-incident", "tailpipe tag create audit 'aws_*'"))
@click.argument("name")
@selectors
@common
def create(context: click.Context, name: str, selectors: tuple[str, ...]) -> None:
    """Give the current versions of partitions the name NAME.

    Tags the selected partitions, or all that are in a store. Their files are kept until the tag is dropped.
    """
    from tailpipe.stores.versions import make_tags

    home = home_of(context)
    host, chosen = home.stores.host or "", home.select(selectors)
    with home.catalog() as catalog:
        made = make_tags(catalog.database, name, chosen, home.stores.of, host, datetime.now(UTC))
    for store, tag in made.items():
        render.say(f"tagged {render.counted(len(tag.versions), 'partition')} in {store}: {name}")


@command.command("list", epilog=examples("tailpipe tag list --output json"))
@output
@common
def list_(context: click.Context, output: str) -> None:
    """List all tags."""
    rows = [{**_record(*pair), "partitions": len(pair[1].versions)} for pair in _tags(home_of(context))]
    render.records(rows, output, COLUMNS, nothing="no tags found")


@command.command("show", epilog=examples("tailpipe tag show q1-incident"))
@click.argument("name")
@output
@common
def show(context: click.Context, name: str, output: str) -> None:
    """Show the versions that the tag NAME names."""
    for store, tag in _named(home_of(context), name):
        versions = [{"partition": partition, "version": number} for partition, number in tag.versions.items()]
        render.record({**_record(store, tag), "partitions": versions}, output, {"partitions": VERSIONS})


@command.command("drop", epilog=examples("tailpipe tag drop q1-incident"))
@click.argument("name")
@common
def drop(context: click.Context, name: str) -> None:
    """Drop the tag NAME.

    Files that only this tag kept are deleted by the next clean-up of the store.
    """
    from tailpipe.stores.open import open_store
    from tailpipe.stores.tags import drop_tag

    for store, _ in _named(home_of(context), name):
        drop_tag(open_store(store), name)
        render.say(f"dropped from {store.name}: {name}")


def _tags(home: Home) -> list[tuple[Store, Tag]]:
    from tailpipe.stores.versions import all_tags

    return all_tags(home.stores.named())


def _named(home: Home, name: str) -> list[tuple[Store, Tag]]:
    known = _tags(home)
    found = [pair for pair in known if pair[1].name == name]
    if not found:
        hint = did_you_mean(name, [tag.name for _, tag in known], "see: tailpipe tag list")
        raise UsageError(f"tag not found: {name}", hint=hint)
    return found


def _record(store: Store, tag: Tag) -> dict[str, Any]:
    created = render.moment(tag.created_at)
    return {"name": tag.name, "store": store.name, "created_at": created, "host": tag.host}
