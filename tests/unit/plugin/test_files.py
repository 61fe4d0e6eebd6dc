"""Whether an open file is the one that was listed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailpipe.model.artifact import Artifact, FileId
from tailpipe.plugin.files import file_id, is_listed_file, modified_at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "a.log"
    found.write_bytes(b"one\n")
    return found


def listed(path: Path) -> Artifact:
    facts = path.stat()
    return Artifact(str(path), facts.st_size, modified_at(facts), file=file_id(facts))


def renumbered(artifact: Artifact, **facts: Any) -> Artifact:
    assert artifact.file is not None
    return replace(artifact, file=replace(artifact.file, number=artifact.file.number + 1, **facts))


def test_a_file_that_has_grown_is_the_same_and_one_that_was_cut_is_not(path: Path) -> None:
    artifact = listed(path)
    assert is_listed_file(artifact, path.stat())
    with path.open("ab") as file:
        file.write(b"two\n")
    assert is_listed_file(artifact, path.stat())
    path.write_bytes(b"x\n")
    assert not is_listed_file(artifact, path.stat())


def test_another_file_of_the_same_size_and_time_is_another_one(path: Path) -> None:
    artifact, facts = listed(path), path.stat()
    other = path.with_name("b.log")
    other.write_bytes(b"two\n")
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.rename(path)
    assert modified_at(path.stat()) == artifact.modified
    assert not is_listed_file(artifact, path.stat())


def test_a_mount_that_numbers_its_files_anew_is_borne_as_long_as_nothing_else_has_changed(path: Path) -> None:
    artifact = renumbered(listed(path))
    assert is_listed_file(artifact, path.stat())
    with path.open("ab") as file:
        file.write(b"two\n")
    assert not is_listed_file(artifact, path.stat())


def test_another_host_may_number_files_in_its_own_way(path: Path) -> None:
    artifact = renumbered(listed(path), host="elsewhere", device=7, changed_ns=1)
    assert is_listed_file(artifact, path.stat())
    with path.open("ab") as file:
        file.write(b"two\n")
    assert is_listed_file(artifact, path.stat())
    os.utime(path, (1, 1))
    assert not is_listed_file(artifact, path.stat())
    path.write_bytes(b"")
    assert not is_listed_file(artifact, path.stat())


def test_what_is_not_numbered_is_not_compared(path: Path) -> None:
    facts = path.stat()
    assert file_id(os.stat_result((facts.st_mode, 0, *facts[2:]))) is None
    assert is_listed_file(Artifact(str(path), 99), facts)
    assert file_id(facts) == FileId(os.uname().nodename, facts.st_dev, facts.st_ino, facts.st_ctime_ns, 1)
