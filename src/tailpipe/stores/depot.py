"""A store as a task on another host uses it: its files are put under their final keys, and objects are fetched."""

from __future__ import annotations

import contextlib
import pickle
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog.layout import attempt_name
from tailpipe.errors import ObjectStoreError, TailpipeError
from tailpipe.frozen import frozen
from tailpipe.model.staged import StagedFile
from tailpipe.model.store import Store
from tailpipe.stores.keys import SIGNS, data_key, rejected_key
from tailpipe.stores.open import open_store
from tailpipe.stores.upload import Limits, Upload, upload

if TYPE_CHECKING:
    from tailpipe.kernel.delivery import Place
    from tailpipe.storage.objects import Objects


@frozen
class StoreDepot:
    """The store of a config; each process opens it once."""

    store: Store

    def put(self, place: Place, directory: Path, files: Sequence[StagedFile], attempt: str) -> tuple[StagedFile, ...]:
        """Put staged files under keys that no other attempt uses; returns them with their keys and final names."""
        token = secrets.token_hex(4)  # Spark counts attempts from 0 again after it was started anew
        made, uploads = [], []
        for number, file in enumerate(files):
            name = attempt_name(place.transaction, number, attempt, token)
            key = _key(place, file, name)
            uploads.append(Upload(directory / file.path, key, file.size, file.sha256))
            made.append(replace(file, path=name, key=key))
        for _ in upload(self._objects, uploads, Limits().begin()):
            pass
        return tuple(made)

    def fetch(self, key: str, sha256: str, target: Path) -> None:
        """Copy an object into a file, and check its bytes unless the checksum is empty."""
        objects = self._objects
        try:
            found = objects.fetch(key, target)
        except FileNotFoundError as problem:
            raise _bad(objects, key, "is missing") from problem
        if sha256 and found != sha256:
            raise _bad(objects, key, "differs from were stored")

    def put_sign(self, tag: str, name: str) -> str:
        """Put a small object to see whether that works here, and read it; returns why not, or nothing."""
        key = f"{SIGNS}/{tag}/{name}"
        try:
            self._objects.put(key, name.encode())
            return "" if self._objects.get(key) == name.encode() else "an object that was put reads otherwise"
        except (TailpipeError, FileNotFoundError) as error:
            # Without the name of the object, which nobody knows.
            return str(error).partition(f'{key}": ')[2].partition("\n")[0] or str(error)

    def take_signs(self, tag: str) -> Mapping[str, float]:
        """Remove all signs of a tag; returns when each was put, in seconds since 1970 by the clock of the store."""
        objects = self._objects
        found = {one.key: one.modified.timestamp() for one in objects.list(f"{SIGNS}/{tag}")}
        with contextlib.suppress(ObjectStoreError):  # `store clean` removes them, too
            objects.delete(found)
        return {key.rpartition("/")[2]: moment for key, moment in found.items()}

    def __str__(self) -> str:
        return f'store "{self.store.name}"'

    @property
    def _objects(self) -> Objects:
        return _opened(pickle.dumps(self.store))


@lru_cache(maxsize=4)
def _opened(store: bytes) -> Objects:
    return open_store(pickle.loads(store))  # noqa: S301 - our own bytes


def _key(place: Place, file: StagedFile, name: str) -> str:
    if file.role == "rejected" or file.tp_date is None:
        return rejected_key(place.partition, name + place.mark)
    return data_key(place.partition_by, place.partition, file.tp_index, file.tp_date, name + place.mark)


def _bad(objects: Objects, key: str, reason: str) -> ObjectStoreError:
    return ObjectStoreError(
        f'"{objects.location}/{key}" {reason}',
        location=objects.location,
        key=key,
        hint="restore it from a version of the bucket, or push it again from a host that has it: tailpipe push",
    )
