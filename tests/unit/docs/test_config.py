"""The pages about the config: every block, option and function is described, and every example gives what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailpipe.config.functions import FUNCTIONS
from tailpipe.config.text import Problem
from tailpipe.plugin import Registry
from tests.declared_blocks import BLOCKS, described_options
from tests.reference_pages import OPTION_HEAD, config_page
from tests.unit.docs.pages import (
    CODE,
    PAGES,
    built_in,
    fences,
    headings,
    plugin_of_the_page,
    problems_of,
    prose,
    read,
    section,
    value_of,
)

_EXAMPLE = re.compile(rf"{CODE} → (problem )?{CODE}")


@pytest.mark.parametrize("heading", BLOCKS)
def test_every_block_is_described_with_its_labels_and_a_table_of_its_options(heading: str) -> None:
    described = section(read("docs/reference/config.md"), heading, alone=True)
    assert described, f"{heading} is not in config.md"
    options = described_options(BLOCKS[heading])
    missing = [one.name for one in options if one.kind == "label" and f'"{one.name.upper()}"' not in described]
    assert not missing
    assert (OPTION_HEAD in described) == any(one.kind != "label" for one in options)


def test_the_option_tables_are_those_of_the_declarations() -> None:
    page = read("docs/reference/config.md")
    assert page == config_page(page), "run: make pages"


def config_examples() -> list[tuple[str, str, bool]]:
    matches = (
        match for line in prose(read("docs/reference/config.md")).splitlines() for match in _EXAMPLE.finditer(line)
    )
    return [((m[1] or m[2]).replace("\\|", "|"), (m[4] or m[5]).replace("\\|", "|"), m[3] is not None) for m in matches]


@pytest.mark.parametrize(("expression", "result", "is_problem"), config_examples())
def test_every_example_of_an_expression_gives_what_is_said(
    expression: str, result: str, is_problem: bool, tmp_path: Path
) -> None:
    (tmp_path / "motd.txt").write_text("hello", encoding="utf-8")
    if is_problem:
        with pytest.raises(Problem) as caught:
            value_of(expression, tmp_path)
        assert caught.value.message == result
    else:
        value, wanted = value_of(expression, tmp_path), value_of(result)
        assert value == wanted
        assert type(value) is type(wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_described_with_an_example(name: str) -> None:
    described = section(section(read("docs/reference/config.md"), "Functions"), name)
    assert f"`{name}(" in described
    assert any(f"{name}(" in match[0] for match in _EXAMPLE.finditer(described)), f"{name} has no example"


def test_no_function_is_described_that_is_not_there() -> None:
    titles = [title for _, title, _, _ in headings(section(read("docs/reference/config.md"), "Functions"))]
    assert titles == sorted(FUNCTIONS)


HCL = [(f"{page}:{fence.line}", fence.body) for page in PAGES for fence in fences(read(page)) if fence.info == "hcl"]


@pytest.mark.parametrize(("place", "text"), HCL, ids=[place for place, _ in HCL])
def test_every_config_that_is_shown_has_no_problem(
    place: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = built_in()
    if place.startswith("docs/plugins.md"):
        plugins.append(plugin_of_the_page(tmp_path, monkeypatch))
    assert problems_of(text, Registry(plugins)) == ""


def test_a_problem_looks_as_the_page_shows_it() -> None:
    shown = fences(read("docs/reference/config.md"))
    position = next(i for i, fence in enumerate(shown) if fence.info == "hcl-problem")
    assert problems_of(shown[position].body, Registry(built_in())) == shown[position + 1].body
