"""Entries of a log: several manifests in one object, whole or refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog import log_entry, manifest
from tailpipe.catalog.log_entry import make_entry, read_entry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.errors import CatalogError, NewerError
from tailpipe.model.staged import StagedFile

NOW = datetime(2024, 2, 1, tzinfo=UTC)


def _manifest(number: int) -> Manifest:
    file = StagedFile(f"files/f{number}", 3, 100, "ab" * 32, date(2024, 1, 31), "x", key=f"data/f{number}.parquet")
    return Manifest(f"{number:08d}-0011223344556677", number, "t.p", "append", None, NOW, NOW, (file,), host="web-1")


def test_an_entry_says_its_manifests_in_their_order() -> None:
    made = [_manifest(number) for number in range(1, 13)]
    entry = make_entry(made, 7, "id", "web-1")
    assert read_entry(entry.data, 7, "x") == entry
    assert read_entry(entry.data, 7, "x").manifests == tuple(made)
    assert make_entry(made, 7, "id", "web-1").push != entry.push


def test_keys_and_kinds_of_entries_of_newer_versions_survive() -> None:
    one = replace(
        _manifest(1),
        added=(replace(_manifest(1).added[0], extra={"tier": "cold"}),),
        extra={"mood": "good"},
        extra_entries={"blessing": [{"of": "a"}]},
    )
    found, header = manifest.unpack(manifest.pack([one, _manifest(2)], {"format": 1, "new": [1]}), "x")
    assert found == [one, _manifest(2)]
    assert header == {"format": 1, "new": [1]}


def test_any_tool_reads_an_entry(tmp_path: Path) -> None:
    (tmp_path / "1.manifest").write_bytes(make_entry([_manifest(1), _manifest(2)], 1, "id", "web-1").data)
    rows = duckdb.sql(
        f"SELECT part, path, rows FROM read_parquet('{tmp_path}/1.manifest') WHERE entry = 'added' ORDER BY part"
    ).fetchall()
    assert rows == [(0, "files/f1", 3), (1, "files/f2", 3)]


def test_an_entry_that_is_cut_changed_or_of_another_version_is_refused() -> None:
    data = make_entry([_manifest(1)], 7, "id", "web-1").data
    with pytest.raises(CatalogError, match="not version 8 of a log"):
        read_entry(data, 8, "x")
    with pytest.raises(CatalogError, match="not a readable manifest"):
        read_entry(data[:-10], 7, "x")
    with pytest.raises(CatalogError, match="not version 7 of a log"):
        read_entry(manifest.pack([_manifest(1)], {"format": 1, "version": 7}), 7, "x")
    # Bytes of a body that parquet itself does not check are covered by our own checksum.
    middle = data.index(b"tailpipe.check") + 20
    with pytest.raises(CatalogError):
        read_entry(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :], 7, "x")


def test_an_entry_of_a_newer_format_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_entry, "FORMAT", 2)
    data = make_entry([_manifest(1)], 1, "id", "web-1").data
    monkeypatch.setattr(log_entry, "FORMAT", 1)
    with pytest.raises(NewerError, match="newer tailpipe"):
        read_entry(data, 1, "x")


def test_a_log_entry_of_several_transactions_is_no_manifest_of_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "x.manifest").write_bytes(manifest.pack([_manifest(1), _manifest(2)], {}))
    with pytest.raises(CatalogError, match="2 transactions"):
        manifest.read(tmp_path / "x.manifest")
