"""The pages about the config: every block, option and function is described, and every example gives what is said."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from tailpipe.config.encoder import plain_data
from tailpipe.config.functions import FUNCTIONS
from tailpipe.config.text import Problem
from tailpipe.model.connection import Connection
from tailpipe.model.dataset import Dataset
from tailpipe.model.detection import Detection, DetectionSet, SigmaRules
from tailpipe.model.notifier import NOTIFIERS
from tailpipe.model.option import Option, options_of, type_name, variants_of
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.settings import WorkspaceSettings
from tailpipe.model.source import Source
from tailpipe.model.store import Store
from tailpipe.model.table import Table
from tailpipe.plugin import Registry
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
    rows,
    section,
    value_of,
)

_EXAMPLE = re.compile(rf"{CODE} → (problem )?{CODE}")


def declared_blocks() -> dict[str, type[Any]]:
    """Every block that can be written, by the heading under which it is described."""
    registry = Registry(built_in())
    found: dict[str, type[Any]] = {
        "workspace": WorkspaceSettings,
        "store": Store,
        "table": Table,
        "partition": Partition,
        "schema": Schema,
        "dataset": Dataset,
        "detection": Detection,
        "detections": DetectionSet,
        "sigma": SigmaRules,
        **{f'notifier "{name}"': declared for name, declared in NOTIFIERS.items()},
        **{f'connection "{name}"': declared for name, declared in registry.connections.items()},
        **{f'format "{name}"': declared for name, declared in registry.formats.items()},
        **{f'source "{name}"': declared for name, declared in registry.sources.items()},
    }
    for declared in list(found.values()):
        for option in options_of(declared).values():
            if option.kind == "block":
                parts = [part for part in get_args(option.annotation) if inspect.isclass(part)]
                inner = [option.element] if option.element else parts or [option.annotation]
                if variants := variants_of(option.annotation):
                    found |= {f'{option.block} "{name}"': variant for name, variant in variants.items()}
                elif not issubclass(inner[0], Source):
                    found[option.block] = inner[0]
    return found


def described_options(declared: type[Any]) -> list[Option]:
    """The options of a block; of a preset, which is made of another type, those that it adds."""
    base = next((one for one in declared.__mro__[1:] if "type" in vars(one)), declared.__mro__[1])
    known = options_of(base) if getattr(base, "type", "") and issubclass(base, Connection | Source) else {}
    return [option for option in options_of(declared).values() if option.name not in known]


BLOCKS = declared_blocks()


def expected_row(option: Option) -> tuple[str, str, Any]:
    if option.kind == "block":
        return f"`{option.block}`", "block", "required" if option.is_required else None
    return f"`{option.name}`", type_name(option.annotation), "required" if option.is_required else option.default


@pytest.mark.parametrize("heading", BLOCKS)
def test_every_option_of_a_block_is_described_with_its_type_and_default(heading: str) -> None:
    described = section(read("docs/reference/config.md"), heading, alone=True)
    assert described, f"{heading} is not in config.md"
    options = described_options(BLOCKS[heading])
    for option in options:
        if option.kind == "label":
            assert f'"{option.name.upper()}"' in described, f"label {option.name}"
    told = {cells[0]: cells for cells in rows(described)}
    wanted = {row[0]: row for row in map(expected_row, (o for o in options if o.kind != "label"))}
    assert list(told) == list(wanted)
    for name, (_, kind, default) in wanted.items():
        assert told[name][1] == kind, f"type of {name}"
        shown = told[name][2]
        if isinstance(default, Connection):
            assert shown == f"`{default.address}`"
            continue
        is_word = shown in ("required", "–")
        assert ({"–": None}.get(shown, shown) if is_word else value_of(shown[1:-1])) == plain_data(default), name


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
