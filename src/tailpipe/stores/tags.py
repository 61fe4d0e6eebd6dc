"""Tags: names for versions of partitions, which keep their files as long as the tag exists."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime

from tailpipe.errors import NewerError, ObjectStoreError, UsageError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores.keys import TAGS, tag_key

FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@frozen
class Tag:
    """A name for one version of each of some partitions of a store."""

    name: str
    created_at: datetime
    host: str
    versions: Mapping[str, int]


def check_tag(name: str) -> None:
    """Refuse a name that a key could not spell on every store."""
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, '.', '_' and '-', at most 100 characters"
        raise UsageError(f'"{name}" cannot be the name of a tag', hint=hint)


def create_tag(objects: Objects, tag: Tag) -> bool:
    """Put a tag into a store; False if it has one of that name. An unknown outcome is resolved by reading."""
    facts = {
        "format": FORMAT,
        "name": tag.name,
        "created_at": tag.created_at.isoformat(),
        "host": tag.host,
        "partitions": dict(sorted(tag.versions.items())),
    }
    try:
        return objects.put(tag_key(tag.name), json.dumps(facts, indent=2).encode())
    except ObjectStoreError as error:
        if not error.is_unknown or tags_of(objects).get(tag.name) != tag:
            raise
        return True


def drop_tag(objects: Objects, name: str) -> None:
    """Delete a tag; what only it kept is deleted by the next clean-up of the store."""
    objects.delete([tag_key(name)])


def tags_of(objects: Objects) -> dict[str, Tag]:
    """All tags of a store by name: one listing, and one request for each."""
    names = [one.key.rpartition("/")[2].removesuffix(".json") for one in objects.list(TAGS)]
    return {name: _read(objects, name) for name in sorted(names)}


def _read(objects: Objects, name: str) -> Tag:
    where = f"{objects.location}/{tag_key(name)}"
    try:
        found = json.loads(objects.get(tag_key(name)))
        if int(found["format"]) > FORMAT:
            raise NewerError(f"{where} was written by a newer tailpipe", path=where, hint="upgrade tailpipe")
        if found.get("name", name) != name:  # tags of earlier versions do not know their name
            raise ValueError("another tag")
        versions = {str(partition): int(version) for partition, version in found["partitions"].items()}
        return Tag(name, datetime.fromisoformat(found["created_at"]), str(found["host"]), versions)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ObjectStoreError(
            f'"{where}" is not a tag',
            location=objects.location,
            key=tag_key(name),
            hint="delete the object, then create the tag again",
        ) from problem
