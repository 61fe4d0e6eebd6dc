"""What every engine does: the same cases on Spark and in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pytest

from tailpipe.errors import SparkError
from tailpipe.formats import Jsonl
from tailpipe.kernel.carry import CarriedFile, Carry
from tailpipe.kernel.compact import Compaction, Index
from tailpipe.kernel.dedupe import Dedupe
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Limits, Outcome, Reading, Staging, Task, Widening
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import fingerprints
from tailpipe.model.source import Source
from tailpipe.model.staged import StagedFile
from tailpipe.model.table import Column, Table
from tailpipe.plugins.core.sources import File
from tailpipe.spark.engine import SparkEngine
from tailpipe.testing import InProcessEngine

DAY = date(2024, 1, 10)
TABLE = Table(
    name="things",
    columns=[Column("tp_timestamp", source="time"), Column("host", "varchar"), Column("n", "bigint")],
)


@pytest.fixture(params=["in process", pytest.param("spark", marks=pytest.mark.xdist_group("spark"))])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "in process":
        return InProcessEngine()
    context = request.getfixturevalue("spark").sparkContext
    return SparkEngine(lambda: context)


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    (tmp_path / "staging").mkdir()
    return Staging(str(tmp_path / "staging"), "t")


def line(number: object, host: str = "a", **more: object) -> str:
    return json.dumps({"time": f"{DAY}T10:00:00Z", "host": host, "n": number, **more}) + "\n"


class Failing(File):
    """Raises what no engine expects from data while the marks of opened artifacts are fewer than `fails`."""

    fails: int = 0

    def open(self, artifact: Artifact) -> BinaryIO:
        if artifact.uri.endswith("bad"):
            marks = Path(self.paths[0])
            tries = len(list(marks.glob("try-*")))
            (marks / f"try-{tries}").touch()
            if tries < self.fails:
                raise MemoryError("no luck\nwith this file")
        return super().open(artifact)


class FailingOnce(Failing):
    """Fails at the first attempt."""

    fails = 1


class FailingAlways(Failing):
    """Fails at each attempt."""

    fails = 1000


def task(
    root: Path, files: Mapping[str, str], staging: Staging | None = None, kind: type[File] = File, **facts: Any
) -> Task:
    """A task over files with these texts."""
    readings = []
    for name, text in files.items():
        path = root / name
        path.write_text(text)
        status = path.stat()
        artifact = Artifact(str(path), size=status.st_size, modified=datetime.fromtimestamp(status.st_mtime, UTC))
        readings.append(Reading(artifact, str(path)))
    source = kind(name="file", paths=[str(root)])
    when = datetime(2024, 6, 1, tzinfo=UTC)
    return Task.of("things.x", TABLE, source, Jsonl(), tuple(readings), when, staging=staging, **facts)


def rows(staging: Staging, files: Sequence[StagedFile], columns: str = "tp_id, n") -> list[tuple[Any, ...]]:
    paths = [str(Path(staging.directory, file.path)) for file in files]
    with duckdb.connect() as connection:
        query = f"SELECT {columns} FROM read_parquet(?, union_by_name = true) ORDER BY ALL"
        return connection.execute(query, [paths]).fetchall()


def data(outcomes: Sequence[Outcome], role: str = "data") -> list[StagedFile]:
    return [file for outcome in outcomes for file in outcome.files if file.role == role]


def run(engine: Engine, tasks: Sequence[Task]) -> list[Outcome]:
    """The outcomes of tasks of one share each, in the order of the tasks."""
    outcomes = dict(engine.run(tasks))
    return [outcome for number in range(len(tasks)) for outcome in outcomes[number]]


def test_a_job_without_tasks_has_no_answers(engine: Engine) -> None:
    assert run(engine, []) == []
    assert engine.sample([]) == []
    assert engine.carry([]) == []
    assert engine.dedupe([]) == []
    assert engine.compact([]) == []
    assert engine.misplaced([], "host", "varchar") == []


def test_rows_ids_and_accounts_come_in_the_order_of_the_tasks(engine: Engine, tmp_path: Path, staging: Staging) -> None:
    texts = [{"a": line(1) + line(2)}, {"b": line(3)}, {"c": line(4), "d": line(5) + line(6)}]
    tasks = [task(tmp_path, files, staging, tp_index="host", filter="n <> 6") for files in texts]
    outcomes = run(engine, tasks)
    for one, outcome in zip(tasks, outcomes, strict=True):
        assert [result.reading for result in outcome.results] == list(one.readings)
    totals = [outcome.accounts for outcome in outcomes]
    assert [(one.read, one.kept, one.filtered, one.rejected) for one in totals] == [
        (2, 2, 0, 0),
        (1, 1, 0, 0),
        (3, 2, 1, 0),
    ]
    files = data(outcomes)
    assert {(file.tp_date, file.tp_index) for file in files} == {(DAY, "a")}
    assert len({file.path for file in files}) == len(files)
    assert all(file.path.startswith("t-") and not file.path.endswith(".parquet") for file in files)
    prefixes = [reading.row_prefix("things.x") for one in tasks for reading in one.readings]
    expected = zip([*prefixes[:1], *prefixes], (1, 2, 1, 1, 1), (1, 2, 3, 4, 5), strict=True)
    assert rows(staging, files) == sorted((f"{prefix}-{ordinal}", n) for prefix, ordinal, n in expected)


def test_rows_that_cannot_be_used_are_rejected_with_their_reason(
    engine: Engine, tmp_path: Path, staging: Staging
) -> None:
    [outcome] = run(engine, [task(tmp_path, {"a": line(1) + "what is this\n" + line(2)}, staging)])
    assert (outcome.accounts.read, outcome.accounts.kept, outcome.accounts.rejected) == (3, 2, 1)
    [(ordinal, raw)] = rows(staging, data([outcome], "rejected"), "ordinal, raw")
    assert (ordinal, raw) == (2, "what is this")
    assert [sample.text for sample in outcome.samples] == ["what is this"]


def test_an_artifact_that_cannot_be_read_is_a_fault_of_its_own(
    engine: Engine, tmp_path: Path, staging: Staging
) -> None:
    one = task(tmp_path, {"a": line(1), "b": line(2)}, staging)
    (tmp_path / "b").unlink()
    [outcome] = run(engine, [one])
    good, bad = outcome.results
    assert (good.error, good.accounts.kept) == (None, 1)
    assert f"{tmp_path / 'b'}" in str(bad.error)
    assert [n for _, n in rows(staging, data([outcome]))] == [1]


def test_a_field_that_is_wider_than_its_type_is_reported(engine: Engine, tmp_path: Path, staging: Staging) -> None:
    table = Table(name="things", columns=[Column("tp_timestamp", source="time")], map_fields=["*"])
    types = {"host": "varchar", "n": "bigint", "time": "varchar"}
    one = replace(task(tmp_path, {"a": line(1) + line(2.5)}, staging, types=types), table=table)
    assert run(engine, [one])[0].widenings == (Widening("n", "double"),)
    assert engine.sample([one])[0]["n"] == "double"


def test_a_task_that_fails_once_is_tried_again_and_its_rows_are_there_once(
    engine: Engine, tmp_path: Path, staging: Staging
) -> None:
    # Each artifact is written as soon as it is read, so the failed attempt had files already.
    files = {"a": line(1), "b": line(2), "bad": line(3)}
    [outcome] = run(engine, [task(tmp_path, files, staging, FailingOnce, limits=Limits(flush_bytes=1))])
    assert outcome.accounts.kept == 3
    assert sorted(n for _, n in rows(staging, outcome.files)) == [1, 2, 3]
    assert len(list(tmp_path.glob("try-*"))) == 2


def test_a_task_that_always_fails_ends_the_job_with_its_cause_and_the_engine_goes_on(
    engine: Engine, tmp_path: Path, staging: Staging
) -> None:
    with pytest.raises(SparkError) as caught:
        run(engine, [task(tmp_path, {"bad": line(1)}, staging, FailingAlways)])
    assert caught.value.message.endswith("job failed: MemoryError: no luck")
    assert len(list(tmp_path.glob("try-*"))) == 4
    assert list(Path(staging.directory).iterdir()) == []
    [outcome] = run(engine, [task(tmp_path, {"a": line(1)}, staging)])
    assert outcome.accounts.kept == 1


def test_two_jobs_never_use_the_same_names(engine: Engine, tmp_path: Path, staging: Staging) -> None:
    one = task(tmp_path, {"a": line(1)}, staging)
    first, second = data(run(engine, [one])), data(run(engine, [one]))
    assert {file.path for file in first}.isdisjoint(file.path for file in second)


def test_prints_are_told_by_uri_and_part_also_of_what_is_gone(engine: Engine, tmp_path: Path) -> None:
    one = task(tmp_path, {"a": line(1), "gone": line(2)})
    (tmp_path / "gone").unlink()
    spans = ((0, 10), (0, 10_000))
    there, gone = (reading.artifact for reading in one.readings)
    source: Source = one.source
    found = engine.prints([(source, there, spans), (source, gone, spans)])
    with (tmp_path / "a").open("rb") as file:
        expected = fingerprints(_Content(file), spans)
    assert {span: found[there.uri, span] for span in spans} == expected
    assert (found[there.uri, (0, 10)], found[there.uri, (0, 10_000)]) == (expected[0, 10], None)
    assert [found[gone.uri, span] for span in spans] == [None, None]


class _Content:
    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read

    def skip(self, size: int, /) -> int:
        return len(self.read(size))


def carried(staging: Staging, files: Sequence[StagedFile]) -> tuple[CarriedFile, ...]:
    return tuple(
        CarriedFile(str(Path(staging.directory, file.path)), DAY, file.tp_index, file.columns) for file in files
    )


def test_rows_of_other_artifacts_are_carried_over(engine: Engine, tmp_path: Path, staging: Staging) -> None:
    one = task(tmp_path, {"a": line(1), "b": line(2)}, staging)
    files = data(run(engine, [one]))
    prefix = one.readings[0].row_prefix("things.x")
    [made] = engine.carry([Carry(carried(staging, files), (prefix,), staging)])
    assert [n for _, n in rows(staging, made)] == [2]


def test_duplicates_are_left_out_and_counted(engine: Engine, tmp_path: Path, staging: Staging) -> None:
    one = task(tmp_path, {"a": line(1) + line(2), "b": line(2) + line(3)}, staging)
    [file] = data(run(engine, [one]))
    [deduped] = engine.dedupe([Dedupe((file,), (), ("n",), staging)])
    [rest] = deduped.files.values()
    assert rest is not None
    assert [n for _, n in sorted(rows(staging, [rest]), key=lambda row: int(row[1]))] == [1, 2, 3]
    assert sum(deduped.lost.values()) == 1


def test_small_files_are_compacted_and_moved_to_another_index(engine: Engine, tmp_path: Path, staging: Staging) -> None:
    tasks = [task(tmp_path, {f"f{n}": line(n, host)}, staging) for n, host in enumerate("aab")]
    files = data(run(engine, tasks))
    parts = carried(staging, files)
    size = sum(file.size for file in files)
    plain = Compaction(parts, files[0].columns, staging, size)
    moved = Compaction(parts, files[0].columns, replace(staging, prefix="u"), size, index=Index("host"))
    one, several = engine.compact([plain, moved])
    assert [(file.rows, file.tp_index) for file in one] == [(3, files[0].tp_index)]
    assert sorted((str(file.tp_index), file.rows) for file in several) == [("a", 2), ("b", 1)]
    assert rows(staging, several) == rows(staging, one) == rows(staging, files)
    assert sorted(engine.misplaced(parts, "host", "varchar")) == sorted(part.path for part in parts)
    assert engine.misplaced(carried(staging, several), "host", "varchar") == []
