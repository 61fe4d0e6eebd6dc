"""Fields that nobody could name before, in one JSON object; and parquet files beside CSV."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.formats import Delimited
from tailpipe.model.format import Format
from tailpipe.model.option import option
from tailpipe.model.table import Column
from tests.unit.kernel.support import run

CSV = Delimited(header=True, snake_case=True)
COLUMNS = [
    Column("tags_known", "varchar"),
    Column("tags", "json", transform='coalesce(CAST(tags AS JSON), "tags_*")'),
    Column("rest", "json", source="*"),
]


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def test_fields_of_one_beginning_are_gathered_without_it_and_the_others_apart() -> None:
    done = run(
        b"time,tags/Known,tags/Cost Center,tags/b,more\n2024-01-31T10:00:00Z,k,42,x,\n2024-01-31T10:00:00Z,,,,m\n",
        COLUMNS,
        CSV,
    )
    assert done.accounts == (2, 2, 0, 0, 0)
    assert [row["tags_known"] for row in done.rows] == ["k", None]
    assert [row["tags"] and json.loads(row["tags"]) for row in done.rows] == [{"cost_center": "42", "b": "x"}, None]
    assert [row["rest"] and json.loads(row["rest"]) for row in done.rows] == [None, {"more": "m"}]


def test_fields_of_a_file_are_gathered_whatever_their_names_are_elsewhere() -> None:
    done = run(b"time,_log_group,_message,x\n2024-01-31T10:00:00Z,g,m,1\n", COLUMNS, Delimited(header=True))
    assert json.loads(done.rows[0]["rest"]) == {"_log_group": "g", "_message": "m", "x": "1"}


def test_files_of_one_task_may_have_other_fields() -> None:
    done = run(
        {
            "/logs/a.csv": b"time,x\n2024-01-31T10:00:00Z,1\n",
            "/logs/b.csv": b"time,y\n2024-01-31T10:00:00Z,2\n",
            "/logs/c.csv": b'time,tags\n2024-01-31T10:00:00Z,"{""k"": ""v""}"\n',
        },
        COLUMNS,
        CSV,
    )
    assert [row["rest"] and json.loads(row["rest"]) for row in done.rows] == [{"x": "1"}, {"y": "2"}, None]
    assert done.rows[2]["tags"] == '{"k": "v"}'


def test_a_delimited_format_reads_parquet_files_too_by_their_name() -> None:
    tags = pa.array([[("k", "v")], None], pa.map_(pa.string(), pa.string()))
    time = pa.array([datetime(2024, 1, 31, 10), datetime(2024, 1, 31, 11)])
    done = run(
        {
            "/logs/a.csv": b"time,tags/Known\n2024-01-31T09:00:00Z,x\n",
            "/logs/b.snappy.parquet": parquet(time=time, tags=tags, tagsKnown=["y", ""], Size=[1, None]),
            "/logs/c.csv": b"time,tags/Known\nnever,x\n",
        },
        COLUMNS,
        CSV,
    )
    assert done.accounts == (4, 3, 0, 1, 0)
    assert [row["tags_known"] for row in done.rows] == ["x", "y", None]
    assert [row["tags"] for row in done.rows] == [None, '{"k":"v"}', None]
    assert [row["rest"] for row in done.rows] == [None, '{"size":1}', None]
    assert [str(row["tp_timestamp"]) for row in done.rows] == [
        f"2024-01-31 {hour}:00:00" for hour in ("09", "10", "11")
    ]
    assert [result.committed_ordinals for result in done.outcome.results] == [2, 2, 2]


def test_a_damaged_parquet_file_spoils_nothing_but_itself() -> None:
    contents = {"/logs/a.csv": b"time\n2024-01-31T09:00:00Z\n", "/logs/b.parquet": b"PAR1 and then nothing"}
    done = run(contents, COLUMNS, CSV)
    assert [bool(result.error) for result in done.outcome.results] == [False, True]
    assert done.accounts == (1, 1, 0, 0, 0)


class Semicolons(Format):
    """A plugin's own format."""

    type = "semicolons"
    fields: str = option("Names.", default="time;x")

    def read_as(self) -> Format:
        return Delimited(delimiter=";", fields=self.fields.split(";"), header=False)


def test_a_format_of_a_plugin_is_read_as_what_it_amounts_to() -> None:
    done = run(b"2024-01-31T10:00:00Z;7\n", [Column("x", "integer")], Semicolons())
    assert done.column("x") == [7]
