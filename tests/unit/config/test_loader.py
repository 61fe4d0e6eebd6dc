from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.config.config import Config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.loader import load_config
from tailpipe.errors import ConfigError
from tests.unit.config.world import AROUND, REGISTRY


def load(*paths: Path) -> Config:
    return load_config(paths, REGISTRY, AROUND)


def told(*paths: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(*paths)
    return render_diagnostics(caught.value.diagnostics)


def test_all_config_files_of_a_directory_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.tpc", "a.tpc", "c.tpc"):
        (tmp_path / name).write_text(f'schema "{name[0]}" {{}}\n')
    assert list(load(tmp_path).schemas) == ["a", "b", "c"]


def test_other_files_hidden_ones_and_directories_below_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.tpc").write_text('schema "a" {}')
    for name in ("b.txt", "c.tpc.bak", "d.TPC", ".e.tpc", "f.tpc~"):
        (tmp_path / name).write_text("{{{ not config")
    (tmp_path / ".#a.tpc").symlink_to("nobody@nowhere")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "g.tpc").write_text("{{{ not config")
    assert list(load(tmp_path).schemas) == ["a"]


def test_files_and_directories_may_be_named_together(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.tpc").write_text('connection "aws" "a" { region = connection.aws.b.region }')
    (tmp_path / "b.conf").write_text('connection "aws" "b" { region = "x" }')
    assert list(load(tmp_path / "one", tmp_path / "b.conf").connections) == ["aws.a", "aws.b"]


def test_an_empty_directory_and_one_without_config_files_are_an_empty_config(tmp_path: Path) -> None:
    assert load(tmp_path).is_empty
    (tmp_path / "notes.txt").write_text("x")
    assert load(tmp_path).is_empty


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "a.tpc").write_bytes(b'\xef\xbb\xbfschema "a" {\r\n  where = "true"\r\n}\r\n')
    assert load(tmp_path).schemas["a"].where == "true"


def test_a_file_reads_other_files_from_its_own_directory(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.tpc").write_text(f'schema "{name}" {{ where = file("where.sql") }}')
        (tmp_path / name / "where.sql").write_text(f"x = '{name}'")
    config = load(tmp_path / "one", tmp_path / "two")
    assert [schema.where for schema in config.schemas.values()] == ["x = 'one'", "x = 'two'"]


def test_a_missing_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert told(tmp_path / "none.tpc") == "error: cannot read the file: No such file or directory\n  --> none.tpc\n"


def test_a_directory_that_is_named_like_a_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tpc").mkdir()
    (tmp_path / "a.tpc" / "x").touch()
    assert told(tmp_path) == "error: cannot read the file: Is a directory\n  --> a.tpc\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_file_that_is_not_utf_8_is_told_with_the_place_of_the_first_wrong_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tpc").write_bytes(mark + 'schema "ä" {}\n# gr'.encode() + b"\xfc\xdfe\n")
    lines = told(tmp_path).splitlines()
    assert lines[0] == "error: the file is not UTF-8 text: 0xfc is no part of it"
    assert lines[1] == "  --> a.tpc:2:5"
    assert lines[-2:] == ["2 | # gr\ufffd\ufffde", "  |     ^ save it as UTF-8"]


def test_a_utf_16_file_is_told_as_such_and_the_other_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.tpc").write_text('schema "a" {}', encoding="utf-16")
    (tmp_path / "b.tpc").write_text("x = 1")
    text = told(tmp_path)
    assert "the file is not UTF-8 text: 0xff is no part of it" in text
    assert '"x" must be inside a block' in text


def test_a_binary_file_has_a_problem_and_cannot_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.tpc").write_bytes(bytes(range(128)))
    assert told(tmp_path).replace("\n", "").isprintable()


def test_a_path_is_shown_from_here_if_it_is_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.tpc").write_text("x = 1")
    monkeypatch.chdir(tmp_path)
    assert "--> below/a.tpc:1:1" in told(tmp_path / "below")
    monkeypatch.chdir(tmp_path / "below")
    assert "--> a.tpc:1:1" in told(tmp_path / "below")
    monkeypatch.chdir("/")
    assert f"--> {str(tmp_path)[1:]}/below/a.tpc:1:1" in told(tmp_path / "below")


# What may not be read: root may read everything, so another user tries.

_AS_NOBODY = """
    import os, sys
    from pathlib import Path
    from tests.unit.config.test_loader import load
    from tailpipe.config.diagnostics import render_diagnostics
    from tailpipe.errors import ConfigError

    os.chdir("/")
    if os.getuid() == 0:
        try:
            load(*map(Path, sys.argv[1:]))  # all that is imported late, because nobody may not see where Python lies
        except ConfigError:
            pass
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        load(*map(Path, sys.argv[1:]))
    except ConfigError as error:
        print(render_diagnostics(error.diagnostics), end="")
"""


def told_to_nobody(*paths: Path) -> str:
    root = Path(__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", textwrap.dedent(_AS_NOBODY), *map(str, paths)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that every user may enter, as those of a test run are closed to others."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def test_what_may_not_be_read_is_told_and_the_rest_is_checked(open_path: Path) -> None:
    closed, unread, inside = open_path / "closed", open_path / "a.tpc", open_path / "closed" / "b.tpc"
    closed.mkdir()
    inside.write_text('schema "b" {}')
    unread.write_text('schema "a" {}')
    other = open_path / "other.tpc"
    other.write_text("x = 1")
    other.chmod(0o644)
    unread.chmod(0o000)
    closed.chmod(0o000)
    try:
        text = told_to_nobody(closed, inside, unread, other)
    finally:
        closed.chmod(0o755)
        unread.chmod(0o644)
    assert text.count("Permission denied") == 3
    assert f"error: cannot read the directory: Permission denied\n  --> {str(closed)[1:]}\n" in text
    assert f"error: cannot read the file: Permission denied\n  --> {str(unread)[1:]}\n" in text
    assert '"x" must be inside a block' in text


def test_a_pipe_or_device_in_a_config_directory_is_a_problem_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tpc")
    (tmp_path / "b.tpc").symlink_to("/dev/zero")
    message = "error: cannot read the file: it is a pipe, a socket or a device"
    assert told(tmp_path).count(message) == 2


def test_a_pipe_that_is_named_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "a.tpc"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('schema \"a\" {{}}')"])
    assert list(load(pipe).schemas) == ["a"]
    assert writer.wait() == 0


def test_a_file_that_is_too_large_for_a_config_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.tpc").open("wb") as file:
        file.truncate(5 * 1024**3)
    assert "error: the file is larger than 16 MB" in told(tmp_path)
    assert "error: the file is larger than 16 MB" in told(Path("/dev/zero"))
