"""What the disk and the system may do to us: the message says so, and the good days stay."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.failpoints import NAMES
from tailpipe.catalog.layout import Layout
from tailpipe.errors import StorageError, WorkspaceError
from tailpipe.storage.local import LocalStorage
from tests.crash.disks import Neither, NoExchange, NoLinks
from tests.storages import FaultyStorage
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user or mount a file system")
BEFORE_COMMIT = NAMES[NAMES.index("verify.before") : NAMES.index("commit.after")]
AFTER_COMMIT = (
    "commit.after",
    "manifest.written",
    "manifest.after",
    "project.link",
    "project.synced",
    "publish.before",
)


@pytest.mark.parametrize("action", ["enospc", "eio"])
@pytest.mark.parametrize("name", BEFORE_COMMIT)
def test_a_disk_that_refuses_before_the_commit_leaves_the_old_day(workspace: Workspace, name: str, action: str) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with pytest.raises(StorageError, match="no space left" if action == "enospc" else "cannot use") as caught:
        workspace.collect([("a", DAY, ["2"])], kind="replace", failpoint=f"{name}={action}")
    assert caught.value.exit_code == 1
    assert caught.value.hint
    assert workspace.ids() == workspace.hive_ids() == Counter(["1"])
    assert workspace.staging() == []
    assert doctor.examine(workspace.home, with_checksums=True) == []


@pytest.mark.parametrize("name", AFTER_COMMIT)
def test_a_disk_that_refuses_after_the_commit_loses_nothing(workspace: Workspace, name: str) -> None:
    workspace.collect([("a", DAY, ["1"])])
    committed = workspace.collect([("a", DAY, ["2"])], origin="b.log", failpoint=f"{name}=enospc")
    assert "no space left" in committed.problem
    assert "it is committed" in committed.problem
    assert workspace.ids() == Counter(["1", "2"])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.recovered == 1
    assert workspace.hive_ids() == Counter(["1", "2"])
    assert doctor.examine(workspace.home, with_checksums=True) == []


@contextlib.contextmanager
def _small_disk(size: str) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp())
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode != 0:
        place.rmdir()
        pytest.skip("cannot mount a tmpfs here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


def _fill(workspace: Workspace) -> tuple[list[int], str]:
    """Collect until there is no space: which collections were done, and what was said then."""
    done: list[int] = []
    for number in range(1000):
        rows = [f"{number}-{n}" for n in range(500)]
        try:
            committed = workspace.collect([("a", DAY, rows)], origin=f"{number}.log")
        except (StorageError, OSError) as problem:  # the job itself writes to the same disk
            return done, str(problem)
        done.append(number)
        if committed.problem:
            return done, committed.problem
    raise AssertionError("the disk did not get full")


@needs_root
def test_a_full_disk_keeps_all_earlier_days() -> None:
    with _small_disk("1500k") as place:
        workspace = Workspace(place / "ws")
        done, problem = _fill(workspace)
        assert done
        assert "no space left" in problem.lower()
        assert workspace.ids() == Counter(f"{number}-{n}" for number in done for n in range(500))
        # What is needed to go on is space, and nothing else.
        subprocess.run(["mount", "-o", "remount,size=20m", str(place)], check=True)
        workspace.collect([("a", DAY, ["more"])], origin="more.log")
        assert sum(workspace.ids().values()) == len(done) * 500 + 1
        assert doctor.examine(workspace.home, with_checksums=True) == []


@pytest.mark.parametrize("disk", [NoLinks(), NoExchange(), Neither()], ids=lambda disk: type(disk).__name__)
def test_the_hive_is_right_without_links_and_without_exchange(workspace: Workspace, disk: LocalStorage) -> None:
    workspace.storage = disk
    workspace.collect([("a", DAY, ["1", "2"])])
    workspace.collect([("a", DAY, ["1", "3"])], kind="replace")
    workspace.collect([("b", DAY, ["4"])], origin="b.log")
    assert workspace.ids() == workspace.hive_ids() == Counter(["1", "3", "4"])
    assert doctor.examine(workspace.home, with_checksums=True) == []


def test_any_other_refusal_to_link_is_not_taken_for_a_missing_feature(workspace: Workspace) -> None:
    workspace.storage = storage = FaultyStorage(1, "link")
    assert "cannot use" in workspace.collect([("a", DAY, ["1"])]).problem
    layout = Layout.of(workspace.home)  # the first link was that of the manifest
    assert [path.is_relative_to(layout.files) for path in storage.places("link")] == [False, True]


def steps(workspace: Workspace, fails: int | None) -> tuple[FaultyStorage, str]:
    """Replace a day, on a disk that fails at a step; and what came of it."""
    workspace.storage = storage = FaultyStorage(fails)
    try:
        said = workspace.collect([("a", DAY, ["2"]), ("b", DAY, ["3"])], kind="replace").problem
    except StorageError as problem:
        said = f"failed: {problem.message}"
    workspace.storage = LocalStorage()
    return storage, said


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4))
def test_a_disk_that_fails_at_any_step_of_a_commit_leaves_the_old_day_or_the_new_one(
    tmp_path: Path, first: int
) -> None:
    whole, said = steps(_replaceable(tmp_path / "whole"), None)
    assert said == ""
    outcomes = Counter[str]()
    for number in range(first, len(whole.calls), 4):
        workspace = _replaceable(tmp_path / str(number))
        storage, said = steps(workspace, number)
        assert storage.has_failed
        outcome = "failed" if said.startswith("failed") else "late" if said else "done"
        outcomes[outcome] += 1
        assert workspace.ids() == Counter(["1"] if outcome == "failed" else ["2", "3"])
        with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
            assert writer.recovered <= 1
        assert workspace.hive_ids() == workspace.ids()
        assert workspace.staging() == []
        assert doctor.examine(workspace.home, with_checksums=True) == []
    assert outcomes["failed"] > 3
    assert outcomes["late"] > 3


def _replaceable(home: Path) -> Workspace:
    workspace = Workspace(home)
    workspace.collect([("a", DAY, ["1"])])
    return workspace


def test_a_network_file_system_is_refused_for_the_catalog(workspace: Workspace) -> None:
    class Network(LocalStorage):
        def filesystem(self, path: Path) -> str:
            return "nfs4"

    workspace.storage = Network()
    with pytest.raises(WorkspaceError, match=r"network file system \(nfs4\)") as caught:
        workspace.open()
    assert "local disk" in caught.value.hint


def test_the_type_of_a_file_system_is_known() -> None:
    if not Path("/proc/self/mounts").exists():
        pytest.skip("this system does not tell")
    assert LocalStorage().filesystem(Path("/proc/self")) == "proc"


@contextlib.contextmanager
def _shared_place() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _as_nobody(home: Path, deed: str) -> str:
    """Do it in a process that gives up its rights first, after all imports: root passes every check."""
    script = (
        "import concurrent.futures.thread, os, pathlib, sys\n"
        "from tailpipe.catalog.catalog import Catalog\n"
        "from tailpipe.errors import TailpipeError\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "home = pathlib.Path(sys.argv[1])\n"
        f"try:\n    {deed}\n"
        "except TailpipeError as error:\n"
        "    print(type(error).__name__, error.exit_code, error.message)\n"
    )
    told = subprocess.run([sys.executable, "-c", script, str(home)], capture_output=True, text=True, check=False)
    assert "Traceback" not in told.stderr, told.stderr
    return told.stdout


@needs_root
def test_another_user_can_neither_read_nor_write_a_workspace() -> None:
    with _shared_place() as place:
        workspace = Workspace(place / "ws")
        workspace.collect([("a", DAY, ["1"])])
        told = _as_nobody(workspace.home, "Catalog.open(home, is_read_only=True)")
        assert told.startswith("StorageError 1 cannot use")
        assert "permission denied" in told
        told = _as_nobody(workspace.home, "Catalog.open(home)")
        assert told.startswith("WorkspaceError 1")
        assert "belongs to another user (uid 0, you are 65534)" in told
        told = _as_nobody(
            workspace.home,
            "from tailpipe.catalog.home import is_begun; from tailpipe.catalog.layout import Layout;"
            " is_begun(Layout.of(home))",
        )
        assert told.startswith("StorageError 1 cannot use")
        assert workspace.ids() == Counter(["1"])


@needs_root
def test_root_does_not_write_into_the_workspace_of_a_user() -> None:
    with _shared_place() as place:
        os.chown(place, NOBODY, NOBODY)
        _as_nobody(place / "ws", "Catalog.open(home).close()")
        with pytest.raises(WorkspaceError, match="belongs to another user"):
            Workspace(place / "ws").open()


@needs_root
def test_a_read_only_workspace_can_be_read_but_not_written() -> None:
    with _shared_place() as place:
        os.chown(place, NOBODY, NOBODY)
        home = place / "ws"
        _as_nobody(home, "Catalog.open(home).close()")
        for root, _, _ in os.walk(home):
            Path(root).chmod(0o500)
        deed = "print(len(Catalog.open(home, is_read_only=True).snapshot().files))"
        assert _as_nobody(home, deed) == "0\n"
        told = _as_nobody(home, "Catalog.open(home).writer('a.b').__enter__()")
        assert told.startswith("StorageError 1")
        assert "permission" in told or "readonly" in told


@contextlib.contextmanager
def _without_rights() -> Iterator[None]:
    """Root passes every check of the file system, so that it goes without its rights for a while."""
    if IS_ROOT:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if IS_ROOT:
            os.seteuid(0)


@pytest.mark.parametrize("name", AFTER_COMMIT)
def test_what_was_left_half_done_is_finished_by_one_who_is_not_root(name: str) -> None:
    with _shared_place() as place:
        Workspace(place / "root").collect([("a", DAY, ["1"])])  # imports what is imported late
        if IS_ROOT:
            os.chown(place, NOBODY, NOBODY)
        with _without_rights():
            workspace = Workspace(place / "ws")
            assert workspace.collect([("a", DAY, ["1"])], failpoint=f"{name}=eio").problem
            workspace.collect([("a", DAY, ["2"])], origin="b.log")
            assert workspace.ids() == workspace.hive_ids() == Counter(["1", "2"])
