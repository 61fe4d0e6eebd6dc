"""Where answers go."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tailpipe.cli.sinks import _Pager, to_file
from tailpipe.errors import TailpipeError


def test_a_file_is_there_only_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("before")
    path.chmod(0o640)
    with to_file(path) as write:
        write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("before")
    sink = to_file(path)
    sink.__enter__()(b"half")
    assert not sink.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_more_goes_behind_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text in (b"one\n", b"two\n"):
        with to_file(path, has_more=True) as write:
            write(text)
    assert path.read_text() == "one\ntwo\n"


def test_a_link_is_followed_and_a_pipe_written_straight(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("before")
    link.symlink_to(target)
    with to_file(link) as write:
        write(b"after")
    assert (link.is_symlink(), target.read_text()) == (True, "after")
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with to_file(pipe) as write:
        write(b"through")
    assert os.read(reading, 100) == b"through"
    os.close(reading)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TailpipeError, match="No such file or directory"), to_file(tmp_path / "no" / "a.csv"):
        pytest.fail("there is nothing to write to")


def test_a_pager_that_cannot_be_read_is_no_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "less 'x")
    assert _Pager(1)._command == []
