"""Undated artifacts: one that cannot be read costs itself, and the dates of its rows as far as they are known."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tailpipe.errors import StorageError
from tailpipe.model.coverage import DaySet
from tailpipe.unpack.streams import UnpackLimits
from tests.unit.collect.support import CONFIG, NOW, World
from tests.unit.collect.test_run import days_ago
from tests.users import unprivileged

UNDATED = "\n".join(line for line in CONFIG.splitlines() if "file_layout" not in line)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, text=UNDATED)


def lines(name: str, ago: int, count: int) -> bytes:
    """So many rows of a day; they do not pack well, so that a cut leaves many of them."""
    rows = (
        {"time": f"{days_ago(ago)}T10:00:00Z", "message": f"{name}{n}", "x": os.urandom(40).hex()} for n in range(count)
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def cut(world: World, name: str, ago: int = 3, count: int = 4000) -> tuple[Path, bytes]:
    """A truncated gzip with rows of a day, and what it is when it is whole."""
    path, whole = world.logs / name, gzip.compress(lines(name, ago, count))
    path.write_bytes(whole[:-2000])
    return path, whole


def days(world: World) -> dict[int, int]:
    """How many rows there are of each day, by its age."""
    found = world.rows("tp_date")
    return {(NOW.date() - day).days: found.count(day) for day in sorted(set(found), reverse=True)}


def test_a_truncated_file_costs_itself_and_the_rows_of_its_days(world: World) -> None:
    world.write("good.jsonl", "a", "b", day=days_ago(2))
    world.write("both.jsonl.gz", "c", day=days_ago(3))
    world.write("both.jsonl.gz", "d", day=days_ago(4), mode="a")
    bad, whole = cut(world, "bad.jsonl.gz")
    summary = world.collect()
    assert not summary.is_done
    assert not summary.failed
    assert [str(bad) in reason for reason in summary.bad_artifacts] == [True]
    assert "truncated" in summary.bad_artifacts[0]
    assert world.rows() == ["a", "b", "d"]
    assert summary.waiting == DaySet.of([days_ago(3)])
    assert days_ago(3) in summary.gaps
    assert days_ago(2) not in summary.gaps
    with world.catalog() as catalog:
        [overview] = catalog.overview()
    assert overview.last_run is not None
    assert str(bad) in overview.last_run.error  # as the status shows it
    jobs = sum(world.engine.jobs)
    again = world.collect()
    assert [str(bad) in reason for reason in again.bad_artifacts] == [True]
    assert again.waiting == summary.waiting
    assert world.rows() == ["a", "b", "d"]
    assert sum(world.engine.jobs) == jobs + 1  # the bad file alone was read
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert days(world) == {4: 1, 3: 4001, 2: 2}
    assert not world.has_twins()
    last = world.collect()
    assert last.is_done
    assert not last.committed
    assert days_ago(3) not in last.gaps


def test_a_file_that_is_damaged_for_ever_is_given_up_by_skipping_or_removing_it(world: World) -> None:
    world.write("good.jsonl", "a", day=days_ago(3))
    bad, _ = cut(world, "bad.gz")
    world.collect()
    assert world.rows() == []
    skipped = world.collect(skip_bad_artifacts=True)
    assert len(skipped.bad_artifacts) == 1
    assert not skipped.waiting
    assert world.rows() == ["a"]
    world.write("later.jsonl", "b", day=days_ago(3))
    assert not world.collect().is_done
    assert world.rows() == ["a"]
    bad.unlink()
    assert world.collect().is_done
    assert world.rows() == ["a", "b"]
    assert not world.has_twins()


def test_a_log_goes_on_growing_while_rows_of_its_first_days_wait(world: World) -> None:
    log = world.write("app.jsonl", "old", day=days_ago(3))
    world.write("app.jsonl", "new", day=days_ago(2), mode="a")
    bad, whole = cut(world, "bad.gz")
    world.collect()
    assert world.rows() == ["new"]
    for number in range(2):
        world.write("app.jsonl", f"newer{number}", day=days_ago(1), mode="a")
        world.write("app.jsonl", f"older{number}", day=days_ago(3), mode="a")
        world.collect()
    assert world.rows() == ["new", "newer0", "newer1"]
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert days(world) == {3: 4003, 2: 1, 1: 2}
    assert not world.has_twins()
    assert log.exists()


def test_a_window_and_overwriting_bring_no_row_of_a_day_that_waits(world: World) -> None:
    world.write("good.jsonl", "a", day=days_ago(3))
    world.write("good.jsonl", "b", day=days_ago(2), mode="a")
    bad, whole = cut(world, "bad.gz")
    for options in (
        {},
        {"start": str(days_ago(5))},
        {"overwrite": True},
        {"start": str(days_ago(3)), "overwrite": True},
    ):
        assert not world.collect(**options).is_done
        assert world.rows() == ["b"]
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert days(world) == {3: 4001, 2: 1}
    assert not world.has_twins()


def test_overwriting_keeps_the_rows_of_a_file_that_cannot_be_read_any_more(world: World) -> None:
    whole = gzip.compress(lines("x", 3, 4000))
    (world.logs / "x.gz").write_bytes(whole)
    world.write("good.jsonl", "a", day=days_ago(2))
    world.collect()
    os.truncate(world.logs / "x.gz", len(whole) - 100)
    summary = world.collect(overwrite=True)
    assert not summary.is_done
    assert len(world.rows()) == 4001
    assert not world.has_twins()


def _tar(data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in ("a", "b"):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


def _zip(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("suffix", "pack", "is_known"),
    [
        (".gz", gzip.compress, True),
        (".zst", lambda data: pa.Codec("zstd").compress(data, asbytes=True), True),
        (".bz2", bz2.compress, True),
        (".xz", lzma.compress, True),
        (".tar", _tar, True),
        (".tgz", lambda data: gzip.compress(_tar(data)), True),
        (".zip", _zip, False),
    ],
)
def test_each_packing_tells_the_days_of_the_rows_before_the_cut(
    world: World, suffix: str, pack: Callable[[bytes], bytes], *, is_known: bool
) -> None:
    whole = pack(lines("x", 3, 12_000))
    bad = world.logs / f"bad{suffix}"
    bad.write_bytes(whole[: len(whole) * 3 // 4])
    for number in range(3):
        world.write(f"good{number}.jsonl", f"g{number}", day=days_ago(2 + number))
    summary = world.collect()
    assert len(summary.bad_artifacts) == 1
    assert world.rows() == (["g0", "g2"] if is_known else ["g0", "g1", "g2"])  # the directory of a zip is at its end
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert len(world.rows()) == 3 + 12_000 * (2 if suffix in (".tar", ".tgz") else 1)
    assert not world.has_twins()


def test_several_bad_files_among_good_ones_each_cost_their_days(world: World) -> None:
    for number in range(2, 9):
        world.write(f"good{number}.jsonl", f"g{number}", day=days_ago(number))
    paths = [cut(world, f"bad{number}.gz", ago=number) for number in (3, 5, 8)]
    (world.logs / "empty.gz").write_bytes(b"\x1f\x8b")
    (world.logs / "noise.gz").write_bytes(b"\x00noise" * 100)
    summary = world.collect()
    assert len(summary.bad_artifacts) == 5
    assert summary.waiting == DaySet.of([days_ago(3), days_ago(5), days_ago(8)])
    assert world.rows() == ["g2", "g4", "g6", "g7"]
    paths[0][0].write_bytes(paths[0][1])
    summary = world.collect()
    assert len(summary.bad_artifacts) == 4
    assert days(world) == {7: 1, 6: 1, 4: 1, 3: 4001, 2: 1}
    assert not world.has_twins()


def test_many_packs_and_only_bad_files_leave_the_others_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailpipe.collect.planning.PACK_BYTES", 100)
    for number in range(2, 6):
        world.write(f"good{number}.jsonl", f"g{number}", day=days_ago(number))
    bad, whole = cut(world, "bad.gz", ago=20)
    assert not world.collect().is_done
    assert world.rows() == ["g2", "g3", "g4", "g5"]
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert not world.has_twins()


def test_a_file_without_permission_costs_itself_and_is_collected_once_it_is_readable(tmp_path: Path) -> None:
    other = World(tmp_path, text=UNDATED)
    other.write("any.jsonl", "a", day=days_ago(3))
    other.collect()  # nobody else may read the modules that it imports late
    with unprivileged() as root:
        world = World(root, text=UNDATED)
        world.write("good.jsonl", "a", day=days_ago(3))
        closed = world.write("closed.jsonl", "b", day=days_ago(3))
        closed.chmod(0)
        summary = world.collect()
        assert not summary.is_done
        assert [str(closed) in reason for reason in summary.bad_artifacts] == [True]
        assert not summary.waiting
        assert world.rows() == ["a"]
        closed.chmod(0o600)
        assert world.collect().is_done
        assert world.rows() == ["a", "b"]
        assert not world.has_twins()


def test_a_commit_that_fails_while_a_day_waits_is_made_good_by_the_next_run(world: World) -> None:
    world.write("good.jsonl", "a", day=days_ago(3))
    world.write("good.jsonl", "b", day=days_ago(2), mode="a")
    bad, whole = cut(world, "bad.gz")
    for point in ("commit.begin=enospc", "commit.before=enospc"):
        world.points = point
        with pytest.raises(StorageError):
            world.collect()
        assert world.rows() == []
    world.collect()
    assert world.rows() == ["b"]
    bad.write_bytes(whole)
    world.points = "commit.before=enospc"
    with pytest.raises(StorageError):
        world.collect()
    assert world.rows() == ["b"]
    assert world.collect().is_done
    assert days(world) == {3: 4001, 2: 1}
    assert not world.has_twins()


def _zip_of(names: Iterable[str], data: bytes) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name in names:
            archive.writestr(name, data)
    return file.getvalue()


def _tar_of_links() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo(f"link{kind!r}")
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        for name in ("/etc/evil", "../../evil", "evil", "evil"):
            member, data = tarfile.TarInfo(name), lines("tar", 2, 1)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


def test_hostile_archives_cost_themselves_and_write_nothing_elsewhere(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailpipe.kernel.intake.UnpackLimits", partial(UnpackLimits, max_members=1000))
    line = lines("x", 2, 1)
    entry = _zip_of(["a"], line)
    place = entry.index(b"PK\x01\x02")
    rows_of = {  # how many rows each gives; None if it cannot be read
        "names.zip": (_zip_of(["/etc/evil", "../../evil", "evil", "evil", "C:\\evil", "é\n"], line), 6),
        "links.tar": (_tar_of_links(), 4),
        "garbage.gz": (gzip.compress(line) + b"garbage", 1),
        "twice.gz": (gzip.compress(line) + gzip.compress(line), 2),
        "encrypted.zip": (entry[: place + 8] + b"\1" + entry[place + 9 :], 0),
        "bomb.gz": (gzip.compress(b"\n" * 100_000_000), None),
        "many.zip": (_zip_of((str(n) for n in range(1001)), b""), None),
        "size.zip": (entry[: place + 24] + b"\1\0\0\0" + entry[place + 28 :], None),
        "deep.zip": (_zip_of(["a.zip"], _zip_of(["b.zip"], entry)), 0),
        "dictionary.xz": (lzma.compress(line, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]), None),
    }
    for name, (data, _) in rows_of.items():
        (world.logs / name).write_bytes(data)
    world.write("good.jsonl", "good", day=days_ago(4))
    before = {path for path in tmp_path.rglob("*") if "home" not in path.parts}
    summary = world.collect()
    assert {path for path in tmp_path.rglob("*") if "home" not in path.parts} == before
    bad = {name for name in rows_of if any(name in reason for reason in summary.bad_artifacts)}
    assert bad == {name for name, (_, count) in rows_of.items() if count is None}
    skipped = world.collect(skip_bad_artifacts=True)
    assert len(skipped.bad_artifacts) == len(bad)
    assert len(world.rows()) == 1 + sum(count or 0 for _, count in rows_of.values())
    assert not world.has_twins()
