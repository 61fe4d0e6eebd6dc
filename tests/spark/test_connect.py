"""Collections through a real Spark Connect server, whose Python has nothing but what was sent to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.crash.processes import Collecting, collect, until
from tests.spark.connect_server import ConnectServer
from tests.spark.worlds import PARTITIONS, Row, days_back, sorted_rows, write_config, write_logs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("connect")]
TABLES = [name.partition(".")[0] for name in PARTITIONS]
DAYS = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    pytest.importorskip("grpc", reason="NOT TESTED: Spark Connect needs the extra tailpipe[connect]")
    with ConnectServer(tmp_path_factory.mktemp("connect")) as made:
        yield made


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("world") / "logs"
    write_logs(made, days_back(DAYS, datetime.now(UTC)))
    return made


def install(root: Path, logs: Path, spark: str, more: str = "") -> Path:
    """An install directory that collects into a store, with the packed environment of the module."""
    home = root / "install"
    path = write_config(home, logs, workspace='host = "laptop"\n  store = store.lake')
    text = path.read_text().replace('master = "local[2]"', spark).replace("conf   = {  }", "")
    (root / "lake").mkdir()
    path.write_text(f'{text}\nstore "lake" {{ location = "{root / "lake"}" }}\n{more}')
    return home


def rows(home: Path) -> dict[str, list[Row]]:
    """What a query shows; ids do not depend on where the workspace or the store is."""
    workspace = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(home)})
    return {name: sorted_rows(workspace.query(f"SELECT * FROM {name}").to_pylist()) for name in TABLES}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> dict[str, list[Row]]:
    home = install(tmp_path_factory.mktemp("reference"), logs, "")
    workspace = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(home)}, engine=InProcessEngine())
    assert not [one.error or one.failed for one in workspace.collect().partitions if one.error or one.failed]
    return rows(home)


def test_hosts_without_tailpipe_are_named_and_with_the_archive_rows_are_those_of_local_mode(
    server: ConnectServer, logs: Path, tmp_path: Path, expected: dict[str, list[Row]]
) -> None:
    home = install(tmp_path, logs, f'remote = "{server.address}"')
    bare = collect(home)
    assert bare.process.returncode == 1
    assert "the cluster is not ready: " in bare.out + bare.err
    assert "pyarrow" in bare.out + bare.err
    config = home / "config" / "main.tpc"
    config.write_text(config.read_text().replace("remote =", "archive = true\n    remote ="))
    run = collect(home)
    assert run.process.returncode == 0, run.err + run.out
    assert rows(home) == expected
    words = [sys.executable, "-m", "tailpipe", "query", "--engine", "spark", "SELECT 1"]
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(home)}
    asked = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr.startswith("error: DataFrames and --engine spark are not available with Spark Connect")


def test_a_server_that_dies_and_an_interrupt_lose_nothing(
    server: ConnectServer, logs: Path, tmp_path: Path, expected: dict[str, list[Row]]
) -> None:
    home = install(tmp_path, logs, f'archive = true\n    remote = "{server.address}"')
    cut = Collecting(home)
    until(lambda: cut.committed >= 1, alive=cut)
    server.kill()
    assert cut.end() == 1, cut.err + cut.out
    assert f"failed: the Spark Connect server {server.address} does not answer" in cut.out or (
        f"failed: cannot reach the Spark Connect server {server.address} (Connection refused)" in cut.out
    ), cut.out  # between two jobs it is noticed before anything is sent
    gone = collect(home)
    assert gone.process.returncode == 1
    assert f"cannot reach the Spark Connect server {server.address} (Connection refused)" in gone.err + gone.out
    server.start()
    stopped = Collecting(home)
    until(lambda: "artifacts" in stopped.err, alive=stopped)
    stopped.process.send_signal(signal.SIGINT)
    assert stopped.end() in {0, 130}, stopped.err + stopped.out
    last = collect(home)
    assert last.process.returncode == 0, last.err + last.out
    assert "Traceback" not in cut.err + gone.err + stopped.err + last.err
    assert rows(home) == expected
