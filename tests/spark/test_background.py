"""The class archive is made behind the back of a first run, if nothing speaks against it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tailpipe.spark.archive import ClassArchive
from tailpipe.spark.background import AUTO_WARMUP, make_later, should_make
from tests.spark.homes import Home
from tests.spark.test_archive import java, made
from tests.users import unprivileged


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    found = ClassArchive.of(java(tmp_path / "jdk"), tmp_path / "cache")
    found.path.parent.mkdir(parents=True)
    return found


@pytest.mark.parametrize(
    ("env", "is_made"),
    [
        ({}, True),
        ({"CI": "true"}, False),
        ({"CI": "false"}, True),
        ({"CI": "true", AUTO_WARMUP: "yes"}, True),
        ({AUTO_WARMUP: "no"}, False),
        ({AUTO_WARMUP: "0"}, False),
    ],
)
def test_it_can_be_switched_off_and_is_off_in_continuous_integration(
    archive: ClassArchive, tmp_path: Path, env: dict[str, str], is_made: bool
) -> None:
    assert should_make(archive, tmp_path / "cache", env) == is_made


def test_an_archive_that_is_there_is_not_made_again(archive: ClassArchive, tmp_path: Path) -> None:
    made(archive)
    assert not should_make(archive, tmp_path / "cache", {})


def test_after_three_tries_nobody_tries_again(archive: ClassArchive, tmp_path: Path) -> None:
    for _ in range(3):
        assert should_make(archive, tmp_path / "cache", {})
        archive.begin()
    assert not should_make(archive, tmp_path / "cache", {})


def test_a_cache_that_cannot_be_written_is_left_alone(archive: ClassArchive, tmp_path: Path) -> None:
    assert not should_make(archive, tmp_path / "another", {})  # the archive is for a directory in its place
    with unprivileged() as root:
        cache = root / "cache"
        (cache / "java").mkdir(parents=True)
        theirs = ClassArchive.of(java(root / "jdk"), cache)
        assert should_make(theirs, cache, {})
        cache.chmod(0o555)
        assert not should_make(theirs, cache, {})
        make_later(theirs, cache, {})
        cache.chmod(0o755)
        assert [path.name for path in cache.iterdir()] == ["java"]


def _process(cache: Path) -> Path | None:
    """The process that makes the archive, in /proc."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue  # it has ended
        if words[1:4] == ["-m", "tailpipe.spark.background", str(cache)]:
            return path.parent
    return None


def _found(home: Home) -> Path:
    end = time.monotonic() + 60
    while (found := _process(home.root / "cache")) is None or not (home.root / "cache" / "warmup.log").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_process_has_a_life_of_its_own_and_one_that_is_killed_is_made_up_for(tmp_path: Path) -> None:
    home = Home(tmp_path / "a home", TAILPIPE_AUTO_WARMUP="yes")
    home.collect(1)
    process = _found(home)
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    assert fields[3] == process.name  # it leads a session of its own
    assert fields[16] == "19"  # with the lowest priority
    files = {one.name: one.readlink() for one in (process / "fd").iterdir()}
    assert {files[number] for number in "012"} <= {Path("/dev/null"), home.root / "cache" / "warmup.log"}
    assert not any("data" in path.parts for path in files.values())  # nor has it a lock of the run
    os.kill(int(process.name), 9)
    home.env["TAILPIPE_AUTO_WARMUP"] = "no"
    home.collect(2)
    home.env["TAILPIPE_AUTO_WARMUP"] = "yes"
    home.collect(3)
    home.wait_for_archive()
    home.collect(4)
    assert _process(home.root / "cache") is None
    assert len(home.archives) == 1
    assert list(home.root.glob("cache/java/draft-*")) == []


@pytest.mark.slow
def test_a_workspace_that_wants_no_archive_gets_none(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", TAILPIPE_AUTO_WARMUP="yes")
    text = 'workspace "default" {\n  spark {\n    class_archive = false\n  }\n}\n'
    (home.root / "config" / "w.tpc").write_text(text)
    home.collect(1)
    assert _process(home.root / "cache") is None
    assert not (home.root / "cache" / "warmup.log").exists()
