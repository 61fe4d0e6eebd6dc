"""One writer for each partition; a writer that was overtaken cannot commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tailpipe.errors import LockedError
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Staged, StagedArtifact
from tests.crash.collector import stage
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, entry

HOLD = """
import sys, pathlib
from tailpipe.catalog.catalog import Catalog
with Catalog.open(pathlib.Path(sys.argv[1])) as catalog, catalog.writer(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def _hold(home: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home), PARTITION],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_is_told_who_holds_the_partition(workspace: Workspace) -> None:
    with _hold(workspace.home) as process:
        with workspace.open() as catalog, pytest.raises(LockedError) as caught, catalog.writer(PARTITION):
            pass
        process.communicate()
    assert caught.value.pid == process.pid
    assert caught.value.exit_code == 1
    assert f'partition "{PARTITION}" is being written by pid {process.pid} since 20' in caught.value.message
    assert f"{workspace.home} {PARTITION}" in caught.value.message
    assert "nothing was changed" in caught.value.message


def test_other_partitions_are_written_side_by_side(workspace: Workspace) -> None:
    with _hold(workspace.home) as process:
        workspace.collect([("a", DAY, ["a-0"])], partition="app_log.other")
        process.communicate()
    assert workspace.ids("app_log.other") == Counter(["a-0"])


def test_the_kernel_frees_the_lock_of_a_killed_writer(workspace: Workspace) -> None:
    with _hold(workspace.home) as process:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    workspace.collect([("a", DAY, ["a-0"])])
    assert workspace.ids() == Counter(["a-0"])


def test_a_program_that_we_start_cannot_keep_the_lock(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    workspace.collect([("a", DAY, ["a-0"])])
    child.communicate(b"\n")


def test_an_overtaken_writer_cannot_commit(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        file = stage(transaction.staging, "new", "a", DAY, ["late"])
        # Someone removes the lock file by hand while this process stands still, and another one goes on.
        workspace_lock = workspace.home / ".tailpipe" / "locks" / f"{PARTITION}.lock"
        workspace_lock.unlink()
        workspace.collect([("a", DAY, ["a-0"])])
        with pytest.raises(LockedError, match="was taken over by another process"):
            transaction.commit(Staged((file,), (StagedArtifact(entry("b", DAY, 1), Accounts(read=1, kept=1)),)))
        with pytest.raises(LockedError, match="was taken over"):
            writer.begin(Unit(day=DAY))
    assert workspace.ids() == workspace.hive_ids() == Counter(["a-0"])
    assert workspace.staging() == []


def test_a_stopped_writer_that_revives_cannot_commit(workspace: Workspace, tmp_path: Path) -> None:
    script = tmp_path / "writer.py"
    script.write_text(
        "import sys, pathlib\n"
        "from datetime import date\n"
        "from tests.unit.catalog.conftest import Workspace\n"
        "workspace = Workspace(pathlib.Path(sys.argv[1]))\n"
        "rows = [('a', date(2024, 1, 31), ['late'])]\n"
        "workspace.collect(rows, origin='late.log', failpoint='commit.begin=stop')\n"
    )
    root = Path(__file__).resolve().parents[3]
    process = subprocess.Popen(
        [sys.executable, str(script), str(workspace.home)],
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        text=True,
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    (workspace.home / ".tailpipe" / "locks" / f"{PARTITION}.lock").unlink()
    workspace.collect([("a", DAY, ["a-0"])])
    process.send_signal(signal.SIGCONT)
    _, told = process.communicate()
    assert "LockedError" in told or "StorageError" in told
    assert workspace.ids() == workspace.hive_ids() == Counter(["a-0"])


def test_the_recovery_of_one_partition_leaves_the_work_of_another_alone(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        file = stage(transaction.staging, "new", "a", DAY, ["a-0"])
        workspace.collect([("a", DAY, ["b-0"])], partition="app_log.other")
        transaction.commit(Staged((file,), (StagedArtifact(entry("a", DAY, 1), Accounts(read=1, kept=1)),)))
    assert workspace.ids() == Counter(["a-0"])
    assert workspace.hive_ids() == Counter(["a-0", "b-0"])
