"""Kill pushes and tiers: what a child does beside its step, and what must hold of the store at any time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.clean import GRACE
from tailpipe.catalog.failpoints import NAMES, ROOT_NAMES, STORE_NAMES, Failpoints
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.log_entry import LogEntry
from tailpipe.errors import TailpipeError
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.storage.remote_objects import RemoteObjects
from tailpipe.stores.log import entries_after
from tailpipe.stores.push import Target, push
from tailpipe.stores.tiers import TierFile, settle
from tailpipe.stores.upload import Limits, is_proved
from tests.crash.collector import PARTITION
from tests.crash.harness import BrokenError, Harness, read_ids
from tests.crash.world import Step, StepKind
from tests.object_faults import Busy, CutBody, Fault, FaultyObjects, Kill, KilledError, Lost, Slow, on_key, seeded

HOST = "web-1"
RULES = ("all", "odd", "none")
"""What stays here: everything, the files of every second day, nothing."""
KINDS: tuple[StepKind, ...] = ("append", "grow", "replace", "rewrite", "delete", "clean")
AGAIN = ("push.begin", "push.fetched", "push.put", "push.uploaded", "learn.copied", "learn.before", "tier.unlink")
"""Where the run after a kill is killed too."""


def rule(name: str) -> Callable[[Sequence[TierFile]], Collection[str]]:
    def stays(files: Sequence[TierFile]) -> Collection[str]:
        return [file.path for file in files if name == "all" or (name == "odd" and file.tp_date.toordinal() % 2)]

    return stays


def open_place(store: str) -> Objects:
    """A directory, or a bucket of a server on this machine: `http://…#bucket`."""
    if not store.startswith("http"):
        return open_objects(store)
    from tests.objects.conftest import remote

    url, _, bucket = store.partition("#")
    return remote(url, bucket, retries=2)


def layout_of(request: dict[str, Any]) -> Layout:
    """The layout of a workspace whose config wants the files of the partition in a root."""
    layout = Layout.of(Path(request["home"]))
    if "root" not in request:
        return layout
    return replace(layout, wanted={PARTITION: Path(request["root"] or layout.data)})


def push_and_tier(home: Layout, request: dict[str, Any], points: Failpoints) -> None:
    """What a command does after its commit; a store that fails too often is only told."""
    objects = open_place(request["store"])
    if request["faults"] == "lost-commit":
        objects = FaultyObjects(objects, on_key("log/", Lost(), methods=["put"]), sleep=lambda _: None)
    elif request["faults"]:
        kinds: list[Fault] = [Lost(), Busy(), CutBody(), Slow(0), Kill(), Kill(is_done=True)]
        objects = FaultyObjects(objects, seeded(int(request["faults"]), 0.08, kinds), sleep=lambda _: None)
    target = Target("lake", objects, HOST, limits=Limits(sleep=lambda _: None))
    grace = GRACE if request["has_grace"] else timedelta(0)
    try:
        with Catalog.open(home, failpoints=points, host=HOST) as catalog, catalog.writer(PARTITION) as writer:
            push(writer, target)
            settle(writer, objects, rule(request["rule"]), grace=grace)
    except KilledError:
        os.kill(os.getpid(), signal.SIGKILL)
    except TailpipeError:
        if not request["faults"]:
            raise


@dataclass
class LakeHarness(Harness):
    """A workspace with a store; the store is looked at as closely as the disk."""

    store: str = ""
    roots: Sequence[str] = ("",)
    """The directories that the config may want the files in; an empty text is the workspace itself."""
    root: str = ""
    moving: random.Random | None = None
    """Names another root before each run: the config may be changed after a crash, too."""
    rule: str = "all"
    faults: str = ""
    has_grace: bool = False
    damages: bool = False
    """Whether objects vanish while their files wait to be unlinked."""
    on_run: Callable[[str], None] = lambda _: None
    """Called before a child is started, with its failpoint."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.objects = open_place(self.store)
        self.was_cleaned = False
        self.entries: list[LogEntry] = []
        if isinstance(self.objects, RemoteObjects):
            self.objects.requests.clear()

    def _run(self, made: Step, failpoint: str) -> int:
        self.on_run(failpoint)
        if self.moving is not None:
            self.root = self.moving.choice(self.roots)
        self.was_cleaned = made.kind == "clean" and not failpoint
        status, error = self.server.ask(
            home=str(self.home),
            steps=[json.dumps(asdict(made))],
            failpoint=f"{failpoint}=kill" if failpoint else "",
            mutant=self.mutant,
            disk=self.disk,
            journal="",
            store=self.store,
            root=self.root,
            rule=self.rule,
            has_grace=self.has_grace and bool(failpoint),
            faults=self.faults if failpoint or self.faults == "lost-commit" else "",
        )
        self.on_run("")
        if status not in (0, -signal.SIGKILL):
            raise BrokenError(f"step {made.kind} at {failpoint or 'the end'}: {error}")
        if self.damages and failpoint:
            self._damage()
        return status

    def _damage(self) -> None:
        """Let the object of a file vanish that waits to be unlinked."""
        layout = self._layout()
        for path, key, _, _, is_here in self._live():
            if not is_here and layout.stored(path).exists():
                self.objects.delete([key])
                return

    def check_readers(self, before: Counter[str], after: Counter[str]) -> None:
        """What readers see, wherever the files are; whatever is not on this disk is proved by the store."""
        super().check_readers(before, after)
        self._check_log()

    def check_settled(self, expected: Counter[str]) -> None:
        self._count(self._snapshot_rows(), expected, expected)
        layout = self._layout()
        here = read_ids([str(layout.stored(path)) for path, _, _, _, is_here in self._live() if is_here])
        if self._hive_rows() != here:
            raise BrokenError("the hive is not what is live and here")
        self.check_disk()
        self._check_roots()
        self._check_log()
        with Catalog.open(self.home) as catalog:
            ask = catalog.database.connection.execute
            unpushed = (
                "SELECT count(*) FROM transactions WHERE sequence > 0 AND id NOT IN (SELECT transaction_id FROM pushed)"
            )
            if ask(unpushed).fetchone() != (0,):
                raise BrokenError("something is not pushed")
            for (path,) in ask("SELECT path FROM files WHERE here = 0 AND left_at IS NULL").fetchall():
                if layout.stored(path).exists():
                    raise BrokenError(f"{path} is forgotten, but still on the disk")

    def _check_roots(self) -> None:
        """The files are where they are wanted, and after the grace period nowhere else."""
        with Catalog.open(self.home, is_read_only=True) as catalog:
            if (found := catalog.database.layout.root(PARTITION)) != Path(self.root or self.home):
                raise BrokenError(f"the files are in {found}, and not in {self.root or self.home}")
        for root in self._all_roots():
            if root != found and not self.was_cleaned:
                continue
            staging = root / ".tailpipe" / "staging"
            if left := list(staging.iterdir()) if staging.exists() else []:
                raise BrokenError(f"left in staging: {left}")
            if root == found:
                continue
            if left := [path for path in root.glob(".tailpipe/*/tp_table=*/**/*") if path.is_file()]:
                raise BrokenError(f"left behind: {left}")

    def _all_roots(self) -> list[Path]:
        return [Path(root or self.home) for root in self.roots]

    def _invite_strangers(self) -> None:
        for root in self._all_roots():
            for directory in root.glob("tp_table=*/*/*/*"):
                stranger = directory / "notes.txt"
                stranger.touch()
                self.strangers.add(stranger)

    def _hive_rows(self) -> Counter[str]:
        found = (path for root in self._all_roots() for path in root.glob("tp_table=*/*/*/*/*.parquet"))
        return read_ids([str(path) for path in found])

    def check_other_host(self, expected: Counter[str]) -> None:
        """Another host that knows the store alone has the same rows."""
        home = self.home.with_name(f"{self.home.name}-other-{self.world.steps}")
        with Catalog.open(home, host="web-2") as catalog, catalog.writer(PARTITION) as writer:
            push(writer, Target("lake", self.objects, "web-2"))
        mine, self.home = self.home, home
        try:
            self._count(self._snapshot_rows(), expected, expected)
        finally:
            self.home = mine

    def _check_log(self) -> None:
        """Each transaction is in the log once, each file it names is there, and `there` says no more than the log."""
        named: set[str] = set()
        seen: Counter[str] = Counter()
        self.entries += entries_after(self.objects, PARTITION, len(self.entries))
        for entry in self.entries:
            seen.update(one.transaction for one in entry.manifests if not entry.is_whole)
            named |= _named(entry)
        if twice := [name for name, count in seen.items() if count > 1]:
            raise BrokenError(f"in the log twice: {twice}")
        there = {key for _, key, _, _, _ in self._live(there=True)}
        if extra := there - named:
            raise BrokenError(f"there, but the log does not say so: {extra}")
        listed = {one.key for top in ("data", "rejected") for one in self.objects.list(top)}
        if not self.damages and (lacking := named - listed):
            raise BrokenError(f"named by the log, but not there: {lacking}")

    def _live(self, *, there: bool = False) -> list[tuple[str, str, int, str, int]]:
        if not (self.home / ".tailpipe" / "catalog.db").exists():
            return []
        with Catalog.open(self.home, is_read_only=True) as catalog:
            return catalog.database.connection.execute(
                "SELECT path, key, bytes, sha256, here FROM files WHERE state = 'live' AND "
                + ("there = 1" if there else "role = 'data'")
            ).fetchall()

    def _layout(self) -> Layout:
        """Where the files are, by the catalog."""
        with Catalog.open(self.home, is_read_only=True) as catalog:
            return catalog.database.layout

    def _snapshot_rows(self) -> Counter[str]:
        found: Counter[str] = Counter()
        layout = self._layout()
        for path, key, size, sha256, is_here in self._live():
            if is_here:
                found += read_ids([str(layout.stored(path))])
                continue
            if layout.stored(path).exists() and self.damages:
                found += read_ids([str(layout.stored(path))])  # it is still to be proved
                continue
            if not is_proved(self.objects, key, size, sha256):
                raise BrokenError(f"{path} is not here, and {key} is not in the store")
            data = self.objects.get(key)
            if hashlib.sha256(data).hexdigest() != sha256:
                raise BrokenError(f"{key} has other bytes")
            found.update(pq.read_table(io.BytesIO(data), use_threads=False)["tp_id"].to_pylist())
        return found


def _named(entry: LogEntry) -> set[str]:
    added = {str(file.key) for one in entry.manifests for file in one.added if file.key}
    rows = (row.values for one in entry.manifests for row in one.image if row.table == "files")
    return added | {str(row["key"]) for row in rows}


def soak_lake(harness: LakeHarness, kills: int) -> None:
    """Random steps killed at random points of push, tiers and commit, every second time twice; faults between."""
    chance = random.Random(harness.seed)
    while harness.report.kills < kills:
        harness.rule = chance.choice(RULES)
        harness.faults = chance.choice(("", str(chance.randrange(10**6))))
        points: Sequence[str] = STORE_NAMES if chance.random() < 0.8 else NAMES
        again: Sequence[str] = (*AGAIN, *STORE_NAMES)
        kinds: Sequence[StepKind] = KINDS
        if len(harness.roots) > 1 and chance.random() < 0.4:
            harness.moving = chance
            points, again = ROOT_NAMES, (*AGAIN, *ROOT_NAMES)
            kinds = ("clean", "append")
        first = f"{chance.choice(points)}:{chance.choice((0, 0, 1, 2))}"
        second = chance.choice(again) if chance.random() < 0.5 else ""
        harness.step(chance.choice(kinds), first, second)
        harness.moving = None
    harness.faults = ""
    harness.check_other_host(harness.world.rows())
