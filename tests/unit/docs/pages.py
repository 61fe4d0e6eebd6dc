"""What the tests of the documentation read: the pages taken apart, and the config language to try them with."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tailpipe import errors
from tailpipe.config.builder import build_config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.evaluator import Evaluator
from tailpipe.config.functions import Surroundings
from tailpipe.config.parser import parse
from tailpipe.config.text import ConfigText
from tailpipe.plugin import Plugin, Registry

ROOT = Path(__file__).parents[3]
ENV = {
    "REGION": "eu-west-1",
    **dict.fromkeys(("AUDIT_SECRET_KEY", "ARCHIVE_EXTERNAL_ID", "MINIO_KEY", "MINIO_SECRET", "SPARK_TOKEN"), "x"),
}
CODE = r"(?:`` (.+?) ``|`([^`]+)`)"
_CELL = re.compile(r"(?<!\\)\|")


class Fence(NamedTuple):
    """A fenced block of a page: its info string, its text, and the line where it begins."""

    info: str
    body: str
    line: int


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def repository_files() -> list[Path]:
    """Every file that is or would be committed."""
    listing = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listing, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        found = [ROOT / name for name in done.stdout.split("\0") if name]
    else:  # unpacked without its history
        hidden = re.compile(r"(?:^|/)(?:\.[^/]+|__pycache__)/")
        found = [path for path in ROOT.rglob("*") if not hidden.search(path.relative_to(ROOT).as_posix())]
    return [path for path in found if path.is_file()]


PAGES = sorted(str(path.relative_to(ROOT)) for path in repository_files() if path.suffix == ".md")


def fences(text: str) -> list[Fence]:
    pattern = re.compile(r"^( *)```([\w-]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
    return [Fence(m[2], m[3], text.count("\n", 0, m.start()) + 1) for m in pattern.finditer(text)]


def prose(text: str) -> str:
    """The page without its fenced blocks, where `#` is no heading and `[a](b)` is no link."""
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(text: str) -> list[tuple[int, str, int, int]]:
    """Level, title, and where the title begins and ends."""
    found = re.finditer(r"^(#+) (.+)$", text, re.MULTILINE)
    return [(len(match[1]), match[2], match.start(), match.end()) for match in found]


def section(text: str, title: str, *, alone: bool = False) -> str:
    """What stands under a heading, with the headings below it unless it shall be alone; empty if there is none."""
    plain = prose(text)
    found = headings(plain)
    for position, (level, name, _, end) in enumerate(found):
        if name == title:
            rest = found[position + 1 :]
            stop = next((start for depth, _, start, _ in rest if alone or depth <= level), len(plain))
            return plain[end:stop]
    return ""


def rows(text: str) -> list[list[str]]:
    """The cells of all tables in a text, without the heads."""
    lines = [line.strip() for line in text.splitlines()]
    heads = {i - 1 for i, line in enumerate(lines) if line.startswith("|--")}
    body = [line for i, line in enumerate(lines) if line.startswith("| ") and i not in heads]
    return [[cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]] for line in body]


def codes(text: str) -> list[str]:
    """What stands between backticks in a line of prose or a cell."""
    return [match[1] or match[2] for match in re.finditer(CODE, prose(text))]


def built_in() -> list[Plugin]:
    """The plugins of this package; others may be installed beside it."""
    return [plugin for plugin in Registry.installed().plugins.values() if plugin.package == "tailpipe" or plugin.folder]


def surroundings(directory: Path | None = None) -> Surroundings:
    now = datetime(2024, 1, 31, 10, tzinfo=UTC)
    return Surroundings(now=now, env=ENV, home="/home/me", directory=directory)


def problems_of(text: str, registry: Registry) -> str:
    """All diagnostics of a config, as text; empty if there are none."""
    try:
        build_config([ConfigText("app.tpc", text, ROOT)], registry, surroundings())
    except errors.ConfigError as error:
        return render_diagnostics(error.diagnostics)
    return ""


def value_of(text: str, directory: Path | None = None) -> Any:
    body, problems = parse(f"x = {text}\n")
    if problems:
        raise problems[0]
    return Evaluator(surroundings(directory), lambda name: pytest.fail(f"{name} is a name")).value(
        body.attributes[0].value
    )


def plugin_of_the_page(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    code = [fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "python"]
    (directory / "tailpipe_harbour.py").write_text("\n".join(code), encoding="utf-8")
    monkeypatch.syspath_prepend(str(directory))
    plugin = import_module("tailpipe_harbour").plugin
    assert isinstance(plugin, Plugin)
    return plugin
