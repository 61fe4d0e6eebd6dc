"""Entry points: what is found is what `importlib.metadata` finds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

from tailpipe.plugin.discovery import entry_points, value_at

GROUP = "tailpipe.tests"


def found(group: str = GROUP) -> list[tuple[str, str, str, str]]:
    return sorted((entry.name, entry.value, *entry.package()) for entry in entry_points(group))


def expected(group: str = GROUP) -> list[tuple[str, str, str, str]]:
    entries = metadata.entry_points(group=group)
    return sorted((entry.name, entry.value, entry.dist.name, entry.dist.version) for entry in entries if entry.dist)


def install(directory: Path, info: str, files: Mapping[str, str]) -> None:
    place = directory / info
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")


def test_every_group_of_this_environment_is_found_alike() -> None:
    groups = {entry.group for package in metadata.distributions() for entry in package.entry_points}
    assert {"tailpipe.plugins", "console_scripts", "pytest11"} <= groups
    for group in groups:
        assert found(group) == expected(group), group


def test_packages_of_all_shapes_are_found_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    head = "Metadata-Version: 2.1\nName: {}\nVersion: {}\nSummary: says: much\n\nName: not this\n"
    lines = """
        [console_scripts]
        x = no:no
        [tailpipe.tests]
        # a = comment:here
        plain = some.module:value
        extras = some.module:value [more,of,it]
        spaced   =   other.module : deep.value

        module = alone
        [tailpipe.tests.other]
        y = no:no
    """
    ours = "\n".join(map(str.strip, lines.splitlines()))
    install(
        one, "Odd_Name.here-1.0.dist-info", {"METADATA": head.format("odd-name.here", "1.0"), "entry_points.txt": ours}
    )
    again = ours.replace("plain", "shadowed")
    install(
        two, "odd_name_here-2.0.dist-info", {"METADATA": head.format("odd-name.here", "2.0"), "entry_points.txt": again}
    )
    old = {"PKG-INFO": head.format("older", "0.1"), "entry_points.txt": f"[{GROUP}]\nold = older:plugin\n"}
    install(two, "older.egg-info", old)
    install(two, "without-3.dist-info", {"METADATA": head.format("without", "3")})
    install(two, "empty-3.dist-info", {"METADATA": head.format("empty", "3"), "entry_points.txt": ""})
    (two / "a_file-1.dist-info").write_text("not a directory")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(one), str(two), *sys.path])
    assert [name for name, *_ in found()] == ["extras", "module", "old", "plain", "spaced"]
    assert found() == expected()


def test_a_package_that_says_nothing_of_itself_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "bare-1.dist-info", {"entry_points.txt": f"[{GROUP}]\nx = os:path\n"})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert found() == [("x", "os:path", "", "")]


@pytest.mark.parametrize("place", ["os.path:join", "os : path.join", "os:path.join [extra]"])
def test_a_place_leads_to_its_value(place: str) -> None:
    assert value_at(place) is __import__("os").path.join


def test_a_place_may_be_a_module() -> None:
    assert value_at("os.path") is __import__("os").path


@pytest.mark.parametrize(("place", "error"), [("os:nothing", AttributeError), ("no_such_module:x", ImportError)])
def test_a_place_with_nothing_there_raises(place: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        value_at(place)
