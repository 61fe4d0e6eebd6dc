"""New objects of S3 buckets by the messages of a queue, with a full listing now and then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tailpipe.formats.grok import compile_layout
from tailpipe.plugin import Artifact, UsageError, Window, fact, option, parse_duration
from tailpipe.plugin.linear import compile_linear
from tailpipe.plugin.listing import listing_run
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.queue import Inbox, Message, Queue
from tailpipe.plugins.aws.s3 import S3Bucket
from tailpipe.plugins.aws.s3_events import Place, named_objects
from tailpipe.plugins.buckets.source import glob_pattern

if TYPE_CHECKING:
    from pathlib import Path

_MOST_MESSAGES = 50_000
"""SQS hides at most 120,000 messages of a queue at a time."""
_AT_ONCE = 16
Finder = tuple[str, str, Any]
"""Bucket, folder, and the pattern of the keys below it."""


def _check_queue(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.strip("/"):
        hint = "write the address of the queue: https://sqs.REGION.amazonaws.com/ACCOUNT/NAME"
        raise UsageError(f'"{url}" is not the address of a queue', hint=hint)


def _check_span(text: str) -> None:
    if parse_duration(text) <= timedelta(0):
        raise UsageError(f'"{text}" is no time', hint="write it as 1h or 1d")


def _check_hidden(seconds: int) -> None:
    if not 30 <= seconds <= 43_200:
        raise UsageError("visibility_timeout_seconds must be between 30 and 43,200")


class S3Queue(S3Bucket):
    """Reads new objects of an S3 bucket that an SQS queue announces, and lists the bucket now and then."""

    type = "aws_sqs_s3"
    lists_all = True
    layouts_of = S3Bucket.type
    queue_url: str = option("Address of the queue that gets the bucket's event notifications.", check=_check_queue)
    queue_connection: Aws | None = option("How to log in to the queue, if not as to the bucket.", default=None)
    full_listing: str = option(
        "How often to list the bucket, to find objects whose messages were lost.", default="1d", check=_check_span
    )
    visibility_timeout_seconds: int = option(
        "How long received messages stay hidden if a run does not end.", default=600, check=_check_hidden
    )
    inbox: Inbox | None = fact("What this run has received.", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inbox is None:
            object.__setattr__(self, "inbox", Inbox())

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """The objects that messages name; and those of the window, if it is time for a full listing."""
        seen: set[str] = set()
        note = _Note(self)
        span = note.due(window)
        listed = super().artifacts(span) if span is not None else iter(())
        for artifact in chain(self._announced(), listed):
            if artifact.uri not in seen:
                seen.add(artifact.uri)
                yield artifact
        if span is not None:
            self._inbox.listed = lambda: note.keep(window)

    def acknowledge(self, is_collected: Callable[[Artifact], bool], *, is_whole: bool) -> None:
        """Delete the messages all of whose objects are collected, and note a full listing of which nothing is left."""
        inbox = self._inbox
        done = [one for one in inbox.messages.values() if not one.is_left and all(map(is_collected, one.artifacts))]
        if is_whole:
            inbox.listed()
        inbox.clear()
        self._queue.delete(done)

    def release(self) -> None:
        """Let the next collection see the messages at once."""
        messages = list(self._inbox.messages.values())
        self._inbox.clear()
        self._queue.show(messages)

    @property
    def _inbox(self) -> Inbox:
        assert self.inbox is not None  # noqa: S101 - each source has one
        return self.inbox

    @property
    def _queue(self) -> Queue:
        return Queue(self.queue_url, self.queue_connection or self.connection)

    def _announced(self) -> Iterator[Artifact]:
        """The objects of the messages as they are now; only their names are taken from a message."""
        messages = self._inbox.messages
        for one in self._queue.receive(_MOST_MESSAGES, self.visibility_timeout_seconds):
            messages[one.id] = one
        finders = [(name, base, compile_linear(f"(?s:{glob_pattern(glob)})")) for name, base, glob in self.places()]
        named = {one.id: self._read(one, finders) for one in messages.values()}
        yield from (_left(self.queue_url, one) for one in messages.values() if one.is_left)
        places = sorted({place for some in named.values() for place in some})
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = dict(zip(places, pool.map(lambda place: self._artifact(place, finders), places), strict=True))
        for one in messages.values():
            one.artifacts = [artifact for place in named[one.id] if (artifact := found[place]) is not None]
        yield from (artifact for artifact in found.values() if artifact is not None)

    def _read(self, message: Message, finders: list[Finder]) -> list[Place]:
        """The objects of a message that the source wants."""
        try:
            places = named_objects(message.body)
        except UsageError:
            message.is_left = True
            return []
        buckets = {name for name, _, _ in finders}
        message.is_left = any(bucket not in buckets for bucket, _ in places)
        return [place for place in places if self._path(place, finders) is not None]

    def _path(self, place: Place, finders: list[Finder]) -> str | None:
        """What the layout is held against; None if the source does not want the object."""
        bucket, key = place
        layout = compile_layout(self.file_layout, self.patterns) if self.file_layout else None
        for name, base, wanted in finders:
            if name == bucket and key.startswith(base) and wanted.fullmatch(key[len(base) :]):
                for path in (key[len(base) :], key):
                    if layout is None or layout.fullmatch(path):
                        return path
        return None

    def _artifact(self, place: Place, finders: list[Finder]) -> Artifact | None:
        bucket = self.bucket_named(place[0])
        found = bucket.head(place[1])
        if found is None or (found.name.endswith("/") and not found.size):
            return None
        return bucket.artifact(found, self._path(place, finders) or "")


def _left(queue: str, message: Message) -> Artifact:
    """What is reported of a message that stays in the queue."""
    reason = "the message is not an event of this bucket; it stays in the queue"
    return Artifact(f"{queue}#{message.id}", kind="object", unavailable=reason)


class _Note:
    """When the bucket was listed last, and from which day on; without a note it is listed now."""

    def __init__(self, source: S3Queue) -> None:
        run = listing_run()
        facts = [source.queue_url, source.name, source.file_layout, *map(list, source.places())]
        digest = hashlib.blake2b(json.dumps(facts).encode(), digest_size=12).hexdigest()
        self._file: Path | None = run.notes / f"sqs-{digest}.json" if run.notes is not None else None
        self._now = run.now
        self._every = parse_duration(source.full_listing)
        self._overlap = timedelta(days=source.overlap_days)

    def due(self, window: Window) -> Window | None:
        """The days to list; None if that is not due."""
        at, since = self._read()
        if at is None or window.start.date() != since or at > self._now:
            return window  # also if the user has named days
        if self._now - at < self._every:
            return None
        start = datetime.combine((at - self._overlap).date(), time(), UTC)
        return replace(window, start=max(window.start, min(start, window.end)))

    def keep(self, window: Window) -> None:
        """Save it; if that fails, the bucket is listed again."""
        if self._file is None:
            return
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new = self._file.with_suffix(".new")
            facts = {"at": self._now.isoformat(), "since": window.start.date().isoformat()}
            new.write_text(json.dumps(facts), encoding="utf-8")
            new.replace(self._file)

    def _read(self) -> tuple[datetime | None, date | None]:
        if self._file is not None:
            with suppress(OSError, ValueError, KeyError, TypeError):
                facts = json.loads(self._file.read_text(encoding="utf-8"))
                at = datetime.fromisoformat(facts["at"])
                if at.tzinfo is not None:
                    return at, date.fromisoformat(facts["since"])
        return None, None
