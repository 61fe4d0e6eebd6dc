"""Shares: units that a task reads together have the outcomes that each would have alone."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Limits, Outcome, Reading, Share, Staging, Task
from tailpipe.model.artifact import Artifact
from tailpipe.model.table import Column, Table
from tests.unit.kernel.support import CONTENT, Memory, task

N = Column("n", "integer")
HOST = Column("host", "varchar")
SMALL = Limits(chunk_bytes=1024, batch_bytes=2048, flush_bytes=4096)


def lines(first: int, last: int, *, days: int = 1, hosts: int = 1) -> bytes:
    """Rows with these numbers; each fifth is no JSON, and each seventh has a number that is none."""
    made = []
    for n in range(first, last):
        row = {
            "time": f"2024-01-{1 + n % days:02}T10:00:00Z",
            "n": "many" if n % 7 == 6 else n,
            "host": f"h{n % hosts}",
        }
        made.append("oops" if n % 5 == 4 else json.dumps(row))
    return ("\n".join(made) + "\n").encode()


def share(directory: Path, partition: str, contents: dict[str, bytes], name: str = "memory") -> Share:
    CONTENT.update(contents)
    readings = tuple(Reading(Artifact(uri, size=len(data)), uri) for uri, data in contents.items())
    place = directory / partition
    place.mkdir(parents=True, exist_ok=True)
    return Share(partition, Memory(name=name), readings, Staging(str(place), "t"))


def found(one: Share, outcome: Outcome) -> dict[str, Any]:
    """All that came of a share, without the names of its files."""
    assert one.staging is not None
    rows: dict[str, list[Any]] = {"data": [], "rejected": []}
    for file in outcome.files:
        with duckdb.connect() as connection:
            path = str(Path(one.staging.directory) / file.path)
            read = connection.execute("FROM read_parquet(?, hive_partitioning = false)", [path])
            names = [column[0] for column in read.description]
            made = [dict(zip(names, row, strict=True)) for row in read.fetchall()]
        assert len(made) == file.rows
        if file.role == "data":
            assert {(row["tp_date"], row["tp_index"]) for row in made} == {(file.tp_date, file.tp_index)}
        rows[file.role] += made
    return {
        "data": sorted(rows["data"], key=lambda row: row["tp_id"]),
        "rejected": sorted(rows["rejected"], key=lambda row: row["tp_id"]),
        "results": outcome.results,
        "samples": sorted(outcome.samples, key=str),
        "filled": outcome.filled,
    }


def compare(made: Task, directory: Path) -> list[dict[str, Any]]:
    """What came of each share, which is what comes of it alone."""
    outcomes = run_task(made)
    together = [found(*pair) for pair in zip(made.shares, outcomes, strict=True)]
    places = [list(Path(one.staging.directory).iterdir()) for one in made.shares if one.staging]
    for files, outcome in zip(places, outcomes, strict=True):
        assert sorted(path.name for path in files) == sorted(file.path for file in outcome.files)
    for number, one in enumerate(made.shares):
        apart = directory / f"apart-{number}"
        apart.mkdir()
        single = replace(one, staging=Staging(str(apart), "t"))
        (outcome,) = run_task(replace(made, shares=(single,)))
        assert found(single, outcome) == together[number]
    return together


@pytest.mark.parametrize("limits", [Limits(), SMALL], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "days", [pytest.param(1, id="few files"), pytest.param(20, id="many files", marks=pytest.mark.slow)]
)
def test_each_share_has_the_outcome_that_it_has_alone(tmp_path: Path, limits: Limits, days: int) -> None:
    base = task(b"", [N, HOST], limits=limits, tp_index="host", filter="n IS DISTINCT FROM 3")
    shares = [
        share(tmp_path, f"things.p{unit}", {f"/{unit}/{n}": lines(n, n + 60, days=days, hosts=3) for n in range(2)})
        for unit in range(3)
    ]
    together = compare(replace(base, shares=tuple(shares)), tmp_path)
    assert all(one["data"] and one["rejected"] and one["samples"] for one in together)
    assert len({row["tp_id"] for one in together for row in one["data"]}) == sum(len(one["data"]) for one in together)
    assert [{row["tp_partition"] for row in one["data"]} for one in together] == [{"p0"}, {"p1"}, {"p2"}]


def test_more_artifacts_than_stand_in_a_query(tmp_path: Path) -> None:
    base = task(b"", [N])
    shares = [
        share(tmp_path, f"things.p{unit}", {f"/{unit}/{n}": lines(n, n + 3) for n in range(30)}) for unit in range(4)
    ]
    together = compare(replace(base, shares=tuple(shares)), tmp_path)
    assert [len({row["tp_source_location"] for row in one["data"]}) for one in together] == [30] * 4


@pytest.mark.slow
@pytest.mark.parametrize("limits", [Limits(), SMALL], ids=["whole", "streamed"])
def test_a_damaged_artifact_concerns_its_own_share(tmp_path: Path, limits: Limits) -> None:
    packed = gzip.compress(lines(0, 900))[:-200]
    shares = (
        share(tmp_path, "things.a", {"/a": lines(0, 50)}),
        share(tmp_path, "things.b", {"/b": lines(0, 50), "/b.gz": packed, "/c": lines(50, 60)}),
        share(tmp_path, "things.c", {"/d": lines(0, 50)}),
    )
    a, b, c = compare(replace(task(b"", [N], limits=limits), shares=shares), tmp_path)
    assert [one.error is None for one in b["results"]] == [True, False, True]
    assert all(one.error is None for some in (a, c) for one in some["results"])


def test_sources_of_one_type_open_their_own_artifacts(tmp_path: Path) -> None:
    opened: list[tuple[str, list[str]]] = []

    class Noting(Memory):
        def opener(self, artifacts: Any) -> Any:
            opened.append((self.name, [one.uri for one in artifacts]))
            return super().opener(artifacts)

    CONTENT.update({f"/{n}": lines(0, 3) for n in range(4)})
    readings = [Reading(Artifact(f"/{n}", size=9), f"/{n}") for n in range(4)]
    first, other = Noting(name="first"), Noting(name="other")
    shares = tuple(
        Share("things.x", source, (reading,), Staging(str(tmp_path), f"t{number}"))
        for number, (source, reading) in enumerate(zip([first, first, other, first], readings, strict=True))
    )
    run_task(replace(task(b"", [N]), shares=shares))
    assert opened == [("first", ["/0", "/1"]), ("other", ["/2"]), ("first", ["/3"])]


def test_a_fault_of_the_machine_leaves_nothing_of_any_share(tmp_path: Path) -> None:
    class Broken(Memory):
        def open(self, artifact: Artifact) -> Any:
            if artifact.uri == "/z":
                raise OSError(5, "Input/output error")
            return super().open(artifact)

    shares = (
        share(tmp_path, "things.a", {"/a": lines(0, 900)}),
        replace(share(tmp_path, "things.b", {"/z": b""}), source=Broken(name="memory")),
    )
    with pytest.raises(OSError, match="Input/output"):
        run_task(replace(task(b"", [N], limits=SMALL), shares=shares))
    assert [list((tmp_path / name).iterdir()) for name in ("things.a", "things.b")] == [[], []]


def test_new_fields_are_reported_for_every_share(tmp_path: Path) -> None:
    shares = (share(tmp_path, "things.a", {"/a": lines(0, 3)}), share(tmp_path, "things.b", {"/b": lines(0, 3)}))
    of = Table(name="things", columns=[Column("tp_timestamp", source="time")], map_fields=["*"])
    outcomes = run_task(replace(task(b"", of=of), shares=shares))
    assert [{one.field for one in outcome.widenings} for outcome in outcomes] == [{"n", "host", "time"}] * 2


def test_a_task_that_has_no_place_for_files_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a place"):
        run_task(task(b""))
