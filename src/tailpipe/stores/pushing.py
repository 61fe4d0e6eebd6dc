"""Push the partitions of a workspace: after each commit of a run, at its end, or on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.commit import Committed, Transaction
from tailpipe.catalog.learn import pending, unpushed_since
from tailpipe.errors import ConflictError, LockedError, TailpipeError, UsageError, WorkspaceError
from tailpipe.model.staged import Staged
from tailpipe.model.store import Store
from tailpipe.storage.objects import Objects
from tailpipe.storage.remote_objects import RemoteObjects
from tailpipe.stores.follow import overtaken
from tailpipe.stores.landing import Landing
from tailpipe.stores.log import store_id
from tailpipe.stores.publish import Publisher
from tailpipe.stores.pull import bring_staying, pull
from tailpipe.stores.push import Progress, Target, preview, push, put_checkpoint
from tailpipe.stores.pushed import PushReport
from tailpipe.stores.tiers import Stays, settle
from tailpipe.stores.upload import Limits

AUTO_SECONDS = 60.0
"""How long a push after a commit may take: collecting goes on then, and the next push goes on where this one was."""
_AUTO_RETRIES = 2


@dataclass(frozen=True)
class StoreUse:
    """How a partition uses its store."""

    store: Store
    partition_by: tuple[str, ...]
    stays: Stays
    """What stays on this disk."""


@dataclass
class Pushing:
    """Pushes partitions as one host.

    A failure never goes further than the report. Once a store has failed, it is left alone until the end, and so is a
    partition that cannot be pushed for a reason of its own.
    """

    uses: Callable[[str], StoreUse | None]
    """How a partition uses its store; None if it has none."""
    host: str
    open_store: Callable[[Store], Objects]
    limits: Limits = field(default_factory=Limits)
    emit: Callable[[Progress], None] = lambda _: None
    is_off: bool = False
    """Whether nothing is pushed, but only reported what would have been."""
    lands: bool = False
    """Whether tasks put files into the stores themselves, because they share no disk with this process."""
    _reports: dict[str, PushReport] = field(default_factory=dict)
    _opened: dict[str, Objects] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)
    _landed: set[str] = field(default_factory=set)
    """The partitions whose files tasks have put into the store: none of them is here."""
    _publishers: dict[str, Publisher] = field(default_factory=dict)
    _due: set[str] = field(default_factory=set)
    """Partitions that get a checkpoint at the end."""

    def before_run(self, catalog: Catalog, names: Iterable[str]) -> None:
        """Fetch the logs of partitions, so that a run knows what other hosts have taken; a failure is only reported."""
        for name in names:
            use = self.uses(name)
            if use is None or self.is_off or use.store.name in self._failed:
                continue
            try:
                target = self._target(use)
                before = sum(target.objects.requests.values())
                with catalog.writer(name) as writer:
                    _, found = pull(writer, target.objects, self.host)
            except LockedError:
                continue  # the run itself reports it
            except (TailpipeError, OSError) as error:
                reason = error.with_hint if isinstance(error, TailpipeError) else str(error)
                self._failed[use.store.name] = reason
                self._add(PushReport(name, use.store.name, error=reason))
                continue
            requests = sum(target.objects.requests.values()) - before
            conflicts = (*map(str, found.conflicts), *found.notes)
            self._add(
                PushReport(name, use.store.name, requests=requests, pulled_commits=found.pulled, conflicts=conflicts)
            )

    def stores_of(self, names: Iterable[str]) -> set[str]:
        """The names of the stores that partitions have."""
        return {use.store.name for name in names if (use := self.uses(name)) is not None}

    def after_commit(self, writer: Writer) -> None:
        """Push what a run has just committed."""
        self._push(writer, with_tiers=False)

    def overtaken(self, writer: Writer, transaction: Transaction, staged: Staged) -> bool:
        """Report what other hosts have taken of a unit whose commit was refused; False if that was not the reason."""
        use, conflict = self.uses(writer.partition), overtaken(writer, transaction, staged)
        if use is None or conflict is None:
            return False
        self._add(PushReport(writer.partition, use.store.name, conflicts=(str(conflict),)))
        return True

    def landing(self, partition: str) -> Landing | None:
        """How transactions land whose files tasks put into the store themselves; None if they do not."""
        use = self.uses(partition) if self.lands else None
        if use is None:
            return None
        if self.is_off:
            raise UsageError(f"{partition} is collected directly into its store on a cluster", hint="remove --no-push")
        made = PushReport(partition, use.store.name)
        return Landing(
            replace(self._target(use), limits=Limits()),
            lambda conflict: self._add(replace(made, conflicts=(str(conflict),))),
        )

    def after_landing(self, writer: Writer, landed: Committed, staged: Staged) -> None:
        """Report what has landed, and let other engines see it."""
        use = self.uses(writer.partition)
        if use is None:
            return
        self._landed.add(writer.partition)
        files, size = len(landed.files), sum(file.size for file in staged.files)
        made = PushReport(writer.partition, use.store.name, landed.sequence, 1, files, size)
        self._add(self._published(writer, self._target(use), made) if use.store.publish == "delta" else made)

    def finish(self, catalog: Catalog, names: Iterable[str]) -> Mapping[str, PushReport]:
        """Push the rest of partitions, and remove local files that need not stay; returns the reports."""
        found = {}
        for name in dict.fromkeys(names):
            use = self.uses(name)
            if use is None or not catalog.is_known(name):
                continue
            try:
                with catalog.writer(name) as writer:
                    self._push(writer, with_tiers=True)
            except LockedError as error:
                self._add(PushReport(name, use.store.name, locked=error.message))
            found[name] = self._with_rest(catalog, name, use)
        return found

    def preview(self, catalog: Catalog, names: Iterable[str]) -> list[PushReport]:
        """What a push would do; nothing is changed, and no request is made."""
        found = []
        for name in dict.fromkeys(names):
            use = self.uses(name)
            if use is None or not catalog.is_known(name):
                continue
            rest = preview(catalog, name, self._target(use))
            report = PushReport(name, use.store.name, 0, rest.transactions, rest.files, rest.size, rest.requests)
            found.append(replace(report, unpushed_commits=rest.transactions, unpushed_since=rest.since))
        return found

    def fetch(self, partition: str, key: str, target: Path) -> str:
        """Copy an object of a partition's store into a file; returns its SHA-256."""
        use = self.uses(partition)
        if use is None:
            raise TailpipeError(f"{partition} has no store", hint="name it in the config")
        return self._target(use).objects.fetch(key, target)

    def _push(self, writer: Writer, *, with_tiers: bool) -> None:
        use = self.uses(writer.partition)
        if use is None or self.is_off:
            return
        name = use.store.name
        made = PushReport(writer.partition, name)
        if reason := self._failed.get(name) or self._failed.get(writer.partition):
            self._add(replace(made, error=reason))
            return
        try:
            target = self._target(use)
            before = sum(target.objects.requests.values())
            is_fetched = writer.partition in self._reports
            done = push(writer, target, is_fetched=is_fetched)
            made = replace(
                made,
                version=done.version,
                commits=done.transactions,
                files=done.files,
                bytes=done.size,
                pulled_commits=done.pulled,
                conflicts=(*map(str, done.conflicts), *done.notes),
            )
            if use.store.publish == "delta" and (done.transactions or done.pulled or with_tiers):
                made = self._published(writer, target, made)
            if done.is_checkpoint_due:
                self._due.add(writer.partition)
            if with_tiers and writer.partition in self._due:
                self._due.discard(writer.partition)
                put_checkpoint(writer, target)
            if with_tiers:
                if writer.partition in self._landed and use.store.here is not None:
                    bring_staying(writer, target.objects, use.stays)
                tiered = settle(writer, target.objects, use.stays)
                made = replace(
                    made, offloaded_files=tiered.left, freed_files=tiered.freed_files, freed_bytes=tiered.freed_size
                )
                if tiered.unproved:
                    made = replace(made, error=_unproved(target, tiered.unproved))
            made = replace(made, requests=sum(target.objects.requests.values()) - before)
        except (TailpipeError, OSError) as error:
            reason = error.with_hint if isinstance(error, TailpipeError) else str(error)
            is_own = isinstance(error, ConflictError | WorkspaceError)
            self._failed[writer.partition if is_own else name] = reason
            made = replace(made, error=reason)
        self._add(made)

    def _published(self, writer: Writer, target: Target, made: PushReport) -> PushReport:
        """The report of a push, once other engines can see it; if that fails, the next push of any host does it."""
        publisher = self._publishers.setdefault(target.store, Publisher(target.objects))
        try:
            store = store_id(writer.database, target.objects, may_make=False)
            omitted = publisher.publish(writer, store) if store else ()
            lines = tuple(f"{one.column}: {one.reason}" for one in omitted)
            earlier = f"{target.store} {writer.partition.partition('.')[0]}"
            return replace(
                made, omitted_columns=lines, to_republish=earlier if publisher.is_earlier(writer.partition) else ""
            )
        except (TailpipeError, OSError) as error:
            return replace(made, publish_error=error.with_hint if isinstance(error, TailpipeError) else str(error))

    def _pending(self, catalog: Catalog, name: str) -> list[tuple[str, str | None]]:
        (partition_id,) = catalog.database.connection.execute(
            "SELECT id FROM partitions WHERE name = ?", (name,)
        ).fetchone()
        return pending(catalog.database, partition_id)

    def _target(self, use: StoreUse) -> Target:
        if use.store.name not in self._opened:
            self._opened[use.store.name] = self._open(use.store)
        objects = self._opened[use.store.name]
        return Target(use.store.name, objects, self.host, use.partition_by, emit=self.emit, limits=self.limits)

    def _open(self, store: Store) -> Objects:
        objects = self.open_store(store)
        if self.limits.seconds is not None and isinstance(objects, RemoteObjects):
            # Connecting again and again to a host that does not answer would take longer than the push may.
            objects.backoff = replace(objects.backoff, retries=_AUTO_RETRIES)
        return objects

    def _add(self, made: PushReport) -> None:
        """Add to what was done for the partition before."""
        known = self._reports.get(made.partition)
        if known is not None:
            names = (
                "commits",
                "files",
                "bytes",
                "requests",
                "pulled_commits",
                "offloaded_files",
                "freed_files",
                "freed_bytes",
                "conflicts",
            )
            sums = {name: getattr(known, name) + getattr(made, name) for name in names}
            made = replace(
                made,
                **sums,
                version=made.version or known.version,
                omitted_columns=made.omitted_columns or known.omitted_columns,
                to_republish=made.to_republish or known.to_republish,
                error=made.error or known.error,
            )
        self._reports[made.partition] = made

    def _with_rest(self, catalog: Catalog, name: str, use: StoreUse) -> PushReport:
        """The report of a partition, with what is not pushed."""
        known, unpushed = self._reports.get(name, PushReport(name, use.store.name)), self._pending(catalog, name)
        return replace(known, unpushed_commits=len(unpushed), unpushed_since=unpushed_since(catalog.database, name))


def _unproved(target: Target, keys: tuple[str, ...]) -> str:
    more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
    return (
        f'"{target.objects.location}/{keys[0]}"{more} is not what was pushed: the file stays on this disk'
        " (run: tailpipe push)"
    )
