"""`tailpipe plugin`: which plugins there are, and how they come and go."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import plugin_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import common, examples, fail_if, home_of
from tailpipe.errors import PluginError, TailpipeError, UsageError
from tailpipe.home.home import Home
from tailpipe.model.nearest import listed
from tailpipe.plugin import Registry
from tailpipe.plugin.packs import is_pack

PREFIX = "tailpipe-plugin-"
BUILT_IN = ("tailpipe", "pack")
_BARE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def _records(home: Home) -> list[dict[str, Any]]:
    records = [plugin_record(plugin) for plugin in home.registry.plugins.values()]
    for warning in home.registry.warnings:
        render.say(f"warning: {warning}")
    return records


command = noun_group(
    "plugin", _records, render.columns("name:plugin", "version", "package", "description"), example="core"
)


@command.command("install", epilog=examples("tailpipe plugin install okta", "tailpipe plugin install ./my-pack"))
@click.argument("wanted", metavar="NAME_OR_PATH")
@click.option("--editable", "-e", is_flag=True, help="Install a directory in editable mode.")
@click.option("--force", is_flag=True, help="Replace a pack of the same name.")
@common
def install(context: click.Context, wanted: str, editable: bool, force: bool) -> None:
    """Install a plugin: a pack, or a Python package with pip.

    A pack is a directory with a plugin.tpc. Its files are checked and copied; no code is run. A package is installed
    into the environment of tailpipe. A bare NAME stands for the package tailpipe-plugin-NAME. Paths and pip
    requirements work too.
    """
    if is_pack(wanted) and not editable:
        _install_pack(home_of(context), Path(wanted), force=force)
        return
    if editable and not Path(wanted).is_dir():
        raise UsageError(f'directory not found: "{wanted}"', hint="--editable needs a directory")
    _run_pip(["install", *(["-e"] if editable else []), requirement(wanted)])
    render.say("done; see: tailpipe plugin list")


def _install_pack(home: Home, source: Path, *, force: bool) -> None:
    from tailpipe.config.pack_install import install_pack

    done = install_pack(source, home.environment.packs_dir, home.registry, force=force)
    if done.skipped:
        render.say(f"skipped, not part of a pack: {listed(done.skipped, 5)}")
    tables = [name for name, _ in done.plugin.parts("table")]
    render.say(f'installed pack "{done.plugin.name}" with {render.counted(len(tables), "table")}: {listed(tables, 8)}')


@command.command("check", epilog=examples("tailpipe plugin check ./my-pack"))
@click.argument("folder", metavar="PATH", type=click.Path())
@common
def check(context: click.Context, folder: str) -> None:
    """Check a pack: its tables, their SQL, and the rows of its samples.

    Reads samples/NAME.EXT and compares the rows with samples/NAME.expected.jsonl. Exits with 1 if something is wrong.
    """
    from tailpipe.testing.packs import pack_problems

    if not is_pack(folder):
        is_python = next(Path(folder).glob("*.py"), None) or (Path(folder) / "pyproject.toml").is_file()
        hint = "a Python plugin is checked by tailpipe.testing.check_plugin in a test" if is_python else ""
        raise UsageError(f'"{folder}" is not a pack: it has no plugin.tpc', hint=hint)
    problems = list(pack_problems(Path(folder), home_of(context).registry))
    for problem in problems:
        render.say(f"error: {problem}")
    fail_if(problems)
    render.say("no problems found")


@command.command("update", epilog=examples("tailpipe plugin update okta"))
@click.argument("wanted", metavar="NAME_OR_PATH")
def update(wanted: str) -> None:
    """Update a plugin to its latest version with pip."""
    _run_pip(["install", "--upgrade", _package_of(wanted)])
    render.say("done; see: tailpipe plugin list")


@command.command("uninstall", epilog=examples("tailpipe plugin uninstall okta"))
@click.argument("wanted", metavar="NAME")
@common
def uninstall(context: click.Context, wanted: str) -> None:
    """Uninstall a plugin. Its collected data stays and can be queried.

    A pack is deleted, a Python package uninstalled with pip. Uninstall it after you remove its partitions from the
    config.
    """
    from tailpipe.config.pack_install import remove_pack

    if not remove_pack(wanted, home_of(context).environment.packs_dir):
        _run_pip(["uninstall", "--yes", _package_of(wanted)])
    render.say("done; collected data was kept")


def requirement(wanted: str) -> str:
    """What pip installs: a bare name gets our prefix, anything else is left as it is."""
    if Path(wanted).exists() or not _BARE_NAME.fullmatch(wanted) or wanted.startswith(PREFIX):
        return wanted
    return PREFIX + wanted


def _package_of(wanted: str) -> str:
    """The package of an installed plugin, by the plugin's name or the package's own."""
    try:
        plugin = Registry.installed().plugins.get(wanted)
    except PluginError:
        plugin = None  # two plugins quarrel over a name, and this command is the way out
    package = plugin.package if plugin else requirement(wanted)
    if package in BUILT_IN:
        raise UsageError(f'"{wanted}" is built in', hint="built-in plugins are part of tailpipe")
    return package


def _run_pip(arguments: list[str]) -> None:
    if find_spec("pip") is not None:
        call = [sys.executable, "-m", "pip", *arguments, "--quiet"]  # it would list every package that is there
    elif (uv := shutil.which("uv")) is not None:
        verb, *rest = [argument for argument in arguments if argument != "--yes"]
        call = [uv, "pip", verb, "--python", sys.executable, *rest, "--quiet"]
    else:
        raise TailpipeError(
            "pip is not installed in the environment of tailpipe", hint=f"install it: {sys.executable} -m ensurepip"
        )
    render.say(f"running: {shlex.join(call)}")
    done = subprocess.run(call, check=False)
    if done.returncode:
        raise TailpipeError(f"{arguments[0]} failed with exit code {done.returncode}", hint="see its output above")
