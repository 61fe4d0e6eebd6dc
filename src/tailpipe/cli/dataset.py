"""`tailpipe dataset`: named working sets, how much of them is on this disk, and letting go of one."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import chosen_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import common, completes, examples, home_of, output
from tailpipe.home.home import Home
from tailpipe.operations.pull import datasets, drop_dataset

if TYPE_CHECKING:
    from tailpipe.stores.part import Holding

PARTITIONS = render.columns(
    "partition",
    "here.file_count:files here",
    "here.file_size:size here",
    "pinned_files:pinned",
    "store.file_count:files in the store",
    "store.file_size:size in the store",
)
DROPPED = render.columns("partition", "files:unpinned files")


def _records(home: Home) -> list[dict[str, Any]]:
    from tailpipe.stores.part import Holding

    records = []
    for dataset, found in datasets(home):
        numbers = _numbers(reduce(add, found, Holding("")))
        partitions = [{"partition": one.partition, **_numbers(one)} for one in found]
        records.append({**chosen_record(dataset), **numbers, "partitions": partitions})
    return records


def _numbers(holding: Holding) -> dict[str, Any]:
    return {
        "here": {"file_count": holding.here_files, "file_size": holding.here_size},
        "pinned_files": holding.pinned_files,
        "store": {"file_count": holding.store_files, "file_size": holding.store_size},
    }


command = noun_group(
    "dataset",
    _records,
    {
        "name": "dataset",
        **{key: title for key, title in PARTITIONS.items() if key != "partition"},
        "description": "description",
    },
    example="last_week",
    parts={"partitions": PARTITIONS},
    also_named="dataset.",
)


@command.command("drop", epilog=examples("tailpipe dataset drop last_week"))
@click.argument("name", shell_complete=completes(lambda w: list(w.config.datasets)))
@output
@common
def drop(context: click.Context, name: str, output: str) -> None:
    """Unpin the files of the dataset NAME that no other dataset has.

    The rule of their store decides again which of them stay on this disk. The block stays in the config, and nothing
    is deleted from the store.
    """
    done = drop_dataset(home_of(context), name)
    rows = [{"partition": partition, "files": files} for partition, files in done.items()]
    shown = rows if any(done.values()) or output != "pretty" else []
    render.records(shown, output, DROPPED, nothing="no pinned files")
