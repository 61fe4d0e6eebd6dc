"""A task as a whole: identity, growth, damage, order, files, the two sinks."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickle
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tailpipe.catalog.verify import account_problems, file_problems
from tailpipe.collect.item import WorkItem
from tailpipe.collect.unit import staged_artifact
from tailpipe.errors import TailpipeError
from tailpipe.formats import Delimited, Grok, Jsonl, Regex, Syslog
from tailpipe.kernel.prints import read_prints
from tailpipe.kernel.run import read_rows, run_task
from tailpipe.kernel.task import Fault, Limits, Reading, Result, Staging
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import HEAD_BYTES, TAIL_BYTES, Unit, printed
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.model.table import Column
from tests.unit.kernel.support import CONTENT, INGESTED, Memory, Run, run, shared, task
from tests.unit.unpack.packed import tar, zipped

N = [Column("n", "integer")]
SMALL = Limits(chunk_bytes=1000, batch_bytes=3000, flush_bytes=9000)


def lines(first: int, last: int) -> bytes:
    return b"".join(
        json.dumps({"time": f"2024-01-0{n % 3 + 1}T00:00:00Z", "n": n}).encode() + b"\n" for n in range(first, last)
    )


def staged(result: Result, unit: Unit, now: datetime) -> StagedArtifact:
    item = WorkItem("memory", result.reading.artifact, origin=result.reading.origin)
    return staged_artifact(result, item, unit, now)


def test_what_is_staged_passes_the_catalogs_own_checks() -> None:
    made = task({"/a": lines(0, 50) + b"broken\n", "/b": lines(50, 60)}, N)
    with tempfile.TemporaryDirectory() as directory:
        (outcome,) = run_task(made.at(Staging(directory, "7-1")))
        unit, now = Unit(pack="x"), datetime(2024, 6, 1, tzinfo=UTC)
        whole = Staged(
            files=outcome.files,
            artifacts=tuple(staged(result, unit, now) for result in outcome.results),
            samples=outcome.samples,
        )
        assert account_problems(whole, "append") == []
        assert [one for file in whole.files for one in file_problems(file, Path(directory))] == []
        for file in outcome.files:
            path = Path(directory) / file.path
            assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
            assert path.name.startswith("7-1")
            assert path.suffix != ".parquet"
        assert pickle.loads(pickle.dumps(outcome)) == outcome
    assert pickle.loads(pickle.dumps(made)) == made


def test_small_chunks_and_many_flushes_give_the_same_rows_and_accounts() -> None:
    content = {"/a": lines(0, 400), "/b": lines(400, 500) + b"bad\n" + lines(500, 600)}
    whole, pieces = run(content, N), run(content, N, limits=SMALL)
    assert whole.accounts == pieces.accounts == (601, 600, 0, 1, 0)
    assert whole.rows == pieces.rows
    assert whole.rejected == pieces.rejected
    assert whole.rejected[0]["ordinal"] == 101
    assert len(whole.outcome.files) == 4
    assert len(pieces.outcome.files) > 4
    assert replace(whole.outcome, files=()) == replace(pieces.outcome, files=())


def test_rows_keep_the_order_of_their_artifact_inside_a_file() -> None:
    content = lines(0, 500)
    with tempfile.TemporaryDirectory() as directory:
        import duckdb

        run_task(task(content, N).at(Staging(directory, "x")))
        for path in Path(directory).iterdir():
            with duckdb.connect() as connection:
                numbers = [n for (n,) in connection.execute(f"SELECT n FROM read_parquet('{path}')").fetchall()]
            assert numbers == sorted(numbers)


def test_row_ids_depend_on_partition_origin_generation_and_ordinal_alone() -> None:
    def ids(**facts: Any) -> list[str]:
        return [row["tp_id"] for row in run(lines(0, 3), N, **facts).rows]

    assert ids() == ids(filter="n < 10", tp_index="n") == ids(limits=SMALL)
    other = Run(shared(task(lines(0, 3), N), partition="things.other"))
    assert not set(ids()) & {row["tp_id"] for row in other.rows}
    assert not set(ids()) & set(ids(reading={"generation": 1}))
    prefix, _, ordinal = ids()[2].partition("-")
    assert (len(prefix), ordinal) == (16, "3")
    moved = task({"/elsewhere": lines(0, 3)}, N)
    moved = shared(moved, readings=(replace(moved.readings[0], origin="/logs/a.log"),))
    assert ids() == [row["tp_id"] for row in Run(moved).rows]


@pytest.mark.parametrize("cut", [0, 1, 200, 1023, 1024, 1025, 2500])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_a_grown_file_is_read_from_where_it_ended_and_counts_on(cut: int, pack: Any) -> None:
    content = lines(0, 80)
    first = Run(replace_reading(task(pack(content[:cut]), N), is_closed=False))
    (before,) = first.outcome.results
    assert before.committed_bytes == content[:cut].rfind(b"\n") + 1
    assert before.unread_bytes == cut - before.committed_bytes
    then = replace_reading(
        task(pack(content), N), offset_bytes=before.committed_bytes, offset_rows=before.committed_ordinals
    )
    second = Run(then)
    (after,) = second.outcome.results
    assert [row["n"] for row in first.rows + second.rows] == list(range(80))
    assert [row["tp_id"] for row in first.rows + second.rows] == [row["tp_id"] for row in run(content, N).rows]
    for result in (before, after):
        taken = content[: result.committed_bytes]
        assert (result.head, result.fingerprint) == printed(len(taken), taken[:HEAD_BYTES], taken[-TAIL_BYTES:])
    assert (after.committed_bytes, after.committed_ordinals, after.unread_bytes) == (len(content), 80, 0)


@pytest.mark.parametrize("count", [2_000, 2_800, 30_000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_of_what_was_taken_before_no_more_is_read_than_its_print_is_over(
    count: int, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = lines(0, count) + lines(count, count + 3)
    (before,) = run(lines(0, count), N).outcome.results
    read: list[int] = []

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            read.append(len(data))
            return data

    then = replace_reading(
        task(pack(content), N),
        offset_bytes=before.committed_bytes,
        offset_rows=before.committed_ordinals,
        committed_bytes=before.committed_bytes,
        committed_print=before.fingerprint,
    )
    monkeypatch.setattr(Memory, "open", lambda self, artifact: Counted(CONTENT[artifact.uri]))
    second = Run(then)
    total = sum(read)
    (after,) = second.outcome.results
    assert second.column("n") == [count, count + 1, count + 2]
    (whole,) = run(content, N).outcome.results
    assert (after.head, after.fingerprint, after.committed_bytes) == (whole.head, whole.fingerprint, len(content))
    if pack is bytes:
        opening = 64 * 1024
        assert total <= 2 * (opening + TAIL_BYTES + len(lines(count, count + 3)))  # it is run twice
    other = replace_reading(then, committed_print=f"{before.fingerprint}0")
    assert "was rotated or rewritten" in str(Run(other).outcome.results[0].error)
    shorter = replace_reading(task(pack(lines(0, count - 1)), N), **facts_of(then))
    assert "before the" in str(Run(shorter).outcome.results[0].error)


@pytest.mark.parametrize("pack", [zipped, tar, lambda members: gzip.compress(tar(members))])
def test_the_prints_of_an_archive_are_over_all_its_members(pack: Any) -> None:
    made = task(pack({"a": lines(0, 30), "b": lines(30, 3_000), "c": b"", "d": lines(3_000, 3_001)}), N)
    (result,) = Run(made).outcome.results
    entry = staged(result, Unit(pack="p"), INGESTED).entry
    assert entry.committed_bytes == len(lines(0, 3_001))
    artifact = made.readings[0].artifact
    assert read_prints(made.source, artifact, [span for span, _ in entry.probes]) == dict(entry.probes)


def test_a_last_line_without_its_end_counts_once_the_file_is_closed() -> None:
    content = lines(0, 2) + b'{"time": 1706695200, "n": 2}'
    assert Run(replace_reading(task(content, N), is_closed=False)).column("n") == [0, 1]
    assert Run(task(content, N)).column("n") == [0, 1, 2]


def test_an_artifact_that_is_cut_off_gives_no_rows_and_an_error_and_the_others_go_on() -> None:
    packed = gzip.compress(lines(0, 2000))
    content = {"/a": lines(0, 10), "/b.gz": packed[:-500], "/c": lines(10, 20)}
    for limits in (Limits(), SMALL):
        with tempfile.TemporaryDirectory() as directory:
            (outcome,) = run_task(task(content, N, limits=limits).at(Staging(directory, "x")))
            names = {path.name for path in Path(directory).iterdir()}
        assert names == {file.path for file in outcome.files}
        assert outcome.accounts.kept == sum(file.rows for file in outcome.files) == 20
        a, b, c = outcome.results
        assert (a.error, c.error) == (None, None)
        assert "/b.gz" in (b.error or "")
        assert (b.accounts.read, b.committed_bytes, b.fingerprint) == (0, 0, None)


def test_reading_rows_of_a_damaged_artifact_raises_only_if_some_were_given() -> None:
    content = {"/b.gz": gzip.compress(lines(0, 2000))[:-500], "/c": lines(0, 5)}
    assert sum(batch.num_rows for batch in read_rows(task(content, N))) == 5
    with pytest.raises(TailpipeError, match=r"/b\.gz"):
        list(read_rows(task(content, N, limits=SMALL)))


def test_an_artifact_that_has_vanished_has_changed_since_it_was_listed() -> None:
    from tailpipe.plugins.core.sources import File

    made = shared(task(b"", N), source=File(name="file", paths=["/"]))
    made = shared(made, readings=(Reading(Artifact("/no/such/file"), "/no/such/file"),))
    (result,) = Run(made).outcome.results
    assert result.fault == Fault('"/no/such/file" was removed or renamed after it was listed', is_changed=True)


def test_many_indexes_are_written_in_one_pass() -> None:
    content = b"".join(
        json.dumps({"time": "2024-01-01", "n": n, "host": f"{'x' * 300}/{n % 60}" if n % 61 else None}).encode() + b"\n"
        for n in range(500)
    )
    columns = [*N, Column("host", "varchar")]
    done = run(content, columns, tp_index="host")
    assert done.accounts == (500, 500, 0, 0, 0)
    assert done.column("n") == list(range(500))
    assert {file.tp_index for file in done.outcome.files} == {row["host"] for row in done.rows}
    assert sorted(done.names) == sorted(file.path for file in done.outcome.files)


def test_rejected_rows_are_kept_with_their_place_and_sampled() -> None:
    content = b"\n".join([b"not json " + b"x" * 6000, "é".encode() * 5000, b"", b"[1]"])
    done = run(content, N)
    assert [row["ordinal"] for row in done.rejected] == [1, 2, 4]
    assert all(len(row["raw"].encode()) <= 4096 for row in done.rejected)
    assert [(sample.uri, sample.position) for sample in done.outcome.samples] == [
        ("/logs/a.log", "line 1"),
        ("/logs/a.log", "line 2"),
        ("/logs/a.log", "line 4"),
    ]
    assert done.outcome.samples[2].reason == "the line is a JSON array, not an object"


def test_an_empty_artifact_and_one_of_blank_lines_give_nothing() -> None:
    done = run({"/a": b"", "/b": b"\n\r\n\n"}, N)
    assert done.accounts == (0, 0, 0, 0, 0)
    assert done.outcome.files == ()
    assert [result.committed_ordinals for result in done.outcome.results] == [0, 3]


def test_nothing_stays_in_staging_when_the_machine_fails() -> None:
    class Broken(type(task(b"").source)):  # type: ignore[misc]
        type = "broken"

        def open(self, artifact: Artifact) -> Any:
            if artifact.uri == "/b":
                raise OSError(5, "Input/output error")
            return super().open(artifact)

    made = task({"/a": lines(0, 500), "/b": b""}, N, limits=SMALL)
    with tempfile.TemporaryDirectory() as directory:
        with pytest.raises(OSError, match="Input/output"):
            run_task(shared(made, source=Broken(name="x"), staging=Staging(directory, "x")))
        assert list(Path(directory).iterdir()) == []


@pytest.mark.parametrize(
    ("format", "content", "expected"),
    [
        (Jsonl(), b'{"time": 1706695200, "n": 1}\nx\n', 1),
        (Delimited(header=True), b"time,n\n2024-01-31,1\n1,2,3\n", 1),
        (Delimited(fields=["time", "n"], header=False, delimiter=r"\s+"), b"2024-01-31   1\nx y z\n", 1),
        (Regex(layout=r"(?P<time>\S+) n=(?P<n>\d+)"), b"2024-01-31 n=1\nnothing\n", 1),
        (Grok(layout=r"%{TIMESTAMP_ISO8601:time} %{INT:n}"), b"2024-01-31T00:00:00 1\nnothing\n", 1),
    ],
)
def test_line_formats_through_a_task(format: Any, content: bytes, expected: int) -> None:
    done = run(content, N, format)
    assert done.accounts[:2] == (2, 1)
    assert done.accounts[3] == 1
    assert done.column("n") == [expected]


def test_syslog_through_a_task() -> None:
    line = b"<34>1 2024-01-31T10:00:00Z host su - ID47 - failed\n"
    of = task(b"", of=None).table
    fields = {"tp_timestamp": "timestamp"}
    of = replace(of, columns=[Column("tp_timestamp", source=fields["tp_timestamp"]), Column("message", "varchar")])
    done = run(line, of=of, format=Syslog())
    assert done.accounts == (1, 1, 0, 0, 0), done.rejected


def facts_of(made: Any) -> dict[str, Any]:
    names = ("offset_bytes", "offset_rows", "committed_bytes", "committed_print")
    return {name: getattr(made.readings[0], name) for name in names}


def replace_reading(made: Any, **facts: Any) -> Any:
    return shared(made, readings=tuple(replace(reading, **facts) for reading in made.readings))


@pytest.mark.parametrize("odd", [None, "bad", "misfit", "late", "filtered"])
@pytest.mark.parametrize(("size", "least"), [(10**9, 1), (40_000, 1), (40_000, 10**9)])
def test_rows_that_are_not_like_the_others_are_found_when_the_others_are_written_through(
    odd: str | None, size: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailpipe.kernel.through.LEAST_ROWS", least)
    kinds = {
        "bad": b"no json\n",
        "misfit": b'{"time": "2024-01-01", "n": "x"}\n',
        "late": b'{"time": "2024-01-05", "n": 7}\n',
        "filtered": b'{"time": "2024-01-01", "n": -1}\n',
    }
    plain = b"".join(b'{"time": "2024-01-01", "n": %d}\n' % n for n in range(3000))
    extra = kinds[odd] if odd else b""
    content = {"/a": plain + extra + plain, "/b": extra + b"\n\n" + plain + extra}
    done = run(content, N, filter="n is null or n >= 0", limits=Limits(chunk_bytes=8000, batch_bytes=size))
    count = 3 if odd else 0
    read, kept, filtered, rejected, _ = done.accounts
    assert read == 9000 + count
    assert filtered == (3 if odd == "filtered" else 0)
    assert rejected == (3 if odd == "bad" else 0)
    assert kept == read - filtered - rejected
    assert [row["ordinal"] for row in done.rejected] == ([3001, 1, 3003 + 1] if odd == "bad" else [])
    assert [sum(result.nulls.values()) for result in done.outcome.results] == ([1, 2] if odd == "misfit" else [0, 0])
    assert {str(file.tp_date) for file in done.outcome.files if file.role == "data"} == (
        {"2024-01-01", "2024-01-05"} if odd == "late" else {"2024-01-01"}
    )


def test_times_without_a_year_get_the_last_one_in_which_they_are_not_in_the_future() -> None:
    made = task(b"Dec 10 06:55:46 host sshd[1]: a\nJan  2 06:55:46 host sshd[1]: b\nJun  1 13:00:00 host x: c\n")
    of = replace(made.table, columns=[Column("tp_timestamp", source="timestamp"), Column("message", "varchar")])
    assert [str(row["tp_timestamp"]) for row in Run(replace(made, table=of, format=Syslog())).rows] == [
        "2023-12-10 06:55:46",
        "2024-01-02 06:55:46",
        "2024-06-01 13:00:00",
    ]
    artifact = replace(made.readings[0].artifact, modified=datetime(2017, 12, 31, tzinfo=UTC))
    older = shared(replace(made, table=of, format=Syslog()), readings=(replace(made.readings[0], artifact=artifact),))
    assert [row["tp_timestamp"].year for row in Run(older).rows] == [2016, 2017, 2017]


@pytest.mark.parametrize(
    "facts", [{}, {"filter": "tp_source_location <> '/logs/7.log'"}, {"tp_index": "tp_source_name"}]
)
def test_many_artifacts_are_told_apart_as_a_few_are(facts: dict[str, str]) -> None:
    """More artifacts than stand in the text of a query, with a row that is unlike the others, in order."""
    contents = {f"/logs/{n}.log": b'{"time": 1706695200, "n": 1}\n{"time": 1706695201, "n": 2}\n' for n in range(100)}
    contents["/logs/50.log"] = b'{"time": 1706695200, "n": 1}\nno\n'
    done = run(contents, [Column("n", "bigint")], **facts)
    gone = 2 if "filter" in facts else 0
    assert done.accounts == (200, 199 - gone, gone, 1, 0)
    assert len({row["tp_id"][:16] for row in done.rows}) == 100 - gone // 2
    assert {row["tp_source_location"] for row in done.rows} == {*contents} - ({"/logs/7.log"} if gone else set())
    assert {row["tp_index"] for row in done.rows} == {"/logs" if "tp_index" in facts else "default"}
    assert [(row["artifact"], row["ordinal"]) for row in done.rejected] == [("/logs/50.log", 2)]


def test_times_without_a_year_get_that_of_their_own_artifact_also_if_there_are_many() -> None:
    made = task({f"/logs/{n}.log": b"Dec 30 23:59:59 host app: x\n" for n in range(100)}, format=Syslog())
    readings = tuple(
        replace(one, artifact=replace(one.artifact, day=date(2020 + n % 5, 12, 31)))
        for n, one in enumerate(made.readings)
    )
    of = replace(made.table, columns=[Column("tp_timestamp", source="timestamp")])
    done = Run(shared(replace(made, table=of), readings=readings))
    years = {row["tp_source_location"]: row["tp_timestamp"].year for row in done.rows}
    assert years == {f"/logs/{n}.log": 2020 + n % 5 for n in range(100)}
