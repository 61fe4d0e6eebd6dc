"""Hosts: several of them may collect into one partition through a store; whose file, command and coverage is whose.

Objects of a bucket and ranges of an API are the same for all hosts. A file or a command belongs to one host: its origin
names the host, and so `/var/log/nginx/access.log` of two hosts gives different ids.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}")
_KINDS = frozenset({"file", "run"})
"""The kinds of artifacts that belong to a host."""


def check_host(name: str) -> None:
    """Refuse a name that an origin or a key of coverage could not spell."""
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, '.', '_' and '-', at most 253 characters"
        raise UsageError(f'"{name}" is not the name of a host', hint=hint)


def qualified(source: str, host: str) -> str:
    """The name of a source of a host, under which its coverage is kept: `file@web-1`."""
    return f"{source}@{host}"


def place_of(origin: str, host: str | None) -> str:
    """The name that an artifact of an origin was first seen under."""
    return origin if host is None else origin.removeprefix(f"@{host}:")  # no absolute path and no URL begins so


@frozen
class Host:
    """The names that a workspace collects under: `name` now (None without a store), and those that it had `before`.

    What has no host was collected without a store, and is this workspace's own.
    """

    name: str | None = None
    before: frozenset[str] = frozenset()

    def owns(self, host: str | None) -> bool:
        """Whether what is of that host is of this workspace."""
        return host is None or host == self.name or host in self.before

    def of(self, kind: str) -> str | None:
        """The host of a new artifact of that kind; None if it belongs to no host."""
        return self.name if kind in _KINDS else None

    def origin(self, uri: str, kind: str) -> str:
        """The origin of a new artifact."""
        host = self.of(kind)
        return uri if host is None else f"@{host}:{uri}"

    def key(self, source: str, known: Collection[str]) -> str:
        """The key that the coverage of a source is kept under: a known source keeps its key."""
        keys = [source, *(qualified(source, name) for name in sorted(self.before))]
        if self.name is not None:
            keys.insert(0, qualified(source, self.name))
        return next((key for key in keys if key in known), keys[0])

    def own(self, coverage: Mapping[str, T]) -> dict[str, T]:
        """By source what is kept by key, without that of other hosts."""
        parts = (key.partition("@") for key in coverage)
        sources = dict.fromkeys(source for source, _, host in parts if self.owns(host or None))
        return {source: coverage[self.key(source, coverage)] for source in sources}
