"""The entries of a manifest in the terms of JSON, and back; keys that a newer version has added are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from tailpipe.catalog.manifest_record import ImageRow, Loss, Manifest
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import Coverage, DaySet, Known, Operation, parse_operation
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Sample, StagedArtifact, StagedFile

LISTS = ("added", "removed", "artifacts", "coverage", "losses", "samples", "image")
"""The parts of a manifest that are a list of entries."""
EXTRA_ENTRIES = "extra_entries"

_SCALARS = (str, int, type(None), float, bool)


def plain(manifest: Manifest) -> dict[str, Any]:
    """The manifest as a dictionary; days, units and changes of coverage by their text."""
    whole: dict[str, Any] = _plain(manifest)
    whole["removed"] = [{"path": path} for path in manifest.removed]
    whole["coverage"] = [{"source": key, "operation": str(operation)} for key, operation in manifest.coverage]
    return whole


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, StagedArtifact):
        return _plain_artifact(value)
    if isinstance(value, DaySet | Unit):
        return str(value)
    if dataclasses.is_dataclass(value):
        facts = {name: item if type(item) in _SCALARS else _plain(item) for name, item in vars(value).items()}
        return facts | facts.pop("extra", {})
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _plain_artifact(one: StagedArtifact) -> dict[str, Any]:
    """An artifact as a dictionary, written out for speed: a Day may have thousands of them."""
    entry, extra = one.entry, one.extra
    written = {
        **vars(entry),
        "unit": str(entry.unit),
        "as_of": entry.as_of.isoformat(),
        "modified": entry.modified.isoformat() if entry.modified else None,
        "taken": str(entry.taken),
        "left_out": str(entry.left_out),
        **extra.get("entry", {}),
    }
    # The names of the offsets are those of the first manifests, which every version can read.
    return {
        **extra,
        "entry": written,
        "accounts": {**vars(one.accounts), **extra.get("accounts", {})},
        "since_bytes": one.offset_bytes,
        "since_ordinals": one.offset_rows,
    }


def from_plain(whole: Mapping[str, Any]) -> Manifest:
    """The manifest in a dictionary, also one of the first format."""
    known, extra = _split(Manifest, whole)
    samples = (_split(Sample, one) for one in whole["samples"])
    return Manifest(
        **{
            **known,
            "unit": Unit.from_key(whole["unit"]) if whole["unit"] else None,
            "begun_at": datetime.fromisoformat(whole["begun_at"]),
            "committed_at": datetime.fromisoformat(whole["committed_at"]),
            "added": tuple(_file(one) for one in whole["added"]),
            "removed": tuple(one["path"] if isinstance(one, Mapping) else one for one in whole["removed"]),
            "artifacts": tuple(_artifact(one) for one in whole["artifacts"]),
            "drops": tuple((origin, generation) for origin, generation in whole["drops"]),
            "restores": DaySet.parse(whole["restores"]),
            "coverage": tuple(_changes(whole["coverage"])),
            "losses": tuple(_loss(one) for one in whole["losses"]),
            "samples": tuple(Sample(**facts, extra=more) for facts, more in samples),
            "image": tuple(ImageRow(one["table"], one["values"]) for one in whole.get("image", ())),
            "ingested_at": _moment(whole.get("ingested_at")),
            "extra": extra,
        }
    )


def _split(kind: type[Any], one: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts of an entry that this version knows, and the rest."""
    names = kind.__dataclass_fields__.keys()
    if one.keys() <= names and "extra" not in one:
        return dict(one), {}  # as almost all of them
    known = {name: value for name, value in one.items() if name in names and name != "extra"}
    return known, {name: value for name, value in one.items() if name not in known}


def _file(one: Mapping[str, Any]) -> StagedFile:
    known, extra = _split(StagedFile, one)
    bounds = {name: _moment(one[name]) for name in ("min_timestamp", "max_timestamp")}
    day = date.fromisoformat(one["tp_date"]) if one["tp_date"] else None
    return StagedFile(**{**known, **bounds, "tp_date": day, "extra": extra})


def _artifact(one: Mapping[str, Any]) -> StagedArtifact:
    listed, more = _split(LedgerEntry, one["entry"])
    counts, more_counts = _split(Accounts, one["accounts"])
    entry = LedgerEntry(
        **{
            **listed,
            "unit": Unit.from_key(listed["unit"]),
            "as_of": datetime.fromisoformat(listed["as_of"]),
            "modified": _moment(listed["modified"]),
            "taken": DaySet.parse(listed["taken"]),
            "left_out": DaySet.parse(listed["left_out"]),
        }
    )
    facts = ("entry", "accounts", "since_bytes", "since_ordinals")
    extra = {name: value for name, value in one.items() if name not in facts} if len(one) > len(facts) else {}
    extra |= ({"entry": more} if more else {}) | ({"accounts": more_counts} if more_counts else {})
    return StagedArtifact(entry, Accounts(**counts), one["since_bytes"], one["since_ordinals"], extra)


def _loss(one: Mapping[str, Any]) -> Loss:
    _, extra = _split(Loss, one)
    return Loss(Unit.from_key(one["unit"]), date.fromisoformat(one["tp_date"]), one["reason"], extra)


def _changes(written: Any) -> list[tuple[str, Operation]]:
    """Changes of coverage, or the whole coverage of each source, as manifests of the first format have it."""
    if isinstance(written, Mapping):
        written = [{"source": source, **one} for source, one in written.items()]
    return [
        (one["source"], parse_operation(one["operation"]) if "operation" in one else Known(_coverage(one)))
        for one in written
    ]


def _coverage(one: Mapping[str, str | None]) -> Coverage:
    known = Coverage.parse({name: text for name, text in one.items() if text}, one.get("frontier"))
    # Before there was a frontier, none was written: nothing is known but the days.
    return known if "frontier" in one else dataclasses.replace(known, frontier=known.known.last)


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
