"""Remembered folders: the names in folders above the dates, such as the regions of an account.

They seldom change, and hundreds of accounts have hundreds of such folders. What was listed on a day is taken for true
on that day, and on the next one for every second folder, never longer. A folder that is new meanwhile comes to light
by then; its objects are not missed, because the source lists one day more than `overlap_days`
(`BucketSource.remembered_days`). Folders with few neighbours are always listed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tailpipe.plugin.listing import ListingRun

MANY = 16
"""Only in folders with so many neighbours does it pay to remember."""
_RESUMED = timedelta(minutes=10)
"""A listing that was interrupted goes on where it was if it is begun again within this time."""
_SAVE_SECONDS = 5.0
_VERSION = 1

Entry = tuple[datetime, tuple[str, ...]]
"""When a folder was listed, and the names of the folders in it."""


class Memory:
    """The folders of a bucket that were listed before; `identity` says which bucket of which server."""

    def __init__(self, run: ListingRun, identity: str) -> None:
        self._run = run
        digest = hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=12).hexdigest()
        self._file = run.notes / f"{digest}.json" if run.notes is not None else None
        self._entries: dict[str, Entry] = {}
        self._was_interrupted = False
        self._is_changed = False
        self._saved = time.monotonic()
        if self._file is not None:
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                self._load(self._file)

    def recall(self, prefix: str) -> tuple[str, ...] | None:
        """The names of the folders below a prefix; None if they have to be listed."""
        entry = self._entries.get(prefix)
        return entry[1] if entry is not None and self._counts(prefix, entry[0]) else None

    def keep(self, prefix: str, names: tuple[str, ...]) -> None:
        """Remember what a listing of the prefix has given."""
        self._entries[prefix] = (self._run.now, names)
        self._is_changed = True
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self.save(is_whole=False)

    def save(self, *, is_whole: bool) -> None:
        """Save the folders; if that fails, they are listed again. A listing that is not whole was interrupted."""
        if self._file is None or not (self._is_changed or self._was_interrupted):
            return
        oldest = self._run.now - timedelta(days=2)
        kept = {prefix: [when.isoformat(), names] for prefix, (when, names) in self._entries.items() if when > oldest}
        facts = {"version": _VERSION, "is_whole": is_whole, "folders": kept}
        new = self._file.with_suffix(f".{os.getpid()}.new")
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps(facts), encoding="utf-8")
            new.replace(self._file)
        self._saved, self._is_changed = time.monotonic(), False

    def _counts(self, prefix: str, when: datetime) -> bool:
        now = self._run.now
        if self._was_interrupted and timedelta(0) <= now - when < _RESUMED:
            return True
        age = (now.astimezone(UTC).date() - when.astimezone(UTC).date()).days
        is_its_turn = (zlib.crc32(prefix.encode("utf-8", "replace")) + now.astimezone(UTC).toordinal()) % 2 == 0
        return self._run.goes_on and (age == 0 or (age == 1 and not is_its_turn))

    def _load(self, file: Path) -> None:
        facts = json.loads(file.read_text(encoding="utf-8"))
        if facts["version"] != _VERSION:
            return
        entries = {str(prefix): (_moment(when), _names(names)) for prefix, (when, names) in facts["folders"].items()}
        self._entries = entries
        self._was_interrupted = facts["is_whole"] is False


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment


def _names(names: list[str]) -> tuple[str, ...]:
    if not all(isinstance(name, str) and name and "/" not in name for name in names):
        raise ValueError("not the names of folders")
    return tuple(names)
