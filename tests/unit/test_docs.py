"""The documentation is true: what can be said is in it, and what it says can be done."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import pytest
from click.testing import CliRunner

import tailpipe.plugin
from tailpipe import errors
from tailpipe.catalog import planning
from tailpipe.catalog.plan import Cause
from tailpipe.cli.answer import OUTPUTS
from tailpipe.cli.app import app
from tailpipe.cli.shell_commands import COMMANDS as SHELL_COMMANDS
from tailpipe.cli.trial import NOWHERE
from tailpipe.collect.listing import list_source
from tailpipe.config import environment
from tailpipe.config.builder import build_config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.encoder import plain_data
from tailpipe.config.evaluator import Evaluator
from tailpipe.config.functions import FUNCTIONS, Surroundings
from tailpipe.config.parser import parse
from tailpipe.config.text import ConfigText, Problem
from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import try_task
from tailpipe.model.connection import Connection
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.option import Option, options_of, type_name
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.selector import select
from tailpipe.model.settings import WorkspaceSettings
from tailpipe.model.source import Source
from tailpipe.model.table import COMMON_COLUMNS, Table
from tailpipe.model.types import SCALARS, parse_type
from tailpipe.model.window import parse_moment
from tailpipe.plugin import ENTRY_POINTS, Plugin, Registry
from tailpipe.plugin.grok_patterns import PATTERNS
from tailpipe.plugins.core.sources import File
from tailpipe.testing import check_plugin
from tailpipe.workspace import Workspace

ROOT = Path(__file__).parents[2]
ENV = {
    "REGION": "eu-west-1",
    **dict.fromkeys(("AUDIT_SECRET_KEY", "ARCHIVE_EXTERNAL_ID", "MINIO_KEY", "MINIO_SECRET"), "x"),
}
_CODE = r"(?:`` (.+?) ``|`([^`]+)`)"
_EXAMPLE = re.compile(rf"{_CODE} → (problem )?{_CODE}")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CELL = re.compile(r"(?<!\\)\|")

# Spelt so that this file does not match itself.
_REGISTRY_HOST = re.compile(r"pypi\.org|pythonhosted\.org|registry\.npmjs|anaconda\.org|https?://\S+/simple\b")
_MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|Users|builds)/\w")
_HOME = re.compile(r"(?<![\w.~-])/home/(?!me\b)\w")


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
    return [match[1] or match[2] for match in re.finditer(_CODE, prose(text))]


def built_in() -> list[Plugin]:
    """The plugins of this package; others may be installed beside it."""
    return [plugin for plugin in Registry.installed().plugins.values() if plugin.package == "tailpipe"]


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


# The command line


def all_commands(path: str = "tailpipe", command: click.Command = app) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from all_commands(f"{path} {name}", inner)


COMMANDS = dict(all_commands())


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_is_described_with_its_flags_and_arguments(path: str) -> None:
    page = read("docs/reference/cli.md")
    words = path.split()
    titles = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    described = next(found for title in titles if (found := section(page, title)))
    assert path in described or section(page, path), f"{path} is not in cli.md"
    for parameter in COMMANDS[path].params:
        names = [*parameter.opts, *parameter.secondary_opts]
        if isinstance(parameter, click.Argument):
            names = [parameter.metavar or parameter.human_readable_name]
            if isinstance(parameter.type, click.Choice):
                names = [str(choice) for choice in parameter.type.choices]
        for name in names:
            assert name in described, f"{name} of {path} is not in cli.md"


def test_every_choice_of_a_flag_is_described() -> None:
    page = codes(read("docs/reference/cli.md"))
    for path, command in COMMANDS.items():
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice) and isinstance(parameter, click.Option):
                missing = {str(choice) for choice in parameter.type.choices} - set(page)
                assert not missing, f"{missing} of {parameter.opts[0]} of {path} are not in cli.md"


def test_no_flag_is_described_that_is_not_there() -> None:
    parameters = [parameter for command in COMMANDS.values() for parameter in command.params]
    there = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
    described = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", read("docs/reference/cli.md")))
    assert described <= there | {"--help"}


def test_every_command_of_the_shell_is_described() -> None:
    described = [codes(cells[0])[0] for cells in rows(section(read("docs/reference/shell.md"), "Commands"))]
    assert described == [f"{name} {one.argument}".rstrip() for name, one in SHELL_COMMANDS.items()]


def test_every_output_of_a_query_is_described() -> None:
    described = [cells[0] for cells in rows(section(read("docs/reference/query.md"), "Outputs"))]
    assert described == [f"`{output}`" for output in OUTPUTS]


def test_every_error_is_described_with_its_exit_code() -> None:
    described = {cells[0].strip("`"): cells[-1] for cells in rows(section(read("docs/reference/cli.md"), "Exit codes"))}
    tree = read("docs/architecture.md")
    for name in errors.__all__:
        kind = getattr(errors, name)
        if inspect.isclass(kind) and issubclass(kind, errors.TailpipeError):
            assert described.get(name) == str(kind.exit_code), name
            assert re.search(rf"\b{name}\b", tree), f"{name} is not in architecture.md"
        elif name.startswith("EXIT_"):
            assert str(kind) in described, f"exit code {kind} is not in cli.md"


def test_every_environment_variable_is_described() -> None:
    names = set(re.findall(r"TAILPIPE_[A-Z_]+", inspect.getsource(environment)))
    for page in ("docs/reference/cli.md", "docs/reference/config.md"):
        assert names <= set(codes(read(page))), page


def parse_command(words: Sequence[str]) -> None:
    """Read a command line as click would, without running it."""
    command: click.Command = app
    parent: click.Context | None = None
    name, rest = words[0], list(words[1:])
    try:
        while isinstance(command, click.Group):
            parent = command.make_context(name, list(rest), parent=parent)
            _, rest, _ = command.make_parser(parent).parse_args(list(rest))
            found, inner, rest = command.resolve_command(parent, rest)
            assert inner is not None
            assert found is not None
            name, command = found, inner
        command.make_context(name, rest, parent=parent)
    except click.exceptions.Exit:
        pass  # --version and --help


def shown_commands() -> list[tuple[str, str]]:
    """The commands of ours in shell blocks of all pages, and between backticks in some."""
    found = [
        (page, line.partition(" > ")[0].strip())
        for page in PAGES
        for fence in fences(read(page))
        if fence.info == "sh"
        for line in fence.body.splitlines()
    ]
    for page in ("README.md", "docs/reference/cli.md", "docs/reference/config.md", "docs/plugins.md"):
        found += [(page, code) for code in codes(read(page))]
    return [(page, line) for page, line in found if line.startswith("tailpipe ") and not re.search(r"[\[|]", line)]


@pytest.mark.parametrize(("page", "line"), sorted(set(shown_commands())))
def test_every_command_that_is_shown_can_be_typed(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    if " ".join(words) not in COMMANDS:  # the mere name of a command
        parse_command(words)


def test_the_first_config_of_the_readme_works_as_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAILPIPE_INSTALL_DIR", "TAILPIPE_CONFIG_PATH", "TAILPIPE_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    page = read("README.md")
    config = tmp_path / next(code for code in codes(page) if code.endswith(".tpc")).removeprefix("~/")
    config.parent.mkdir(parents=True)
    config.write_text(next(fence.body for fence in fences(page) if fence.info == "hcl"), encoding="utf-8")
    lines = [line for fence in fences(page) if fence.info == "sh" for line in fence.body.splitlines()]
    typed = [shlex.split(line)[1:] for line in lines if line.startswith("tailpipe ")]
    assert len(typed) > 3
    # Collecting needs Spark: the tutorial does it with the same config, among the end-to-end tests.
    typed = [words for words in typed if words != ["collect"]]
    for words in typed:
        done = CliRunner().invoke(app, words, prog_name="tailpipe")
        assert done.exit_code == 0, done.output


def test_every_make_target_that_is_shown_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", read("Makefile"), re.MULTILINE))
    for page in PAGES:
        shown = re.findall(r"(?m)(?:^|`)make ([a-z][a-z-]*)(?: +#.*)?(?:`|$)", read(page))
        assert set(shown) <= targets, page
    assert {"demo", "test"} <= set(re.findall(r"^make ([a-z-]+)", read("README.md"), re.MULTILINE))


# The config language


def declared_blocks() -> dict[str, type[Any]]:
    """Every block that can be written, by the heading under which it is described."""
    registry = Registry(built_in())
    found: dict[str, type[Any]] = {
        "workspace": WorkspaceSettings,
        "table": Table,
        "partition": Partition,
        "schema": Schema,
        **{f'connection "{name}"': declared for name, declared in registry.connections.items()},
        **{f'format "{name}"': declared for name, declared in registry.formats.items()},
        **{f'source "{name}"': declared for name, declared in registry.sources.items()},
    }
    for declared in list(found.values()):
        for option in options_of(declared).values():
            if option.kind == "block":
                inner = [part for part in get_args(option.annotation) if inspect.isclass(part)] or [option.annotation]
                if not issubclass(inner[0], Source):
                    found[option.block] = inner[0]
    return found


BLOCKS = declared_blocks()


def expected_row(option: Option) -> tuple[str, str, Any]:
    if option.kind == "block":
        return f"`{option.block}`", "block", "required" if option.is_required else None
    return f"`{option.name}`", type_name(option.annotation), "required" if option.is_required else option.default


@pytest.mark.parametrize("heading", BLOCKS)
def test_every_option_of_a_block_is_described_with_its_type_and_default(heading: str) -> None:
    described = section(read("docs/reference/config.md"), heading, alone=True)
    assert described, f"{heading} is not in config.md"
    options = options_of(BLOCKS[heading]).values()
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


def plugin_of_the_page(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    code = [fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "python"]
    (directory / "tailpipe_harbour.py").write_text("\n".join(code), encoding="utf-8")
    monkeypatch.syspath_prepend(str(directory))
    plugin = import_module("tailpipe_harbour").plugin
    assert isinstance(plugin, Plugin)
    return plugin


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


# Formats, tables, sources, collect


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
    workspace = Workspace.open(env={"TAILPIPE_CONFIG_PATH": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(tmp_path)})
    formats = list(workspace.config.formats.values())
    table = next(iter(workspace.config.tables.values()), NOWHERE)
    trial = workspace.try_file(tmp_path / "app.log", table, None if table.format else formats[0], 100)
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
    described = section(read("docs/reference/collect.md"), "What a run would do")
    told = {codes(cells[0])[0] for cells in rows(described)}
    source = inspect.getsource(planning)
    assert set(get_args(Cause)) - {"new"} <= told
    for reason in told - set(get_args(Cause)):
        assert f'"{reason}"' in source, reason
    skipped = set(re.findall(r'return "([a-z][a-z :\-]+)"$', source, re.MULTILINE))
    assert skipped
    assert skipped <= told


def test_the_readme_and_the_tutorial_begin_with_the_same_config() -> None:
    first = [next(fence.body for fence in fences(read(page)) if fence.info == "hcl") for page in TUTORIALS]
    assert first[0] == first[1]


TUTORIALS = ("README.md", "docs/tutorial.md")

# Types, times, selectors, common columns


def test_every_column_type_is_described_with_its_other_names() -> None:
    told = rows(section(read("docs/reference/types.md"), "Column types"))
    for cells in told:
        kind = parse_type(codes(cells[0])[0])
        assert [kind.name, kind.duckdb, kind.arrow, kind.stored] == [codes(cells[i])[0] for i in (0, 2, 3, 4)]
        assert all(parse_type(alias) == kind for alias in codes(cells[1])), cells[1]
    described = {codes(cells[0])[0]: codes(cells[1]) for cells in told}
    for scalar in SCALARS:
        assert described[scalar.name] == list(scalar.aliases)


def test_every_form_of_a_time_is_read_as_is_said() -> None:
    now = datetime(2024, 3, 31, 10, tzinfo=UTC)
    told = rows(section(read("docs/reference/types.md"), "Times and windows"))
    assert len(told) > 10
    for form, start, end in ([codes(cell)[0] for cell in cells] for cells in told):
        assert parse_moment(form, now=now) == datetime.fromisoformat(start), form
        assert parse_moment(form, now=now, is_end=True) == datetime.fromisoformat(end), form


def test_every_selector_means_what_is_said() -> None:
    described = section(read("docs/reference/types.md"), "Selectors")
    names = [code for code in codes(described.partition("|")[0]) if re.fullmatch(r"\w+\.\w+", code)]
    for selector, meant in rows(described):
        assert select(codes(selector), names) == codes(meant)


def test_every_common_column_is_described_with_its_type_and_who_fills_it() -> None:
    told = rows(section(read("docs/reference/types.md"), "Common columns"))
    described = {codes(cells[0])[0]: (codes(cells[1])[0], cells[2]) for cells in told}
    assert {name: kind for name, (kind, _) in described.items()} == {c.name: c.type for c in COMMON_COLUMNS}
    for name, (_, filled_by) in described.items():
        time = "" if name == "tp_timestamp" else 'column "tp_timestamp" {}'
        problems = problems_of(f'table "t" {{\n {time}\n column "{name}" {{}}\n}}', Registry(built_in()))
        assert (filled_by == "tailpipe") == ("cannot map" in problems), name


# Plugins


@pytest.mark.parametrize("name", tailpipe.plugin.__all__)
def test_every_name_for_plugin_authors_is_described(name: str) -> None:
    page = read("docs/reference/plugin-api.md")
    assert f"`{name}`" in page or f"`{name}(" in page
    value = getattr(tailpipe.plugin, name)
    described = section(page, name)
    if name in ("Artifact", "Plugin", "Table", "Column"):
        missing = [field.name for field in fields(value) if not re.search(rf"\b{field.name}\b", described)]
        assert not missing
    if name in ("Registry", "Source", "Window"):
        public = [member for member in vars(value) if not member.startswith("_")]
        assert not [member for member in public if not re.search(rf"\b{member}\b", described)]


def test_the_plugin_of_the_page_keeps_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = plugin_of_the_page(tmp_path, monkeypatch)
    check_plugin(plugin)
    page = tomllib.loads(next(fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "toml"))
    module, _, value = page["project"]["entry-points"][ENTRY_POINTS][plugin.name].partition(":")
    assert getattr(import_module(module), value) is plugin


def test_the_plugin_of_the_page_collects_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([*built_in(), plugin_of_the_page(tmp_path, monkeypatch)])
    text = next(fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "hcl")
    config = build_config([ConfigText("app.tpc", text, ROOT)], registry, surroundings())
    [source], table = config.partitions["harbour_arrival.north"].sources, registry.tables["harbour_arrival"]
    day, now = date(2024, 1, 31), datetime(2024, 2, 1, tzinfo=UTC)
    [one] = list_source(source, table, DaySet.of([day]), today=now.date()).listed
    assert table.format is not None
    reading = Reading(one.artifact, one.artifact.uri)
    trial = try_task(Task("harbour_arrival.north", table, source, table.format, (reading,), now), 10)
    assert trial.rows is not None
    assert trial.rows.select(["ship", "tonnes", "is_heavy"]).to_pylist() == [
        {"ship": "Ada", "tonnes": 1200.0, "is_heavy": True}
    ]


# All pages, all files


def test_every_room_is_described_and_every_file_that_is_named_exists() -> None:
    page = read("docs/architecture.md")
    source = ROOT / "src/tailpipe"
    described = {cells[0].strip("`/") for cells in rows(section(page, "The rooms"))}
    there = {path.name for path in source.iterdir() if not path.name.startswith(("_", "py."))}
    assert there == described
    known = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    names = {name for name in codes(page) if name.endswith(".py")}
    assert not {name for name in names if not any(f"/{path}".endswith(f"/{name}") for path in known)}


def slug(title: str) -> str:
    """The anchor that a forge gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    here = ROOT / page
    for target in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(read(page)))):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (here.parent / path).resolve() if path else here
        assert there.exists(), target
        if anchor:
            titles = headings(prose(there.read_text(encoding="utf-8")))
            assert anchor in {slug(title) for _, title, _, _ in titles}, target


def test_no_file_names_the_host_of_a_registry_or_a_path_of_one_machine() -> None:
    found = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", "replace")
        patterns = [_REGISTRY_HOST, _MACHINE_PATH, *([_HOME] if path.suffix == ".md" else [])]
        found += [f"{path.relative_to(ROOT)}: {m[0]}" for pattern in patterns for m in pattern.finditer(text)]
    assert not found
