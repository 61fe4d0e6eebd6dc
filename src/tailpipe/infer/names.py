"""Names for tables and partitions, taken from the names of files and directories."""

from __future__ import annotations

import re
from collections.abc import Collection

_SUFFIX = re.compile(
    r"(?:\.(?:gz|bz2|xz|zst|zip|tar|tgz|log|txt|json|jsonl|ndjson|csv|tsv|out|err|evtx|parquet|[0-9]+))+$"
)
_VARIABLE = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b|[0-9]+")
_PLAIN = frozenset(
    {"", "access", "error", "errors", "log", "logs", "out", "output", "server", "current", "messages", "audit"}
)
_LENGTH = 60


def table_name(path: str, taken: Collection[str]) -> str:
    """A name for the table of a file: its own name, with that of its directory if it says little."""
    *directories, last = [part for part in path.split("/") if part] or ["log"]
    stem = _word(_SUFFIX.sub("", last))
    if stem in _PLAIN:
        around = next((word for part in reversed(directories) if (word := _word(part)) not in _PLAIN), "my")
        stem = f"{around}_{stem}" if stem else around
    name = stem if stem.endswith(("log", "logs", "events")) else f"{stem}_log"
    return free_name(name if name[:1].isalpha() else f"log_{name}", taken)


def partition_name(text: str) -> str:
    """A name for a partition, from that of a bucket or a directory."""
    return _word(text) or "local"


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or one with a number that nothing else has."""
    known = {one.lower() for one in taken}
    number, free = 2, name
    while free.lower() in known:
        free, number = f"{name}_{number}", number + 1
    return free


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", _VARIABLE.sub("", text.lower())).strip("_")[:_LENGTH].strip("_")
