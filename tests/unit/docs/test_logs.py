"""The pages about formats, tables, sources and collecting: every log that is shown gives what is shown."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from tailpipe.cli.trial import NOWHERE
from tailpipe.collect import planning, remains, scope
from tailpipe.collect.item import Cause
from tailpipe.collect.listing import list_source
from tailpipe.formats.grok_patterns import PATTERNS
from tailpipe.home.home import Home
from tailpipe.model.coverage import EVERY_DAY
from tailpipe.model.option import options_of
from tailpipe.operations.trial import try_file
from tailpipe.plugin import Registry
from tailpipe.plugins.core.sources import File
from tests.unit.docs.pages import Fence, built_in, codes, fences, read, rows, section


class Example(NamedTuple):
    """A config, a log, the rows that it gives, and the lines that are rejected, in blocks one after the other."""

    place: str
    config: str
    log: str
    rows: list[dict[str, Any]]
    rejected: list[str]


def examples_of(page: str) -> Iterator[Example]:
    found = fences(read(page))
    for position, fence in enumerate(found):
        if fence.info == "log":
            rest = [*found[position + 1 : position + 3], Fence("", "", 0), Fence("", "", 0)]
            assert [found[position - 1].info, rest[0].info] == ["hcl", "jsonl"], f"{page}:{fence.line}"
            rejected = rest[1].body.splitlines() if rest[1].info == "rejected" else []
            rows_ = [json.loads(line) for line in rest[0].body.splitlines()]
            yield Example(f"{page}:{fence.line}", found[position - 1].body, fence.body, rows_, rejected)


PAGES_OF_EXAMPLES = ("docs/reference/formats.md", "docs/reference/tables.md", "docs/own-logs.md")
EXAMPLES = [example for page in PAGES_OF_EXAMPLES for example in examples_of(page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.place for example in EXAMPLES])
def test_every_log_that_is_shown_gives_the_rows_that_are_shown(example: Example, tmp_path: Path) -> None:
    (tmp_path / "app.tpc").write_text(example.config, encoding="utf-8")
    (tmp_path / "app.log").write_text(example.log, encoding="utf-8")
    home = Home.open(env={"TAILPIPE_CONFIG_PATH": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(tmp_path)})
    formats = list(home.config.formats.values())
    table = next(iter(home.config.tables.values()), NOWHERE)
    trial = try_file(home, tmp_path / "app.log", table, None if table.format else formats[0], 100)
    given = [] if trial.rows is None else json.loads(json.dumps(trial.rows.to_pylist(), default=str))
    if table is NOWHERE:
        given = [{name: value for name, value in row.items() if not name.startswith("tp_")} for row in given]
    else:
        own = {name for row in example.rows for name in row}
        if table.map_fields != ("*",):
            assert all({name for name in row if not name.startswith("tp_")} <= own for row in given)
        given = [{name: row[name] for name in own} for row in given]
    assert given == example.rows
    assert [f"{one.position}: {one.reason}" for one in trial.rejected] == example.rejected


def test_every_format_has_an_example_and_every_option_of_it_is_there() -> None:
    page = read("docs/reference/formats.md")
    common = {"description", "timezone", "encoding"}
    assert common - {"description"} <= set(codes(section(page, "What all formats do")))
    for name, declared in Registry(built_in()).formats.items():
        assert section(page, name), name
        if name == "csv":  # the page of `delimited` has them
            continue
        start = page.index(f"\n## {name}\n")
        whole = page[start : page.find("\n## ", start + 4) if "\n## " in page[start + 4 :] else len(page)]
        missing = [option for option in options_of(declared) if option not in common and option not in whole]
        assert missing in ([], ["name"]), f"{missing} of {name}"


def test_every_grok_pattern_is_listed() -> None:
    described = section(read("docs/reference/formats.md"), "Patterns")
    listed = [code for cells in rows(described) for code in codes(cells[1])]
    assert listed == list(PATTERNS)


def test_every_source_is_described_with_its_options() -> None:
    page = read("docs/reference/sources.md")
    for name, declared in Registry(built_in()).sources.items():
        if getattr(declared.__mro__[1], "type", ""):
            continue  # a preset: its own page describes it
        described = page[page.index(f"\n## {name}\n") :]
        missing = [option for option in options_of(declared) if f"`{option}" not in described]
        assert not set(missing) - {"name", "format", "command"}, f"{missing} of {name}"


def test_every_layout_dates_the_file_as_is_said(tmp_path: Path) -> None:
    told = rows(section(read("docs/reference/sources.md"), "file_layout"))
    assert len(told) > 5
    for number, (layout, name, day, fills) in enumerate(told):
        path = tmp_path / str(number) / codes(name)[0]
        path.parent.mkdir(parents=True)
        path.touch()
        source = File(paths=[str(tmp_path / str(number))], file_layout=codes(layout)[0])
        listed = list_source(source, NOWHERE, EVERY_DAY, today=datetime(2024, 2, 1, tzinfo=UTC).date()).listed
        if day == "not collected":
            assert not listed
        else:
            (one,) = listed
            assert str(one.artifact.day) == (codes(day)[0] if day != "–" else "None")
            assert [f"{key}={value}" for key, value in one.artifact.fields.items()] == codes(fills)


def test_every_reason_to_read_or_to_skip_is_described() -> None:
    described = section(read("docs/reference/collect.md"), "Dry run")
    told = {codes(cells[0])[0] for cells in rows(described)}
    source = "".join(map(inspect.getsource, (planning, remains, scope)))
    assert set(get_args(Cause)) - {"new"} <= told
    for reason in told - set(get_args(Cause)):
        assert f'"{reason}"' in source, reason
    skipped = set(re.findall(r'return "([a-z][a-z :\-]+)"$', source, re.MULTILINE))
    assert skipped
    assert skipped <= told
