"""The source `file` on a real tree of files."""

from __future__ import annotations

import os
import pickle
import socket
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tailpipe.errors import ChangedError, UsageError
from tailpipe.model.option import options_of
from tailpipe.plugin import Artifact, Window
from tailpipe.plugins.core.sources import File
from tests.users import unprivileged

WINDOW = Window.of_day(date(2024, 1, 31))


def put(root: Path, *names: str) -> None:
    """Make files that hold their own names."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode("utf-8", "surrogateescape"))


def found(root: Path, source: File) -> list[str]:
    """What a source gives, relative to the root."""
    return [os.path.relpath(one.uri, root) for one in source.artifacts(WINDOW) if not one.unavailable]


def listed(root: Path, *paths: str, recursive: bool = True, follow_symlinks: bool = False) -> list[str]:
    source = File(paths=[str(root / path) for path in paths], recursive=recursive, follow_symlinks=follow_symlinks)
    return found(root, source)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "logs"
    put(root, "b.log", "a.log", "notes.txt", "2024/01/x.log", "2024/02/y.log", "2024/02/z.txt", ".hidden/h.log", ".dot")
    (root / "empty").mkdir()
    return root


# Which files


def test_a_file_is_listed_with_its_absolute_path_size_and_time(tree: Path) -> None:
    os.utime(tree / "a.log", (1_700_000_000, 1_700_000_000))
    [artifact] = File(paths=[str(tree / "a.log")]).artifacts(WINDOW)
    assert artifact == Artifact(
        uri=str(tree / "a.log"),
        size=5,
        modified=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        kind="file",
        path="a.log",
    )
    assert artifact.day is None


def test_a_directory_gives_all_files_below_it_in_order_hidden_ones_too(tree: Path) -> None:
    expected = [".dot", "a.log", "b.log", "notes.txt", ".hidden/h.log", "2024/01/x.log", "2024/02/y.log"]
    assert listed(tree, ".") == [*expected, "2024/02/z.txt"]
    assert listed(tree, ".") == listed(tree, ".")


def test_without_recursion_only_the_files_of_the_directory_itself_are_listed(tree: Path) -> None:
    assert listed(tree, ".", recursive=False) == [".dot", "a.log", "b.log", "notes.txt"]
    assert listed(tree, "2024", recursive=False) == []
    assert listed(tree, "2024/02", recursive=False) == ["2024/02/y.log", "2024/02/z.txt"]


def test_an_empty_directory_gives_nothing(tree: Path) -> None:
    assert listed(tree, "empty") == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.log", ["a.log", "b.log"]),
        ("?.log", ["a.log", "b.log"]),
        ("[!a].log", ["b.log"]),
        (".*", [".dot", ".hidden/h.log"]),
        ("2024/*/*.log", ["2024/01/x.log", "2024/02/y.log"]),
        ("2024/0[2-9]", ["2024/02/y.log", "2024/02/z.txt"]),
        ("*/02/y.log", ["2024/02/y.log"]),
        ("**/*.log", [".hidden/h.log", "2024/01/x.log", "2024/02/y.log", "a.log", "b.log"]),
        ("**/**/y.log", ["2024/02/y.log"]),
        ("2024/**", ["2024/01/x.log", "2024/02/y.log", "2024/02/z.txt"]),
        ("**/02/**/*.txt", ["2024/02/z.txt"]),
        ("*.LOG", []),
        ("*/nothing/*", []),
        ("a.log/*", None),
    ],
)
def test_a_glob_gives_the_files_that_it_matches(tree: Path, pattern: str, expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError, match="there is no directory"):
            listed(tree, pattern)
    else:
        assert listed(tree, pattern) == expected


def test_a_glob_without_recursion_still_matches_at_any_depth_but_enters_no_directory(tree: Path) -> None:
    put(tree, "2024/02/deep/d.log")
    assert listed(tree, "2024/*", recursive=False) == ["2024/01/x.log", "2024/02/y.log", "2024/02/z.txt"]
    assert listed(tree, "**/d.log", recursive=False) == ["2024/02/deep/d.log"]


def test_a_glob_may_be_relative_to_the_working_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    artifacts = list(File(paths=["*.log", "2024/01"]).artifacts(WINDOW))
    assert [artifact.uri for artifact in artifacts] == [str(tree / n) for n in ("a.log", "b.log", "2024/01/x.log")]


def test_the_home_directory_may_be_written_as_a_tilde(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tree))
    assert found(tree, File(paths=["~/a.log", "~/2024/*"])) == ["a.log", *listed(tree, "2024")]
    with pytest.raises(UsageError, match='there is no "~nobody-of-that-name"'):
        list(File(paths=["~nobody-of-that-name"]).artifacts(WINDOW))


def test_each_file_is_listed_once_however_many_paths_lead_to_it(tree: Path) -> None:
    several = listed(tree, "b.log", "*.log", ".", "2024/../a.log", "./2024//01/x.log", "**")
    assert several[0] == "b.log"
    assert sorted(several) == sorted(listed(tree, "."))


@pytest.mark.parametrize(
    "name",
    [
        "with blank.log",
        " lead and trail ",
        "[brackets].log",
        "star*.log",
        "what?.log",
        "{braces}:colon,comma.log",
        "line\nbreak.log",
        "tab\t\x1b[31m.log",
        "日本語-🦀-é.log",
        "_underscore",
        "back\\slash",
        "'quotes\"",
        "-dash",
        "~tilde",
        "%41.log",
        "x" * 200,
        pytest.param("\udcff-not-utf8.log", marks=pytest.mark.skipif(sys.platform == "darwin", reason="refused there")),
    ],
)
def test_a_name_of_any_characters_is_listed_and_read(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"dir/{name}", "dir/other.log", "dir/b")
    for path in (f"dir/{name}", "dir"):
        source = File(paths=[str(tmp_path / path)])
        spelt = {}
        for artifact in source.artifacts(WINDOW):
            assert artifact.uri.encode()
            assert artifact.path.encode()
            with source.open(artifact) as content:
                spelt[content.read()] = artifact.uri
        uri = spelt[f"dir/{name}".encode("utf-8", "surrogateescape")]
        assert uri == str(tmp_path / "dir" / name) or "\udcff" in name
    assert len(listed(tmp_path, f"dir/{name}")) == 1


def test_a_directory_named_like_a_glob_is_taken_by_its_name(tmp_path: Path) -> None:
    put(tmp_path, "[ab]/x.log", "a/y.log", "b/z.log")
    assert listed(tmp_path, "[ab]") == ["[ab]/x.log"]
    assert listed(tmp_path, "[[]ab]/*.log") == ["[ab]/x.log"]
    assert listed(tmp_path, "[ab]/*.log") == ["a/y.log", "b/z.log"]


def test_what_is_no_regular_file_is_passed_over_in_a_directory(tmp_path: Path) -> None:
    put(tmp_path, "a.log")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket must be short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        assert listed(tmp_path, ".") == ["a.log"]
        assert listed(tmp_path, "*") == ["a.log"]


# Symbolic links


@pytest.fixture
def links(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    put(tmp_path, "outside/o.log", "root/a.log", "root/real/r.log")
    (root / "to_file.log").symlink_to(tmp_path / "outside/o.log")
    (root / "to_dir").symlink_to(tmp_path / "outside")
    (root / "dangling.log").symlink_to("nowhere")
    (root / "self.log").symlink_to("self.log")
    return root


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", ["a.log", "real/r.log"]),
        ("*", ["a.log", "real/r.log"]),
        ("**/*.log", ["a.log", "real/r.log"]),
        ("to_*", []),
        ("to_*/*.log", []),
        ("*/o.log", []),
        ("real/*.log", ["real/r.log"]),
    ],
)
def test_symbolic_links_are_not_followed_by_default(links: Path, path: str, expected: list[str]) -> None:
    assert listed(links, path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [(".", []), ("to_*", ["to_dir/o.log"]), ("*/o.log", ["to_dir/o.log"]), ("dangling*", []), ("nothing*", [])],
)
def test_files_behind_links_are_told_of_where_nothing_else_is(links: Path, path: str, expected: list[str]) -> None:
    artifacts = list(File(paths=[str(links / path)]).artifacts(WINDOW))
    told = [os.path.relpath(one.uri, links) for one in artifacts if "follow_symlinks = true" in one.unavailable]
    assert told == expected


@pytest.mark.parametrize("name", ["to_file.log", "to_dir", "dangling.log"])
def test_a_symbolic_link_that_is_named_is_refused_rather_than_passed_over(links: Path, name: str) -> None:
    with pytest.raises(UsageError) as refused:
        listed(links, name)
    assert refused.value.message == f'"{links / name}" is a symbolic link'
    assert refused.value.hint == "name what it points to, or set follow_symlinks = true"


def test_a_link_among_the_parents_of_a_named_path_is_no_obstacle(links: Path) -> None:
    assert listed(links, "to_dir/o.log") == ["to_dir/o.log"]
    assert listed(links, "to_dir/*.log") == ["to_dir/o.log"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", ["a.log", "to_file.log", "real/r.log"]),
        ("*.log", ["a.log", "to_file.log"]),
        ("to_dir", ["to_dir/o.log"]),
        ("to_file.log", ["to_file.log"]),
        ("**/r.log", ["real/r.log"]),
        ("**/o.log", ["to_dir/o.log"]),
    ],
)
def test_symbolic_links_are_followed_on_request_and_each_file_comes_once(
    links: Path, path: str, expected: list[str]
) -> None:
    assert listed(links, path, follow_symlinks=True) == expected


@pytest.mark.parametrize("name", ["dangling.log", "self.log"])
def test_a_named_link_that_leads_nowhere_is_an_error_even_if_links_are_followed(links: Path, name: str) -> None:
    with pytest.raises(UsageError) as refused:
        listed(links, name, follow_symlinks=True)
    assert refused.value.message == f'"{links / name}" is neither a file nor a directory'


@pytest.mark.parametrize("path", [".", "**", "**/*.log", "*/**/*.log", "to_*/../a.log"])
def test_circles_of_links_come_to_an_end(tmp_path: Path, path: str) -> None:
    put(tmp_path, "top/a.log", "top/one/b.log", "top/two/c.log")
    for directory in ("top", "top/one", "top/two"):
        for number in range(3):
            (tmp_path / directory / f"to_top_{number}").symlink_to(tmp_path / "top")
    (tmp_path / "top/one/to_two").symlink_to(tmp_path / "top/two")
    (tmp_path / "top/two/to_one").symlink_to(tmp_path / "top/one")
    followed = listed(tmp_path / "top", path, follow_symlinks=True)
    assert len({os.path.realpath(tmp_path / "top" / name) for name in followed}) == len(followed)
    if path in (".", "**", "**/*.log"):
        assert sorted(Path(name).name for name in followed) == ["a.log", "b.log", "c.log"]
    unfollowed = listed(tmp_path / "top", path)
    assert set(unfollowed) <= {"a.log", "one/b.log", "two/c.log"}


# What goes wrong


def test_a_missing_path_is_an_error_that_names_the_path_and_the_source(tree: Path) -> None:
    with pytest.raises(UsageError) as refused:
        listed(tree, "a.log", "nope.log")
    assert refused.value.message == f'there is no "{tree / "nope.log"}"'
    assert refused.value.hint == 'correct "paths" of source "file"'
    with pytest.raises(UsageError) as refused:
        list(File(name="app", paths=[str(tree / "nope")]).artifacts(WINDOW))
    assert refused.value.hint == 'correct "paths" of source "app"'


def test_a_glob_below_a_missing_directory_is_an_error_and_one_without_a_match_is_none(tree: Path) -> None:
    assert listed(tree, "empty/*.log") == []
    with pytest.raises(UsageError) as refused:
        listed(tree, "missing/*.log")
    assert refused.value.message == f'there is no directory "{tree / "missing"}"'


def test_a_named_path_that_is_neither_file_nor_directory_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is neither a file nor a directory"):
        listed(tmp_path, "pipe")


@pytest.mark.parametrize("path", [".", "**/*.log", "closed/*.log", "closed", "*/*/*.log", "closed/inner/x.log"])
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_directory_that_cannot_be_read_is_listed_with_its_problem_and_the_others_are_read(
    path: str, mode: int
) -> None:
    with unprivileged() as root:
        put(root, "a.log", "b/c/x.log", "closed/inner/x.log", "closed/x.log")
        (root / "closed").chmod(mode)
        source = File(paths=[str(root / path), str(root / "a.log")])
        artifacts = list(source.artifacts(WINDOW))
        (root / "closed").chmod(0o700)
    problems = {artifact.problem for artifact in artifacts if artifact.problem}
    assert problems == {f'cannot read "{root}/closed": permission denied'}
    assert str(root / "a.log") in [artifact.uri for artifact in artifacts if not artifact.problem]


@pytest.mark.parametrize("path", [".", "**/*.log"])
def test_a_tree_too_deep_for_the_system_is_an_error_and_not_cut_short(tree: Path, path: str) -> None:
    level = os.open(tree / "empty", os.O_RDONLY)
    for _ in range(17):  # 4,096 bytes are the most that a path may have
        os.mkdir("d" * 250, dir_fd=level)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=level)
        os.close(level)
        level = below
    os.close(level)
    artifacts = list(File(paths=[str(tree / path)]).artifacts(WINDOW))
    [problem] = [artifact.problem for artifact in artifacts if artifact.problem]
    assert problem.startswith(f'cannot read "{tree}/empty/')
    assert problem.endswith('": file name too long')
    assert str(tree / "a.log") in [artifact.uri for artifact in artifacts]


def test_a_file_that_is_rotated_away_while_listing_is_passed_over(tree: Path) -> None:
    artifacts = File(paths=[str(tree), str(tree / "2024")]).artifacts(WINDOW)
    assert next(artifacts).uri == str(tree / ".dot")
    (tree / "a.log").unlink()
    (tree / "2024/01/x.log").unlink()
    (tree / "2024/01").rmdir()
    rest = [os.path.relpath(artifact.uri, tree) for artifact in artifacts]
    assert rest == ["b.log", "notes.txt", ".hidden/h.log", "2024/02/y.log", "2024/02/z.txt"]


@pytest.mark.parametrize("paths", [(), ("",), ("a", ""), ("a\0b",)])
def test_paths_that_cannot_be_are_refused_by_the_check(paths: tuple[str, ...]) -> None:
    check = options_of(File)["paths"].check
    assert check is not None
    check(("a", "b*"))
    with pytest.raises(UsageError):
        check(paths)


# Reading


def test_opening_gives_the_bytes_as_they_are(tmp_path: Path) -> None:
    content = bytes(range(256)) * 3 + b"\r\n\x00\xff"
    (tmp_path / "raw").write_bytes(content)
    source = File(paths=[str(tmp_path)])
    [artifact] = source.artifacts(WINDOW)
    assert artifact.size == len(content)
    with source.open(artifact) as stream:
        assert stream.read(10) == content[:10]
        stream.seek(0)
        assert stream.read() == content


def test_a_source_travels_to_the_workers_and_lists_the_same_there(tree: Path) -> None:
    source = File(paths=(str(tree),), recursive=False)
    copy = pickle.loads(pickle.dumps(source))
    assert copy == source
    assert list(copy.artifacts(WINDOW)) == list(source.artifacts(WINDOW))


def test_files_are_listed_whatever_the_window_since_they_carry_no_day(tree: Path) -> None:
    source = File(paths=[str(tree)])
    assert list(source.artifacts(Window.of_day(date(1999, 1, 1)))) == list(source.artifacts(WINDOW))


@pytest.mark.skipif(sys.platform == "darwin", reason="refused there")
def test_a_name_that_is_no_text_is_spelt_with_percent_signs_and_no_other_name_is_changed(tmp_path: Path) -> None:
    put(tmp_path, "caf\udce9.log", "caf%E9.log", "d\udcff/x.log")
    artifacts = {artifact.uri: artifact.path for artifact in File(paths=[str(tmp_path)]).artifacts(WINDOW)}
    quoted = tmp_path.as_uri()
    assert artifacts == {
        f"{quoted}/caf%E9.log": "caf%E9.log",
        str(tmp_path / "caf%E9.log"): "caf%E9.log",
        f"{quoted}/d%FF/x.log": "d%FF/x.log",
    }


def test_what_took_the_name_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "b.log")
    source = File(paths=[str(tmp_path)])
    first, second = source.artifacts(WINDOW)
    for name in ("a.log", "b.log"):
        (tmp_path / name).unlink()
    os.mkfifo(tmp_path / "a.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    for artifact in (first, second):
        with pytest.raises(ChangedError):
            source.open(artifact)


@pytest.mark.parametrize("follow_symlinks", [False, True])
def test_links_that_lead_nowhere_pipes_and_sockets_are_passed_over(tmp_path: Path, follow_symlinks: bool) -> None:
    put(tmp_path, "a.log")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "circle").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        artifacts = list(File(paths=[str(tmp_path)], follow_symlinks=follow_symlinks).artifacts(WINDOW))
    assert [(artifact.path, artifact.problem) for artifact in artifacts] == [("a.log", "")]
