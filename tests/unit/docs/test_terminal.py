"""The terminal in the docs: what the pictures show is what the product prints, apart from numbers and times."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO

import pytest
from click.testing import CliRunner

from tailpipe.cli.app import app
from tailpipe.cli.report import print_report
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.terminal_pages import PICTURES, SCENES, environment, make_logs, shown_in, typed_in
from tests.unit.docs.pages import PAGES, read

DAYS = 14
"""Enough for some rejected rows, whatever today's date makes of the logs."""
NOT_ALWAYS = re.compile(r"created .+|.*to show rejected rows: .*")
"""What is shown on a terminal alone, or depends on how many rows were rejected."""


def masked(lines: list[str]) -> list[str]:
    """The lines without what differs from run to run: numbers, times, sizes, paths, rules and widths."""
    text = "\n".join(line for line in lines if line.strip("─ "))
    text = re.sub(r"(?:\S*\d|(?<= )/)\S*(?: (?:ago|s|[kMG]?B)\b)?|\bnow\b", "#", text)
    return [re.sub(r"#(?: #)+", "#", " ".join(line.split())) for line in text.splitlines()]


def picture(name: str) -> str:
    return (PICTURES / f"{name}.svg").read_text(encoding="utf-8")


def printed_by(words: list[str]) -> str:
    done = CliRunner().invoke(app, words, prog_name="tailpipe")
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command prints over a few days of the quickstart, collected without Spark."""
    home = tmp_path_factory.mktemp("home")
    env = environment(home)
    make_logs(home, DAYS)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        with redirect_stdout(StringIO()) as collected:
            print_report(Workspace.open(env=env, engine=InProcessEngine()).collect(), "pretty")
        others = {name: printed_by(typed_in(picture(name))[1:]) for name in SCENES if name != "collect"}
    return {"collect": collected.getvalue(), **others}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_picture_shows_what_the_product_prints(name: str, printed: dict[str, str]) -> None:
    shown, found = (
        [line for line in lines if not NOT_ALWAYS.fullmatch(line)]
        for lines in (shown_in(picture(name)), printed[name].splitlines())
    )
    assert sorted(set(masked(shown))) == sorted(set(masked(found))), "run: make terminal"


def test_every_picture_shows_the_command_of_its_scene() -> None:
    typed = {name: " ".join(typed_in(picture(name))).split() for name in SCENES}
    assert typed == {name: " ".join(shlex.split(one)).split() for name, one in SCENES.items()}


def test_every_picture_is_in_a_page_with_words_for_it() -> None:
    text = "".join(read(page) for page in PAGES)
    shown = set(re.findall(r"!\[.{20,}?\]\((?:docs/|)images/terminal/(\w+)\.svg\)", text))
    assert shown == set(SCENES) == {path.stem for path in PICTURES.iterdir()}
