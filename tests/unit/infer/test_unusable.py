"""Files that no config can be made from: a message that says why, and no config."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.infer.places import open_target
from tests.unit.infer.test_init import REGISTRY, looked_at, words

UNUSABLE = {
    "empty": (b"", '"x.log" is empty'),
    "blank": (b"\n \n", '"x.log" is empty'),
    "binary": (bytes(range(256)) * 40, '"x.log" is a binary file of no format that is known'),
    "cut": (gzip.compress(b"a line\n" * 1000)[:30], "is truncated"),
    "huge": (b"x" * (17 * 1024 * 1024), 'the first line of "x.log" has more than'),
}


@pytest.mark.parametrize("case", [pytest.param(one, marks=[pytest.mark.slow] * (one == "huge")) for one in UNUSABLE])
def test_a_file_that_cannot_be_looked_at_is_an_error_that_says_why(tmp_path: Path, case: str) -> None:
    data, message = UNUSABLE[case]
    (tmp_path / "x.log").write_bytes(data)
    with pytest.raises(TailpipeError, match=message):
        looked_at(tmp_path / "x.log")


def test_a_missing_file_a_pipe_and_an_empty_directory_are_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "none").mkdir()
    for name, message in {"no": "there is no", "pipe": "neither a file nor a directory", "none": "no files"}.items():
        with pytest.raises(TailpipeError, match=message):
            looked_at(tmp_path / name)
    with pytest.raises(TailpipeError, match="is not a file, directory or bucket"):
        open_target("ftp://bucket", REGISTRY.sources, None)
    with pytest.raises(TailpipeError, match='there is no source "gcp_storage_bucket"'):
        open_target("gs://bucket", {"file": REGISTRY.sources["file"]}, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("a\n")
    (tmp_path / "x.log").chmod(0)
    with pytest.raises(TailpipeError, match="permission denied"):
        looked_at(tmp_path / "x.log")


def test_files_that_are_no_logs_are_skipped_beside_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "app.jsonl").write_text('{"time": "2024-01-31T10:00:00Z"}\n' * 6)
    found = looked_at(tmp_path)
    assert [one.partition.table for one in found.found] == ["app_log"]
    assert found.skipped == ('"image.png" is a binary file of no format that is known',)


@pytest.mark.parametrize(("encoding", "said"), [("latin-1", "latin-1"), ("utf-16", "utf-16")])
def test_text_that_is_not_utf_8_gets_its_encoding(tmp_path: Path, encoding: str, said: str) -> None:
    text = "".join(f"2024-01-31 10:00:0{number};Müller;{number}\n" for number in range(6))
    (tmp_path / "x.csv").write_bytes(text.encode(encoding))
    (found,) = looked_at(tmp_path / "x.csv").found
    assert getattr(found.kind.table.format, "encoding", None) == said
    assert "6 of 6 rows parsed" in words(found, "sure")
