"""Hosts as processes: each collects into one store by the operations of its workspace, and is killed anywhere.

All hosts read the same bucket, and a file under the same path. An object is collected once by all of them together, a
line of the file once by each.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.doctor import examine
from tailpipe.catalog.failpoints import NAMES, SHARED_NAMES, STORE_NAMES
from tailpipe.catalog.log_entry import LogEntry
from tailpipe.errors import TailpipeError
from tailpipe.model.request import Collect
from tailpipe.model.window import Window
from tailpipe.operations.pull import Pull, pull
from tailpipe.operations.push import Push, push
from tailpipe.stores import push as pushes
from tailpipe.stores.delta_actions import log_key as delta_key
from tailpipe.stores.examine import examine_store
from tailpipe.stores.keys import log_key, log_prefix, table_root, version_of
from tailpipe.stores.log import entries_after
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.aws.conftest import TestBucket
from tests.aws.server import ACCESS_KEY, CONNECTION, SECRET_KEY
from tests.crash.harness import BrokenError, Server
from tests.objects.conftest import remote

TABLE, PARTITION, LAKE = "app", "app.x", "/lake"
FIRST, DAYS = date(2024, 1, 1), 5
WINDOW = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC))
KILLING = (*STORE_NAMES, *STORE_NAMES, *SHARED_NAMES, *SHARED_NAMES, *NAMES)
CHECKPOINT_EVERY = 30
"""Versions: less than usual, so that hosts that were away meet a checkpoint."""

CONFIG = (
    CONNECTION
    + """
store "lake" {
  location   = "s3://BUCKET/lake"
  connection = connection.aws.local
  publish    = "delta"
}
workspace "default" {
  host  = "HOST"
  store = store.lake
}
table "app" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "aws_s3_bucket" "shared" {
    bucket      = "BUCKET"
    connection  = connection.aws.local
    prefix      = "logs/"
    file_layout = `logs/%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}/%{DATA}`
  }
  source "file" "own" {
    paths       = ["LOGS"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
  }
}
"""
)


def opened(install: str | Path) -> Workspace:
    return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)}, engine=InProcessEngine())


def perform(request: dict[str, Any]) -> None:
    """What one process of a host does; unless it must succeed, a store that fails too often is borne."""
    os.environ |= {"TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": request["failpoint"]}
    pushes.CHECKPOINT_EVERY = request["checkpoint_every"]
    pushes.CHECKPOINT_SOON = max(1, request["checkpoint_every"] // 3)
    try:
        workspace, errors = opened(request["install"]), list[str]()
        if request["operation"] in ("collect", "commit"):
            report = workspace.collect(Collect(datetime.now(UTC), WINDOW, push=request["operation"] == "collect"))
            for one in report.partitions:
                errors += [one.error] if one.error else []
                errors += [one.push.error, one.push.publish_error] if one.push else []
        elif request["operation"] == "push":
            errors = [text for one in push(workspace.home, Push()) for text in (one.error, one.publish_error)]
        else:
            errors = [one.error for one in pull(workspace.home, Pull(with_data=True))]
    except TailpipeError as error:
        errors = [error.with_hint]
    if request["is_sound"] and any(errors):
        raise AssertionError(errors)


@dataclass
class Fleet:
    """Hosts that share a bucket and a store, and the rows that they must end with."""

    place: Path
    bucket: TestBucket
    url: str
    """How hosts reach the bucket; what looks at it has a sound connection."""
    checkpoint_every: int = CHECKPOINT_EVERY
    objects_put: int = 0
    lines: int = 0
    kills: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.objects = remote(self.bucket.url, self.bucket.name, prefix=LAKE)
        (self.place / "logs").mkdir()

    def host(self, name: str) -> Path:
        """The install directory of a new host."""
        install = self.place / name
        (install / "config").mkdir(parents=True)
        words = {"ACCESS": ACCESS_KEY, "SECRET": SECRET_KEY, "URL": self.url, "HOST": name}
        text = CONFIG
        for word, value in {**words, "BUCKET": self.bucket.name, "LOGS": str(self.place / "logs")}.items():
            text = text.replace(word, value)
        (install / "config" / "main.tpc").write_text(text)
        return install

    def feed(self, chance: random.Random) -> None:
        """New objects, of which any host may take each, and sometimes a line of the file that all hosts have."""
        with self._lock:
            number = self.objects_put
            self.objects_put += (count := chance.randint(1, 2))
            for one in range(number, number + count):
                day = FIRST + timedelta(days=one % DAYS)
                self.bucket.put_rows(f"logs/{day}/{one}.jsonl", f"object {one} a", f"object {one} b", day=day)
            if chance.random() < 0.3:
                day = FIRST + timedelta(days=self.lines % DAYS)
                with (self.place / "logs" / f"{day}.jsonl").open("a") as file:
                    file.write(json.dumps({"time": f"{day}T11:00:00Z", "message": f"line {self.lines}"}) + "\n")
                self.lines += 1

    def run(self, server: Server, install: Path, operation: str, failpoint: str = "", **options: Any) -> int:
        """Let a process of a host do something; how it ended."""
        status, error = server.ask(
            install=str(install),
            operation=operation,
            failpoint=f"{failpoint}=kill" if failpoint else "",
            checkpoint_every=self.checkpoint_every,
            **{"is_sound": False, "kill_after": None, **options},
        )
        if status == -signal.SIGKILL:
            with self._lock:
                self.kills += 1
                self.reached[failpoint.partition(":")[0] or "any moment"] += 1
        elif status != 0:
            raise BrokenError(f"{install.name}: {operation} at {failpoint or 'no point'}: {error}")
        return status

    def live(self, install: Path, seed: int, commits: int) -> None:
        """Collect, push and pull until the log has so many versions; most processes are killed."""
        chance, version = random.Random(seed), 0
        with Server() as server:
            while version < commits:
                self.feed(chance)
                operation = chance.choice(("collect", "collect", "collect", "commit", "push", "pull"))
                how, failpoint, moment = chance.random(), "", None
                if how < 0.4:
                    failpoint = f"{chance.choice(KILLING)}:{chance.choice((0, 0, 0, 1, 2))}"
                elif how < 0.6:
                    moment = chance.uniform(0.02, 0.8)
                self.run(server, install, operation, failpoint, kill_after=moment)
                after = log_key(PARTITION, version) if version else None
                newer = (version_of(one.key) for one in self.objects.list(log_prefix(PARTITION), after=after))
                version = max((version, *filter(None, newer)))

    def expected(self, hosts: int) -> Counter[str]:
        """Each object was taken once, and each line by each host."""
        objects = Counter(f"object {number} {part}" for number in range(self.objects_put) for part in "ab")
        return objects + Counter({f"line {number}": hosts for number in range(self.lines)})

    def check(self, install: Path, hosts: int) -> None:
        """What must hold of a host when nothing is under way."""
        workspace, name = opened(install), install.name
        rows = workspace.query(f"SELECT message, tp_id FROM {TABLE}").to_pydict()
        if (found := Counter(rows["message"])) != (expected := self.expected(hosts)):
            raise BrokenError(f"{name}: lacks {expected - found}, has {found - expected}")
        if len(rows["tp_id"]) != len(set(rows["tp_id"])):
            raise BrokenError(f"{name}: ids are not unique")
        layout = workspace.home.layout()
        with Catalog.open(layout, is_read_only=True) as catalog:
            origins = [one for (one,) in catalog.database.connection.execute("SELECT origin FROM artifacts")]
            lacking = examine_store(catalog.database, self.objects, [PARTITION], with_checksums=True)
        shared = [one for one in origins if one.startswith("s3:")]
        if len(shared) != len(set(shared)) or len(shared) != self.objects_put:
            raise BrokenError(f"{name}: {len(shared)} objects in the ledger, {len(set(shared))} different ones")
        if problems := [one.message for one in (*lacking, *examine(layout, with_checksums=True))]:
            raise BrokenError(f"{name}: {problems}")

    def check_log(self) -> int:
        """Each transaction is in the log once, and each version of the Delta table has its live files; how many."""
        entries = list(entries_after(self.objects, PARTITION, 0))
        seen = Counter(one.transaction for entry in entries for one in entry.manifests if not entry.is_whole)
        if twice := [name for name, count in seen.items() if count > 1]:
            raise BrokenError(f"in the log twice: {twice}")
        live = dict(enumerate(live_sets(entries), 1))
        published = 0
        for published, keys in self._published():
            if keys != live[published]:
                raise BrokenError(f"Delta at version {published}: {keys ^ live[published]}")
        if live[published] != live[len(entries)]:  # a version that changes no files needs no commit
            raise BrokenError(f"version {published} of {len(entries)} is published")
        return len(entries)

    def _published(self) -> Iterator[tuple[int, set[str]]]:
        """The version and the live keys after each commit of the Delta log, by the plainest means."""
        keys, number = set[str](), 0
        while True:
            try:
                text = self.objects.get(delta_key(table_root(TABLE), f"{number:020}.json"))
            except FileNotFoundError:
                return
            actions = [json.loads(line) for line in text.splitlines()]
            keys -= {_key(action["remove"]["path"]) for action in actions if "remove" in action}
            keys |= {_key(action["add"]["path"]) for action in actions if "add" in action}
            [version] = [action["txn"]["version"] for action in actions if "txn" in action]
            yield version, set(keys)
            number += 1


def _key(path: str) -> str:
    return f"data/{TABLE}/{unquote(path)}"


def live_sets(entries: list[LogEntry]) -> Iterator[set[str]]:
    """The keys of live data files after each entry of a log."""
    keys: dict[str, str] = {}
    for entry in entries:
        for manifest in entry.manifests:
            if entry.is_whole:
                rows = (row.values for row in manifest.image if row.table == "files")
                live = (row for row in rows if row["state"] == "live" and row["role"] == "data")
                keys = {str(row["path"]): str(row["key"]) for row in live}
            for path in manifest.removed:
                keys.pop(path, None)
            keys |= {file.path: file.key for file in manifest.added if file.key and file.role == "data"}
        yield set(keys.values())
