"""Golden cases of the AWS tables: a log as AWS writes it, and exactly the rows and remarks that come of it.

A case is a file `tests/golden/aws/TABLE/CASE.in.EXTENSION`; beside it stand `CASE.rows.jsonl`, one row in each
line without its nulls, and `CASE.notes.txt`, the rejected rows with their reasons and the columns whose
values did not fit. A new case needs no Python, unless it is read by another format than the table's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Outcome, Reading, Staging, Task
from tailpipe.plugin import Artifact, Format, Source, Table, Window
from tailpipe.plugins.aws import plugin
from tailpipe.plugins.aws.api_gateway import CLF, CSV, XML
from tailpipe.plugins.aws.flow_format import DEFAULT_LAYOUT, TRANSIT_GATEWAY, FlowLogFormat
from tailpipe.query.session import Session

GOLDEN = Path(__file__).parents[1] / "golden" / "aws"
TABLES: Mapping[str, Table] = {table.name: table for table in plugin.loaded("table")}
FORMATS: Mapping[str, Format] = {
    "aws_api_gateway_access_log/clf": CLF,
    "aws_api_gateway_access_log/csv": CSV,
    "aws_api_gateway_access_log/xml": XML,
    "aws_vpc_flow_log/transit_gateway_plain": TRANSIT_GATEWAY,
    "aws_vpc_flow_log/cloudwatch_export": FlowLogFormat(layout=f"export-timestamp {DEFAULT_LAYOUT}"),
}
"""The format of a case, `TABLE/CASE`, if it is not that of its table."""

_LEFT_OUT = ("tp_ingest_timestamp", "tp_table", "tp_partition", "tp_index", "tp_source_type")


class Inputs(Source):
    """The inputs of one table's cases; a URI is a file's name, so that no path of a machine gets into a row."""

    type = "file"
    directory: str = ""

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return iter(())

    def open(self, artifact: Artifact) -> BinaryIO:
        return BytesIO((Path(self.directory) / artifact.uri).read_bytes())


@dataclass(frozen=True)
class Case:
    """One input of a table."""

    table: str
    input: Path

    @property
    def name(self) -> str:
        return self.input.name.partition(".in.")[0]

    def beside(self, ending: str) -> Path:
        """What is expected."""
        return self.input.with_name(f"{self.name}.{ending}")

    def __str__(self) -> str:
        return f"{self.table}/{self.name}"


def cases() -> list[Case]:
    """All cases, those of a table together."""
    return [Case(path.parent.name, path) for path in sorted(GOLDEN.glob("*/*.in.*"))]


def staged(case: Case, files: Path) -> Outcome:
    """Run a case through the kernel; its files are written into a directory."""
    directory = files / f"{case.table}-{case.name}"
    directory.mkdir(parents=True)
    table = TABLES[case.table]
    format = FORMATS.get(str(case), table.format)
    assert format is not None
    artifact = Artifact(case.input.name, size=case.input.stat().st_size)
    task = Task.of(
        partition=f"{case.table}.golden",
        table=table,
        source=Inputs(name="file", directory=str(case.input.parent)),
        format=format,
        readings=(Reading(artifact, artifact.uri),),
        ingested_at=datetime(2024, 6, 1, 12, tzinfo=UTC),
        staging=Staging(str(directory), "golden"),
    )
    (outcome,) = run_task(task)
    assert not outcome.widenings
    assert outcome.accounts.is_balanced
    return outcome


def session(outcomes: Mapping[Case, Outcome], root: Path) -> Session:
    """All tables as queries see them, with the rows of these cases; their files lie in `root/files`."""
    files: list[LiveFile] = []
    columns: dict[int, Mapping[str, str]] = {}
    for case, outcome in outcomes.items():
        for file in outcome.files:
            if file.role == "data":
                path = f"files/{case.table}-{case.name}/{file.path}"
                day = file.tp_date or date.min
                columns[len(files)] = file.columns
                partition = f"{case.table}.golden"
                files.append(LiveFile(path, partition, str(day), None, day, file.rows, 0, None, None, len(files)))
    return Session(Snapshot(root, tuple(files), columns, 1), TABLES)


def shown_rows(found: Session, table: str) -> list[str]:
    """The rows of a table as lines of JSON, without nulls and without what is the same in all golden rows."""
    order = "ORDER BY split_part(tp_id, '-', 1), split_part(tp_id, '-', 2)::BIGINT"
    answer = found.run(f'SELECT to_json(t)::VARCHAR FROM (SELECT * FROM "{table}" {order}) t')
    return [json.dumps(_shown(TABLES[table], json.loads(row)), ensure_ascii=False) for (row,) in answer.rows]


def shown_notes(outcome: Outcome) -> list[str]:
    """What was rejected, and how many values of a column did not fit."""
    (result,) = outcome.results
    assert result.error is None
    assert len(outcome.samples) == result.accounts.rejected, "a case has room for 20 rejected rows"
    rejected = [f"{sample.position}: {sample.reason}: {sample.text[:100]}" for sample in outcome.samples]
    return [*rejected, *(f"{count} in {name} did not fit" for name, count in sorted(result.nulls.items()))]


def _shown(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {}
    for name, value in row.items():
        column = table.column(name)
        is_struct = column is not None and (column.type or "").startswith("struct(")
        if value is not None and name not in _LEFT_OUT:
            shown[name] = _without_nulls(value) if is_struct else value
    return shown


def _without_nulls(value: Any) -> Any:
    """A struct without its nulls; those of JSON columns stay, because they stand in the log."""
    if not isinstance(value, dict):
        return value
    return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}


def lines(path: Path) -> Sequence[str]:
    """The lines of an expectation; none if there is no such file."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
