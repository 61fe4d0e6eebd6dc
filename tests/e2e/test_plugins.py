"""Plugins of other people: installed by pip, found by entry point, and survived when they are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

import tailpipe
from tests.sampling import sampled

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment of its own that sees the packages of this one, so that nothing is installed into it."""
    directory = tmp_path / "env"
    venv.create(directory, with_pip=False, symlinks=True)
    site = next((directory / "lib").glob("python*")) / "site-packages"
    parents = [path for path in sys.path if path.endswith("site-packages")]
    source = str(Path(tailpipe.__file__).parents[1])
    (site / "parent.pth").write_text("\n".join([source, *parents]))
    return directory / "bin" / "python"


@pytest.fixture
def call(environment: Path, tmp_path: Path) -> Call:
    """Run tailpipe in that environment, without any network."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "HOME": str(tmp_path),
            "TAILPIPE_INSTALL_DIR": str(tmp_path / "install"),
            "NO_COLOR": "1",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say: do not isolate
            "PIP_NO_DEPS": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        command = [str(environment), "-m", "tailpipe", *arguments]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


def names(done: subprocess.CompletedProcess[str]) -> set[str]:
    assert done.returncode == 0, done.stderr
    return {record["name"] for record in json.loads(done.stdout)}


def test_the_example_plugin_is_short() -> None:
    lines = (EXAMPLE / "tailpipe_lighthouse.py").read_text().splitlines()
    assert len(lines) < 40


@pytest.mark.slow
def test_a_plugin_is_installed_found_used_and_removed(call: Call, environment: Path, tmp_path: Path) -> None:
    assert "lighthouse" not in names(call("plugin", "list", "--output", "json"))
    done = call("plugin", "install", "--editable", str(EXAMPLE))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"running: {environment} -m pip install -e {EXAMPLE} --quiet",
        "done; see: tailpipe plugin list",
    ]
    assert "lighthouse" in names(call("plugin", "list", "--output", "json"))
    assert "lighthouse_flash" in names(call("table", "list", "--output", "json"))
    assert "lighthouse" in names(call("source", "list", "--output", "json"))
    config = tmp_path / "install" / "config" / "light.tpc"
    config.write_text('partition "lighthouse_flash" "x" { source "lighthouse" { light = "Rote Sand" } }')
    shown = json.loads(call("partition", "show", "lighthouse_flash.x", "--output", "json").stdout)
    assert (shown["plugin"], shown["sources"][0]["every_minutes"]) == ("lighthouse", 60)
    done = call("collect", "--from", "2024-01-01", "--to", "2024-01-02", "--no-progress")
    assert done.stdout.startswith("lighthouse_flash.x: 48 rows, 2 artifacts, 2 days\n"), done.stderr
    done = call("plugin", "uninstall", "lighthouse")
    assert done.returncode == 0, done.stderr
    assert "pip uninstall --yes tailpipe-plugin-lighthouse" in done.stderr
    done = call("config", "check")
    assert done.returncode == 2
    assert 'unknown source type "lighthouse"' in done.stderr
    assert "tailpipe plugin install lighthouse" in done.stderr


def test_a_bare_name_means_our_prefix_and_a_failure_is_told(call: Call) -> None:
    done = call("plugin", "install", "no-such-thing")
    assert done.returncode == 1
    assert "pip install tailpipe-plugin-no-such-thing" in done.stderr
    assert "error: install failed with exit code 1" in done.stderr
    done = call("plugin", "uninstall", "core")
    assert (done.returncode, 'error: "core" is built in' in done.stderr) == (2, True)


def add_plugin(environment: Path, name: str, code: str) -> None:
    """What pip would leave behind: a module and its metadata with an entry point."""
    site = next((environment.parents[1] / "lib").glob("python*")) / "site-packages"
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tailpipe.plugins]\n{name} = {name}:plugin\n")
    (site / f"{name}.py").write_text(code)


@pytest.mark.parametrize(
    ("code", "why"),
    sampled(
        [
            ("raise RuntimeError('boom')", "RuntimeError: boom"),
            ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
            ("import sys; sys.exit(3)", "SystemExit: 3"),
            ("plugin = 5", "TypeError: broken:plugin is a int, not a Plugin"),
            ("x = (", "SyntaxError"),
        ],
        5,
    ),
)
def test_a_broken_plugin_is_left_out_with_a_warning(call: Call, environment: Path, code: str, why: str) -> None:
    add_plugin(environment, "broken", code)
    done = call("plugin", "list", "--output", "json")
    assert names(done) >= {"aws", "core", "http", "kubernetes"}
    assert "broken" not in names(done)
    assert f'warning: plugin "broken" of package "broken" is left out: {why}' in done.stderr
    assert call("config", "check").returncode == 0
    assert call("--help").returncode == 0


def test_two_plugins_with_the_same_table_are_refused_with_both_names(call: Call, environment: Path) -> None:
    code = (
        "from tailpipe.plugin import Plugin, Table\n"
        "class T(Table):\n    '''A row.'''\n    name = 'twin'\n    common = {'tp_timestamp': 'x'}\n"
        "plugin = Plugin(name=__name__, tables=[T])\n"
    )
    add_plugin(environment, "first", code)
    add_plugin(environment, "second", code)
    done = call("table", "list")
    assert done.returncode == 1
    assert 'table "twin" is defined by plugin "first" and by plugin "second"' in done.stderr
    assert "tailpipe plugin uninstall second" in done.stderr
