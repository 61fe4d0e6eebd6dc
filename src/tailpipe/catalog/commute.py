"""Whether transactions of two hosts give the same state in either order: then none of them has to be replayed."""

from __future__ import annotations

from tailpipe.catalog.manifest_record import Manifest

_MIXING = frozenset({"append", "rewrite", "note"})
"""These change only the files and artifacts that they name."""


def commute(one: Manifest, other: Manifest) -> bool:
    """Whether the order of two transactions of a partition makes no difference; False if that is not certain."""
    if one.image or other.image or one.cursors or other.cursors:
        return False
    if {key for key, _ in one.coverage} & {key for key, _ in other.coverage} or _names(one) & _names(other):
        return False
    is_mixing = one.kind in _MIXING and other.kind in _MIXING
    is_apart = one.unit is not None and other.unit is not None and one.unit != other.unit
    return (is_mixing or is_apart) and not set(one.removed) & set(other.removed)


def _names(manifest: Manifest) -> set[str]:
    """All names by which its artifacts are known."""
    entries = [one.entry for one in manifest.artifacts]
    named = {f"{one.host or ''}\0{one.uri}" for one in entries if one.uri is not None}
    return {one.origin for one in entries} | {origin for origin, _ in manifest.drops} | named
