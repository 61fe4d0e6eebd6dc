"""The terminal in the docs: `python -m tests.terminal_pages` runs the quickstart and draws what the terminal shows.

The pictures are SVG files with real text, so that readers can search them and a test can read them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tests.e2e.terminal import Terminal

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images" / "terminal"
QUICKSTART = ROOT / "examples" / "quickstart"
SCENES = {
    "collect": "tailpipe collect",
    "query": '''tailpipe query "
    SELECT status, count(*) AS requests, count(DISTINCT tp_source_ip) AS clients
    FROM access_log
    GROUP BY status
    ORDER BY requests DESC
    LIMIT 5"''',
    "status": "tailpipe status",
}
"""What is typed for each picture, one after the other."""

HOME = "/home/me"
"""The home directory that the pictures show."""

_COLUMNS = 90
_WIDTH, _HEIGHT, _MARGIN = 8.4, 20, 16


def environment(home: Path) -> dict[str, str]:
    """The variables of the quickstart, whose logs and data are in a directory."""
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "TAILPIPE_AUTO_WARMUP": "no",
        "TAILPIPE_CONFIG_PATH": str(QUICKSTART / "config"),
        "TAILPIPE_DEMO_LOGS": str(home / "logs"),
    }


def make_logs(home: Path, days: int) -> None:
    """Write the logs of the quickstart."""
    program = [sys.executable, str(QUICKSTART / "make_logs.py"), str(home / "logs"), "--days", str(days)]
    subprocess.run(program, check=True, capture_output=True)


def picture_of(typed: str, shown: Sequence[str]) -> str:
    """The SVG of a command and of what the terminal shows after it."""
    lines = [*f"$ {typed}".splitlines(), *shown]
    bold = len(lines) - len(shown)
    width, height = _COLUMNS * _WIDTH + 2 * _MARGIN, len(lines) * _HEIGHT + 2 * _MARGIN
    texts = [text for number, line in enumerate(lines) for text in _texts(line, number, is_bold=number < bold)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            'fill="#d6deeb" font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#011627"/>',
            *texts,
            "</svg>\n",
        ]
    )


def typed_in(picture: str) -> list[str]:
    """The words of the command that a picture shows."""
    return shlex.split("\n".join(_lines_of(picture, is_bold=True)).removeprefix("$ "))


def shown_in(picture: str) -> list[str]:
    """What the terminal shows after the command, line by line."""
    return _lines_of(picture, is_bold=False)


def _lines_of(picture: str, *, is_bold: bool) -> list[str]:
    texts = [one for one in ElementTree.fromstring(picture) if one.text and ("font-weight" in one.attrib) == is_bold]
    return ["  ".join(one.text or "" for one in line) for _, line in groupby(texts, key=lambda one: one.get("y"))]


def _texts(line: str, number: int, *, is_bold: bool) -> Iterator[str]:
    """The parts of a line that two spaces divide, each in its place whatever the font."""
    y = _MARGIN + (number + 0.72) * _HEIGHT
    weight = ' font-weight="bold"' if is_bold else ""
    for part in re.finditer(r"\S+(?: \S+)*", line):
        x, length = _MARGIN + part.start() * _WIDTH, len(part[0]) * _WIDTH
        yield f'<text x="{x:g}" y="{y:g}" textLength="{length:g}"{weight}>{escape(part[0])}</text>'


def main() -> None:
    """Collect the quickstart, and draw every picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory).resolve()
        make_logs(home, 30)
        columns = _COLUMNS + len(str(home)) - len(HOME)
        for name, typed in SCENES.items():
            with Terminal(*shlex.split(typed)[1:], env=environment(home), cwd=home, columns=columns) as terminal:
                code = terminal.ended()
                shown = [line.replace(str(home), HOME) for line in terminal.lines if line]
            assert code == 0, "\n".join(shown)
            (PICTURES / f"{name}.svg").write_text(picture_of(typed, shown), encoding="utf-8")


if __name__ == "__main__":
    main()
