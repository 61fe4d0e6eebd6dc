"""Manifests: what is written is read, by this version and, as far as it can, by others."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailpipe.catalog import doctor, manifest
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.manifest import FORMAT, from_text, read, to_text, write
from tailpipe.catalog.manifest_record import ImageRow, Loss, Manifest
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import CatalogError, NewerError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import Advance, Cover, DaySet, Request
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Sample, StagedArtifact, StagedFile
from tests.unit.catalog.conftest import DAY, Workspace

NOON = datetime(2024, 2, 1, 12, tzinfo=UTC)
FULL = Manifest(
    "00000007-0011223344556677",
    7,
    "app_log.prod",
    "rewrite",
    Unit(day=DAY),
    NOON,
    NOON,
    (
        StagedFile("files/a", 2, 900, "ab", DAY, "i", datetime(2024, 1, 31), datetime(2024, 1, 31, 5), {"x": "BIGINT"}),
        StagedFile("rejected/b", 1, 30, "cd", None, role="rejected"),
    ),
    ("files/old",),
    (
        StagedArtifact(
            LedgerEntry("@web-1:/a.log", "file", Unit(day=DAY), NOON, 1, "/a.log", modified=NOON, host="web-1"),
            Accounts(3, 2, rejected=1),
            10,
            1,
        ),
    ),
    (("/b.log", 0),),
    (("file@web-1", Request(DaySet.of([DAY]))), ("file@web-1", Advance(DAY)), ("file@web-1", Cover(DaySet(), DAY))),
    (Loss(Unit(pack="ff"), DAY, "missing"),),
    DaySet.of([DAY]),
    (Sample("/a.log", "line 3", "json", "???"),),
    "00000006-00112233",
    (ImageRow("files", {"path": "files/old", "rows": 1, "tp_index": None}),),
    "web-1",
    NOON,
    {"detections": "7", "queue": None},
)


def _raw(path: Path) -> tuple[list[dict[str, Any]], dict[bytes, bytes]]:
    table = pq.ParquetFile(path).read()
    return table.to_pylist(), table.schema.metadata


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert from_text(to_text(FULL)) == FULL
    write([FULL], tmp_path / "a.manifest")
    assert read(tmp_path / "a.manifest") == FULL


def test_files_can_be_queried_by_columns(tmp_path: Path) -> None:
    write([FULL], tmp_path / "a.manifest")
    rows, _ = _raw(tmp_path / "a.manifest")
    names = ("path", "role", "tp_index", "tp_date", "size", "rows", "sha256", "first_event", "last_event")
    (data, rejected) = ([row[name] for name in names] for row in rows if row["entry"] == "added")
    first, last = datetime(2024, 1, 31, tzinfo=UTC), datetime(2024, 1, 31, 5, tzinfo=UTC)
    assert data == ["files/a", "data", "i", DAY, 900, 2, "ab", first, last]
    assert rejected == ["rejected/b", "rejected", None, None, 30, 1, "cd", None, None]
    assert [row["path"] for row in rows if row["entry"] == "removed"] == ["files/old"]


def _newer(path: Path, number: int = FORMAT) -> None:
    """Let a manifest be as a newer version might have written it, with more of everything."""
    rows, facts = _raw(path)
    for row in rows:
        body = json.loads(row["body"])
        body["colour"] = {"red": [1]}
        if row["entry"] == "artifacts":
            body["entry"]["owner"] = "me"
            body["accounts"]["skipped"] = 0
        row["body"] = json.dumps(body, ensure_ascii=False)
    rows += [{"entry": "approvals", "body": '{"by": "me"}'}, {"entry": "approvals", "body": '{"by": "you"}'}]
    facts |= {
        b"tailpipe.manifest": str(number).encode(),
        b"tailpipe.entries": str(len(rows)).encode(),
        b"tailpipe.check": str(manifest._check((row["entry"], row["body"]) for row in rows)).encode(),
    }
    path.unlink()
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(facts), path)


def _facts(path: Path) -> list[tuple[str, Any]]:
    kept = ("transaction", "added", "artifacts", "losses", "samples", "approvals")
    return [(row["entry"], json.loads(row["body"])) for row in _raw(path)[0] if row["entry"] in kept]


def test_what_a_newer_version_has_added_is_kept_when_a_manifest_is_written_again(tmp_path: Path) -> None:
    first, second = tmp_path / "a.manifest", tmp_path / "b.manifest"
    write([FULL], first)
    _newer(first)
    found = read(first)
    assert found.extra == {"colour": {"red": [1]}}
    assert found.extra_entries == {"approvals": [{"by": "me"}, {"by": "you"}]}
    assert found.added[0].extra == {"colour": {"red": [1]}}
    assert found.artifacts[0].extra == {
        "colour": {"red": [1]},
        "entry": {"owner": "me"},
        "accounts": {"skipped": 0},
    }
    assert from_text(to_text(found)) == found
    write([replace(found, sequence=8)], second)
    wanted = _facts(first)
    wanted[0][1]["sequence"] = 8
    assert _facts(second) == wanted
    assert read(second) == replace(found, sequence=8)


def test_a_higher_format_is_refused_and_never_taken_for_damage(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    (path,) = Layout.of(workspace.home).manifests.glob("*.manifest")
    _newer(path, FORMAT + 1)
    for act in (lambda: read(path), lambda: rebuild(workspace.home), lambda: rebuild(workspace.home, accept_loss=True)):
        with pytest.raises(
            NewerError, match=r"was written by a newer tailpipe \(format 4, this one knows 3\)"
        ) as caught:
            act()
        assert caught.value.hint == "upgrade tailpipe"
    assert doctor.examine(workspace.home, with_checksums=True) == []
    doctor.repair(workspace.home, with_checksums=True)
    assert path.exists()
    with pytest.raises(NewerError):
        from_text(json.dumps({"format": FORMAT + 1}))


def test_a_rebuild_goes_on_with_manifests_that_have_more_than_this_version_knows(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    (path,) = Layout.of(workspace.home).manifests.glob("*.manifest")
    _newer(path)
    rebuild(workspace.home)
    assert sorted(workspace.ids()) == ["1"]


def test_damage_is_told_from_a_newer_format(tmp_path: Path) -> None:
    path = tmp_path / "a.manifest"
    write([FULL], path)
    _newer(path, 0)
    with pytest.raises(CatalogError, match="unknown format 0") as caught:
        read(path)
    assert not isinstance(caught.value, NewerError)


def test_the_format_is_one_that_earlier_versions_refuse() -> None:
    assert FORMAT not in (1, 2)  # all that they read


def test_what_names_no_host_is_of_the_host_that_pushes_it() -> None:
    objects = replace(FULL.artifacts[0].entry, kind="object", host=None)
    files = replace(objects, kind="file")
    artifacts = tuple(StagedArtifact(one, Accounts()) for one in (objects, files, FULL.artifacts[0].entry))
    coverage = (("file", Advance(DAY)), ("file@web-3", Advance(DAY)))
    pushed = replace(FULL, host=None, artifacts=artifacts, coverage=coverage).owned_by("web-2")
    assert [one.entry.host for one in pushed.artifacts] == [None, "web-2", "web-1"]
    assert [key for key, _ in pushed.coverage] == ["file@web-2", "file@web-3"]
    assert (pushed.host, FULL.owned_by("web-2").host) == ("web-2", "web-1")
