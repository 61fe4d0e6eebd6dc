"""Words that early users of this config language know, and what they are called now."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["former_argument", "former_block"]

_BLOCKS = {
    "collection": 'write partition "TABLE" "NAME" { … }',
    "source": 'a source stands inside a partition: partition "TABLE" "NAME" { source "TYPE" { … } }',
}
_ARGUMENTS = {
    "source_format": "format",
    "null_column_char": "null_if",
    "types": "tables",
    "collections": "partitions",
    "connections": "indexes",
    "start_date": "from",
    "end_date": "to",
}


def former_block(name: str) -> str:
    """The hint for a block that has another name or place now; empty if there was none of that name."""
    return _BLOCKS.get(name, "")


def former_argument(name: str, known: Container[str]) -> str | None:
    """What an argument is called now, if the block takes it."""
    present = _ARGUMENTS.get(name, name)
    return present if present != name and present in known else None
