"""A store with files of our own writer, and what the Delta table over them should have."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from tailpipe.catalog.layout import data_path, file_name
from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Staging
from tailpipe.model.staged import StagedFile
from tailpipe.model.store import PARTITION_BY
from tailpipe.model.table import Column
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta_actions import Change
from tailpipe.stores.keys import data_key, table_root
from tests.unit.kernel.support import shared, task

TABLE = "things"
ROOT = table_root(TABLE)
AT = datetime(2024, 6, 1, 12, tzinfo=UTC)
_NUMBERS = itertools.count(1)
Row = dict[str, Any]


class Lake:
    """Files of the table `things`: written here, put into a store, and remembered with their rows."""

    def __init__(self, objects: Objects, directory: Path, columns: Sequence[Column]) -> None:
        self.objects = objects
        self.directory = directory
        self.columns = columns
        self.is_earlier = False
        """Whether files get the keys that earlier versions gave them."""
        self.rows: dict[str, list[Row]] = {}
        self.files: dict[str, StagedFile] = {}

    def put(
        self, partition: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[Column] | None = None
    ) -> dict[str, StagedFile]:
        """Write rows as a task of a collection does, and put the files into the store; the files by key."""
        number = next(_NUMBERS)
        content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        made = task({f"/logs/{number}.log": content}, self.columns if columns is None else columns, tp_index="host")
        directory = self.directory / str(number)
        directory.mkdir()
        (outcome,) = run_task(shared(made, partition=partition).at(Staging(str(directory), "t0-a0")))
        assert not [file for file in outcome.files if file.role == "rejected"], outcome.samples
        found = {}
        for place, file in enumerate(outcome.files):
            assert file.tp_date is not None
            name = file_name(f"{number:08}-0123456789abcdef", place)
            key = data_key(PARTITION_BY, partition, file.tp_index, file.tp_date, name)
            if self.is_earlier:
                key = data_path(partition, file.tp_index, file.tp_date, name).replace("files/", "data/", 1) + ".parquet"
            path = directory / file.path
            assert self.objects.put_file(key, path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
            self.rows[key], self.files[key] = _read(path), file
            found[key] = file
        return found

    def expected(self, keys: Iterable[str]) -> list[Row]:
        """The rows of these files, as readers should give them."""
        return ordered(row for key in keys for row in self.rows[key])


def change(partition: str, version: int, added: Mapping[str, StagedFile], *removed: str, **facts: Any) -> Change:
    return Change(partition, version, AT, added, removed, **facts)


def day(number: int, **fields: Any) -> Row:
    """A row of a day of January 2024; its host is the index."""
    return {"time": f"2024-01-{number:02}T23:59:59.123456Z", "host": "web", **fields}


def ordered(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows in one order, with values that can be compared whichever reader they come from."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return sorted(plain, key=lambda row: str(row["tp_id"]))


def without(rows: Iterable[Row], *names: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def _plain(value: Any) -> Any:
    """The same value for all readers: times are UTC, and whole decimals are integers."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _read(path: Path) -> list[Row]:
    with duckdb.connect() as connection:
        found: list[Row] = connection.read_parquet(str(path)).to_arrow_table().to_pylist()
    return found
