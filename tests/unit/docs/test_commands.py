"""The pages about the command line: all that can be typed is described, and what is shown can be typed."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tailpipe import errors
from tailpipe.cli.answer import OUTPUTS
from tailpipe.cli.app import app
from tailpipe.cli.shell_commands import COMMANDS as SHELL_COMMANDS
from tailpipe.config import environment
from tests.command_page import COMMANDS, EVERYWHERE
from tests.reference_pages import command_page
from tests.unit.docs.pages import PAGES, codes, fences, read, rows, section


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_is_described_with_its_flags_and_arguments(path: str) -> None:
    page = read("docs/reference/cli.md")
    words = path.split()
    titles = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    described = next(found for title in titles if (found := section(page, title)))
    assert path in described or section(page, path), f"{path} is not in cli.md"
    for parameter in COMMANDS[path].params:
        names = [one for one in (*parameter.opts, *parameter.secondary_opts) if one not in EVERYWHERE]
        if isinstance(parameter, click.Argument):
            names = [parameter.metavar or parameter.human_readable_name]
            if isinstance(parameter.type, click.Choice):
                names = [str(choice) for choice in parameter.type.choices]
        for name in names:
            assert name in described, f"{name} of {path} is not in cli.md"


def test_the_flag_tables_are_those_of_the_commands() -> None:
    page = read("docs/reference/cli.md")
    assert page == command_page(page), "run: make pages"


def test_every_choice_of_a_flag_is_described() -> None:
    words = re.split(r"[ |\\]+", " ".join(codes(read("docs/reference/cli.md"))))
    for path, command in COMMANDS.items():
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice) and isinstance(parameter, click.Option):
                missing = {str(choice) for choice in parameter.type.choices} - set(words)
                assert not missing, f"{missing} of {parameter.opts[0]} of {path} are not in cli.md"


@pytest.mark.parametrize("path", [path for path in COMMANDS if path.count(" ") == 2])
def test_what_a_command_does_is_said_whole_in_the_list_of_its_group(path: str) -> None:
    assert not COMMANDS[path].get_short_help_str(limit=68).endswith("..."), path


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
    tree = errors.__doc__ or ""
    for name in errors.__all__:
        kind = getattr(errors, name)
        if inspect.isclass(kind) and issubclass(kind, errors.TailpipeError):
            assert described.get(name) == str(kind.exit_code), name
            assert re.search(rf"\b{name}\b", tree), f"{name} is not in the tree of errors.py"
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


@pytest.mark.slow
def test_the_first_config_of_the_readme_works_as_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAILPIPE_INSTALL_DIR", "TAILPIPE_CONFIG_PATH", "TAILPIPE_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    page = read("README.md")
    (tmp_path / "shop-logs").mkdir()
    (tmp_path / "shop-logs" / "2024-01-31.jsonl").write_text('{"time": "2024-01-31T00:00:01Z", "status": 200}\n')
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


def test_the_readme_and_the_tutorial_begin_with_init() -> None:
    for page in ("README.md", "docs/tutorial.md"):
        typed = [line for fence in fences(read(page)) if fence.info == "sh" for line in fence.body.splitlines()]
        first = next(line for line in typed if line.startswith("tailpipe ") and "--version" not in line)
        assert first == "tailpipe init ~/shop-logs --name shop_log", page
