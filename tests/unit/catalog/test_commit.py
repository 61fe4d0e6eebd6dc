"""A day is committed whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog import commit, doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import CommitError, StorageError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Covered, Sample, Staged, StagedArtifact, StagedFile
from tailpipe.storage.local import LOCAL, LocalStorage
from tests.crash.collector import stage, stage_rejected
from tests.storages import FaultyStorage
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, entry

BEFORE = date(2024, 1, 30)


def test_a_day_of_many_files_lands_together(workspace: Workspace) -> None:
    files = [(f"i{n % 3}", BEFORE if n % 2 else DAY, [f"id-{n}"]) for n in range(12)]
    committed = workspace.collect(files)
    assert (committed.rows, len(committed.files), committed.problem) == (12, 12, "")
    assert workspace.ids() == workspace.hive_ids() == Counter(f"id-{n}" for n in range(12))
    assert workspace.staging() == []


def test_stored_and_public_file_are_one_and_read_only_whatever_the_umask_is(workspace: Workspace) -> None:
    before = os.umask(0)
    try:
        workspace.collect([("a", DAY, ["id-1"])])
    finally:
        os.umask(before)
    (public,), (stored,) = workspace.hive(), workspace.stored()
    assert public.samefile(stored)
    assert stat.S_IMODE(stored.stat().st_mode) == 0o400
    modes = {stat.S_IMODE(path.stat().st_mode) for path in workspace.home.rglob("*") if path.is_dir()}
    assert modes == {0o700}
    assert stat.S_IMODE((workspace.home / ".tailpipe" / "catalog.db").stat().st_mode) == 0o600


def test_a_replacement_takes_the_place_of_the_whole_unit(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-1", "a-2"]), ("b", BEFORE, ["b-1"])])
    workspace.collect([("c", DAY, ["c-1"])], kind="replace")
    assert workspace.ids() == workspace.hive_ids() == Counter(["c-1"])
    with workspace.open() as catalog:
        assert catalog.accounts(PARTITION) == Accounts(read=1, kept=1)


def test_replaced_files_stay_for_the_grace_period_and_go_after_it(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-1"])])
    with workspace.open(is_read_only=True) as reader:
        old = reader.snapshot().paths()
    workspace.collect([("a", DAY, ["a-2"])], kind="replace")
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.clean().files == 0
        assert Path(old[0]).exists()
        workspace.clock.pass_(hours=2)
        assert writer.clean().files == 1
    assert not Path(old[0]).exists()
    assert len(workspace.stored()) == 1


def test_a_clock_that_jumps_back_only_keeps_files_longer(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-1"])])
    workspace.collect([("a", DAY, ["a-2"])], kind="replace")
    workspace.clock.pass_(days=-2)
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.clean().files == 0
    assert workspace.ids() == Counter(["a-2"])


def test_a_rewrite_retires_exactly_the_named_files(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-1"]), ("b", DAY, ["b-1"])])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        first = next(file for file in catalog.snapshot().files if file.tp_index == "a")
        transaction = writer.begin(Unit(day=DAY), "rewrite")
        new = stage(transaction.staging, "new", "a", DAY, ["new-1", "new-2"])
        transaction.commit(
            Staged(
                (new,),
                (StagedArtifact(entry("a.log", DAY, 2, generation=1), Accounts(read=2, kept=2)),),
                retires=(first.path,),
                drops=(("a.log", 0),),
            )
        )
        assert [one.identity for one in catalog.state(PARTITION).ledger] == [("a.log", 1)]
    assert workspace.ids() == workspace.hive_ids() == Counter(["b-1", "new-1", "new-2"])


@pytest.mark.parametrize("carried", [0, 1, 3])
def test_a_compaction_that_would_lose_or_make_rows_is_refused(workspace: Workspace, carried: int) -> None:
    workspace.collect([("a", DAY, ["a-1", "a-2"])])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        (file,) = catalog.snapshot().files
        transaction = writer.begin(Unit(day=DAY), "rewrite")
        new = [stage(transaction.staging, "new", "a", DAY, [f"a-{n}" for n in range(carried)])] if carried else []
        with pytest.raises(CommitError, match="the retired files hold 2 rows"):
            transaction.commit(Staged(tuple(new), retires=(file.path,), carried=carried))
    assert workspace.ids() == workspace.hive_ids() == Counter(["a-1", "a-2"])


def test_files_of_another_unit_cannot_be_retired(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-1"])])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        (file,) = catalog.snapshot().files
        transaction = writer.begin(Unit(day=BEFORE), "rewrite")
        new = stage(transaction.staging, "new", "a", DAY, ["a-1"])
        with pytest.raises(CommitError, match="is not a live file of it"):
            transaction.commit(Staged((new,), retires=(file.path,), carried=1))
    assert workspace.ids() == Counter(["a-1"])


def test_hive_and_files_may_be_on_another_disk_than_the_catalog(tmp_path: Path) -> None:
    home, data = tmp_path / "home", tmp_path / "data"
    with Catalog.open(home, data=data) as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        staged = Staged(
            (stage(transaction.staging, "new", "a", DAY, ["1"]),),
            (StagedArtifact(entry("a.log", DAY, 1), Accounts(read=1, kept=1)),),
        )
        assert transaction.commit(staged).problem == ""
        assert all(path.startswith(f"{data}/.tailpipe/files/") for path in catalog.snapshot().paths())
    assert len(list(data.glob("tp_table=*/**/*.parquet"))) == 1
    assert not list(home.glob("tp_table=*"))
    assert doctor.examine(home, data=data, with_checksums=True) == []
    (home / ".tailpipe" / "catalog.db").unlink()
    assert rebuild(home, data=data).rows == 1


def test_a_grown_file_goes_on_where_it_ended_and_nowhere_else(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-0", "a-1"])])
    grown = StagedArtifact(entry("a.log", DAY, 3), Accounts(read=1, kept=1), 20, 2)
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        for attempt in ("ok", "again"):
            transaction = writer.begin(Unit(day=DAY))
            staged = Staged((stage(transaction.staging, "new", "a", DAY, ["a-2"]),), (grown,))
            if attempt == "ok":
                transaction.commit(staged)
            else:
                with pytest.raises(CommitError, match="committed up to byte 30 and row 3"):
                    transaction.commit(staged)
    assert workspace.ids() == Counter(["a-0", "a-1", "a-2"])
    assert workspace.staging() == []


def test_the_same_artifact_cannot_be_taken_twice(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-0"])])
    with pytest.raises(CommitError, match=r'"a\.log" is committed up to byte 10'):
        workspace.collect([("a", DAY, ["a-0"])])
    assert workspace.ids() == workspace.hive_ids() == Counter(["a-0"])
    assert len(workspace.stored()) == 1


def test_an_empty_day_is_covered(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        covers = (Covered("file", DaySet.of([DAY]), DAY + timedelta(days=1)),)
        writer.begin(Unit(day=DAY)).commit(Staged(covers=covers))
        assert catalog.state(PARTITION).coverage["file"].covered == DaySet.of([DAY])


def test_what_a_run_asks_for_is_missing_until_it_is_covered(workspace: Workspace) -> None:
    from tailpipe.model.window import Window

    window = Window(datetime(2024, 1, 30, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC))
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(window, {"file": DaySet.of([BEFORE, DAY])}, "tailpipe collect")
        writer.end_run("interrupted")
    workspace.collect([("a", DAY, ["a-1"])])
    with workspace.open() as catalog:
        known = catalog.state(PARTITION).coverage["file"]
    assert (known.covered, known.missing) == (DaySet.of([DAY]), DaySet.of([BEFORE]))


def test_a_rotated_artifact_is_noted_without_rows(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-0"])])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.note([replace(entry("a.log", DAY, 1), uri="a.log.1")])
        (known,) = catalog.state(PARTITION).ledger
    assert (known.origin, known.uri) == ("a.log", "a.log.1")
    workspace.collect([("a", DAY, ["b-0"])], origin="a.log.2")


def test_two_artifacts_may_change_their_names(workspace: Workspace) -> None:
    for origin in ("a.log", "b.log"):
        workspace.collect([("a", DAY, [f"{origin}-0"])], origin=origin)
    first, second = entry("a.log", DAY, 1), entry("b.log", DAY, 1)
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.note([replace(first, uri="b.log"), replace(second, uri="a.log")])
        assert _names(catalog) == {"a.log": "b.log", "b.log": "a.log"}
        writer.note([replace(first, uri="c.log"), replace(second, uri="c.log")])
        assert _names(catalog) == {"a.log": None, "b.log": "c.log"}, "a name belongs to the one last seen there"


def _names(catalog: Catalog) -> dict[str, str | None]:
    return {known.origin: known.uri for known in catalog.state(PARTITION).ledger}


def test_one_of_many_artifacts_that_was_read_from_elsewhere_stops_them_all(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["a-0"])], origin="0777.log")
    many = [entry(f"{number:04}.log", DAY, 1) for number in range(1200)]
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        for is_known in (False, True):
            artifacts = [
                StagedArtifact(
                    replace(one, committed_bytes=20, committed_ordinals=2) if one.origin == "0777.log" else one,
                    Accounts(read=1, kept=1),
                    *((10, 1) if one.origin == "0777.log" and is_known else (0, 0)),
                )
                for one in many
            ]
            transaction = writer.begin(Unit(day=DAY))
            file = stage(transaction.staging, "part", "a", DAY, [f"b-{number}" for number in range(1200)])
            staged = Staged((file,), tuple(artifacts))
            if is_known:
                assert transaction.commit(staged).rows == 1200
            else:
                with pytest.raises(CommitError, match=r'"0777.log" is committed up to byte 10 and row 1, but was read'):
                    transaction.commit(staged)
        ledger = catalog.state(PARTITION).ledger
    assert sum(one.committed_ordinals for one in ledger) == 1201
    assert len(ledger) == len({one.uri for one in ledger}) == 1200


def test_rejected_rows_are_kept_apart_counted_and_sampled(workspace: Workspace) -> None:
    sample = Sample("a.log", "line 7", "json", "{broken")
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        files = (
            stage(transaction.staging, "good", "a", DAY, ["a-0"]),
            stage_rejected(transaction.staging, "bad", 2),
        )
        accounts = Accounts(read=3, kept=1, rejected=2)
        transaction.commit(Staged(files, (StagedArtifact(entry("a.log", DAY, 3), accounts),), samples=(sample,)))
        assert catalog.samples(PARTITION) == [sample]
        (totals,) = catalog.partitions()
        assert (totals.files, totals.rows, totals.rejected_rows) == (1, 1, 2)
    assert len(list((workspace.home / ".tailpipe" / "rejected").rglob("0*"))) == 1
    assert workspace.hive_ids() == Counter(["a-0"])


def _spoil(file: StagedFile, fault: str, staging: Path) -> StagedFile:
    if fault == "size":
        return replace(file, size=file.size + 1)
    if fault == "rows":
        return replace(file, rows=file.rows + 1)
    if fault == "columns":
        return replace(file, columns={"tp_id": "VARCHAR"})
    if fault == "bounds":
        return replace(file, max_timestamp=datetime(2030, 1, 1, tzinfo=UTC))
    if fault == "outside":
        return replace(file, path="../../catalog.db")
    if fault == "absent":
        return replace(file, path="nothing")
    (staging / file.path).write_bytes(b"x" * file.size)
    return file


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("size", "bytes instead of"),
        ("rows", "holds 1 rows instead of 2"),
        ("columns", "has other columns than it says"),
        ("bounds", "has timestamps from"),
        ("outside", "is not a file in staging"),
        ("absent", "is not a file in staging"),
        ("garbage", "is not a parquet file"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(workspace: Workspace, fault: str, message: str) -> None:
    workspace.collect([("a", DAY, ["a-0"])])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        file = _spoil(stage(transaction.staging, "new", "a", DAY, ["b-0"]), fault, transaction.staging)
        one = StagedArtifact(entry("b.log", DAY, 1), Accounts(read=1, kept=1))
        with pytest.raises(CommitError, match=message) as caught:
            transaction.commit(Staged((file,), (one,)))
    assert caught.value.exit_code == 1
    assert workspace.ids() == workspace.hive_ids() == Counter(["a-0"])
    assert workspace.staging() == []


@pytest.mark.parametrize(
    ("accounts", "message"),
    [
        (Accounts(read=5, kept=1), "do not balance: read 5, kept 1"),
        (Accounts(read=2, kept=2), "hold 1 rows, but the accounts say 2 kept"),
        (Accounts(read=2, kept=1, rejected=1), "hold 0 rejected rows, but the accounts say 1"),
    ],
)
def test_accounts_that_do_not_balance_are_refused_with_the_numbers(
    workspace: Workspace, accounts: Accounts, message: str
) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        file = stage(transaction.staging, "new", "a", DAY, ["b-0"])
        with pytest.raises(CommitError, match=message):
            transaction.commit(Staged((file,), (StagedArtifact(entry("b.log", DAY, 1), accounts),)))
    assert workspace.ids() == Counter()


def test_a_transaction_ends_once(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        transaction.abort()
        with pytest.raises(CommitError, match="its transaction is over"):
            transaction.commit(Staged())
        assert not transaction.staging.exists()


def test_a_job_that_fails_leaves_nothing_behind(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        with contextlib.suppress(ConnectionError), writer.begin(Unit(day=DAY)) as transaction:
            (transaction.staging / "half").write_bytes(b"x")
            raise ConnectionError("the bucket does not answer")
        assert workspace.staging() == []
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.recovered == 0


def test_a_task_that_does_not_know_yet_that_it_was_given_up_leaves_nothing_behind(workspace: Workspace) -> None:
    """Spark cancels a job at once, but its workers write until they notice."""
    over = threading.Event()

    def write(directory: Path) -> None:
        number = 0
        while not over.is_set():
            number += 1
            with contextlib.suppress(OSError):
                (directory / f"part-{number}").touch()
                (directory / f"part-{number - 50}").unlink()

    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        for _ in range(20):
            transaction = writer.begin(Unit(day=DAY))
            worker = threading.Thread(target=write, args=[transaction.staging])
            worker.start()
            while not any(transaction.staging.iterdir()):
                pass
            transaction.abort()
            over.set()
            worker.join()
            over.clear()
            assert workspace.staging() == []
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.recovered == 0


def test_a_file_that_was_being_made_when_its_directory_was_taken_away_goes_too(workspace: Workspace) -> None:
    """A task that has found the directory already makes its file in it, whatever it is called by then."""

    def write(path: Path, directory: int) -> None:
        while path.exists():
            pass
        with contextlib.suppress(FileNotFoundError):
            for number in range(60):
                os.close(os.open(f"part-{number}", os.O_CREAT, dir_fd=directory))

    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        for _ in range(40):
            transaction = writer.begin(Unit(day=DAY))
            for number in range(200):  # so that it takes a while to remove them
                (transaction.staging / f"done-{number}").touch()
            directory = os.open(transaction.staging, os.O_RDONLY)
            worker = threading.Thread(target=write, args=[transaction.staging, directory])
            worker.start()
            transaction.abort()
            worker.join()
            os.close(directory)
            assert workspace.staging() == []


def test_an_interrupt_right_after_the_intent_leaves_nothing_behind(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        # Of an open writer the first directory that is made is that of its transaction.
        tree = FaultyStorage(0, "make_directory", error=KeyboardInterrupt(), is_done=True)
        writer.database = replace(writer.database, tree=tree)
        with pytest.raises(KeyboardInterrupt):
            commit.begin(writer, "append", Unit(day=DAY))
    assert workspace.staging() == []
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.recovered == 0


def test_if_one_of_several_transactions_cannot_begin_none_stays_open(workspace: Workspace) -> None:
    class Full(LocalStorage):
        def make_directory(self, path: Path) -> set[Path]:
            if path.parent.name == "staging" and any(path.parent.iterdir()):
                raise OSError(errno.ENOSPC, "no space left")
            return super().make_directory(path)

    workspace.storage = Full()
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        with pytest.raises(StorageError):
            writer.begin_all([(Unit(day=DAY), "append"), (Unit(day=BEFORE), "append")])
        assert workspace.staging() == []
    workspace.storage = LOCAL
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.recovered == 0
        assert [one.unit for one in writer.begin_all([(Unit(day=DAY), "append")])] == [Unit(day=DAY)]


def test_an_interruption_while_publishing_neither_undoes_the_commit_nor_harms_a_stranger(
    workspace: Workspace,
) -> None:
    workspace.collect([("a", DAY, ["1"])])
    stranger = workspace.hive()[0].with_name("notes.txt")
    stranger.touch()
    workspace.storage = FaultyStorage(0, "exchange", error=KeyboardInterrupt(), is_done=True)
    with (
        contextlib.suppress(KeyboardInterrupt),
        workspace.open() as catalog,
        catalog.writer(PARTITION) as writer,
        writer.begin(Unit(day=DAY), "replace") as transaction,
    ):
        staged = StagedArtifact(entry("a.log", DAY, 1), Accounts(read=1, kept=1))
        transaction.commit(Staged((stage(transaction.staging, "new", "a", DAY, ["2"]),), (staged,)))
    assert workspace.ids() == Counter(["2"])
    workspace.storage = LocalStorage()
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert writer.recovered == 1
    assert workspace.hive_ids() == Counter(["2"])
    assert stranger.exists()
    assert workspace.staging() == []


def test_several_days_can_be_open_at_once_and_end_in_any_order(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        one, other = writer.begin(Unit(day=DAY)), writer.begin(Unit(day=BEFORE))
        for transaction, day, name in ((other, BEFORE, "b"), (one, DAY, "a")):
            file = stage(transaction.staging, "new", None, day, [name])
            staged = StagedArtifact(entry(name, day, 1), Accounts(read=1, kept=1))
            transaction.commit(Staged((file,), (staged,)))
    assert workspace.ids() == Counter(["a", "b"])


def test_a_pack_of_undated_artifacts_is_a_unit_too(workspace: Workspace) -> None:
    unit = Unit(pack="0a1b")
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(unit)
        file = stage(transaction.staging, "new", None, DAY, ["p"])
        known = replace(entry("p.log", DAY, 1), unit=unit, taken=DaySet.of([DAY]), left_out=DaySet.of([BEFORE]))
        transaction.commit(Staged((file,), (StagedArtifact(known, Accounts(read=1, kept=1)),)))
        assert catalog.state(PARTITION).ledger == (known,)


def test_the_manifest_can_be_read_by_any_tool(workspace: Workspace) -> None:
    committed = workspace.collect([("a", DAY, ["a-0", "a-1"])])
    path = workspace.home / ".tailpipe" / "manifests" / f"{committed.transaction}.manifest"
    rows = duckdb.execute("SELECT entry, name, rows FROM read_parquet(?)", [str(path)]).fetchall()
    assert ("added", committed.files[0], 2) in rows
